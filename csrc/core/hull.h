// SPDX-License-Identifier: Apache-2.0
// The area of a convex hull.
#pragma once

#include <cstdint>

#include "core/hd.h"

namespace wmb {

struct Point2 {
  double x, y;
};

// Twice the signed area of the triangle a, b, c: above zero where they turn left.
WMB_HD inline double turn(const Point2& a, const Point2& b, const Point2& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// The area of the hull of n points sorted by x, then y (Andrew's monotone chain). `chain` has room for 2 n +
// 1 points.
WMB_HD inline double hull_area(const Point2* points, std::int64_t n, Point2* chain) {
  if (n < 3) return 0.0;
  std::int64_t size = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    while (size >= 2 && turn(chain[size - 2], chain[size - 1], points[i]) <= 0) --size;
    chain[size++] = points[i];
  }
  std::int64_t lower = size + 1;
  for (std::int64_t i = n - 2; i >= 0; --i) {
    while (size >= lower && turn(chain[size - 2], chain[size - 1], points[i]) <= 0) --size;
    chain[size++] = points[i];
  }
  double twice = 0;
  for (std::int64_t i = 1; i + 1 < size; ++i) twice += turn(chain[0], chain[i], chain[i + 1]);
  return twice / 2;
}

}  // namespace wmb
