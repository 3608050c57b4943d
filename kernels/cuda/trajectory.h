// SPDX-License-Identifier: Apache-2.0
// What the kernels of trajectories share: each warp of a block takes a pair of them, sums it, and then the
// block fits its pairs side by side, a lane each. A fit is a long chain of dependent operations, which one
// lane takes as long for as four; and a few pairs fit the caches until they are read again.
#pragma once

#include "cuda/reduce.h"
#include "cuda/select.h"
#include "cuda/tracks.h"

namespace wmb::cuda {

constexpr unsigned kGroup = 4;  // pairs of trajectories of a block
constexpr int kLanes = 32;      // that work on one of them
constexpr int kThreads = kGroup * kLanes;
constexpr int kBlocks = 4;  // of a multiprocessor, at least: 128 registers a thread
constexpr int kSums = 19;   // the moments' 17, and two counts

// What was found of one pair on the way to its fit.
struct Collected {
  Moments moments;
  std::size_t first;      // the first that counts
  double counted, n_fit;  // how many count, and how many of those are fitted to
  double largest_weight;  // of those that count
  double deviation;       // the largest of the poses that were looked at
  Reason refused;         // ok where nothing was
};

struct Fitted {
  Spread spread;
  Svd3<double> decomposed;
  Sim3 fit;
  Residual residual;
  Mat3<double> orientation;  // what turns the estimate's orientations
  double mean_square;        // of the distances, where the moments tell it; else NaN
};

// Errors are held where sums were, all but the room that their own sums need.
constexpr int kErrorSums = 2;
constexpr std::size_t kHeld = (kSums - kErrorSums) * kLanes;

struct WarpShared {
  double sums[kSums * kLanes];
  SelectShared select;

  __device__ double* held() { return sums + kErrorSums * kLanes; }
};

struct BlockShared {
  WarpShared warp[kGroup];
  Collected collected[kGroup];
  Fitted fitted[kGroup];
};

template <typename T>
struct alignas(16) Sixteen {
  T at[16 / sizeof(T)];
};

// Four numbers that begin on a boundary of 16 bytes, in loads of as many.
template <typename T>
__device__ inline void load_four(const T* from, double (&to)[4]) {
  constexpr int kOf = 16 / sizeof(T);
  for (int part = 0; part < 4 / kOf; ++part) {
    const Sixteen<T> here = reinterpret_cast<const Sixteen<T>*>(from)[part];
    for (int k = 0; k < kOf; ++k) to[kOf * part + k] = static_cast<double>(here.at[k]);
  }
}

template <typename T>
__device__ inline Pose<double> load_pose(const T* from) {
  Pose<double> pose;
  double row[3][4];
  for (int i = 0; i < 3; ++i) load_four(from + 4 * i, row[i]);
  for (int i = 0; i < 9; ++i) pose.r.m[i] = row[i / 3][i % 3];
  pose.p = {row[0][3], row[1][3], row[2][3]};
  return pose;
}

// A pose, or the nearest one where it is off by more than what a text file rounds.
template <typename T>
__device__ inline Pose<double> clean_pose(const T* poses, std::size_t k, bool project) {
  Pose<double> pose = load_pose(poses + 16 * k);
  if (project && orthogonality_deviation(pose.r) > kAsIs) pose.r = nearest_rotation(pose.r);
  return pose;
}

template <bool Poses, typename T>
__device__ inline Vec3<double> load_point(const T* from, std::size_t k) {
  const T* p = from + (Poses ? 16 : 3) * k;
  constexpr int at = Poses ? 3 : 0, step = Poses ? 4 : 1;
  return {static_cast<double>(p[at]), static_cast<double>(p[at + step]),
          static_cast<double>(p[at + 2 * step])};
}

__device__ inline bool is_finite(const Vec3<double>& v) {
  return (v.x - v.x) + (v.y - v.y) + (v.z - v.z) == 0.0;
}

// One pair of trajectories of a batch.
template <bool Poses, typename T>
struct Pair {
  const T* est;
  const T* ref;
  const std::uint8_t* mask;
  const T* weights;
  std::size_t n;

  __device__ Pair(const Tracks<T>& all, std::size_t item) {
    const std::size_t begin = all.items.begin(item), at = (Poses ? 16 : 3) * begin;
    est = all.est + at;
    ref = all.ref + at;
    mask = all.mask == nullptr ? nullptr : all.mask + begin;
    weights = all.weights == nullptr ? nullptr : all.weights + begin;
    n = all.items.size(item);
  }
  __device__ Vec3<double> x(std::size_t k) const { return load_point<Poses>(est, k); }
  __device__ Vec3<double> y(std::size_t k) const { return load_point<Poses>(ref, k); }
  __device__ bool masked(std::size_t k) const { return mask != nullptr && mask[k] == 0; }
  __device__ double weight(std::size_t k) const {
    return weights == nullptr ? 1.0 : static_cast<double>(weights[k]);
  }
};

// The deviation of a pose as core/trajectory.h has it.
template <typename T>
__device__ inline double deviation_at(const T* poses, std::size_t k) {
  double last[4];
  load_four(poses + 16 * k + 12, last);
  return pose_deviation(load_pose(poses + 16 * k), last);
}

// Whether the pair at k is to be used, if it is finite; a weight that is none is `refused`.
template <bool Poses, typename T>
__device__ inline bool is_used(const Pair<Poses, T>& pair, std::size_t k, unsigned& refused) {
  if (pair.masked(k)) return false;
  if (pair.weights == nullptr) return true;
  const double weight = pair.weight(k);
  if (!(weight >= 0.0 && weight - weight == 0.0)) refused = 1;
  return weight > 0.0;
}

// Whether the pair at k counts. What cannot be said of the item as a whole goes to `deviation` and `refused`.
template <bool Poses, typename T>
__device__ inline bool counts(const Pair<Poses, T>& pair, std::size_t k, double& deviation,
                              unsigned& refused) {
  if (!is_used(pair, k, refused)) return false;
  if constexpr (Poses) {
    const double est = deviation_at(pair.est, k), ref = deviation_at(pair.ref, k);
    if (is_refused(est) || is_refused(ref)) refused = 1;
    deviation = larger(deviation, larger(est == est ? est : 0.0, ref == ref ? ref : 0.0));
    return est + ref == est + ref;
  } else {
    return is_finite(pair.x(k)) && is_finite(pair.y(k));
  }
}

template <bool Poses, typename T>
__device__ inline bool counts(const Pair<Poses, T>& pair, std::size_t k) {
  double deviation = 0.0;
  unsigned refused = 0;
  return counts(pair, k, deviation, refused);
}

// The first that counts, in every lane; n where none does.
template <bool Poses, typename T>
__device__ std::size_t first_that_counts(const Pair<Poses, T>& pair) {
  for (std::size_t base = 0; base < pair.n; base += kLanes) {
    const std::size_t k = base + member<kLanes>();
    const unsigned which = __ballot_sync(kAllLanes, k < pair.n && counts(pair, k));
    if (which != 0) return base + static_cast<std::size_t>(__popc((which & (0u - which)) - 1));
  }
  return pair.n;
}

// The moments of points given one at a time about two origins.
struct Summed {
  double of[kSums] = {};

  __device__ void add(const Vec3<double>& x, const Vec3<double>& y, double weight) {
    const double dx[3] = {x.x, x.y, x.z}, dy[3] = {y.x, y.y, y.z};
    for (int i = 0; i < 3; ++i) {
      const double wx = weight * dx[i], wy = weight * dy[i];
      of[i] += wx;
      of[3 + i] += wy;
      of[6] += wx * dx[i];
      of[7] += wy * dy[i];
      for (int j = 0; j < 3; ++j) of[8 + 3 * i + j] += wy * dx[j];
    }
  }
  __device__ void write(double weight, const Vec3<double>& origin_x, const Vec3<double>& origin_y,
                        Moments& to) const {
    to.weight = weight;
    to.origin_x = origin_x;
    to.origin_y = origin_y;
    to.x = {of[0], of[1], of[2]};
    to.y = {of[3], of[4], of[5]};
    to.xx = of[6];
    to.yy = of[7];
    for (int i = 0; i < 9; ++i) to.yx.m[i] = of[8 + i];
  }
};

// Calls body(k, x, y) for the poses before `end`, in each lane for its own; some loads go ahead of the calls.
template <bool Poses, typename T, typename Body>
__device__ inline void for_points(const Pair<Poses, T>& pair, std::size_t end, Body body) {
  constexpr int kAtOnce = Poses ? 1 : 3;  // as many as fit the registers
  for (std::size_t base = member<kLanes>(); base < end; base += kAtOnce * kLanes) {
    Vec3<double> x[kAtOnce], y[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const std::size_t k = base + u * kLanes, at = k < end ? k : base;
      x[u] = pair.x(at);
      y[u] = pair.y(at);
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      if (base + u * kLanes < end) body(base + u * kLanes, x[u], y[u]);
  }
}

// One pass over a pair: which count, and the moments of the first n_fit poses about the first that counts.
template <bool Poses, typename T>
__device__ void collect(const Pair<Poses, T>& pair, std::size_t n_fit, WarpShared& shared, Collected& out) {
  const std::size_t first = first_that_counts(pair);
  const bool any = first < pair.n;
  const Vec3<double> zero{0, 0, 0}, origin_x = any ? pair.x(first) : zero,
                                    origin_y = any ? pair.y(first) : zero;
  Summed sums;
  double deviation = 0.0, largest = 0.0;
  unsigned refused = 0;
  auto add = [&](std::size_t k, const Vec3<double>& x, const Vec3<double>& y) {
    sums.of[17] += 1.0;
    if (k >= n_fit) return;
    sums.of[18] += 1.0;
    sums.add(x - origin_x, y - origin_y, 1.0);
  };
  if constexpr (Poses) {
    for (std::size_t k = member<kLanes>(); k < pair.n; k += kLanes)
      if (counts(pair, k, deviation, refused)) add(k, pair.x(k), pair.y(k));
  } else {
    for_points(pair, pair.n, [&](std::size_t k, const Vec3<double>& x, const Vec3<double>& y) {
      if (!is_used(pair, k, refused) || !is_finite(x) || !is_finite(y)) return;
      largest = larger(largest, pair.weight(k));
      add(k, x, y);
    });
  }
  block_sums<kLanes, kSums>(sums.of, shared.sums);
  const bool any_refused = __any_sync(kAllLanes, refused != 0) != 0;
  // Of the lanes' deviations, or weights: one of the two is zero.
  const Key above = ~block_least<kLanes>(~key_of(larger(deviation, largest)), shared.select);
  if (member<kLanes>() != 0) return;
  sums.write(sums.of[18], origin_x, origin_y, out.moments);
  out.first = first;
  out.counted = sums.of[17];
  out.n_fit = sums.of[18];
  out.deviation = Poses ? number_of(above) : 0.0;
  out.largest_weight = Poses ? 1.0 : number_of(above);
  out.refused = !any_refused ? Reason::ok : Poses ? Reason::not_a_pose : Reason::weight_not_usable;
}

// Calls body(item, its place in the group) for the items of this block, in all lanes of a warp each.
template <typename Body>
__device__ void for_group(std::size_t n_items, Body body) {
  const unsigned at = threadIdx.x / kLanes;
  const std::size_t item = std::size_t{blockIdx.x} * kGroup + at;
  if (item < n_items) body(item, at);
}

// The same in one thread an item, and a barrier on either side.
template <typename Body>
__device__ void each_of_group(std::size_t n_items, Body body) {
  const std::size_t item = std::size_t{blockIdx.x} * kGroup + threadIdx.x;
  __syncthreads();
  if (threadIdx.x < kGroup && item < n_items) body(item, threadIdx.x);
  __syncthreads();
}

// The fit of one pair, by one thread, from its spread and the decomposition of its covariance.
template <bool Poses, typename T>
__device__ void solve_one(const Pair<Poses, T>& pair, const Collected& found, Align align, Fitted& out) {
  out.mean_square = std::nan("");
  if (found.refused != Reason::ok) {
    const Mat3<double> open = std::nan("") * identity3();
    const Vec3<double> none = row(open, 0);
    out.fit = {open, none, none.x, 0, found.refused};
    out.residual = {open, none, none, none};
    out.orientation = open;
    return;
  }
  constexpr double epsilon = sizeof(T) == 4 ? 1.1920928955078125e-07 : 2.220446049250313e-16;
  if (is_fitted(align)) {
    out.fit = solve(found.moments, out.spread, out.decomposed, found.n_fit, epsilon, align != Align::se3);
    out.residual = residual_of(out.fit, found.moments, out.spread);
    out.mean_square = mean_square_of(out.fit, out.spread, out.decomposed);
    if (align == Align::scale) out.residual = residual_in_place(scale_of(out.fit));
  } else {
    out.fit = nothing_fitted(found.counted > 0.0);
    out.residual = residual_in_place(1.0);
    if (found.n_fit > 0.0 && is_coarse(found.moments, out.spread, epsilon))
      out.fit.reason = Reason::coarse_coordinates;
    if constexpr (Poses) {
      if (align == Align::origin && found.counted > 0.0)
        fit_onto(load_pose(pair.est + 16 * found.first), load_pose(pair.ref + 16 * found.first), out.fit,
                 out.residual);
    }
  }
  out.orientation = orientation_of(out.fit, align);
}

// Fits the pairs of this block, which have been collected. In three steps with barriers between them, so that
// no more than one step's numbers are in registers: what fits least decides how many blocks run side by side.
template <bool Poses, typename T>
__device__ void fit_collected(const Tracks<T>& tracks, Align align, BlockShared& shared) {
  const std::size_t n = tracks.items.n;
  each_of_group(n, [&](std::size_t, unsigned at) {
    shared.fitted[at].spread = spread_of(shared.collected[at].moments);
  });
  if (is_fitted(align)) {
    each_of_group(n, [&](std::size_t, unsigned at) {
      shared.fitted[at].decomposed = svd3(shared.fitted[at].spread.covariance);
    });
  }
  each_of_group(n, [&](std::size_t item, unsigned at) {
    solve_one(Pair<Poses, T>(tracks, item), shared.collected[at], align, shared.fitted[at]);
  });
}

inline unsigned groups_of(std::size_t n_items) {
  return static_cast<unsigned>((n_items + kGroup - 1) / kGroup);
}

// A fit as it is given; `sse` is the sum of the squared distances of the points it was fitted to. By one
// thread.
template <typename T>
__device__ void write_fit(const Fitted& fitted, double n_fit, double sse, std::size_t item,
                          const FitsOut<T>& out) {
  const Sim3& f = fitted.fit;
  for (int i = 0; i < 9; ++i) out.rotation[9 * item + i] = static_cast<T>(f.rotation.m[i]);
  const double to[3] = {f.translation.x, f.translation.y, f.translation.z};
  for (int i = 0; i < 3; ++i) out.translation[3 * item + i] = static_cast<T>(to[i]);
  out.scale[item] = static_cast<T>(f.scale);
  out.rmse[item] = static_cast<T>(n_fit > 0.0 ? std::sqrt(sse / n_fit) : std::nan(""));
  out.rank[item] = f.rank;
  write_reason(f.reason, item, out.code, out.status);
  if (out.aligned != nullptr) out.aligned[item] = static_cast<std::uint8_t>(aligned_status(f.reason));
}

// The statistics of the errors that are not NaN, by a block or a warp; `sums` has room for kErrorSums numbers
// a thread. `otherwise` is why there is none where the alignment does not say it.
template <int Threads, typename T>
__device__ void write_statistics(const double* errors, std::size_t n, Reason aligned, Reason otherwise,
                                 std::size_t item, std::size_t n_items, double* sums, SelectShared& select,
                                 const StatisticsOut<T>& out) {
  auto error_at = [&](std::size_t k) { return errors[k]; };
  const Extent extent = block_extent<Threads>(error_at, n, select);
  const double nan = std::nan(""), count = static_cast<double>(extent.count);
  double numbers[7] = {nan, nan, nan, nan, nan, nan, nan};
  if (extent.count > 0) {
    double of_errors[kErrorSums] = {0.0, 0.0}, off = 0.0;
    for (std::size_t k = member<Threads>(); k < n; k += Threads) {
      const double e = errors[k];
      if (e != e) continue;
      of_errors[0] += e;
      of_errors[1] += e * e;
    }
    block_sums<Threads, kErrorSums>(of_errors, sums);
    const double mean = of_errors[0] / count;
    for (std::size_t k = member<Threads>(); k < n; k += Threads) {
      const double e = errors[k] - mean;
      if (errors[k] == errors[k]) off += e * e;
    }
    off = block_sum<Threads>(off, sums);
    numbers[0] = std::sqrt(of_errors[1] / count);
    numbers[1] = mean;
    numbers[2] = block_median<Threads>(error_at, n, extent, select);
    numbers[3] = std::sqrt(off / count);
    numbers[4] = number_of(extent.least);
    numbers[5] = number_of(extent.largest);
    numbers[6] = of_errors[1];
  }
  if (member<Threads>() != 0) return;
  for (int k = 0; k < 7; ++k) out.numbers[k * n_items + item] = static_cast<T>(numbers[k]);
  out.count[item] = static_cast<std::int64_t>(extent.count);
  const bool none = extent.count == 0;
  const Reason reason = none && aligned == Reason::ok ? otherwise : aligned;
  out.code[item] = static_cast<std::uint8_t>(reason);
  out.status[item] = static_cast<std::uint8_t>(none ? Status::missing : aligned_status(reason));
}

}  // namespace wmb::cuda
