// SPDX-License-Identifier: Apache-2.0
// A block takes one frame's points into another, and finds the median of the pair; then the errors of all
// pairs that count are one span.
#include "core/reason.h"
#include "core/views.h"
#include "cuda/launch.h"
#include "cuda/passage.h"
#include "cuda/quantile.h"
#include "cuda/reduce.h"
#include "cuda/reproject_pairs.h"

namespace wmb::cuda {
namespace {

constexpr int kThreads = 128;
constexpr std::size_t kWorkspace = std::size_t{1} << 28;  // bytes that clips at work at once may take

// What is known of a clip. Cameras: whether one is usable, and whether the host would refuse one.
struct ClipState {
  unsigned long long n_pairs, inside, covisible;
  unsigned any_usable, any_refused;
};

// The workspace: of each clip a state, three descents (depth, confidence, errors), the bins of one, the sum
// of each pair's errors, and the errors themselves.
template <typename T>
struct Room {
  ClipState* states;
  Descent *depth, *confidence, *errors;
  Key* bins;
  double* totals;
  T* error;
};

struct Sizes {
  std::int64_t pairs, points;  // of a clip; of a frame's grid

  Sizes(std::int64_t frames, std::int64_t height, std::int64_t width, std::int64_t grid)
      : pairs(frames * frames), points(((height - 1) / grid + 1) * ((width - 1) / grid + 1)) {}

  std::size_t bytes(std::size_t size) const {
    const std::size_t errors = (static_cast<std::size_t>(pairs * points) * size + 7) / 8 * 8;
    return sizeof(ClipState) + 3 * sizeof(Descent) + kStepBins * sizeof(Key) +
           static_cast<std::size_t>(pairs) * sizeof(double) + errors;
  }

  std::size_t at_once(std::size_t n, std::size_t size) const {
    const std::size_t fit = kWorkspace / bytes(size), most = fit < 1             ? 1
                                                             : fit < kMostAlongY ? fit
                                                                                 : kMostAlongY;
    return n < most ? n : most;
  }
};

template <typename T>
Room<T> divide(void* workspace, std::size_t clips, const Sizes& sizes) {
  Room<T> out;
  out.states = static_cast<ClipState*>(workspace);
  out.depth = reinterpret_cast<Descent*>(out.states + clips);
  out.confidence = out.depth + clips;
  out.errors = out.confidence + clips;
  out.bins = reinterpret_cast<Key*>(out.errors + clips);
  out.totals = reinterpret_cast<double*>(out.bins + clips * kStepBins);
  out.error = reinterpret_cast<T*>(out.totals + static_cast<std::int64_t>(clips) * sizes.pairs);
  return out;
}

struct Frame {
  Camera camera;
  Transform to_world, from_world;
  bool usable, refused;
};

template <typename T>
__device__ inline Frame read_frame(const Clips<T>& clips, std::size_t frame) {
  Frame out;
  bool pose_refused;
  const Cameras<T>& cameras = clips.cameras;
  out.camera = read_camera(cameras.data + clips.all_frames.element(frame, cameras.steps) * cameras.numbers,
                           cameras.numbers, out.refused);
  out.to_world = read_transform(clips.to_world + frame * 16, pose_refused);
  out.from_world = inverse(out.to_world);
  out.usable = is_usable(out.camera) && is_usable(out.to_world) && is_usable(out.from_world);
  out.refused = out.refused || pose_refused;
  return out;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) look_at_cameras(Clips<T> clips, std::size_t first, Room<T> room) {
  __shared__ unsigned usable, refused;
  if (threadIdx.x == 0) usable = refused = 0;
  __syncthreads();
  const std::size_t clip = first + blockIdx.y;
  for (std::int64_t i = threadIdx.x; i < clips.frames; i += kThreads) {
    const Frame frame = read_frame(clips, clip * clips.frames + i);
    if (frame.usable) atomicOr(&usable, 1u);
    if (frame.refused) atomicOr(&refused, 1u);
  }
  __syncthreads();
  if (threadIdx.x == 0) room.states[blockIdx.y] = {0, 0, 0, usable, refused};
}

// Why nothing can be said of a clip, before its pairs are looked at.
template <typename T>
__device__ inline Reason reason_of(const Clips<T>& clips, const Room<T>& room, std::size_t k) {
  const ClipState& state = room.states[k];
  if (clips.frames > 0 && (!state.any_usable || state.any_refused)) return Reason::camera_not_usable;
  if (room.depth[k].n == 0) return Reason::no_valid_depth;
  if (clips.confidence && room.confidence[k].n == 0) return Reason::no_valid_confidence;
  return Reason::ok;
}

// What the threads of a pair share.
template <typename T>
struct PairRoom {
  Frame from, to;
  Transform there, back;
  bool usable;
  double sums[3 * kThreads];
  SelectShared select;
};

template <typename T>
__device__ inline void enter_pair(const Clips<T>& clips, const Room<T>& room, std::size_t first,
                                  std::int64_t i, std::int64_t j, PairRoom<T>& pair) {
  const std::size_t frames = (first + blockIdx.y) * clips.frames;
  if (threadIdx.x % 32 == 0 && threadIdx.x < 64)
    (threadIdx.x == 0 ? pair.from : pair.to) = read_frame(clips, frames + (threadIdx.x == 0 ? i : j));
  __syncthreads();
  if (threadIdx.x == 0) {
    pair.there = compose(pair.to.from_world, pair.from.to_world);
    pair.usable =
        i != j && pair.from.usable && pair.to.usable && reason_of(clips, room, blockIdx.y) == Reason::ok;
  }
  if (threadIdx.x == 32) pair.back = compose(pair.from.from_world, pair.to.to_world);
  __syncthreads();
}

// Whether the point of a pixel of the one frame falls into the other's image (inside), whether both see the
// same there, and how far apart that is.
template <bool kPixels, typename T>
__device__ inline bool error_of(const Clips<T>& clips, const ErrorRule& rule, double threshold,
                                const PairRoom<T>& pair, const T* depths, const T* confidences,
                                std::int64_t row, std::int64_t column, const T* seen_depths,
                                const T* seen_confidences, bool& inside, double& error) {
  const std::int64_t pixel = row * clips.width + column;
  const double depth = static_cast<double>(depths[pixel]);
  inside = is_depth(depth) && !(confidences && !(static_cast<double>(confidences[pixel]) >= threshold));
  if (!inside) return false;
  const Camera& source = pair.from.camera;
  const Point3<double> from{ray(static_cast<double>(column), source.fx, source.cx) * depth,
                            ray(static_cast<double>(row), source.fy, source.cy) * depth, depth};
  const Point3<double> p = transform(pair.there, from);
  const Pixel<double> at = project(p, pair.to.camera);
  double number;
  inside = p.z > 0.0 &&
           pixel_around(at, static_cast<double>(clips.height), static_cast<double>(clips.width), number);
  if (!inside) return false;
  const std::int64_t landed = static_cast<std::int64_t>(number);
  const double seen = static_cast<double>(seen_depths[landed]);
  if (!is_depth(seen) || !agrees(p.z, seen, static_cast<T>(rule.lo), static_cast<T>(rule.hi)) ||
      (seen_confidences && !(static_cast<double>(seen_confidences[landed]) >= threshold)))
    return false;
  if constexpr (!kPixels) {
    error = distance_to_seen(p, at, seen, pair.to.camera, per_pixel(pair.to.camera));
    return true;
  } else {
    Point3<double> here;
    error = round_trip_error(from, at, seen, pair.to.camera, pair.back, source, here);
    return here.z > 0.0;
  }
}

template <bool kPixels, typename T>
__global__ void __launch_bounds__(kThreads, 4)
    compare_pairs(Clips<T> clips, ErrorRule rule, std::size_t first, Sizes sizes, Room<T> room, T* per_pair) {
  __shared__ PairRoom<T> pair;
  const std::int64_t i = blockIdx.x / clips.frames, j = blockIdx.x % clips.frames;
  enter_pair(clips, room, first, i, j, pair);
  const std::size_t number = std::size_t{blockIdx.y} * sizes.pairs + blockIdx.x;
  const double threshold = clips.confidence ? room.confidence[blockIdx.y].linear() : 0.0;
  const std::int64_t frames = static_cast<std::int64_t>(first + blockIdx.y) * clips.frames;
  const std::int64_t one = (frames + i) * clips.height * clips.width,
                     other = (frames + j) * clips.height * clips.width;
  const std::int64_t across = (clips.width - 1) / rule.grid + 1;
  const T* trust = clips.confidence;
  T* errors = room.error + static_cast<std::int64_t>(number) * sizes.points;
  double sums[3] = {0, 0, 0};  // inside, co-visible, errors
  for (std::int64_t k = threadIdx.x; k < sizes.points; k += kThreads) {
    bool inside = false, covisible = false;
    double error = 0;
    if (pair.usable)
      covisible =
          error_of<kPixels>(clips, rule, threshold, pair, clips.depth + one, trust ? trust + one : nullptr,
                            k / across * rule.grid, k % across * rule.grid, clips.depth + other,
                            trust ? trust + other : nullptr, inside, error);
    sums[0] += inside;
    sums[1] += covisible;
    sums[2] += covisible ? error : 0.0;
    errors[k] = static_cast<T>(covisible ? error : kNoLimit);
  }
  block_sums<kThreads, 3>(sums, pair.sums);
  const double least = static_cast<double>(rule.min_points);
  const bool counts = sums[1] >= least;  // and so does what is inside, which is no less
  if (!counts)
    for (std::int64_t k = threadIdx.x; k < sizes.points; k += kThreads) errors[k] = static_cast<T>(kNoLimit);
  double middle_error = __builtin_nan("");
  if (counts) {
    auto value_at = [&](std::size_t k) {
      return errors[k] < static_cast<T>(kNoLimit) ? static_cast<double>(errors[k]) : std::nan("");
    };
    const std::size_t n = static_cast<std::size_t>(sizes.points);
    const Extent extent = block_extent<kThreads>(value_at, n, pair.select);
    const double scale = kPixels ? 1.0 : room.depth[blockIdx.y].median();
    middle_error = block_median<kThreads>(value_at, n, extent, pair.select) / scale;
  }
  if (threadIdx.x != 0) return;
  ClipState& state = room.states[blockIdx.y];
  if (sums[0] >= least) {
    atomicAdd(&state.inside, static_cast<unsigned long long>(sums[0]));
    atomicAdd(&state.covisible, static_cast<unsigned long long>(sums[1]));
  }
  if (counts) atomicAdd(&state.n_pairs, 1ull);
  room.totals[number] = counts ? sums[2] : 0.0;
  per_pair[(first + blockIdx.y) * sizes.pairs + blockIdx.x] = static_cast<T>(middle_error);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    conclude(Clips<T> clips, ErrorRule rule, std::size_t first, Sizes sizes, Room<T> room, ErrorOut<T> out) {
  __shared__ double shared[kThreads];
  const std::size_t k = blockIdx.y, clip = first + k;
  double total = 0;
  for (std::int64_t pair = threadIdx.x; pair < sizes.pairs; pair += kThreads)
    total += room.totals[static_cast<std::int64_t>(k) * sizes.pairs + pair];
  total = block_sum<kThreads>(total, shared);
  if (threadIdx.x != 0) return;
  const ClipState& state = room.states[k];
  Reason reason = reason_of(clips, room, k);
  const bool any = reason == Reason::ok && state.n_pairs > 0;
  const double scale = rule.pixels ? 1.0 : room.depth[k].median();
  const double none = __builtin_nan("");
  if (reason == Reason::ok && !any) reason = Reason::no_covisibility;
  out.median[clip] = static_cast<T>(any ? room.errors[k].median() / scale : none);
  out.mean[clip] = static_cast<T>(any ? total / static_cast<double>(room.errors[k].n) / scale : none);
  out.n_pairs[clip] = static_cast<std::int64_t>(state.n_pairs);
  out.fraction[clip] = static_cast<T>(
      state.inside > 0 ? static_cast<double>(state.covisible) / static_cast<double>(state.inside) : none);
  write_reason(reason, clip, out.code, out.status);
}

}  // namespace

std::size_t reprojection_error_workspace(std::size_t n, std::int64_t frames, std::int64_t height,
                                         std::int64_t width, std::int64_t grid, std::size_t size) {
  const Sizes sizes(frames, height, width, grid);
  return sizes.at_once(n, size) * sizes.bytes(size) / 8;
}

template <typename T>
int reprojection_error(const Clips<T>& clips, const ErrorRule& rule, ErrorOut<T> out, void* workspace,
                       cudaStream_t stream) {
  const Sizes sizes(clips.frames, clips.height, clips.width, rule.grid);
  const std::size_t most = sizes.at_once(clips.n, sizeof(T));
  const Room<T> room = divide<T>(workspace, most, sizes);
  const std::int64_t pixels = clips.frames * clips.height * clips.width;
  const dim3 threads(kThreads);
  auto some = [&](std::size_t first, unsigned n) {
    const std::int64_t begin = static_cast<std::int64_t>(first) * pixels;
    const Spans<T> depth{clips.depth + begin, pixels, T(0), room.depth, room.bins};
    const Spans<T> errors{room.error, sizes.pairs * sizes.points, T(-1), room.errors, room.bins};
    int error = launch(look_at_cameras<T>, dim3(1, n), threads, stream, clips, first, room);
    if (error == 0) error = find_quantiles(depth, n, 0.5, stream);
    if (error == 0 && clips.confidence) {
      const Spans<T> trust{clips.confidence + begin, pixels, static_cast<T>(-kNoLimit), room.confidence,
                           room.bins};
      error = find_quantiles(trust, n, rule.confidence_quantile, stream);
    }
    if (error == 0 && sizes.pairs > 0)
      error = launch(rule.pixels ? compare_pairs<true, T> : compare_pairs<false, T>,
                     dim3(static_cast<unsigned>(sizes.pairs), n), threads, stream, clips, rule, first, sizes,
                     room, out.per_pair);
    if (error == 0) error = find_quantiles(errors, n, 0.5, stream);
    return error != 0
               ? error
               : launch(conclude<T>, dim3(1, n), threads, stream, clips, rule, first, sizes, room, out);
  };
  return in_batches(clips.n, some, most);
}

template int reprojection_error(const Clips<float>&, const ErrorRule&, ErrorOut<float>, void*, cudaStream_t);
template int reprojection_error(const Clips<double>&, const ErrorRule&, ErrorOut<double>, void*,
                                cudaStream_t);

}  // namespace wmb::cuda
