// SPDX-License-Identifier: Apache-2.0
// A block an instance. Its points are gone through once and counted; only where their extremes do not show
// that they cover enough are those inside gathered and sorted, for the hull. Blocks go on to further
// instances, so that there are no more workspaces than blocks at work.
#include "cuda/visibility.h"

#include "core/hull.h"
#include "cuda/launch.h"
#include "cuda/passage.h"

namespace wmb::cuda {
namespace {

constexpr int kThreads = 128;
constexpr std::size_t kBlocks = 2048;

inline std::int64_t power_of_two(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

// Points of a workspace: the sorted ones, and the chain.
inline std::int64_t room_of(std::int64_t n_points) { return power_of_two(n_points) + 2 * n_points + 1; }

inline std::size_t blocks_of(std::size_t n) { return n < kBlocks ? n : kBlocks; }

// An instance in a view: where its points fall.
template <typename T>
struct InView {
  const T *points, *depth, *confidence;
  std::int64_t n, height, width;
  Camera camera;
  Transform to;
  bool usable;

  __device__ double rows() const { return static_cast<double>(height); }
  __device__ double columns() const { return static_cast<double>(width); }
  __device__ Pixel<double> at(std::int64_t k, double& z) const {
    const T* p = points + 3 * k;
    const Point3<double> world{static_cast<double>(p[0]), static_cast<double>(p[1]),
                               static_cast<double>(p[2])};
    const Point3<double> there = transform(to, world);
    z = there.z;
    return project(there, camera);
  }
  // Whether the view knows a depth in front of or behind a point inside.
  __device__ bool knows(std::int64_t, const Pixel<double>& place, const VisibilityRule& rule,
                        double& seen) const {
    const std::int64_t pixel = pixel_inside(place, height, width);
    seen = static_cast<double>(depth[pixel]);
    return is_depth(seen) &&
           !(confidence && !(static_cast<double>(confidence[pixel]) >= rule.min_confidence));
  }
};

// An instance whose points are in pixels already.
template <typename T>
struct InSamples {
  const T *pixels, *depth, *seen_depth, *confidence;
  std::int64_t n;
  double height, width;

  __device__ double rows() const { return height; }
  __device__ double columns() const { return width; }
  __device__ Pixel<double> at(std::int64_t k, double& z) const {
    z = static_cast<double>(depth[k]);
    return {static_cast<double>(pixels[2 * k]), static_cast<double>(pixels[2 * k + 1])};
  }
  __device__ bool knows(std::int64_t k, const Pixel<double>&, const VisibilityRule& rule,
                        double& seen) const {
    seen = static_cast<double>(seen_depth[k]);
    return is_depth(seen) && !(confidence && !(static_cast<double>(confidence[k]) >= rule.min_confidence));
  }
};

// What the threads of an instance share.
template <typename Instance>
struct InstanceRoom {
  Instance instance;
  unsigned inside, usable, occluded, not_finite, gathered;
  Extremes extremes[kThreads];
  double area;
};

__device__ inline void add_all(Extremes& to, const Extremes& from) {
  if (!from.any) return;
  to.add(from.left);
  to.add(from.right);
  to.add(from.low);
  to.add(from.high);
}

// Goes through the points once. For all threads, after the instance has been written.
template <typename Instance>
__device__ inline Encounter meet(InstanceRoom<Instance>& room, const VisibilityRule& rule) {
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) room.inside = room.usable = room.occluded = room.not_finite = room.gathered = 0;
  __syncthreads();
  const Instance& instance = room.instance;
  unsigned inside = 0, usable = 0, occluded = 0;
  bool finite = true;
  Extremes extremes{};
  for (std::int64_t k = t; k < instance.n; k += kThreads) {
    double z, seen;
    const Pixel<double> at = instance.at(k, z);
    finite = finite && is_finite(at.u) && is_finite(at.v) && is_finite(z);
    if (!is_inside(at, z, instance.rows(), instance.columns())) continue;
    inside += 1;
    extremes.add({at.u, at.v});
    if (!instance.knows(k, at, rule, seen)) continue;
    usable += 1;
    occluded += hides(seen, z, rule);
  }
  atomicAdd(&room.inside, inside);
  atomicAdd(&room.usable, usable);
  atomicAdd(&room.occluded, occluded);
  atomicOr(&room.not_finite, finite ? 0u : 1u);
  room.extremes[t] = extremes;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (t < half) add_all(room.extremes[t], room.extremes[t + half]);
    __syncthreads();
  }
  return {instance.n, room.inside, room.usable, room.occluded, room.not_finite == 0};
}

__device__ inline bool is_before(const Point2& a, const Point2& b) {
  return a.x < b.x || (a.x == b.x && a.y < b.y);
}

// The hull's area of the points inside, of which the workspace has room for all. For all threads.
template <typename Instance>
__device__ inline double hull_of(InstanceRoom<Instance>& room, std::int64_t padded, Point2* sorted) {
  const int t = static_cast<int>(threadIdx.x);
  const Instance& instance = room.instance;
  const std::int64_t n = room.inside;
  std::int64_t m = 1;  // the power of two that holds them
  while (m < n) m *= 2;
  for (std::int64_t k = t; k < instance.n; k += kThreads) {
    double z;
    const Pixel<double> at = instance.at(k, z);
    if (is_inside(at, z, instance.rows(), instance.columns()))
      sorted[atomicAdd(&room.gathered, 1u)] = {at.u, at.v};
  }
  for (std::int64_t k = n + t; k < m; k += kThreads) sorted[k] = {kNoLimit, kNoLimit};
  __syncthreads();
  for (std::int64_t run = 2; run <= m; run *= 2)
    for (std::int64_t apart = run / 2; apart > 0; apart /= 2) {
      for (std::int64_t k = t; k < m; k += kThreads) {
        const std::int64_t other = k ^ apart;
        if (other < k) continue;
        const Point2 a = sorted[k], b = sorted[other];
        if ((k & run) == 0 ? is_before(b, a) : is_before(a, b)) {
          sorted[k] = b;
          sorted[other] = a;
        }
      }
      __syncthreads();
    }
  if (t == 0) room.area = hull_area(sorted, n, sorted + padded);
  __syncthreads();
  return room.area;
}

template <typename T>
__device__ inline void enter_view(const InstanceViews<T>& views, std::size_t number, InView<T>& out) {
  const Batch& batch = views.batch;
  const std::size_t item = number / views.n_instances;
  const std::int64_t instance = static_cast<std::int64_t>(number % views.n_instances);
  const std::int64_t map = batch.element(item, views.depth.steps) * views.depth.height * views.depth.width;
  const std::int64_t points = batch.element(item, views.points_steps) * views.n_instances + instance;
  bool refused;
  out.points = views.points + points * views.n_points * 3;
  out.depth = views.depth.data + map;
  out.confidence = views.confidence ? views.confidence + map : nullptr;
  out.n = views.n_points;
  out.height = views.depth.height;
  out.width = views.depth.width;
  out.camera =
      read_camera(views.cameras.data + batch.element(item, views.cameras.steps) * views.cameras.numbers,
                  views.cameras.numbers, refused);
  out.to = read_transform(views.to_camera.data + batch.element(item, views.to_camera.steps) * 16, refused);
  out.usable = is_usable(out.camera) && is_usable(out.to);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    judge_each(InstanceViews<T> views, VisibilityRule rule, std::size_t n, std::int64_t padded,
               std::int64_t room_each, std::uint8_t* state, Point2* workspace) {
  __shared__ InstanceRoom<InView<T>> room;
  for (std::size_t number = blockIdx.x; number < n; number += gridDim.x) {
    if (threadIdx.x == 0) enter_view(views, number, room.instance);
    __syncthreads();
    const Encounter met = meet(room, rule);
    const auto is_too_small = [&] {
      return !room.extremes[0].surely_large(rule) &&
             hull_of(room, padded, workspace + static_cast<std::int64_t>(blockIdx.x) * room_each) <
                 rule.min_area;
    };
    const Visibility found = room.instance.usable ? judge(met, rule, is_too_small) : Visibility::unknown;
    __syncthreads();
    if (threadIdx.x == 0) state[number] = static_cast<std::uint8_t>(found);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    judge_samples(Samples<T> samples, VisibilityRule rule, bool with_area, std::int64_t padded,
                  std::int64_t room_each, SampledOut out, Point2* workspace) {
  __shared__ InstanceRoom<InSamples<T>> room;
  const double none = __builtin_nan("");
  Point2* own = workspace + static_cast<std::int64_t>(blockIdx.x) * room_each;
  for (std::size_t number = blockIdx.x; number < samples.n; number += gridDim.x) {
    if (threadIdx.x == 0) {
      const std::int64_t first = static_cast<std::int64_t>(number) * samples.n_points;
      const std::int64_t length = samples.lengths ? samples.lengths[number] : samples.n_points;
      const std::int64_t n = length < 0 ? 0 : length < samples.n_points ? length : samples.n_points;
      room.instance = {samples.pixels + 2 * first,
                       samples.depth + first,
                       samples.seen + first,
                       samples.confidence ? samples.confidence + first : nullptr,
                       n,
                       samples.sizes ? samples.sizes[2 * number + 1] : samples.height,
                       samples.sizes ? samples.sizes[2 * number] : samples.width};
    }
    __syncthreads();
    const Encounter met = meet(room, rule);
    const bool any = met.finite && met.n > 0;
    const double area = with_area && any ? hull_of(room, padded, own) : none;
    const Visibility found = judge(met, rule, [&] {
      if (with_area) return area < rule.min_area;
      return !room.extremes[0].surely_large(rule) && hull_of(room, padded, own) < rule.min_area;
    });
    const double all = any ? static_cast<double>(met.n) : none, inside = static_cast<double>(met.n_inside);
    __syncthreads();
    if (threadIdx.x != 0) continue;
    out.state[number] = static_cast<std::uint8_t>(found);
    out.inside[number] = inside / all;
    out.known[number] = met.n_inside > 0 && met.finite ? static_cast<double>(met.usable) / inside : none;
    out.occluded[number] = static_cast<double>(met.occluded) / all;
    out.visible[number] = static_cast<double>(met.usable - met.occluded) / all;
    out.area[number] = area;
  }
}

}  // namespace

std::size_t visibility_workspace(std::size_t n_instances, std::int64_t n_points) {
  return blocks_of(n_instances) * static_cast<std::size_t>(room_of(n_points)) * sizeof(Point2) /
         sizeof(double);
}

template <typename T>
int visibility(const InstanceViews<T>& views, const VisibilityRule& rule, std::uint8_t* state,
               void* workspace, cudaStream_t stream) {
  const std::size_t n = views.batch.n * static_cast<std::size_t>(views.n_instances);
  if (n == 0) return 0;
  return launch(judge_each<T>, dim3(static_cast<unsigned>(blocks_of(n))), dim3(kThreads), stream, views, rule,
                n, power_of_two(views.n_points), room_of(views.n_points), state,
                static_cast<Point2*>(workspace));
}

template <typename T>
int sampled_visibility(const Samples<T>& samples, const VisibilityRule& rule, bool with_area,
                       const SampledOut& out, void* workspace, cudaStream_t stream) {
  if (samples.n == 0) return 0;
  return launch(judge_samples<T>, dim3(static_cast<unsigned>(blocks_of(samples.n))), dim3(kThreads), stream,
                samples, rule, with_area, power_of_two(samples.n_points), room_of(samples.n_points), out,
                static_cast<Point2*>(workspace));
}

template int visibility(const InstanceViews<float>&, const VisibilityRule&, std::uint8_t*, void*,
                        cudaStream_t);
template int visibility(const InstanceViews<double>&, const VisibilityRule&, std::uint8_t*, void*,
                        cudaStream_t);
template int sampled_visibility(const Samples<float>&, const VisibilityRule&, bool, const SampledOut&, void*,
                                cudaStream_t);
template int sampled_visibility(const Samples<double>&, const VisibilityRule&, bool, const SampledOut&, void*,
                                cudaStream_t);

}  // namespace wmb::cuda
