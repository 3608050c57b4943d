// SPDX-License-Identifier: Apache-2.0
// The kernels of unfused.h, written once. Each file that includes this has defined, in wmb::isa's unnamed
// namespace:
//
// - Real, Flag, kLanes: a vector of doubles with + - * / and comparisons, what comparing gives (with &), its
//   width; and, where Real is no double, what core/scalar.h has for one: select, absolute, square_root, whole
//   and rounded<T>, lane by lane
// - load, store: of up to kLanes elements of T at p; `left` says how many there are, the rest are zero
// - load_two(p, left, ...): p[0], p[2], ... and p[1], p[3], ..., loaded as by load
// - equal(p, left, value): which of the whole numbers at p are this one
// - store_index: a Real of whole numbers as int32
// - gather(p, index): p[index[0]], p[index[1]], ... as a Real; gather_two: the same, and p[index[0] + 1], ...
// - counting(i): i, i + 1, ...
// - Counter: add(flag), total()
// - Sum: add(Real, position), total(): four lanes, by position; (0 + 2) + (1 + 3)
// - below_of, inside_of: the vector parts of Select::below and between; they return how many values they took
//
// Each kernel works in two steps over a block of pixels: where they land, then what is seen there. One step
// would be one long chain of dependent operations with a load from memory in the middle, and nothing to do
// meanwhile.
#include "cpu/isa/unfused.h"

namespace wmb::isa {
namespace {

template <typename T>
inline Point3<Real> brought(const SourceRow<T>& row, std::int64_t i, Real depth, const Transform& to) {
  return transform(to,
                   Point3<Real>{load(row.ray_x + i, row.width - i) * depth, Real(row.ray_y) * depth, depth});
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
    store(u + i, select(ahead, at.u, none), row.width - i);
    store(v + i, select(ahead, at.v, none), row.width - i);
    store(z + i, select(there, p.z, none), row.width - i);
  }
}

constexpr std::int64_t kBlock = 128;

// Where a block lands. z is NaN where it lands nowhere, and index then 0: what is seen there fails every
// comparison.
struct Block {
  double z[kBlock];
  std::int32_t index[kBlock];
  double x[kBlock], y[kBlock];  // weights of the right and lower neighbour; or the point's own
  double u[kBlock], v[kBlock];  // the pixel
};

// Asks for what a block will look up, all at once.
template <typename T>
inline void fetch(const T* map, const Block& block, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) __builtin_prefetch(map + block.index[i]);
}

// The nearest pixel centre.
template <typename T>
struct Nearest {
  static Flag land(const DestinationView<T>& to, const Pixel<Real>& at, Flag in, Block& block,
                   std::int64_t i) {
    Real place;
    in = in & nearest_pixel(at, static_cast<double>(to.height), static_cast<double>(to.width), place);
    store_index(block.index + i, select(in, place, Real(0.0)));
    return in;
  }

  static Flag seen(const DestinationView<T>& to, const Block& block, std::int64_t i, Real& depth) {
    depth = gather(to.depth, block.index + i);
    return is_depth(depth);
  }
};

// Between four pixel centres.
template <typename T>
struct Bilinear {
  static Flag land(const DestinationView<T>& to, const Pixel<Real>& at, Flag in, Block& block,
                   std::int64_t i) {
    Real place, x, y;
    in = in & between_pixels(at, static_cast<double>(to.height), static_cast<double>(to.width), place, x, y);
    store_index(block.index + i, select(in, place, Real(0.0)));
    store(block.x + i, x, kLanes);
    store(block.y + i, y, kLanes);
    return in;
  }

  static Flag seen(const DestinationView<T>& to, const Block& block, std::int64_t i, Real& depth) {
    Real left, right, below_left, below_right;
    gather_two(to.depth, block.index + i, left, right);
    gather_two(to.depth + (to.height > 1 ? to.width : 0), block.index + i, below_left, below_right);
    return depth_between(left, right, below_left, below_right, load(block.x + i, kLanes),
                         load(block.y + i, kLanes), depth);
  }
};

template <typename T, template <typename> class Sampling>
void agree(const SourceRow<T>& row_, const DestinationView<T>& to_, Gate<T> gate, T* error, Tally& tally) {
  const SourceRow<T> row = row_;
  const DestinationView<T> to = to_;
  Counter asked, covisible;
  Block block;
  for (std::int64_t start = 0; start < row.width; start += kBlock) {
    std::int64_t n = row.width - start < kBlock ? row.width - start : kBlock;
    for (std::int64_t i = 0; i < n; i += kLanes) {
      Real depth = load(row.depth + start + i, n - i);
      Point3<Real> p = brought(row, start + i, depth, to.from_source);
      Flag in = is_depth(depth);
      asked.add(in);
      in = Sampling<T>::land(to, project(p, to.camera), in & (p.z > Real(0.0)), block, i);
      store(block.z + i, select(in, p.z, Real(__builtin_nan(""))), kLanes);
    }
    for (std::int64_t i = 0; i < n; i += kLanes) {
      Real z = load(block.z + i, kLanes), seen;
      Flag in = Sampling<T>::seen(to, block, i, seen);
      in = in & agrees(z, seen, gate.lo, gate.hi);
      covisible.add(in);
      store(error + start + i, select(in, relative_error(z, seen), Real(kNoLimit)), n - i);
    }
  }
  tally.asked += asked.total();
  tally.covisible += covisible.total();
}

// Where points [start, start + n) land, in pixels by floor; returns how many do so inside.
template <typename T>
inline std::int64_t land_points(const SourcePoints& points, std::int64_t start, std::int64_t n,
                                const DestinationView<T>& to, Block& block) {
  Counter inside;
  for (std::int64_t i = 0; i < n; i += kLanes) {
    Real x = load(points.x + start + i, n - i), y = load(points.y + start + i, n - i);
    Point3<Real> p = transform(to.from_source, Point3<Real>{x, y, load(points.z + start + i, n - i)});
    Pixel<Real> at = project(p, to.camera);
    Real place;
    Flag in = (counting(i) < Real(static_cast<double>(n))) & (p.z > Real(0.0)) &
              pixel_around(at, static_cast<double>(to.height), static_cast<double>(to.width), place);
    inside.add(in);
    store_index(block.index + i, select(in, place, Real(0.0)));
    store(block.x + i, p.x, kLanes);
    store(block.y + i, p.y, kLanes);
    store(block.z + i, select(in, p.z, Real(__builtin_nan(""))), kLanes);
    store(block.u + i, at.u, kLanes);
    store(block.v + i, at.v, kLanes);
  }
  fetch(to.depth, block, n);
  if (to.confidence) fetch(to.confidence, block, n);
  return inside.total();
}

// Whether the destination sees these points, and at which depth.
template <typename T>
inline Flag sees(const DestinationView<T>& to, Gate<T> gate, const Block& block, std::int64_t i, Real& seen) {
  seen = gather(to.depth, block.index + i);
  Flag in = is_depth(seen) & agrees(load(block.z + i, kLanes), seen, gate.lo, gate.hi);
  if (to.confidence) in = in & (gather(to.confidence, block.index + i) >= Real(gate.confidence));
  return in;
}

template <typename T>
void distance(const SourcePoints& points_, const DestinationView<T>& to_, Gate<T> gate, T* error,
              Tally& tally) {
  const SourcePoints points = points_;
  const DestinationView<T> to = to_;
  const PerPixel step = per_pixel(to.camera);
  Counter covisible;
  Sum sum;
  Block block;
  for (std::int64_t start = 0; start < points.n; start += kBlock) {
    std::int64_t n = points.n - start < kBlock ? points.n - start : kBlock;
    tally.inside += land_points(points, start, n, to, block);
    for (std::int64_t i = 0; i < n; i += kLanes) {
      Real seen;
      Flag in = sees(to, gate, block, i, seen);
      covisible.add(in);
      Point3<Real> p{load(block.x + i, kLanes), load(block.y + i, kLanes), load(block.z + i, kLanes)};
      Real e =
          distance_to_seen(p, {load(block.u + i, kLanes), load(block.v + i, kLanes)}, seen, to.camera, step);
      sum.add(select(in, e, Real(0.0)), i);
      store(error + start + i, select(in, e, Real(kNoLimit)), n - i);
    }
  }
  tally.covisible += covisible.total();
  tally.error += sum.total();
}

template <typename T>
void round_trip(const SourcePoints& points_, const DestinationView<T>& to_, const Transform& back,
                const Camera& source, Gate<T> gate, T* error, Tally& tally) {
  const SourcePoints points = points_;
  const DestinationView<T> to = to_;
  Counter covisible;
  Sum sum;
  Block block;
  for (std::int64_t start = 0; start < points.n; start += kBlock) {
    std::int64_t n = points.n - start < kBlock ? points.n - start : kBlock;
    tally.inside += land_points(points, start, n, to, block);
    for (std::int64_t i = 0; i < n; i += kLanes) {
      Real seen;
      Flag in = sees(to, gate, block, i, seen);
      std::int64_t k = start + i, left = n - i;
      Point3<Real> from{load(points.x + k, left), load(points.y + k, left), load(points.z + k, left)}, here;
      Real e = round_trip_error(from, {load(block.u + i, kLanes), load(block.v + i, kLanes)}, seen, to.camera,
                                back, source, here);
      in = in & (here.z > Real(0.0));
      covisible.add(in);
      sum.add(select(in, e, Real(0.0)), i);
      store(error + k, select(in, e, Real(kNoLimit)), left);
    }
  }
  tally.covisible += covisible.total();
  tally.error += sum.total();
}

template <typename T>
SampledTally sampled(const SampledPoints<T>& points_, double occlusion, double trusted) {
  const SampledPoints<T> points = points_;
  Counter finite, inside, usable, occluded;
  for (std::int64_t i = 0; i < points.n; i += kLanes) {
    const std::int64_t left = points.n - i;
    Real u, v, z = load(points.depth + i, left), seen = load(points.seen + i, left);
    load_two(points.pixels + 2 * i, left, u, v);
    const Real none(kNoLimit);
    finite.add((absolute(u) < none) & (absolute(v) < none) & (absolute(z) < none) &
               (counting(i) < Real(static_cast<double>(points.n))));
    Flag in = (z > Real(0.0)) & within(u, points.width) & within(v, points.height);  // none beyond n
    inside.add(in);
    in = in & is_depth(seen);
    if (points.confidence) in = in & (load(points.confidence + i, left) >= Real(trusted));
    usable.add(in);
    occluded.add(in & (seen < Real(occlusion) * z));
  }
  return {finite.total(), inside.total(), usable.total(), occluded.total()};
}

template <typename T>
std::int64_t below(std::int64_t n, const T* x, T least, T pivot) {
  std::int64_t found = 0;
  for (std::int64_t i = below_of(n, x, least, pivot, found); i < n; ++i)
    found += x[i] > least && x[i] < pivot;
  return found;
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
std::int64_t plain_scores(const PlainPairs<T>& pairs_, const SimilarityRule& rule_, double* scores) {
  const PlainPairs<T> pairs = pairs_;
  const SimilarityRule rule = rule_;
  const Real one(1.0), none(0.0), half(rule.vector / 2), weight(rule.vector + rule.category);
  const Real floor(static_cast<T>(rule.floor)), near(static_cast<T>(rule.near));
  const Real unknown(category_part(pairs.mine, kAbsent, rule));
  const Real other = pairs.mine == kAbsent ? unknown : none;
  const Real same(category_part(pairs.mine, pairs.mine, rule));
  Counter n_near;
  for (std::int64_t j = 0; j < pairs.n; j += kLanes) {
    const std::int64_t left = pairs.n - j;
    const Real cosine = load(pairs.cosines + j, left);
    Real part = select(equal(pairs.categories + j, left, pairs.mine), same, other);
    part = select(equal(pairs.categories + j, left, kAbsent), unknown, part);
    const Real score = ((cosine + one) * half + part) / weight;
    store(scores + j, select(cosine < floor, none, select(score < one, score, one)), left);
    n_near.add((absolute(cosine - floor) < near) & (counting(j) < Real(static_cast<double>(pairs.n))));
  }
  return n_near.total();
}

template <typename T>
constexpr Reproject<T> reproject_table() {
  return {land<T>, agree<T, Nearest>, agree<T, Bilinear>, distance<T>, round_trip<T>, sampled<T>};
}

constexpr Unfused table() {
  return {reproject_table<float>(),         reproject_table<double>(), {below<float>, between<float>},
          {below<double>, between<double>}, plain_scores<float>,       plain_scores<double>};
}

}  // namespace
}  // namespace wmb::isa
