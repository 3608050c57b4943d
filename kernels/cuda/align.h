// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "cuda/tracks.h"

namespace wmb::cuda {

// As csrc/cpu/align.h: least squares similarities of point sets.
template <typename T>
int umeyama(const Tracks<T>& tracks, bool with_scale, const FitsOut<T>& fits, cudaStream_t stream);

struct FitOptions {
  Align align;
  std::size_t n_fit;  // the first so many poses make the fit
};

// Writes the aligned poses, or points, of the estimate.
template <typename T>
int align_trajectory(const Tracks<T>& tracks, bool poses, FitOptions options, T* aligned,
                     const FitsOut<T>& fits, cudaStream_t stream);

template <typename T>
struct ApeOut {
  T* errors;  // one a pose
  T* deviation;
  StatisticsOut<T> statistics;
  FitsOut<T> fits;
};

// Whether `ape` wants room for one double a pose, besides its errors, where items have up to `most` poses.
bool ape_needs_workspace(std::size_t most);

// Absolute errors of every pose, NaN where one does not count.
template <typename T>
int ape(const Tracks<T>& tracks, bool poses, FitOptions options, Relation relation, const ApeOut<T>& out,
        double* workspace, cudaStream_t stream);

}  // namespace wmb::cuda
