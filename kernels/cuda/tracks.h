// SPDX-License-Identifier: Apache-2.0
// What the ops of trajectories take and give, for files that are compiled without CUDA as well.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/trajectory.h"
#include "cuda/items.h"
#include "cuda/stream.h"

namespace wmb::cuda {

// Pairs of points (n, 3) or poses (n, 4, 4), side by side: from the estimate, or source, to the reference, or
// target. Poses begin on a boundary of 16 bytes.
template <typename T>
struct Tracks {
  const T* est;
  const T* ref;
  const std::uint8_t* mask;  // one a pose, 0 = leave out; may be null
  const T* weights;          // one a pose; may be null
  Items items;
};

// The answers to a fit, in the dtype of the points: 9, 3, 1 and 1 numbers an item.
template <typename T>
struct FitsOut {
  T* rotation;
  T* translation;
  T* scale;
  T* rmse;
  std::int64_t* rank;
  std::uint8_t* code;
  std::uint8_t* status;
  std::uint8_t* aligned;  // the status of the alignment
};

// One statistic after the other, n_items of each: rmse, mean, median, std, least, largest, sse.
template <typename T>
struct StatisticsOut {
  T* numbers;
  std::int64_t* count;
  std::uint8_t* code;
  std::uint8_t* status;
};

}  // namespace wmb::cuda
