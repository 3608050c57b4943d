// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "cuda/align.h"

namespace wmb::cuda {

// Pairs (i, i + delta) of poses: every one, or a chain from the first pose on.
struct StepsOf {
  std::size_t delta;
  bool all;

  WMB_HD std::size_t step() const { return all ? 1 : delta; }
  WMB_HD std::size_t count(std::size_t poses) const {
    return poses > delta ? (poses - delta - 1) / step() + 1 : 0;
  }
};

struct RpeOptions {
  FitOptions fit;
  StepsOf steps;
  bool world;
  bool has_extra;
  Relation extra;
};

constexpr int kStepErrors = 3;  // translation, rotation, and the extra relation

// Without `starts` every item has room for `each` pairs, and -1 and NaN go where it has fewer; else its pairs
// begin there. `errors` are kStepErrors rows of `total` pairs.
template <typename T>
struct RpeOut {
  const std::int64_t* starts;
  std::size_t each, total;
  std::int64_t* pairs;
  T* errors;
  T* deviation;
  StatisticsOut<T> statistics[kStepErrors];
  FitsOut<T> fits;
};

// How many numbers of workspace `rpe` wants, where items have up to `most` pairs.
std::size_t rpe_workspace(std::size_t n_items, std::size_t most, std::size_t total);

// As csrc/cpu/rpe.h, for steps in frames.
template <typename T>
int rpe(const Tracks<T>& tracks, const RpeOptions& options, const RpeOut<T>& out, double* workspace,
        cudaStream_t stream);

// Angles, in degrees, between n pairs of 3x3 matrices; NaN where one is not a rotation.
template <typename T>
int rotation_angle_deg(const T* a, const T* b, std::size_t n, T* angles, cudaStream_t stream);

}  // namespace wmb::cuda
