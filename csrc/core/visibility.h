// SPDX-License-Identifier: Apache-2.0
// Whether a view shows an instance, judged by what its points meet there.
#pragma once

#include <cstdint>

#include "core/hull.h"
#include "core/reproject.h"
#include "core/scalar.h"

namespace wmb {

enum class Visibility : std::uint8_t { visible, occluded, outside, too_small, unknown };

struct VisibilityRule {
  double min_inside, min_area, occlusion, min_visible, min_occluded, min_coverage, min_confidence;
};

constexpr std::int64_t kFewestPoints = 4;

// What one instance's points meet in one view. usable: inside, and with a known depth there.
struct Encounter {
  std::int64_t n = 0, n_inside = 0, usable = 0, occluded = 0;
  bool finite = true;
};

// Whether a point at this place and depth is inside a view.
WMB_HD inline bool is_inside(const Pixel<double>& at, double z, double height, double width) {
  return z > 0 && within(at.u, width) && within(at.v, height);
}

// The number of the pixel whose centre is nearest to a place inside.
WMB_HD inline std::int64_t pixel_inside(const Pixel<double>& at, std::int64_t height, std::int64_t width) {
  const std::int64_t column = static_cast<std::int64_t>(at.u + 0.5),
                     row = static_cast<std::int64_t>(at.v + 0.5);
  return (row < height ? row : height - 1) * width + (column < width ? column : width - 1);
}

// Whether the depth seen in front of a point of depth z hides it.
WMB_HD inline bool hides(double seen, double z, const VisibilityRule& rule) {
  return seen < rule.occlusion * z;
}

constexpr double kMargin = 1 + 1e-9;  // beyond which rounding cannot have made the extremes' area the larger

// The leftmost, lowest, rightmost and highest of some points: the hull's area is no less than that of their
// quadrilateral.
struct Extremes {
  bool any;  // all zero before the first
  Point2 left, right, low, high;

  WMB_HD void add(const Point2& p) {
    if (!any) left = right = low = high = p;
    any = true;
    if (p.x < left.x) left = p;
    if (p.x > right.x) right = p;
    if (p.y < low.y) low = p;
    if (p.y > high.y) high = p;
  }
  WMB_HD bool surely_large(const VisibilityRule& rule) const {
    double twice = (right.x - left.x) * (high.y - low.y) - (right.y - left.y) * (high.x - low.x);
    return 0.5 * absolute(twice) >= kMargin * rule.min_area;
  }
};

// is_too_small() says whether the points inside cover too little.
template <typename Small>
WMB_HD inline Visibility judge(const Encounter& met, const VisibilityRule& rule, Small is_too_small) {
  if (met.n < kFewestPoints || !met.finite) return Visibility::unknown;
  double n = static_cast<double>(met.n), inside = static_cast<double>(met.n_inside);
  if (inside / n < rule.min_inside || met.n_inside == 0) return Visibility::outside;
  if (is_too_small()) return Visibility::too_small;
  if (static_cast<double>(met.usable) / inside < rule.min_coverage) return Visibility::unknown;
  double occluded = static_cast<double>(met.occluded) / n;
  double visible = static_cast<double>(met.usable - met.occluded) / n;
  if (visible >= rule.min_visible) return Visibility::visible;
  return occluded >= rule.min_occluded ? Visibility::occluded : Visibility::unknown;
}

}  // namespace wmb
