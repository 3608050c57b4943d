// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/visibility.h"
#include "cuda/stream.h"
#include "cuda/views.h"

namespace wmb::cuda {

// As csrc/cpu/reproject.h, of cameras and transforms as they are given.
template <typename T>
struct InstanceViews {
  Batch batch;
  std::int64_t n_instances, n_points;
  const T* points;
  Steps points_steps;
  Maps<T> depth;
  const T* confidence;  // laid out as the depth; may be null
  Cameras<T> cameras;
  Transforms<T> to_camera;
};

template <typename T>
struct Samples {
  std::size_t n;
  std::int64_t n_points;
  const T *pixels, *depth, *seen, *confidence;  // confidence may be null
  const std::int64_t* lengths;                  // null: all points count
  double width, height;
  const double* sizes;  // width and height of each; null: all have those above
};

struct SampledOut {
  std::uint8_t* state;
  double *inside, *known, *occluded, *visible, *area;
};

// How many numbers of eight bytes of workspace both want.
std::size_t visibility_workspace(std::size_t n_instances, std::int64_t n_points);

template <typename T>
int visibility(const InstanceViews<T>& views, const VisibilityRule& rule, std::uint8_t* state,
               void* workspace, cudaStream_t stream);

template <typename T>
int sampled_visibility(const Samples<T>& samples, const VisibilityRule& rule, bool with_area,
                       const SampledOut& out, void* workspace, cudaStream_t stream);

}  // namespace wmb::cuda
