// SPDX-License-Identifier: Apache-2.0
// The bodies of cpu/trajectory_kernels.h, compiled once for each instruction set. No std containers, nothing
// with external linkage but the one table: WMB_TRAJECTORY_TABLE names it.
#include "cpu/isa/lanes.h"
#include "cpu/isa/numbers.inc.h"
#include "cpu/trajectory_kernels.h"

namespace wmb {
namespace {

// How many numbers ahead a pass over memory asks for: beyond the page, where the hardware's own look-ahead
// ends.
constexpr std::size_t kAhead = 768;
constexpr std::size_t kPosesAhead = 16 * 16;
constexpr std::size_t kFour = 3 * kLanes;  // numbers of four points

struct PointLanes {
  Lanes x, y, z;
};

inline PointLanes points_at(const double* p) {
  PointLanes out;
  load_points(p, out.x, out.y, out.z);
  return out;
}

// The last, up to four, points of a row, about `origin`; lanes beyond them are zero.
inline PointLanes last_points(const double* p, std::size_t n, const double* origin) {
  double padded[3 * kLanes];
  for (int i = 0; i < 3 * kLanes; ++i) padded[i] = static_cast<std::size_t>(i) < 3 * n ? p[i] : origin[i % 3];
  return points_at(padded);
}

// Asks for the lines of eight points that will be read before long. An address beyond the end does no harm.
inline void fetch(const double* at) {
  __builtin_prefetch(at, 0, 2);
  __builtin_prefetch(at + 8, 0, 2);
  __builtin_prefetch(at + 16, 0, 2);
}

struct MomentLanes {
  Lanes x[3], y[3], xx, yy, yx[9];
};

struct PointPairs {
  Lanes x[3], y[3];
};

inline PointPairs pairs_about(const PointLanes& px, const PointLanes& py, const PointLanes& ox,
                              const PointLanes& oy) {
  return {{px.x - ox.x, px.y - ox.y, px.z - ox.z}, {py.x - oy.x, py.y - oy.y, py.z - oy.z}};
}

// Adds eight pairs of points, the first and the second four summed beforehand: there are more sums than
// registers, and each is so fetched and put back half as often.
inline void add_points(MomentLanes& m, const PointPairs& a, const PointPairs& b) {
  for (int i = 0; i < 3; ++i) {
    m.x[i] = m.x[i] + (a.x[i] + b.x[i]);
    m.y[i] = m.y[i] + (a.y[i] + b.y[i]);
    for (int j = 0; j < 3; ++j) m.yx[3 * i + j] = m.yx[3 * i + j] + (a.y[i] * a.x[j] + b.y[i] * b.x[j]);
    m.xx = m.xx + (a.x[i] * a.x[i] + b.x[i] * b.x[i]);
    m.yy = m.yy + (a.y[i] * a.y[i] + b.y[i] * b.y[i]);
  }
}

void moments(const double* x, const double* y, std::size_t n, std::size_t ahead, Moments& out) {
  out = Moments{};
  out.weight = static_cast<double>(n);
  if (n == 0) return;
  out.origin_x = {x[0], x[1], x[2]};
  out.origin_y = {y[0], y[1], y[2]};
  const PointLanes ox{Lanes(x[0]), Lanes(x[1]), Lanes(x[2])}, oy{Lanes(y[0]), Lanes(y[1]), Lanes(y[2])};
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t end = begin + kBlock < n ? begin + kBlock : n;
    MomentLanes m;
    std::memset(&m, 0, sizeof m);
    std::size_t k = begin;
    for (; k + 2 * kLanes <= end; k += 2 * kLanes) {
      const double *px = x + 3 * k, *py = y + 3 * k;
      fetch(px + (ahead == 0 ? kAhead : ahead));
      if (ahead == 0) fetch(py + kAhead);
      const PointPairs first = pairs_about(points_at(px), points_at(py), ox, oy);
      add_points(m, first, pairs_about(points_at(px + kFour), points_at(py + kFour), ox, oy));
    }
    if (k < end) {
      const double *px = x + 3 * k, *py = y + 3 * k;
      const std::size_t rest = end - k, more = rest > kLanes ? rest - kLanes : 0;
      const PointPairs first = pairs_about(last_points(px, rest, x), last_points(py, rest, y), ox, oy);
      add_points(m, first,
                 pairs_about(last_points(px + kFour, more, x), last_points(py + kFour, more, y), ox, oy));
    }
    out.x = {out.x.x + sum_of(m.x[0]), out.x.y + sum_of(m.x[1]), out.x.z + sum_of(m.x[2])};
    out.y = {out.y.x + sum_of(m.y[0]), out.y.y + sum_of(m.y[1]), out.y.z + sum_of(m.y[2])};
    out.xx += sum_of(m.xx);
    out.yy += sum_of(m.yy);
    for (int i = 0; i < 9; ++i) out.yx.m[i] += sum_of(m.yx[i]);
  }
}

inline Lanes gather(const double& a, const double& b, const double& c, const double& d) {
  return Lanes(Doubles{a, b, c, d});
}

inline void scatter(const Vec3<Lanes>& v, int lane, Vec3<double>& out) {
  out = {v.x.v[lane], v.y.v[lane], v.z.v[lane]};
}

void svd(const Mat3<double> (&matrices)[4], Svd3<double> (&out)[4]) {
  Mat3<Lanes> packed;
  for (int i = 0; i < 9; ++i)
    packed.m[i] = gather(matrices[0].m[i], matrices[1].m[i], matrices[2].m[i], matrices[3].m[i]);
  const Svd3<Lanes> d = svd3(packed);
  for (int lane = 0; lane < kLanes; ++lane) {
    scatter(d.u1, lane, out[lane].u1);
    scatter(d.u2, lane, out[lane].u2);
    scatter(d.v1, lane, out[lane].v1);
    scatter(d.v2, lane, out[lane].v2);
    out[lane].s1 = d.s1.v[lane];
    out[lane].s2 = d.s2.v[lane];
    out[lane].s3 = d.s3.v[lane];
  }
}

struct ResidualLanes {
  Mat3<Lanes> m;
  Vec3<Lanes> from, to, shift;
};

inline Vec3<Lanes> spread_out(const Vec3<double>& v) { return {Lanes(v.x), Lanes(v.y), Lanes(v.z)}; }

inline Mat3<Lanes> spread_out(const Mat3<double>& a) {
  Mat3<Lanes> out;
  for (int i = 0; i < 9; ++i) out.m[i] = Lanes(a.m[i]);
  return out;
}

inline ResidualLanes spread_out(const Residual& r) {
  return {spread_out(r.m), spread_out(r.from), spread_out(r.to), spread_out(r.shift)};
}

inline Vec3<Lanes> residual(const ResidualLanes& r, const Vec3<Lanes>& x, const Vec3<Lanes>& y) {
  return (r.m * (x - r.from) + r.shift) - (y - r.to);
}

inline void store_some(double* to, const Lanes& values, std::size_t count) {
  for (std::size_t lane = 0; lane < count && lane < kLanes; ++lane) to[lane] = values.v[lane];
}

// Squared distances of the four points from k on, of which those from n on are made up.
inline Lanes squared_distances(const ResidualLanes& r, const double* x, const double* y, std::size_t k,
                               std::size_t n) {
  const bool all = k + kLanes <= n;
  const PointLanes px = all ? points_at(x + 3 * k) : last_points(x + 3 * k, n - k, x);
  const PointLanes py = all ? points_at(y + 3 * k) : last_points(y + 3 * k, n - k, y);
  const Vec3<Lanes> e = residual(r, {px.x, px.y, px.z}, {py.x, py.y, py.z});
  return dot(e, e);
}

// The work of `distances`, with errors and their sums or without.
template <bool kErrors>
inline double distances_of(const double* x, const double* y, std::size_t n, std::size_t n_fit,
                           std::size_t ahead, const Residual& plain, double* errors, ErrorSums* sums) {
  const ResidualLanes r = spread_out(plain);
  double total = 0.0;
  SumLanes of_errors;
  if (kErrors) of_errors.start(square_root(squared_distances(r, x, y, 0, n)).v[0]);
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t end = begin + kBlock < n ? begin + kBlock : n;
    Lanes sum(0.0);
    std::size_t k = begin;
    if (kErrors) of_errors.open();
    for (; k + 2 * kLanes <= end && k + 2 * kLanes <= n_fit; k += 2 * kLanes) {
      fetch(y + 3 * k + ahead);
      const Lanes first = squared_distances(r, x, y, k, n),
                  second = squared_distances(r, x, y, k + kLanes, n);
      sum = sum + first;
      sum = sum + second;
      if (!kErrors) continue;
      const Lanes off = square_root(first), next = square_root(second);
      store4(errors + k, off.v);
      store4(errors + k + kLanes, next.v);
      of_errors.add(off);
      of_errors.add(next);
    }
    for (; k < end; k += kLanes) {
      const Lanes squared = squared_distances(r, x, y, k, n);
      const std::size_t here = end - k < kLanes ? end - k : kLanes;
      for (std::size_t lane = 0; lane < here && k + lane < n_fit; ++lane) sum.v[lane] += squared.v[lane];
      if (!kErrors) continue;
      store_some(errors + k, square_root(squared), here);
      of_errors.add_some(errors + k, here);
    }
    total += sum_of(sum);
    if (kErrors) of_errors.close(*sums);
  }
  if (kErrors) of_errors.finish(*sums);
  return total;
}

double distances(const double* x, const double* y, std::size_t n, std::size_t n_fit, std::size_t ahead,
                 const Residual& r, double* errors, ErrorSums* sums) {
  if (errors == nullptr) return distances_of<false>(x, y, n, n_fit, ahead, r, nullptr, nullptr);
  *sums = ErrorSums{};
  return n == 0 ? 0.0 : distances_of<true>(x, y, n, n_fit, ahead, r, errors, sums);
}

// Four 4x4 poses into lanes; the last rows are not read.
template <typename T>
inline Pose<Lanes> load_poses(const T* a, const T* b, const T* c, const T* d) {
  Lanes rows[3][4];
  for (int i = 0; i < 3; ++i)
    transpose4(load4(a + 4 * i), load4(b + 4 * i), load4(c + 4 * i), load4(d + 4 * i), rows[i]);
  return {{{rows[0][0], rows[0][1], rows[0][2], rows[1][0], rows[1][1], rows[1][2], rows[2][0], rows[2][1],
            rows[2][2]}},
          {rows[0][3], rows[1][3], rows[2][3]}};
}

// The poses k .. k + 3, of which those from n on repeat the last.
template <typename T>
inline Pose<Lanes> load_row(const T* poses, std::size_t k, std::size_t n) {
  const std::size_t last = n - 1;
  const std::size_t b = k + 1 < n ? k + 1 : last, c = k + 2 < n ? k + 2 : last, d = k + 3 < n ? k + 3 : last;
  return load_poses(poses + 16 * k, poses + 16 * b, poses + 16 * c, poses + 16 * d);
}

template <typename T>
void pose_errors(const PosePairs<T>& poses, std::size_t n, const Residual& plain,
                 const Mat3<double>& rotation, Relation relation, bool polish, double* errors) {
  const ResidualLanes r = spread_out(plain);
  const Mat3<Lanes> align = spread_out(rotation);
  for (std::size_t k = 0; k < n; k += kLanes) {
    const Pose<Lanes> est = load_row(poses.est, k, n), ref = load_row(poses.ref, k, n);
    const Mat3<Lanes> turned = align * est.r;
    const Vec3<Lanes> off = residual(r, est.p, ref.p);
    store_some(errors + k, error_of(absolute_error(turned, off, ref.r), relation, polish), n - k);
  }
}

template <typename T>
void errors_of_steps(const PosePairs<T>& poses, const std::int64_t* pairs, std::size_t n,
                     const StepOptions& options, double* translation, double* rotation, double* extra) {
  const StepRule<Lanes> rule{Lanes(options.scale), spread_out(options.rotation),
                             options.world,        options.polish,
                             options.has_extra,    options.extra};
  for (std::size_t k = 0; k < n; k += kLanes) {
    std::size_t first[kLanes], second[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t pair = k + lane < n ? k + lane : n - 1;
      first[lane] = 16 * static_cast<std::size_t>(pairs[2 * pair]);
      second[lane] = 16 * static_cast<std::size_t>(pairs[2 * pair + 1]);
    }
    auto at = [&](const T* base, const std::size_t (&index)[kLanes]) {
      return load_poses(base + index[0], base + index[1], base + index[2], base + index[3]);
    };
    const Step<Lanes> est = step_between(at(poses.est, first), at(poses.est, second));
    const Step<Lanes> ref = step_between(at(poses.ref, first), at(poses.ref, second));
    const StepErrors<Lanes> e = step_errors(est, ref, rule);
    const std::size_t here = n - k;
    store_some(translation + k, e.translation, here);
    store_some(rotation + k, e.rotation_deg, here);
    if (options.has_extra) store_some(extra + k, e.extra, here);
  }
}

// Asks for four poses that will be read before long.
template <typename T>
inline void fetch_poses(const T* at) {
  constexpr std::size_t kLine = 64 / sizeof(T);
  for (std::size_t i = 0; i < 16 * kLanes; i += kLine) __builtin_prefetch(at + i, 0, 2);
}

template <typename T>
bool all_usable(const T* poses, std::size_t n, double* points, double& deviation) {
  Lanes worst(0.0), least_determinant(1.0), off(0.0);
  Doubles everything = {0, 0, 0, 0};
  for (std::size_t k = 0; k < n; k += kLanes) {
    const T* at[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      at[lane] = poses + 16 * (k + lane < n ? k + lane : n - 1);
    fetch_poses(poses + 16 * k + kPosesAhead);
    Lanes last[4];
    transpose4(load4(at[0] + 12), load4(at[1] + 12), load4(at[2] + 12), load4(at[3] + 12), last);
    const Pose<Lanes> p = load_poses(at[0], at[1], at[2], at[3]);
    worst = larger(orthogonality_deviation(p.r), worst);
    const Lanes determinant = dot(cross(row(p.r, 0), row(p.r, 1)), row(p.r, 2));
    least_determinant = select(determinant < least_determinant, determinant, least_determinant);
    off = off + squared_off_last_row(last);
    Doubles sum = p.p.x.v + p.p.y.v + p.p.z.v + off.v;
    for (int i = 0; i < 9; ++i) sum += p.r.m[i].v;
    everything += sum;
    if (points == nullptr) continue;
    for (std::size_t lane = 0; lane < kLanes && k + lane < n; ++lane)
      for (std::size_t i = 0; i < 3; ++i)
        points[3 * (k + lane) + i] = static_cast<double>(at[lane][4 * i + 3]);
  }
  // A sum that is finite has finite terms; one that is not, of terms too large to add, is looked at again.
  const Lanes finite = Lanes(everything) - Lanes(everything);
  deviation = 0.0;
  bool good = true;
  for (int lane = 0; lane < kLanes; ++lane) {
    deviation = worst.v[lane] > deviation ? worst.v[lane] : deviation;
    good &= finite.v[lane] == 0.0 && least_determinant.v[lane] >= 0.0 && off.v[lane] <= kLooseLastRow;
  }
  return good && deviation <= kRefuseAbove;
}

template <typename T>
void deviations(const T* poses, std::size_t n, double* out) {
  for (std::size_t k = 0; k < n; k += kLanes) {
    const T* at[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      at[lane] = poses + 16 * (k + lane < n ? k + lane : n - 1);
    const Pose<Lanes> p = load_poses(at[0], at[1], at[2], at[3]);
    Lanes last[4];
    transpose4(load4(at[0] + 12), load4(at[1] + 12), load4(at[2] + 12), load4(at[3] + 12), last);
    store_some(out + k, pose_deviation(p, last), n - k);
  }
}

}  // namespace

extern const TrajectoryKernels WMB_TRAJECTORY_TABLE = {
    moments,
    svd,
    distances,
    pose_errors<double>,
    pose_errors<float>,
    errors_of_steps<double>,
    errors_of_steps<float>,
    sums,
    count_below,
    keep_between,
    all_usable<double>,
    all_usable<float>,
    deviations<double>,
    deviations<float>,
};

}  // namespace wmb
