// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/stream.h"

namespace wmb::cuda {

// As csrc/cpu/boxes.h; lengths may be null.
template <typename T>
struct BoxedValues {
  std::size_t n_items;
  std::int64_t n_points, n_boxes;
  const T *a, *b, *values, *boxes_a, *boxes_b;
  const std::int64_t* lengths;
};

template <typename T>
int box_medians(const BoxedValues<T>& in, double* median, std::int64_t* count, cudaStream_t stream);

}  // namespace wmb::cuda
