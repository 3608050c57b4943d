// SPDX-License-Identifier: Apache-2.0
// The similarity transform that takes source points x to target points y with least squares,
//   y ~ s R x + t,   R = sum_k u_k v_k',   s = (s1 + s2 + s3) / var x,   t = mean y - s R mean x,
// where s_k, u_k, v_k decompose the covariance (1/n) sum (y - mean y)(x - mean x)'
// (Umeyama, IEEE PAMI 13(4), 1991, eq. 34-43; his S is the sign of our s3).
//
// Sums are taken about the first point, so an offset of any size costs nothing: that point is one of the set,
// hence the square of its distance from the mean is at most n times the variance, and one pass is enough.
#pragma once

#include "core/reason.h"
#include "core/svd3.h"

namespace wmb {

// Sums over the points of one problem, about `origin_x`, `origin_y` (a point of the set).
struct Moments {
  double weight;  // the number of points, or the sum of their weights
  Vec3<double> origin_x, origin_y, x, y;
  double xx, yy;
  Mat3<double> yx;
};

struct Sim3 {
  Mat3<double> rotation;
  Vec3<double> translation;
  double scale;
  int rank;
  Reason reason;
};

// The distance of an aligned point from its target, free of any offset: e = M (x - from) + shift - (y - to).
struct Residual {
  Mat3<double> m;
  Vec3<double> from, to, shift;
};

// A singular value below this share of the largest one counts as zero; on lengths that is a share of 1e-6.
constexpr double kRankTolerance = 1e-12;
// A spread of at most this many floating-point steps of the coordinates is rounding noise: the points stand
// still.
constexpr double kNoiseSteps = 1.0;
// A spread of at most this many is coarse: the answer has lost most of its digits.
constexpr double kCoarseSteps = 1000.0;

struct Spread {
  Vec3<double> mean_x, mean_y;  // about the origins
  double var_x, var_y;
  Mat3<double> covariance;
};

WMB_HD inline Spread spread_of(const Moments& m) {
  Spread s;
  double over = 1.0 / m.weight;
  s.mean_x = over * m.x;
  s.mean_y = over * m.y;
  s.var_x = larger(over * m.xx - dot(s.mean_x, s.mean_x), 0.0);
  s.var_y = larger(over * m.yy - dot(s.mean_y, s.mean_y), 0.0);
  s.covariance = over * m.yx - outer(s.mean_y, s.mean_x);
  return s;
}

// Whether points of this variance about `origin` are spread over fewer than `steps` floating-point steps.
WMB_HD inline bool within_steps(double variance, const Vec3<double>& origin, double epsilon, double steps) {
  double reach = larger(larger(absolute(origin.x), absolute(origin.y)), absolute(origin.z)) * epsilon * steps;
  return variance <= reach * reach;
}

// Whether a set has lost most of its digits to an offset.
WMB_HD inline bool is_coarse(double variance, const Vec3<double>& origin, double epsilon) {
  return within_steps(variance, origin, epsilon, kCoarseSteps) &&
         !within_steps(variance, origin, epsilon, kNoiseSteps);
}

WMB_HD inline bool is_coarse(const Moments& m, const Spread& s, double epsilon) {
  return is_coarse(s.var_x, m.origin_x, epsilon) || is_coarse(s.var_y, m.origin_y, epsilon);
}

// The rotation by the least angle that takes one unit vector to another: a half turn about `from`, then one
// about the bisector. Opposite vectors have no bisector; any axis across them will do, and this one is always
// the same.
WMB_HD inline Mat3<double> least_rotation(const Vec3<double>& from, const Vec3<double>& to) {
  Vec3<double> middle = from + to;
  double length = norm(middle);
  if (length < 1e-8) {
    double ax = absolute(from.x), ay = absolute(from.y), az = absolute(from.z);
    Vec3<double> axis = ax <= ay && ax <= az ? Vec3<double>{1, 0, 0}
                        : ay <= az           ? Vec3<double>{0, 1, 0}
                                             : Vec3<double>{0, 0, 1};
    middle = cross(from, axis);
    length = norm(middle);
  }
  middle = (1.0 / length) * middle;
  return (2.0 * outer(middle, middle) - identity3()) * (2.0 * outer(from, from) - identity3());
}

WMB_HD inline Mat3<double> rotation_of(const Svd3<double>& d) {
  return outer(d.u1, d.v1) + outer(d.u2, d.v2) + outer(cross(d.u1, d.u2), cross(d.v1, d.v2));
}

// What can be said about the rotation: its value, the rank of the covariance, and why it is not unique.
WMB_HD inline void solve_rotation(const Svd3<double>& d, double var_x, double var_y, Sim3& out) {
  if (d.s1 <= kRankTolerance * square_root(var_x * var_y)) {
    out.rank = 0;
    out.rotation = identity3();
    out.reason = Reason::uncorrelated;
    return;
  }
  double least = kRankTolerance * d.s1;
  out.rank = 1 + (d.s2 > least) + (absolute(d.s3) > least);
  if (out.rank == 1) {
    out.rotation = least_rotation(d.v1, d.u1);
    out.reason = Reason::rank_one;
    return;
  }
  out.rotation = rotation_of(d);
  out.reason = d.s2 + d.s3 <= least ? Reason::mirrored : Reason::ok;
}

// The transform of one problem from its spread and the decomposition of its covariance. `epsilon` is that of
// the points' own type. Without a determined rotation and scale both are NaN; `count` is the number of
// points.
WMB_HD inline Sim3 solve(const Moments& m, const Spread& s, const Svd3<double>& d, double count,
                         double epsilon, bool with_scale) {
  const double nan = std::nan("");
  Sim3 out{{{nan, nan, nan, nan, nan, nan, nan, nan, nan}},
           {nan, nan, nan},
           with_scale ? nan : 1.0,
           0,
           Reason::ok};
  if (!(count >= 1.0)) {
    out.reason = Reason::not_finite;
    out.scale = nan;
    return out;
  }
  if (count < 2.0 || within_steps(s.var_x, m.origin_x, epsilon, kNoiseSteps)) {
    out.reason = count < 2.0 ? Reason::too_few_points : Reason::source_zero_spread;
    return out;
  }
  if (within_steps(s.var_y, m.origin_y, epsilon, kNoiseSteps)) {
    out.rotation = identity3();
    out.scale = with_scale ? 0.0 : 1.0;
    out.reason = Reason::target_zero_spread;
  } else {
    solve_rotation(d, s.var_x, s.var_y, out);
    if (with_scale) out.scale = larger((d.s1 + d.s2 + d.s3) / s.var_x, 0.0);
    if (out.reason == Reason::ok && is_coarse(m, s, epsilon)) out.reason = Reason::coarse_coordinates;
  }
  Vec3<double> from = m.origin_x + s.mean_x, to = m.origin_y + s.mean_y;
  out.translation = to - out.scale * (out.rotation * from);
  return out;
}

// The mean square distance of the aligned points as the moments give it, without a look at the points:
//   s^2 var x + var y - 2 s (s1 + s2 + s3).
// A difference of large numbers: good to 1e-10 of itself where it is above kPlainShare of the spread, NaN
// below.
constexpr double kPlainShare = 1e-5;

WMB_HD inline double mean_square_of(const Sim3& fit, const Spread& s, const Svd3<double>& d) {
  double moved = fit.scale * fit.scale * s.var_x;
  double rest = moved + s.var_y - 2.0 * fit.scale * (d.s1 + d.s2 + d.s3);
  return rest > kPlainShare * larger(moved, s.var_y) ? rest : std::nan("");
}

// The residual of the best transform there is: where the rotation or scale is missing, the source has no
// extent, and its point lies on the target's mean whatever they are. Without any point it is NaN.
WMB_HD inline Residual residual_of(const Sim3& fit, const Moments& m, const Spread& s) {
  Residual r;
  if (fit.reason == Reason::not_finite) {
    const double nan = std::nan("");
    return {nan * identity3(), {nan, nan, nan}, {nan, nan, nan}, {nan, nan, nan}};
  }
  bool known = fit.scale == fit.scale && fit.rotation.m[0] == fit.rotation.m[0];
  r.m = known ? fit.scale * fit.rotation : 0.0 * identity3();
  r.from = m.origin_x;
  r.to = m.origin_y;
  r.shift = s.mean_y - r.m * s.mean_x;
  return r;
}

}  // namespace wmb
