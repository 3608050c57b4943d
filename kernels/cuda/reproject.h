// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/stream.h"
#include "cuda/views.h"

namespace wmb::cuda {

// As csrc/cpu/reproject.h, of cameras and transforms as they are given.
template <typename T>
struct PointSets {
  const T* data;
  std::int64_t n;  // points of an item
  Steps steps;
};

template <typename T>
int project_points(const Batch& batch, const PointSets<T>& points, const Cameras<T>& cameras,
                   const Transforms<T>& to_camera, T* pixels, T* depth, std::uint8_t* valid,
                   cudaStream_t stream);

template <typename T>
int unproject_depth(const Batch& batch, const Maps<T>& depth, const Cameras<T>& cameras, T* points,
                    cudaStream_t stream);

template <typename T>
int reproject_depth(const Maps<T>& depth, const Passages<T>& passages, std::int64_t height,
                    std::int64_t width, T* pixels, T* z, std::uint8_t* valid, cudaStream_t stream);

template <typename T>
int splat_depth(const Maps<T>& depth, const Passages<T>& passages, std::int64_t height, std::int64_t width,
                T* z, std::int64_t* source, std::uint8_t* valid, cudaStream_t stream);

}  // namespace wmb::cuda
