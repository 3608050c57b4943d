// SPDX-License-Identifier: Apache-2.0
// The order in which candidates are preferred, and the ratio test.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/cosine.h"
#include "core/hd.h"

namespace wmb {

// Larger value first, then lower index. A total order: merging in any order gives the same winner.
template <typename T>
WMB_HD inline bool preferred(T value, std::int64_t index, T other_value, std::int64_t other_index) {
  return value > other_value || (value == other_value && index < other_index);
}

// Squared Euclidean distance of two directions, in float64 from the rows as they are: 2 - 2 cos would cancel.
// Eight lanes, then halves.
template <typename T>
WMB_HD inline double direction_distance_squared(const T* x, Direction u, const T* y, Direction v,
                                                std::int64_t dim) {
  double lanes[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  std::int64_t k = 0;
  for (; k + 8 <= dim; k += 8)
    for (int i = 0; i < 8; ++i) {
      double d = x[k + i] * u.shift * u.factor - y[k + i] * v.shift * v.factor;
      lanes[i] += d * d;
    }
  for (int i = 0; k + i < dim; ++i) {
    double d = x[k + i] * u.shift * u.factor - y[k + i] * v.shift * v.factor;
    lanes[i] += d * d;
  }
  for (int half = 4; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

// Whether the nearest is nearer than `ratio` times the second nearest. Two at distance zero fail.
WMB_HD inline bool passes_ratio(double nearest, double second, double ratio) {
  return nearest < ratio * second;
}

}  // namespace wmb
