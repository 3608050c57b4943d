// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/stream.h"
#include "cuda/views.h"

namespace wmb::cuda {

// Of each item; n is the number of co-visible pixels.
template <typename T>
struct AgreementOut {
  T *median, *fraction;
  std::int64_t* n;
  std::uint8_t *code, *status;
};

template <typename T>
struct AgreementRule {
  T lo, hi;
  bool bilinear;
};

// How many numbers of eight bytes of workspace depth_agreement wants, for numbers of `size` bytes.
std::size_t depth_agreement_workspace(std::size_t n_items, std::int64_t pixels, std::size_t size);

// As csrc/cpu/reproject.h.
template <typename T>
int depth_agreement(const Maps<T>& source, const Maps<T>& destination, const Passages<T>& passages,
                    const AgreementRule<T>& rule, AgreementOut<T> out, void* workspace, cudaStream_t stream);

}  // namespace wmb::cuda
