// SPDX-License-Identifier: Apache-2.0
// The kernels of unfused.h, written once. Each file that includes this has defined, in wmb::isa's unnamed namespace:
//
//   Real, Flag, kLanes     a vector of doubles with + - * / and comparisons, what comparing gives (with &), its width
//   load, store            of up to kLanes elements of T at p; `left` says how many there are, the rest are zero
//   counting(i)            i, i + 1, ...
//   choose, magnitude      lane by lane
//   whole(x)               x without its fraction where 0 <= x < 2^31; anything elsewhere
//   rounded<T>(x)          x rounded to T
//   Index, place           row * width + column of whole Reals
//   gather(p, index, f)    p[index] in the lanes of f, zero elsewhere
//   gather_two             p[index] and p[index + 1] likewise
//   Counter                add(flag), total()
//   root(x)                correctly rounded
//   inside_of              the vector part of Select::between; returns how many values it took
#include "cpu/isa/unfused.h"

namespace wmb::isa {
namespace {

template <typename T>
inline Point3<Real> brought(const SourceRow<T>& row, std::int64_t i, Real depth, const Transform& to) {
  return transform(to, Point3<Real>{load(row.ray_x + i, row.width - i) * depth, Real(row.ray_y) * depth, depth});
}

template <typename T>
void land(const SourceRow<T>& row_, const DestinationView<T>& to_, double* u, double* v, double* z) {
  const SourceRow<T> row = row_;
  const DestinationView<T> to = to_;
  const Real none(__builtin_nan(""));
  for (std::int64_t i = 0; i < row.width; i += kLanes) {
    Real depth = load(row.depth + i, row.width - i);
    Point3<Real> p = brought(row, i, depth, to.from_source);
    Flag there = is_depth(depth);
    Flag ahead = there & (p.z > Real(0.0));
    Pixel<Real> at = project(p, to.camera);
    store(u + i, choose(ahead, at.u, none), row.width - i);
    store(v + i, choose(ahead, at.v, none), row.width - i);
    store(z + i, choose(there, p.z, none), row.width - i);
  }
}

// The depth seen at a pixel: that of the nearest centre. Clears the lanes of `in` that lie outside.
template <typename T>
struct Nearest {
  static Real seen(const DestinationView<T>& to, const Pixel<Real>& at, Flag& in) {
    Real column = at.u + Real(0.5), row = at.v + Real(0.5);
    in = in & within(column, static_cast<double>(to.width)) & within(row, static_cast<double>(to.height));
    return gather(to.depth, place(whole(row), whole(column), to.width), in);
  }
};

// The same between four centres: zero where one that has weight is no depth.
template <typename T>
struct Bilinear {
  struct Side {
    Real first, weight;  // the lower neighbour, and how far the point is from it
  };

  static Side side(Real at, double size) {
    Real inner = choose(at > Real(0.0), at, Real(0.0));
    Real last(size > 2.0 ? size - 2.0 : 0.0);
    Real first = whole(inner);
    first = choose(first < last, first, last);
    Real weight = inner - first;
    weight = choose(weight > Real(kSnap), weight, Real(0.0));
    return {first, choose(weight < Real(1.0 - kSnap), weight, Real(1.0))};
  }

  static Real seen(const DestinationView<T>& to, const Pixel<Real>& at, Flag& in) {
    in = in & between_centres(at.u, static_cast<double>(to.width)) &
         between_centres(at.v, static_cast<double>(to.height));
    Side x = side(choose(in, at.u, Real(0.0)), static_cast<double>(to.width));
    Side y = side(choose(in, at.v, Real(0.0)), static_cast<double>(to.height));
    Index top = place(y.first, x.first, to.width);
    Real left, right, below_left, below_right;
    gather_two(to.depth, top, in, left, right);
    gather_two(to.depth + (to.height > 1 ? to.width : 0), top, in, below_left, below_right);
    Flag has_left = x.weight < Real(1.0), has_right = x.weight > Real(0.0);
    Flag has_top = y.weight < Real(1.0), has_bottom = y.weight > Real(0.0);
    Real tl = choose(has_left, left, right), tr = choose(has_right, right, left);
    Real bl = choose(has_left, below_left, below_right), br = choose(has_right, below_right, below_left);
    Real a = choose(has_top, tl, bl), b = choose(has_top, tr, br);
    Real c = choose(has_bottom, bl, tl), d = choose(has_bottom, br, tr);
    Flag all = is_depth(a) & is_depth(b) & is_depth(c) & is_depth(d);
    return choose(all, interpolate(a, b, c, d, x.weight, y.weight), Real(0.0));
  }
};

template <typename T, template <typename> class Sampling>
void agree(const SourceRow<T>& row_, const DestinationView<T>& to_, Gate<T> gate, T* error, Tally& tally) {
  const SourceRow<T> row = row_;
  const DestinationView<T> to = to_;
  Counter asked, covisible;
  for (std::int64_t i = 0; i < row.width; i += kLanes) {
    Real depth = load(row.depth + i, row.width - i);
    Point3<Real> p = brought(row, i, depth, to.from_source);
    Flag in = is_depth(depth);
    asked.add(in);
    in = in & (p.z > Real(0.0));
    Real seen = Sampling<T>::seen(to, project(p, to.camera), in);
    Real ratio = rounded<T>(p.z / seen);
    in = in & is_depth(seen) & (ratio > Real(gate.lo)) & (ratio < Real(gate.hi));
    covisible.add(in);
    store(error + i, choose(in, magnitude(p.z - seen) / seen, Real(kNoLimit)), row.width - i);
  }
  tally.asked += asked.total();
  tally.covisible += covisible.total();
}

// What a frame sees in the pixels that some points fall into.
struct Sighting {
  Point3<Real> point;  // in the frame's coordinates
  Pixel<Real> at, corner;
  Real seen;
  Flag inside, covisible;
};

template <typename T>
inline Sighting sighting(const SourcePoints& points, std::int64_t i, const DestinationView<T>& to, Gate<T> gate) {
  std::int64_t left = points.n - i;
  Sighting s;
  s.point = transform(to.from_source, Point3<Real>{load(points.x + i, left), load(points.y + i, left),
                                                   load(points.z + i, left)});
  s.at = project(s.point, to.camera);
  s.inside = (counting(i) < Real(static_cast<double>(points.n))) & (s.point.z > Real(0.0)) &
             within(s.at.u, static_cast<double>(to.width)) & within(s.at.v, static_cast<double>(to.height));
  s.corner = {whole(s.at.u), whole(s.at.v)};
  Index index = place(s.corner.v, s.corner.u, to.width);
  s.seen = gather(to.depth, index, s.inside);
  Real ratio = rounded<T>(s.point.z / s.seen);
  s.covisible = s.inside & is_depth(s.seen) & (ratio > Real(gate.lo)) & (ratio < Real(gate.hi));
  if (to.confidence) s.covisible = s.covisible & (gather(to.confidence, index, s.inside) >= Real(gate.confidence));
  return s;
}

template <typename T>
void distance(const SourcePoints& points_, const DestinationView<T>& to_, Gate<T> gate, T* error, Tally& tally) {
  const SourcePoints points = points_;
  const DestinationView<T> to = to_;
  Counter inside, covisible;
  for (std::int64_t i = 0; i < points.n; i += kLanes) {
    Sighting s = sighting(points, i, to, gate);
    Real x = ray(s.corner.u, to.camera.fx, to.camera.cx) * s.seen - s.point.x;
    Real y = ray(s.corner.v, to.camera.fy, to.camera.cy) * s.seen - s.point.y;
    Real z = s.seen - s.point.z;
    inside.add(s.inside);
    covisible.add(s.covisible);
    store(error + i, choose(s.covisible, root(x * x + y * y + z * z), Real(kNoLimit)), points.n - i);
  }
  tally.inside += inside.total();
  tally.covisible += covisible.total();
}

template <typename T>
void round_trip(const SourcePoints& points_, const DestinationView<T>& to_, const Transform& back,
                const Camera& source, Gate<T> gate, T* error, Tally& tally) {
  const SourcePoints points = points_;
  const DestinationView<T> to = to_;
  Counter inside, covisible;
  for (std::int64_t i = 0; i < points.n; i += kLanes) {
    Sighting s = sighting(points, i, to, gate);
    Point3<Real> there{ray(s.at.u, to.camera.fx, to.camera.cx) * s.seen,
                       ray(s.at.v, to.camera.fy, to.camera.cy) * s.seen, s.seen};
    Point3<Real> here = transform(back, there);
    Pixel<Real> returned = project(here, source);
    std::int64_t left = points.n - i;
    Pixel<Real> start =
        project(Point3<Real>{load(points.x + i, left), load(points.y + i, left), load(points.z + i, left)}, source);
    Real u = returned.u - start.u, v = returned.v - start.v;
    s.covisible = s.covisible & (here.z > Real(0.0));
    inside.add(s.inside);
    covisible.add(s.covisible);
    store(error + i, choose(s.covisible, root(u * u + v * v), Real(kNoLimit)), left);
  }
  tally.inside += inside.total();
  tally.covisible += covisible.total();
}

template <typename T>
void between(std::int64_t n, const T* x, T least, T low, T high, T* kept, Ranks& ranks) {
  Ranks found{0, 0, 0, 0, 0};
  std::int64_t i = inside_of(n, x, least, low, high, kept, found);
  for (; i < n; ++i) {
    bool usable = x[i] > least && x[i] < static_cast<T>(kNoLimit);
    bool inside = usable && x[i] > low && x[i] < high;
    found.usable += usable;
    found.below += usable && x[i] < low;
    found.at_low += usable && x[i] == low;
    found.at_high += usable && x[i] == high && low < high;
    kept[found.inside] = x[i];
    found.inside += inside;
  }
  ranks.usable += found.usable;
  ranks.below += found.below;
  ranks.at_low += found.at_low;
  ranks.inside += found.inside;
  ranks.at_high += found.at_high;
}

template <typename T>
constexpr Reproject<T> reproject_table() {
  return {land<T>, agree<T, Nearest>, agree<T, Bilinear>, distance<T>, round_trip<T>};
}

constexpr Unfused table() {
  return {reproject_table<float>(), reproject_table<double>(), {between<float>}, {between<double>}};
}

}  // namespace
}  // namespace wmb::isa
