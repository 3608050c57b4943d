// SPDX-License-Identifier: Apache-2.0
// Errors between poses (camera to world, a rotation and a position) and between relative poses.
//
//   absolute   E = (A est)^-1 ref                           A: the alignment
//   relative   E = (ref_i^-1 ref_j)^-1 (est_i^-1 est_j)
// (Sturm et al., IROS 2012, eq. 1 and 2; the inverse of a pose is [R' | -R' p].)
#pragma once

#include "core/rotation.h"

namespace wmb {

template <typename T>
struct Pose {
  Mat3<T> r;
  Vec3<T> p;
};

// a^-1 b
template <typename T>
WMB_HD inline Pose<T> relative(const Pose<T>& a, const Pose<T>& b) {
  return {transposed_times(a.r, b.r), transposed_times(a.r, b.p - a.p)};
}

enum class Relation : int {
  translation,
  rotation_deg,
  rotation_rad,
  rotation_part,
  full,
  point_distance,
  point_distance_error_ratio,
};

template <typename T>
WMB_HD inline T squared_distance_from_identity(const Mat3<T>& r) {
  T sum = T(0.0);
  for (int i = 0; i < 9; ++i) {
    T d = r.m[i] - T(i % 4 == 0 ? 1.0 : 0.0);
    sum = sum + d * d;
  }
  return sum;
}

// The angle of a product of poses' rotations, radians. `polish` where the poses are not rotations to
// rounding.
template <typename T>
WMB_HD inline T error_angle(const Mat3<T>& r, bool polish) {
  return rotation_angle(polish ? polished(r) : r);
}

// A statistic of the error pose E; the two of distances are not among them.
template <typename T>
WMB_HD inline T error_of(const Pose<T>& e, Relation relation, bool polish) {
  switch (relation) {
    case Relation::rotation_deg:
      return T(kDegrees) * error_angle(e.r, polish);
    case Relation::rotation_rad:
      return error_angle(e.r, polish);
    case Relation::rotation_part:
      return square_root(squared_distance_from_identity(e.r));
    case Relation::full:
      return square_root(squared_distance_from_identity(e.r) + dot(e.p, e.p));
    default:
      return norm(e.p);
  }
}

// The difference of the lengths of two steps.
template <typename T>
WMB_HD inline T distance_error(T est_step, T ref_step) {
  return absolute(ref_step - est_step);
}

// The same in percent of the reference's step; NaN where that is zero.
template <typename T>
WMB_HD inline T distance_error_percent(T est_step, T ref_step) {
  const T zero = T(0.0);
  T ratio = T(100.0) * distance_error(est_step, ref_step) / select(ref_step > zero, ref_step, T(1.0));
  return select(ref_step > zero, ratio, zero / zero);
}

// The error of an aligned pose: `turned` is its rotation, `off` by how much it misses the reference's
// position.
template <typename T>
WMB_HD inline Pose<T> absolute_error(const Mat3<T>& turned, const Vec3<T>& off, const Mat3<T>& ref) {
  return {transposed_times(turned, ref), transposed_times(turned, T(-1.0) * off)};
}

// How two poses of the estimate are compared with two of the reference.
template <typename T>
struct StepRule {
  T scale;           // of the estimate
  Mat3<T> rotation;  // of the estimate; used in the world's frame alone, where it does not cancel
  bool world;
  bool polish;
  bool has_extra;
  Relation extra;
};

template <typename T>
struct StepErrors {
  T translation, rotation_deg, extra;
};

// From one pose to another: relative to the first, and as a displacement in the world's frame.
template <typename T>
struct Step {
  Pose<T> pose;
  Vec3<T> moved;
};

template <typename T>
WMB_HD inline Step<T> step_between(const Pose<T>& a, const Pose<T>& b) {
  const Vec3<T> moved = b.p - a.p;
  return {{transposed_times(a.r, b.r), transposed_times(a.r, moved)}, moved};
}

// Inlined in any case: out of line, its many arguments pass through memory, which costs a fifth on lanes.
template <typename T>
[[gnu::always_inline]] WMB_HD inline StepErrors<T> step_errors(const Step<T>& est, const Step<T>& ref,
                                                               const StepRule<T>& rule) {
  const Pose<T> e = relative(ref.pose, Pose<T>{est.pose.r, rule.scale * est.pose.p});
  StepErrors<T> out;
  out.translation = rule.world ? norm(rule.scale * (rule.rotation * est.moved) - ref.moved) : norm(e.p);
  out.rotation_deg = error_of(e, Relation::rotation_deg, rule.polish);
  if (!rule.has_extra) return out;
  // Lengths of steps are taken in the world's frame: there no rotation's rounding enters.
  const T est_step = rule.scale * norm(est.moved), ref_step = norm(ref.moved);
  if (rule.extra == Relation::point_distance)
    out.extra = distance_error(est_step, ref_step);
  else if (rule.extra == Relation::point_distance_error_ratio)
    out.extra = distance_error_percent(est_step, ref_step);
  else
    out.extra = error_of(e, rule.extra, rule.polish);
  return out;
}

}  // namespace wmb
