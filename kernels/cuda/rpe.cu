// SPDX-License-Identifier: Apache-2.0
#include "cuda/rpe.h"

#include <cmath>

#include "cuda/trajectory.h"

namespace wmb::cuda {
namespace {

constexpr std::size_t kHeldSteps = 512;  // errors of a kind that a block holds

// What the second pass is told of an item by the first. Two passes, because what a fit and what an error
// takes would not fit the registers together.
struct Prepared {
  StepRule<double> rule;
  double deviation;
  bool plain;  // every pose counts
  bool refused;
  Reason aligned;
};

constexpr std::size_t kOfPrepared = (sizeof(Prepared) + sizeof(double) - 1) / sizeof(double);

// The sum of the squared distances of the poses that were fitted to.
template <typename T>
__device__ double fitted_squares(const Pair<true, T>& pair, const Collected& found, std::size_t n_fit,
                                 const Residual& r, WarpShared& shared) {
  if (found.n_fit == 0.0) return 0.0;
  const bool plain = found.counted == static_cast<double>(pair.n);
  double sum = 0.0;
  for (std::size_t k = member<kLanes>(); k < pair.n && k < n_fit; k += kLanes) {
    if (!(plain || counts(pair, k))) continue;
    const Vec3<double> off = off_target(r, pair.x(k), pair.y(k));
    sum += dot(off, off);
  }
  return block_sum<kLanes>(sum, shared.sums);
}

template <typename T>
__global__ void __launch_bounds__(kThreads, kBlocks)
    fit_poses(Tracks<T> tracks, RpeOptions options, FitsOut<T> out, T* deviation, Prepared* prepared) {
  __shared__ BlockShared shared;
  const std::size_t n_items = tracks.items.n;
  const Align align = options.fit.align;
  for_group(n_items, [&](std::size_t item, unsigned at) {
    collect(Pair<true, T>(tracks, item), options.fit.n_fit, shared.warp[at], shared.collected[at]);
    if (align == Align::none && member<kLanes>() == 0)
      shared.collected[at].n_fit = 0.0;  // nothing to report on
  });
  fit_collected<true>(tracks, align, shared);
  for_group(n_items, [&](std::size_t item, unsigned at) {
    const Pair<true, T> pair(tracks, item);
    const Collected& found = shared.collected[at];
    const Fitted& fitted = shared.fitted[at];
    const double sse = fitted_squares(pair, found, options.fit.n_fit, fitted.residual, shared.warp[at]);
    if (member<kLanes>() != 0) return;
    const bool refused = found.refused != Reason::ok;
    const StepRule<double> rule{scale_of(fitted.fit), step_orientation_of(fitted.fit, align),
                                options.world,        found.deviation > kPolishAbove,
                                options.has_extra,    options.extra};
    prepared[item] = {rule, found.deviation, found.counted == static_cast<double>(pair.n), refused,
                      fitted.fit.reason};
    deviation[item] = static_cast<T>(refused ? 0.0 : found.deviation);
    write_fit(fitted, found.n_fit, sse, item, out);
  });
}

// The errors of a step between two poses that count.
template <typename T>
__device__ inline StepErrors<double> errors_of(const Pair<true, T>& pair, std::size_t i, std::size_t j,
                                               const Prepared& prepared) {
  const bool project = prepared.deviation > kAsIs;
  auto step = [&](const T* poses) {
    // As step_between, in an order that lets few numbers wait for the second pose.
    const Pose<double> first = clean_pose(poses, i, project);
    Step<double> to;
    to.moved = load_point<true>(poses, j) - first.p;
    to.pose.p = transposed_times(first.r, to.moved);
    to.pose.r = transposed_times(first.r, clean_pose(poses, j, project).r);
    return to;
  };
  const Step<double> est = step(pair.est);
  return step_errors(est, step(pair.ref), prepared.rule);
}

template <typename T>
__global__ void __launch_bounds__(kThreads, kBlocks)
    relative_errors(Tracks<T> tracks, RpeOptions options, RpeOut<T> out, const Prepared* all,
                    double* workspace) {
  __shared__ double held[kStepErrors * kHeldSteps], sums[kErrorSums * kThreads];
  __shared__ SelectShared select;
  const std::size_t item = blockIdx.x;
  const Pair<true, T> pair(tracks, item);
  const Prepared& prepared = all[item];
  const std::size_t count = options.steps.count(pair.n), room = out.starts == nullptr ? out.each : count;
  const std::size_t begin =
      out.starts == nullptr ? item * out.each : static_cast<std::size_t>(out.starts[item]);
  const bool is_held = count <= kHeldSteps;
  double* errors = is_held ? held : workspace + begin;  // `stride` from one kind to the next
  const std::size_t stride = is_held ? kHeldSteps : out.total;
  const int kinds = options.has_extra ? kStepErrors : kStepErrors - 1;
  const double nan = std::nan("");
  for (std::size_t k = threadIdx.x; k < room; k += kThreads) {
    const std::size_t i = k * options.steps.step(), j = i + options.steps.delta;
    const bool is_pair = k < count;
    StepErrors<double> e{nan, nan, nan};
    if (is_pair && !prepared.refused && (prepared.plain || (counts(pair, i) && counts(pair, j))))
      e = errors_of(pair, i, j, prepared);
    const double values[kStepErrors] = {e.translation, e.rotation_deg, e.extra};
    for (int kind = 0; kind < kinds; ++kind) {
      out.errors[kind * out.total + begin + k] = static_cast<T>(values[kind]);
      if (is_pair) errors[kind * stride + k] = values[kind];
    }
    out.pairs[2 * (begin + k)] = is_pair ? static_cast<std::int64_t>(i) : -1;
    out.pairs[2 * (begin + k) + 1] = is_pair ? static_cast<std::int64_t>(j) : -1;
  }
  __syncthreads();
  for (int kind = 0; kind < kinds; ++kind)
    write_statistics<kThreads>(errors + kind * stride, count, prepared.aligned, Reason::no_pairs, item,
                               tracks.items.n, sums, select, out.statistics[kind]);
}

constexpr int kAngleThreads = 256;

// One thread a pair; consecutive threads read consecutive matrices, whose lines the cache holds together.
template <typename T>
__global__ void __launch_bounds__(kAngleThreads)
    angles_between(const T* a, const T* b, std::size_t n, T* angles) {
  const std::size_t k = std::size_t{blockIdx.x} * kAngleThreads + threadIdx.x;
  if (k >= n) return;
  Mat3<double> pair[2];
  double deviation = 0.0;
  bool good = true;
  for (int side = 0; side < 2; ++side) {
    Mat3<double>& r = pair[side];
    double finite = 0.0;
    for (int i = 0; i < 9; ++i) {
      r.m[i] = static_cast<double>((side == 0 ? a : b)[9 * k + i]);
      finite += r.m[i] - r.m[i];
    }
    const double off = orthogonality_deviation(r);
    good = good && finite == 0.0 && determinant(r) >= 0.0 && off <= kRefuseAbove;
    if (off > kAsIs) r = nearest_rotation(r);
    deviation = larger(deviation, off);
  }
  const double angle = error_angle(transposed_times(pair[0], pair[1]), deviation > kPolishAbove);
  angles[k] = static_cast<T>(good ? angle * kDegrees : std::nan(""));
}

}  // namespace

std::size_t rpe_workspace(std::size_t n_items, std::size_t most, std::size_t total) {
  return kOfPrepared * n_items + (most > kHeldSteps ? kStepErrors * total : 0);
}

template <typename T>
int rpe(const Tracks<T>& tracks, const RpeOptions& options, const RpeOut<T>& out, double* workspace,
        cudaStream_t stream) {
  const std::size_t n = tracks.items.n;
  if (n == 0) return 0;
  Prepared* prepared = reinterpret_cast<Prepared*>(workspace);
  const int error = launch(fit_poses<T>, dim3(groups_of(n)), dim3(kThreads), stream, tracks, options,
                           out.fits, out.deviation, prepared);
  return error != 0 ? error
                    : launch(relative_errors<T>, dim3(static_cast<unsigned>(n)), dim3(kThreads), stream,
                             tracks, options, out, prepared, workspace + kOfPrepared * n);
}

template <typename T>
int rotation_angle_deg(const T* a, const T* b, std::size_t n, T* angles, cudaStream_t stream) {
  if (n == 0) return 0;
  const std::size_t blocks = (n + kAngleThreads - 1) / kAngleThreads;
  return launch(angles_between<T>, dim3(static_cast<unsigned>(blocks)), dim3(kAngleThreads), stream, a, b, n,
                angles);
}

#define WMB_INSTANTIATE(T)                                                                        \
  template int rpe(const Tracks<T>&, const RpeOptions&, const RpeOut<T>&, double*, cudaStream_t); \
  template int rotation_angle_deg(const T*, const T*, std::size_t, T*, cudaStream_t);
WMB_INSTANTIATE(float)
WMB_INSTANTIATE(double)
#undef WMB_INSTANTIATE

}  // namespace wmb::cuda
