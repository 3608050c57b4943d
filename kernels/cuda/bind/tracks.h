// SPDX-License-Identifier: Apache-2.0
// What the bindings of trajectory kernels share: how a batch, a fit and statistics are packed into arrays, as
// kernels/cuda/trajectory.py makes them.
#pragma once

#include "cuda/bind/bind.h"
#include "cuda/tracks.h"

namespace wmb::cuda {

// Where the arrays of a batch are.
struct TracksAt {
  Address est, ref, mask, weights;
  std::size_t n, each;
  Address starts, lengths;

  template <typename T>
  Tracks<T> as() const {
    return {at<const T>(est),
            at<const T>(ref),
            at<const std::uint8_t>(mask),
            at<const T>(weights),
            {n, each, at<const std::int64_t>(starts), at<const std::int64_t>(lengths)}};
  }
};

// Rotations, translations, scales and rmse one after the other; codes, statuses and those of the alignment.
struct FitsAt {
  Address numbers, rank, codes;

  template <typename T>
  FitsOut<T> as(std::size_t n) const {
    T* first = at<T>(numbers);
    std::uint8_t* code = at<std::uint8_t>(codes);
    return {first, first + 9 * n, first + 12 * n, first + 13 * n, at<std::int64_t>(rank),
            code,  code + n,      code + 2 * n};
  }
};

// Seven statistics one after the other; codes and statuses.
struct StatisticsAt {
  Address numbers, count, codes;

  template <typename T>
  StatisticsOut<T> as(std::size_t n) const {
    std::uint8_t* code = at<std::uint8_t>(codes);
    return {at<T>(numbers), at<std::int64_t>(count), code, code + n};
  }
};

}  // namespace wmb::cuda
