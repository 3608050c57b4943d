// SPDX-License-Identifier: Apache-2.0
#include "cuda/align.h"

#include <cmath>

#include "cuda/trajectory.h"

namespace wmb::cuda {
namespace {

// The points that count once more, with weights of mean one, about their weighted mean.
template <typename T>
__device__ void weigh(const Pair<false, T>& pair, WarpShared& shared, Collected& found) {
  __syncwarp();
  const double largest = found.largest_weight, counted = found.counted;
  if (counted == 0.0 || found.refused != Reason::ok) return;
  const Vec3<double> x0 = found.moments.origin_x, y0 = found.moments.origin_y;
  double sums[7] = {};
  for (std::size_t k = member<kLanes>(); k < pair.n; k += kLanes) {
    if (!counts(pair, k)) continue;
    const double weight = pair.weight(k) / largest;  // so that neither the sum nor its inverse leaves float64
    const Vec3<double> x = weight * (pair.x(k) - x0), y = weight * (pair.y(k) - y0);
    const double add[7] = {weight, x.x, x.y, x.z, y.x, y.y, y.z};
    for (int i = 0; i < 7; ++i) sums[i] += add[i];
  }
  block_sums<kLanes, 7>(sums, shared.sums);
  const double over = 1.0 / sums[0], one = counted / sums[0];
  const Vec3<double> mean_x = x0 + over * Vec3<double>{sums[1], sums[2], sums[3]};
  const Vec3<double> mean_y = y0 + over * Vec3<double>{sums[4], sums[5], sums[6]};
  Summed about;
  for (std::size_t k = member<kLanes>(); k < pair.n; k += kLanes) {
    if (!counts(pair, k)) continue;
    const double weight = pair.weight(k) / largest * one;
    about.of[17] += weight;
    about.add(pair.x(k) - mean_x, pair.y(k) - mean_y, weight);
  }
  block_sums<kLanes, kSums>(about.of, shared.sums);
  if (member<kLanes>() != 0) return;
  about.write(about.of[17], mean_x, mean_y, found.moments);
  found.largest_weight = largest / one;  // by which a weight is divided
}

// The sum of the squared distances, where the moments do not tell it.
template <typename T>
__device__ double squares(const Pair<false, T>& pair, const Collected& found, const Residual& r,
                          WarpShared& shared) {
  double sum = 0.0;
  for (std::size_t k = member<kLanes>(); k < pair.n; k += kLanes) {
    if (!counts(pair, k)) continue;
    const Vec3<double> off = off_target(r, pair.x(k), pair.y(k));
    sum += pair.weights == nullptr ? dot(off, off) : pair.weight(k) / found.largest_weight * dot(off, off);
  }
  return block_sum<kLanes>(sum, shared.sums);
}

template <typename T>
__global__ void __launch_bounds__(kThreads, kBlocks)
    fit_points(Tracks<T> tracks, bool with_scale, FitsOut<T> out) {
  __shared__ BlockShared shared;
  const std::size_t n = tracks.items.n;
  for_group(n, [&](std::size_t item, unsigned at) {
    const Pair<false, T> pair(tracks, item);
    collect(pair, pair.n, shared.warp[at], shared.collected[at]);
    if (tracks.weights != nullptr) weigh(pair, shared.warp[at], shared.collected[at]);
  });
  fit_collected<false>(tracks, with_scale ? Align::sim3 : Align::se3, shared);
  for_group(n, [&](std::size_t item, unsigned at) {
    const Collected& found = shared.collected[at];
    const Fitted& fitted = shared.fitted[at];
    double sse = fitted.mean_square * found.n_fit;
    if (sse != sse) sse = squares(Pair<false, T>(tracks, item), found, fitted.residual, shared.warp[at]);
    if (member<kLanes>() == 0) write_fit(fitted, found.n_fit, sse, item, out);
  });
}

// Collects and fits the pairs of this block.
template <bool Poses, typename T>
__device__ void fit_group(const Tracks<T>& tracks, const FitOptions& options, BlockShared& shared) {
  for_group(tracks.items.n, [&](std::size_t item, unsigned at) {
    collect(Pair<Poses, T>(tracks, item), options.n_fit, shared.warp[at], shared.collected[at]);
  });
  fit_collected<Poses>(tracks, options.align, shared);
}

template <typename T>
__device__ inline bool all_finite(const T* from, int n) {
  double check = 0.0;
  for (int i = 0; i < n; ++i) check += static_cast<double>(from[i] - from[i]);
  return check == 0.0;
}

// The pose, or point, at k, moved. What is not finite becomes NaN throughout.
template <bool Poses, typename T>
__device__ void write_moved(const Pair<Poses, T>& pair, std::size_t k, bool project, const Fitted& fitted,
                            T* to) {
  constexpr int kOf = Poses ? 16 : 3;
  if (k >= pair.n || !all_finite(pair.est + kOf * k, kOf)) {
    for (int i = 0; i < kOf; ++i) to[i] = static_cast<T>(std::nan(""));
    return;
  }
  const Vec3<double> moved = aligned_point(fitted.residual, pair.x(k));
  const double p[3] = {moved.x, moved.y, moved.z};
  if constexpr (Poses) {
    const Mat3<double> turned = fitted.orientation * clean_pose(pair.est, k, project).r;
    for (int i = 0; i < 9; ++i) to[4 * (i / 3) + i % 3] = static_cast<T>(turned.m[i]);
    for (int i = 12; i < 16; ++i) to[i] = pair.est[kOf * k + i];
  }
  for (int i = 0; i < 3; ++i) to[Poses ? 4 * i + 3 : i] = static_cast<T>(p[i]);
}

template <bool Poses, typename T>
__global__ void __launch_bounds__(kThreads, kBlocks)
    move(Tracks<T> tracks, FitOptions options, T* aligned, FitsOut<T> fits) {
  __shared__ BlockShared shared;
  fit_group<Poses>(tracks, options, shared);
  for_group(tracks.items.n, [&](std::size_t item, unsigned at) {
    const Pair<Poses, T> pair(tracks, item);
    const Collected& found = shared.collected[at];
    const Fitted& fitted = shared.fitted[at];
    const bool refused = found.refused != Reason::ok, plain = found.counted == static_cast<double>(pair.n);
    T* to = aligned + (Poses ? 16 : 3) * tracks.items.begin(item);
    double sse = 0.0;
    for (std::size_t k = member<kLanes>(); k < tracks.items.room(item); k += kLanes) {
      write_moved(pair, refused ? pair.n : k, found.deviation > kAsIs, fitted, to + (Poses ? 16 : 3) * k);
      if (k >= pair.n || k >= options.n_fit || !(plain || counts(pair, k))) continue;
      const Vec3<double> off = off_target(fitted.residual, pair.x(k), pair.y(k));
      sse += dot(off, off);
    }
    sse = block_sum<kLanes>(sse, shared.warp[at].sums);
    if (member<kLanes>() == 0) write_fit(fitted, found.n_fit, sse, item, fits);
  });
}

// The error of the pair at k, which counts, by its positions, and by `relation` if that is another.
struct PoseError {
  double squared_distance, value;
};

template <bool Poses, typename T>
__device__ PoseError error_at(const Pair<Poses, T>& pair, std::size_t k, const Vec3<double>& off,
                              const Fitted& fitted, Relation relation, double deviation) {
  const double squared = dot(off, off);
  if constexpr (Poses) {
    if (relation != Relation::translation && relation != Relation::point_distance) {
      const bool project = deviation > kAsIs;
      const Mat3<double> turned = fitted.orientation * clean_pose(pair.est, k, project).r;
      const Pose<double> e = absolute_error(turned, off, clean_pose(pair.ref, k, project).r);
      return {squared, error_of(e, relation, deviation > kPolishAbove)};
    }
  }
  return {squared, square_root(squared)};
}

template <bool Poses, typename T>
__global__ void __launch_bounds__(kThreads, kBlocks)
    absolute_errors(Tracks<T> tracks, FitOptions options, Relation relation, ApeOut<T> out,
                    double* workspace) {
  __shared__ BlockShared shared;
  fit_group<Poses>(tracks, options, shared);
  const std::size_t n_items = tracks.items.n;
  for_group(n_items, [&](std::size_t item, unsigned at) {
    const Pair<Poses, T> pair(tracks, item);
    const Collected& found = shared.collected[at];
    const Fitted& fitted = shared.fitted[at];
    const bool refused = found.refused != Reason::ok, plain = found.counted == static_cast<double>(pair.n);
    const std::size_t begin = tracks.items.begin(item);
    WarpShared& mine = shared.warp[at];
    double* errors = pair.n <= kHeld ? mine.held() : workspace + begin;
    double sse = 0.0;
    for_points(pair, pair.n, [&](std::size_t k, const Vec3<double>& x, const Vec3<double>& y) {
      PoseError error{0.0, std::nan("")};
      if (!refused && (plain || counts(pair, k)))
        error = error_at(pair, k, off_target(fitted.residual, x, y), fitted, relation, found.deviation);
      out.errors[begin + k] = static_cast<T>(error.value);
      errors[k] = error.value;
      if (k < options.n_fit) sse += error.squared_distance;
    });
    for (std::size_t k = pair.n + member<kLanes>(); k < tracks.items.room(item); k += kLanes)
      out.errors[begin + k] = static_cast<T>(std::nan(""));
    sse = block_sum<kLanes>(sse, mine.sums);
    write_statistics<kLanes>(errors, pair.n, fitted.fit.reason, Reason::not_finite, item, n_items, mine.sums,
                             mine.select, out.statistics);
    if (member<kLanes>() != 0) return;
    out.deviation[item] = static_cast<T>(refused ? 0.0 : found.deviation);
    write_fit(fitted, found.n_fit, sse, item, out.fits);
  });
}

}  // namespace

template <typename T>
int umeyama(const Tracks<T>& tracks, bool with_scale, const FitsOut<T>& fits, cudaStream_t stream) {
  if (tracks.items.n == 0) return 0;
  return launch(fit_points<T>, dim3(groups_of(tracks.items.n)), dim3(kThreads), stream, tracks, with_scale,
                fits);
}

template <typename T>
int align_trajectory(const Tracks<T>& tracks, bool poses, FitOptions options, T* aligned,
                     const FitsOut<T>& fits, cudaStream_t stream) {
  if (tracks.items.n == 0) return 0;
  return launch(poses ? move<true, T> : move<false, T>, dim3(groups_of(tracks.items.n)), dim3(kThreads),
                stream, tracks, options, aligned, fits);
}

bool ape_needs_workspace(std::size_t most) { return most > kHeld; }

template <typename T>
int ape(const Tracks<T>& tracks, bool poses, FitOptions options, Relation relation, const ApeOut<T>& out,
        double* workspace, cudaStream_t stream) {
  if (tracks.items.n == 0) return 0;
  return launch(poses ? absolute_errors<true, T> : absolute_errors<false, T>, dim3(groups_of(tracks.items.n)),
                dim3(kThreads), stream, tracks, options, relation, out, workspace);
}

#define WMB_INSTANTIATE(T)                                                                                \
  template int umeyama(const Tracks<T>&, bool, const FitsOut<T>&, cudaStream_t);                          \
  template int align_trajectory(const Tracks<T>&, bool, FitOptions, T*, const FitsOut<T>&, cudaStream_t); \
  template int ape(const Tracks<T>&, bool, FitOptions, Relation, const ApeOut<T>&, double*, cudaStream_t);
WMB_INSTANTIATE(float)
WMB_INSTANTIATE(double)
#undef WMB_INSTANTIATE

}  // namespace wmb::cuda
