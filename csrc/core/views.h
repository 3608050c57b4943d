// SPDX-License-Identifier: Apache-2.0
// What one view sees of the points of another: the pixel that a point falls into, the depth there, whether
// both are of one surface, and how far apart they are. Real as in reproject.h, with the names of scalar.h.
#pragma once

#include "core/reproject.h"
#include "core/scalar.h"

namespace wmb {

// Whether the nearest pixel centre, half upwards, is one of the image's; its number in row order if so.
template <typename Real>
WMB_HD inline auto nearest_pixel(const Pixel<Real>& at, double height, double width, Real& number) {
  Real column = at.u + Real(0.5), row = at.v + Real(0.5);
  number = whole(row) * Real(width) + whole(column);
  return within(column, width) & within(row, height);
}

// The same of the pixel whose number is the coordinates' whole part.
template <typename Real>
WMB_HD inline auto pixel_around(const Pixel<Real>& at, double height, double width, Real& number) {
  number = whole(at.v) * Real(width) + whole(at.u);
  return within(at.u, width) & within(at.v, height);
}

// The lower of two neighbouring pixel centres; weight becomes that of the higher one.
template <typename Real>
WMB_HD inline Real lower_centre(Real at, double size, Real& weight) {
  Real inner = select(at > Real(0.0), at, Real(0.0)), last(size > 2.0 ? size - 2.0 : 0.0);
  Real first = whole(inner);
  first = select(first < last, first, last);
  weight = inner - first;
  weight = select(weight > Real(kSnap), weight, Real(0.0));
  weight = select(weight < Real(1.0 - kSnap), weight, Real(1.0));
  return first;
}

// Whether a place lies between pixel centres of the image; the number of the upper left one, and the weights
// of the right and the lower ones.
template <typename Real>
WMB_HD inline auto between_pixels(const Pixel<Real>& at, double height, double width, Real& number, Real& x,
                                  Real& y) {
  Real column = lower_centre(at.u, width, x), row = lower_centre(at.v, height, y);
  number = row * Real(width) + column;
  return between_centres(at.u, width) & between_centres(at.v, height);
}

// The depth between four neighbours; none where one that has weight is no depth.
template <typename Real>
WMB_HD inline auto depth_between(Real left, Real right, Real below_left, Real below_right, Real x, Real y,
                                 Real& depth) {
  auto has_left = x<Real(1.0), has_right = x> Real(0.0);
  auto has_top = y<Real(1.0), has_bottom = y> Real(0.0);
  Real tl = select(has_left, left, right), tr = select(has_right, right, left);
  Real bl = select(has_left, below_left, below_right), br = select(has_right, below_right, below_left);
  Real a = select(has_top, tl, bl), b = select(has_top, tr, br);
  Real c = select(has_bottom, bl, tl), d = select(has_bottom, br, tr);
  depth = interpolate(a, b, c, d, x, y);  // infinite or NaN where one of the four is
  return (a > Real(0.0)) & (b > Real(0.0)) & (c > Real(0.0)) & (d > Real(0.0)) & (depth < Real(kNoLimit));
}

// Whether lo < z / seen < hi, the ratio rounded to T.
template <typename T, typename Real>
WMB_HD inline auto agrees(Real z, Real seen, T lo, T hi) {
  Real ratio = rounded<T>(z / seen);
  return (ratio > Real(lo)) & (ratio < Real(hi));
}

template <typename Real>
WMB_HD inline Real relative_error(Real z, Real seen) {
  return absolute(z - seen) / seen;
}

// What a step of one pixel is at depth 1.
struct PerPixel {
  double x, y;
};

WMB_HD inline PerPixel per_pixel(const Camera& c) { return {1.0 / c.fx, 1.0 / c.fy}; }

// How far a point is from the one that the view sees, at depth `seen`, in the pixel around the place where
// the point falls.
template <typename Real>
WMB_HD inline Real distance_to_seen(const Point3<Real>& p, const Pixel<Real>& at, Real seen, const Camera& c,
                                    const PerPixel& step) {
  Real x = (whole(at.u) - Real(c.cx)) * Real(step.x) * seen - p.x;
  Real y = (whole(at.v) - Real(c.cy)) * Real(step.y) * seen - p.y;
  Real z = seen - p.z;
  return square_root(x * x + y * y + z * z);
}

// The same in pixels of the view that the point `from` comes from: what is seen, at depth `seen`, along the
// ray of the point goes back to it. `here` becomes that in its coordinates: nothing where it lies behind.
template <typename Real>
WMB_HD inline Real round_trip_error(const Point3<Real>& from, const Pixel<Real>& at, Real seen,
                                    const Camera& there, const Transform& back, const Camera& source,
                                    Point3<Real>& here) {
  Real x = ray(at.u, there.fx, there.cx) * seen, y = ray(at.v, there.fy, there.cy) * seen;
  here = transform(back, Point3<Real>{x, y, seen});
  Pixel<Real> returned = project(here, source), started = project(from, source);
  Real u = returned.u - started.u, v = returned.v - started.v;
  return square_root(u * u + v * v);
}

}  // namespace wmb
