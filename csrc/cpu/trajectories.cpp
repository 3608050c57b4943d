// SPDX-License-Identifier: Apache-2.0
#include "cpu/trajectories.h"

namespace wmb {
namespace {

// Zero where finite, NaN elsewhere.
inline double if_finite(double a) { return a - a; }

template <typename T>
Vec3<double> position(const T* base, std::size_t stride, std::size_t k) {
  const T* p = base + stride * k;
  if (stride == kPoint)
    return {static_cast<double>(p[0]), static_cast<double>(p[1]), static_cast<double>(p[2])};
  return {static_cast<double>(p[3]), static_cast<double>(p[7]), static_cast<double>(p[11])};
}

bool finite(const Moments& m) {
  double check = if_finite(m.xx) + if_finite(m.yy);
  for (double v : m.yx.m) check += if_finite(v);
  return check == 0.0;
}

// All points side by side, as they are.
template <typename T>
void copy_points(const Tracks<T>& tracks, std::size_t n, Problem& problem) {
  problem.held_x.resize(3 * n);
  problem.held_y.resize(3 * n);
  const std::size_t at = tracks.stride == kPoint ? 0 : 3, step = tracks.stride == kPoint ? 1 : 4;
  double *x = problem.held_x.data(), *y = problem.held_y.data();
  const T *est = tracks.est + at, *ref = tracks.ref + at;
  for (std::size_t k = 0; k < n; ++k, est += tracks.stride, ref += tracks.stride) {
    for (std::size_t i = 0; i < 3; ++i) {
      x[3 * k + i] = static_cast<double>(est[step * i]);
      y[3 * k + i] = static_cast<double>(ref[step * i]);
    }
  }
}

// Takes out the points that do not count.
void leave_out(const std::uint8_t* mask, std::size_t n, std::size_t n_fit, Problem& problem) {
  double *x = problem.held_x.data(), *y = problem.held_y.data();
  problem.index.resize(n);
  std::size_t kept = 0;
  problem.n_fit = 0;
  for (std::size_t k = 0; k < n; ++k) {
    double check = 0.0;
    for (std::size_t i = 3 * k; i < 3 * k + 3; ++i) check += if_finite(x[i]) + if_finite(y[i]);
    if ((mask != nullptr && mask[k] == 0) || check != 0.0) continue;
    for (std::size_t i = 0; i < 3; ++i) {
      x[3 * kept + i] = x[3 * k + i];
      y[3 * kept + i] = y[3 * k + i];
    }
    problem.index[kept++] = static_cast<std::int64_t>(k);
    if (k < n_fit) ++problem.n_fit;
  }
  problem.n = kept;
  problem.whole = kept == n;
}

// The points themselves, where the kernels can read them.
const double* as_doubles(const double* points) { return points; }
const double* as_doubles(const float*) { return nullptr; }

}  // namespace

template <typename T>
void collect(const Tracks<T>& tracks, const std::uint8_t* mask, std::size_t n, std::int64_t n_fit,
             Problem& problem, std::size_t ahead) {
  const auto& kernels = trajectory_kernels();
  std::size_t first = n_fit < 0 || static_cast<std::size_t>(n_fit) > n ? n : static_cast<std::size_t>(n_fit);
  const bool in_place = sizeof(T) == 8 && tracks.stride == kPoint;
  if (!in_place && !problem.holds_all) copy_points(tracks, n, problem);
  problem.holds_all = false;
  problem.x = in_place ? as_doubles(tracks.est) : problem.held_x.data();
  problem.y = in_place ? as_doubles(tracks.ref) : problem.held_y.data();
  problem.n = problem.n_fit = n;
  problem.whole = true;
  if (mask == nullptr && first == n && n > 0) {
    // Most often every point is finite, and the sums show whether that was so.
    kernels.moments(problem.x, problem.y, n, in_place ? ahead : 0, problem.moments);
    if (finite(problem.moments)) return;
  }
  if (in_place) copy_points(tracks, n, problem);
  problem.x = problem.held_x.data();
  problem.y = problem.held_y.data();
  leave_out(mask, n, first, problem);
  kernels.moments(problem.x, problem.y, problem.n_fit, 0, problem.moments);
}

void fit(Problem* problems, std::size_t count, Align align, double epsilon) {
  if (is_fitted(align)) {
    Mat3<double> covariances[kLanesOfSvd] = {};
    Svd3<double> decompositions[kLanesOfSvd];
    for (std::size_t i = 0; i < count; ++i) {
      Problem& p = problems[i];
      if (p.n_fit == 0) continue;
      p.spread = spread_of(p.moments);
      covariances[i] = p.spread.covariance;
    }
    trajectory_kernels().svd(covariances, decompositions);
    for (std::size_t i = 0; i < count; ++i) {
      Problem& p = problems[i];
      p.fit = solve(p.moments, p.spread, decompositions[i], static_cast<double>(p.n_fit), epsilon,
                    align != Align::se3);
      p.residual = residual_of(p.fit, p.moments, p.spread);
      p.mean_square = mean_square_of(p.fit, p.spread, decompositions[i]);
      if (align == Align::scale) p.residual = residual_in_place(scale_of(p.fit));
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    Problem& p = problems[i];
    p.fit = nothing_fitted(p.n > 0);
    p.residual = residual_in_place(1.0);
    if (p.n_fit == 0) continue;
    p.spread = spread_of(p.moments);
    if (is_coarse(p.moments, p.spread, epsilon)) p.fit.reason = Reason::coarse_coordinates;
  }
}

template <typename T>
void fit_origin(const Tracks<T>& tracks, Problem& problem) {
  if (problem.n == 0) return;
  std::size_t k = problem.whole ? 0 : static_cast<std::size_t>(problem.index[0]);
  fit_onto(pose_at(tracks.est, k), pose_at(tracks.ref, k), problem.fit, problem.residual);
}

void write_fit(const Problem& problem, double sse, double* row) {
  const Sim3& f = problem.fit;
  for (int i = 0; i < 9; ++i) row[i] = f.rotation.m[i];
  row[9] = f.translation.x;
  row[10] = f.translation.y;
  row[11] = f.translation.z;
  row[12] = f.scale;
  row[13] = problem.n_fit > 0 ? std::sqrt(sse / static_cast<double>(problem.n_fit)) : std::nan("");
  row[14] = f.rank;
  row[15] = static_cast<double>(f.reason);
}

namespace {

void deviations(const double* poses, std::size_t n, double* out) {
  trajectory_kernels().deviations(poses, n, out);
}
void deviations(const float* poses, std::size_t n, double* out) {
  trajectory_kernels().deviations_f32(poses, n, out);
}

bool all_usable(const double* poses, std::size_t n, double* points, double& deviation) {
  return trajectory_kernels().all_usable(poses, n, points, deviation);
}
bool all_usable(const float* poses, std::size_t n, double* points, double& deviation) {
  return trajectory_kernels().all_usable_f32(poses, n, points, deviation);
}

// Checks a block of poses of one trajectory; `use` is cleared where one cannot be used.
template <typename T>
void check_block(const T* poses, std::size_t n, const std::uint8_t* mask, std::int64_t first,
                 std::uint8_t* use, PoseCheck& check, std::int64_t& refused) {
  double deviation[kCheckBlock];
  deviations(poses, n, deviation);
  for (std::size_t k = 0; k < n; ++k) {
    if (mask != nullptr && mask[k] == 0) continue;
    double d = deviation[k];
    if (d != d) {
      use[k] = 0;
      check.plain = false;
      continue;
    }
    if (is_refused(d) && refused < 0) refused = first + static_cast<std::int64_t>(k);
    check.project |= d > kAsIs;
    check.polish |= d > kPolishAbove;
    if (d > check.deviation) check.deviation = d;
  }
}

}  // namespace

template <typename T>
PoseCheck check_poses(const Tracks<T>& tracks, const Items& items, std::size_t item, Refused& refused,
                      Problem* gathered) {
  PoseCheck check;
  std::size_t start = items.begin(item), n = items.size(item);
  const std::uint8_t* mask = items.mask == nullptr ? nullptr : items.mask + start;
  if (mask == nullptr) {
    // Most often every pose is one, and a single reading shows it.
    double *x = nullptr, *y = nullptr, est = 0.0, ref = 0.0;
    if (gathered != nullptr) {
      gathered->held_x.resize(3 * n);
      gathered->held_y.resize(3 * n);
      x = gathered->held_x.data();
      y = gathered->held_y.data();
    }
    if (all_usable(tracks.est + kPose * start, n, x, est) &&
        all_usable(tracks.ref + kPose * start, n, y, ref)) {
      check.deviation = est > ref ? est : ref;
      check.project = check.deviation > kAsIs;
      check.polish = check.deviation > kPolishAbove;
      if (gathered != nullptr) gathered->holds_all = true;
      return check;
    }
  }
  check.plain = mask == nullptr;
  if (mask != nullptr)
    check.use.assign(mask, mask + n);
  else
    check.use.assign(n, 1);
  for (std::size_t k = 0; k < n; k += kCheckBlock) {
    std::size_t here = n - k < kCheckBlock ? n - k : kCheckBlock;
    std::int64_t first = static_cast<std::int64_t>(start + k);
    const std::uint8_t* part = mask == nullptr ? nullptr : mask + k;
    check_block(tracks.est + kPose * first, here, part, first, check.use.data() + k, check, refused.est);
    check_block(tracks.ref + kPose * first, here, part, first, check.use.data() + k, check, refused.ref);
  }
  return check;
}

template <typename T>
void project_poses(const T* from, std::size_t n, std::vector<double>& to) {
  to.resize(kPose * n);
  for (std::size_t i = 0; i < kPose * n; ++i) to[i] = static_cast<double>(from[i]);
  for (std::size_t k = 0; k < n; ++k) {
    double* pose = to.data() + kPose * k;
    Mat3<double> r;
    for (int i = 0; i < 9; ++i) r.m[i] = pose[4 * (i / 3) + i % 3];
    if (!(orthogonality_deviation(r) > kAsIs)) continue;
    r = nearest_rotation(r);
    for (int i = 0; i < 9; ++i) pose[4 * (i / 3) + i % 3] = r.m[i];
  }
}

#define WMB_INSTANTIATE(T)                                                                             \
  template void collect<T>(const Tracks<T>&, const std::uint8_t*, std::size_t, std::int64_t, Problem&, \
                           std::size_t);                                                               \
  template void fit_origin<T>(const Tracks<T>&, Problem&);                                             \
  template PoseCheck check_poses<T>(const Tracks<T>&, const Items&, std::size_t, Refused&, Problem*);  \
  template void project_poses<T>(const T*, std::size_t, std::vector<double>&);
WMB_INSTANTIATE(float)
WMB_INSTANTIATE(double)
#undef WMB_INSTANTIATE

}  // namespace wmb
