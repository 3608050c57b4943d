// SPDX-License-Identifier: Apache-2.0
// Cameras, transforms and maps as kernels take them: the caller's own arrays, and how the axes of the batch
// run over each. What the host refuses before it starts, a device cannot look at without being waited for:
// such a camera or transform is not usable, and its item says so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/reproject.h"

namespace wmb::cuda {

constexpr int kMostAxes = 8;

// How many elements to go on along each axis of the batch; 0 repeats one.
struct Steps {
  std::int64_t along[kMostAxes];
};

struct Batch {
  std::size_t n;  // items
  int axes;
  std::int64_t size[kMostAxes];

  // The number of the element that an item uses.
  WMB_HD std::int64_t element(std::size_t item, const Steps& steps) const {
    std::int64_t left = static_cast<std::int64_t>(item), number = 0;
#pragma unroll
    for (int axis = kMostAxes - 1; axis >= 0;
         --axis) {  // unrolled, so that the sizes stay where parameters are
      if (axis >= axes) continue;
      number += left % size[axis] * steps.along[axis];
      left /= size[axis];
    }
    return number;
  }
};

// Depth maps of one size, fewer than 2^31 pixels each.
template <typename T>
struct Maps {
  const T* data;
  std::int64_t height, width;
  Steps steps;

  WMB_HD const T* at(const Batch& batch, std::size_t item) const {
    return data + batch.element(item, steps) * height * width;
  }
};

// fx, fy, cx, cy, or matrices of three by three.
template <typename T>
struct Cameras {
  const T* data;
  int numbers;  // of one: 4 or 9
  Steps steps;
};

// Matrices of four by four.
template <typename T>
struct Transforms {
  const T* data;
  Steps steps;
};

// Where the pixels of an item come from and go to.
template <typename T>
struct Passages {
  Batch batch;
  Transforms<T> to;
  Cameras<T> source, destination;
};

}  // namespace wmb::cuda
