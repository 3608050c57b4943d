// SPDX-License-Identifier: Apache-2.0
// What an alignment does to the points and poses of one trajectory, and which poses can be used.
#pragma once

#include "core/align.h"
#include "core/rpe.h"

namespace wmb {

// What is fitted, and what of it is applied: `scale` fits a Sim(3) and applies its scale alone, `origin` puts
// the first pose that counts onto the reference's.
enum class Align : int { sim3, se3, scale, origin, none };

// Whether there is a least squares fit at all.
WMB_HD inline bool is_fitted(Align align) { return align != Align::origin && align != Align::none; }

// The record of what was not fitted.
WMB_HD inline Sim3 nothing_fitted(bool any_point) {
  return {identity3(), {0, 0, 0}, 1.0, -1, any_point ? Reason::ok : Reason::not_finite};
}

WMB_HD inline Residual residual_in_place(double scale) {
  return {scale * identity3(), {0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
}

// Without a scale the estimate has no extent, and any scale leaves its steps at zero.
WMB_HD inline double scale_of(const Sim3& fit) { return fit.scale == fit.scale ? fit.scale : 1.0; }

// The alignment that takes one pose of the estimate to one of the reference.
WMB_HD inline void fit_onto(const Pose<double>& est, const Pose<double>& ref, Sim3& fit, Residual& residual) {
  Mat3<double> turned;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) turned.m[3 * i + j] = dot(row(ref.r, i), row(est.r, j));
  fit.rotation = turned;
  fit.translation = ref.p - turned * est.p;
  residual = {turned, est.p, ref.p, {0, 0, 0}};
}

// The status of an alignment: degenerate rather than missing where its fit is, because positions are aligned.
WMB_HD inline Status aligned_status(Reason reason) {
  if (reason == Reason::not_finite || reason == Reason::not_a_pose) return Status::missing;
  return reason == Reason::ok ? Status::ok : Status::degenerate;
}

// What turns the estimate's orientations: NaN where the fit leaves it open.
WMB_HD inline Mat3<double> orientation_of(const Sim3& fit, Align align) {
  if (align == Align::scale || align == Align::none) return identity3();
  const bool open =
      align != Align::origin && fit.reason != Reason::ok && fit.reason != Reason::coarse_coordinates;
  return open ? std::nan("") * identity3() : fit.rotation;
}

// The same for relative poses in the world's frame, where an open rotation is left out.
WMB_HD inline Mat3<double> step_orientation_of(const Sim3& fit, Align align) {
  const bool turned = align != Align::scale && align != Align::none && fit.rotation.m[0] == fit.rotation.m[0];
  return turned ? fit.rotation : identity3();
}

// Where a point of the estimate goes, and by how much it misses its target.
WMB_HD inline Vec3<double> aligned_point(const Residual& r, const Vec3<double>& x) {
  return r.m * (x - r.from) + r.shift + r.to;
}

WMB_HD inline Vec3<double> off_target(const Residual& r, const Vec3<double>& x, const Vec3<double>& y) {
  return (r.m * (x - r.from) + r.shift) - (y - r.to);
}

// Squared, how far a last row may be off 0 0 0 1.
constexpr double kLooseLastRow = 1e-12;

template <typename T>
WMB_HD inline T squared_off_last_row(const T (&last)[4]) {
  const T corner = last[3] - T(1.0);
  return last[0] * last[0] + last[1] * last[1] + last[2] * last[2] + corner * corner;
}

// max |R'R - I| of a pose with this last row; NaN where an entry is not finite, -1 where the determinant is
// negative, -2 where the last row is not 0 0 0 1.
template <typename T>
WMB_HD inline T pose_deviation(const Pose<T>& p, const T (&last)[4]) {
  const Vec3<T> first = row(p.r, 0), second = row(p.r, 1), third = row(p.r, 2);
  T deviation = orthogonality_deviation(p.r);
  deviation = select(dot(cross(first, second), third) < T(0.0), T(-1.0), deviation);
  deviation = select(squared_off_last_row(last) > T(kLooseLastRow), T(-2.0), deviation);
  // x - x is zero or NaN.
  T finite = (p.p.x - p.p.x) + (p.p.y - p.p.y) + (p.p.z - p.p.z);
  for (int i = 0; i < 9; ++i) finite = finite + (p.r.m[i] - p.r.m[i]);
  for (int i = 0; i < 4; ++i) finite = finite + (last[i] - last[i]);
  return deviation + finite;
}

// Whether a matrix of this deviation is no pose. One that is not finite is a pose that does not count.
WMB_HD inline bool is_refused(double deviation) { return deviation < 0.0 || deviation > kRefuseAbove; }

}  // namespace wmb
