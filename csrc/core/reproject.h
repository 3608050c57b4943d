// SPDX-License-Identifier: Apache-2.0
// The pinhole camera and one point's way from one view into another, in float64.
//
//   unproject   X = ((u - cx) / fx * z, (v - cy) / fy * z, z)        z is depth along the axis, not ray
//   length transform   X_dst = R X_src + t                                  T_dst_src = [R t; 0 1] project u
//   = fx * X / Z + cx,  v = fy * Y / Z + cy            integer coordinates are pixel centres
//
// Real is double on a device and in the portable kernels, a vector of doubles in the wider ones: every lane
// does these operations in this order, so all give the same bits. Flag is what comparing two Reals gives.
#pragma once

#include "core/hd.h"

namespace wmb {

struct Camera {
  double fx, fy, cx, cy;
};

struct Transform {
  double r[3][3], t[3];
};

template <typename Real>
struct Point3 {
  Real x, y, z;
};

template <typename Real>
struct Pixel {
  Real u, v;
};

constexpr double kNoLimit = __builtin_huge_val();

WMB_HD inline bool is_finite(double x) { return x - x == 0; }

// Finite, with focal lengths that are not zero. Negative ones mirror, and are allowed.
WMB_HD inline bool is_usable(const Camera& c) {
  return is_finite(c.fx) && is_finite(c.fy) && is_finite(c.cx) && is_finite(c.cy) && c.fx != 0 && c.fy != 0;
}

WMB_HD inline bool is_usable(const Transform& m) {
  bool usable = true;
  for (int i = 0; i < 3; ++i)
    usable =
        usable && is_finite(m.r[i][0]) && is_finite(m.r[i][1]) && is_finite(m.r[i][2]) && is_finite(m.t[i]);
  return usable;
}

// The x of the ray through column u at depth 1 (and its y through row v, given fy and cy).
template <typename Real>
WMB_HD inline Real ray(Real at, double focal, double centre) {
  return (at - centre) / focal;
}

template <typename Real>
WMB_HD inline Point3<Real> transform(const Transform& m, const Point3<Real>& p) {
  return {m.r[0][0] * p.x + m.r[0][1] * p.y + m.r[0][2] * p.z + m.t[0],
          m.r[1][0] * p.x + m.r[1][1] * p.y + m.r[1][2] * p.z + m.t[1],
          m.r[2][0] * p.x + m.r[2][1] * p.y + m.r[2][2] * p.z + m.t[2]};
}

template <typename Real>
WMB_HD inline Pixel<Real> project(const Point3<Real>& p, const Camera& c) {
  return {c.fx * p.x / p.z + c.cx, c.fy * p.y / p.z + c.cy};
}

// Zero, negative, NaN and infinite depth is none.
template <typename Real>
WMB_HD inline auto is_depth(Real depth) {
  return (depth > 0.0) & (depth < kNoLimit);
}

// Whether 0 <= at < size.
template <typename Real>
WMB_HD inline auto within(Real at, double size) {
  return (at >= 0.0) & (at < size);
}

// a * b, the map that applies b first.
WMB_HD inline Transform compose(const Transform& a, const Transform& b) {
  Transform out;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j)
      out.r[i][j] = a.r[i][0] * b.r[0][j] + a.r[i][1] * b.r[1][j] + a.r[i][2] * b.r[2][j];
    out.t[i] = a.r[i][0] * b.t[0] + a.r[i][1] * b.t[1] + a.r[i][2] * b.t[2] + a.t[i];
  }
  return out;
}

// The inverse of an affine map by cofactors; R need not be orthonormal. Not usable where R is singular.
WMB_HD inline Transform inverse(const Transform& m) {
  Transform out;
  double determinant = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
      out.r[i][j] = m.r[a][c] * m.r[b][d] - m.r[a][d] * m.r[b][c];
    }
  for (int k = 0; k < 3; ++k) determinant += m.r[0][k] * out.r[k][0];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) out.r[i][j] /= determinant;
  for (int i = 0; i < 3; ++i)
    out.t[i] = -(out.r[i][0] * m.t[0] + out.r[i][1] * m.t[1] + out.r[i][2] * m.t[2]);
  return out;
}

// Bilinear interpolation of a depth map. A coordinate this near to a pixel centre is that centre, so that a
// neighbour of no weight, which may be a hole, is not asked.
constexpr double kSnap = 1e-6;

// Whether `at` lies between the first and the last of n pixel centres.
template <typename Real>
WMB_HD inline auto between_centres(Real at, double n) {
  return (at >= -kSnap) & (at <= n - 1.0 + kSnap);
}

// Depth between four neighbours, of which those without weight have been replaced by their opposites.
template <typename Real>
WMB_HD inline Real interpolate(Real top_left, Real top_right, Real bottom_left, Real bottom_right, Real x,
                               Real y) {
  Real top = top_left + (top_right - top_left) * x;
  Real bottom = bottom_left + (bottom_right - bottom_left) * x;
  return top + (bottom - top) * y;
}

}  // namespace wmb
