// SPDX-License-Identifier: Apache-2.0
// The cosine of two vectors from three sums, and the direction of one.
#pragma once

#include <cmath>
#include <limits>

#include "core/hd.h"

namespace wmb {

// Sums of squares inside these bounds have lost nothing to underflow or overflow in float64.
constexpr double kSmallestSquares = 1e-280;
constexpr double kLargestSquares = 1e280;

WMB_HD inline bool squares_are_safe(double squares) {
  return squares > kSmallestSquares && squares < kLargestSquares;
}

template <typename T>
WMB_HD inline T clip_cosine(T c) {
  return c > T(1) ? T(1) : c < T(-1) ? T(-1) : c;
}

// xy / (|x| |y|) from sums that are safe.
WMB_HD inline double cosine_from_sums(double xy, double xx, double yy) {
  return clip_cosine(xy / (std::sqrt(xx) * std::sqrt(yy)));
}

// x * shift * factor has length 1. The shift is a power of two, 1 wherever the sum of squares is safe.
// A zero vector and one with a NaN or an infinity have no direction: both are 0.
struct Direction {
  double shift, factor;
};

}  // namespace wmb
