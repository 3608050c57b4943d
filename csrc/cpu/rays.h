// SPDX-License-Identifier: Apache-2.0
// The rays through all columns and rows of an image, at depth 1.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/isa/unfused.h"

namespace wmb {

struct Rays {
  std::vector<double> x, y;

  Rays(const Camera& camera, std::int64_t height, std::int64_t width) : x(width), y(height) {
    for (std::int64_t i = 0; i < width; ++i) x[i] = ray(static_cast<double>(i), camera.fx, camera.cx);
    for (std::int64_t i = 0; i < height; ++i) y[i] = ray(static_cast<double>(i), camera.fy, camera.cy);
  }

  // A row of a depth map whose first pixel is at `map`.
  template <typename T>
  isa::SourceRow<T> row(const T* map, std::int64_t number) const {
    std::int64_t width = static_cast<std::int64_t>(x.size());
    return {map + number * width, width, x.data(), y[number]};
  }
};

}  // namespace wmb
