// SPDX-License-Identifier: Apache-2.0
// Angles between rotations, and matrices that are nearly rotations.
//
// angle(E) = atan2(|vee(E - E')|, tr E - 1): exact to rounding from 0 to pi, where the arc cosine of the
// trace loses half the digits near both ends. The arc tangent is made here of + - * / alone: a library's
// differs by machine.
#pragma once

#include "core/linalg3.h"

namespace wmb {

constexpr double kPi = 3.141592653589793;
constexpr double kDegrees = 180.0 / kPi;

// Off a rotation by more than rounding: one more step towards the polar factor before an angle is taken.
constexpr double kPolishAbove = 1e-12;
// Poses off SO(3) by at most this are taken as they are (text files carry six or seven digits) ...
constexpr double kAsIs = 1e-5;
// ... by at most this are replaced by their polar factor, the nearest rotation; beyond it a matrix is
// refused.
constexpr double kRefuseAbove = 0.1;

// atan(z) for z in [0, tan(pi/8)] or its negative: z (1 + w p(w)), w = z z; p interpolates at Chebyshev
// nodes, error below 1e-17.
template <typename T>
WMB_HD inline T small_arctangent(T z) {
  constexpr double kTerms[] = {-0.3333333333333333,  0.19999999999995513,  -0.1428571428466518,
                               0.11111111015146714,  -0.0909090457366906,  0.07692183087342026,
                               -0.06664509989818045, 0.058581362519061465, -0.05085383488842831,
                               0.03922974453661223,  -0.019174543572021332};
  T w = z * z;
  T sum = T(kTerms[10]);
  for (int k = 9; k >= 0; --k) sum = sum * w + T(kTerms[k]);
  return z + z * (w * sum);
}

// atan2(y, x) for y >= 0; 0 where both are 0, NaN where either is.
template <typename T>
WMB_HD inline T arctangent2(T y, T x) {
  const T zero = T(0.0), one = T(1.0);
  T across = absolute(x);
  auto steep = y > across;
  T above = select(steep, across, y), below = select(steep, y, across);
  T z = select(below > zero, above / select(below > zero, below, one), zero);
  auto wide = z > T(0.41421356237309503);
  T angle = small_arctangent(select(wide, (z - one) / (z + one), z));
  angle = select(wide, T(kPi / 4) + angle, angle);
  angle = select(steep, T(kPi / 2) - angle, angle);
  angle = select(x < zero, T(kPi) - angle, angle);
  return angle + zero * (x + y);  // comparisons swallow NaN
}

template <typename T>
WMB_HD inline T rotation_angle(const Mat3<T>& e) {
  Vec3<T> vee{e.m[7] - e.m[5], e.m[2] - e.m[6], e.m[3] - e.m[1]};
  return arctangent2(norm(vee), e.m[0] + e.m[4] + e.m[8] - T(1.0));
}

// max |R'R - I|
template <typename T>
WMB_HD inline T orthogonality_deviation(const Mat3<T>& r) {
  Vec3<T> a = column(r, 0), b = column(r, 1), c = column(r, 2);
  const T one = T(1.0);
  T worst = larger(absolute(dot(a, a) - one), absolute(dot(b, b) - one));
  worst = larger(worst, absolute(dot(c, c) - one));
  worst = larger(worst, absolute(dot(a, b)));
  worst = larger(worst, absolute(dot(a, c)));
  return larger(worst, absolute(dot(b, c)));
}

// One Newton-Schulz step towards the polar factor, R (3 I - R'R) / 2: a deviation d becomes 3/4 d d.
template <typename T>
WMB_HD inline Mat3<T> polished(const Mat3<T>& r) {
  Mat3<T> gram = transposed_times(r, r);
  for (int i = 0; i < 9; ++i) gram.m[i] = T(i % 4 == 0 ? 1.5 : 0.0) - T(0.5) * gram.m[i];
  return r * gram;
}

// The polar factor of a matrix within kRefuseAbove of a rotation: six steps take 0.1 an entry below rounding.
template <typename T>
WMB_HD inline Mat3<T> nearest_rotation(Mat3<T> r) {
  for (int step = 0; step < 6; ++step) r = polished(r);
  return r;
}

}  // namespace wmb
