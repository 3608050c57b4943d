// SPDX-License-Identifier: Apache-2.0
// A block a pair of boxes: it goes through the item's points for every digit of the median, and keeps none of
// them.
#include "cuda/boxes.h"

#include <cmath>

#include "core/reproject.h"
#include "cuda/launch.h"
#include "cuda/select.h"

namespace wmb::cuda {
namespace {

constexpr int kThreads = 128;

template <typename T>
struct Box {
  T x0, y0, x1, y1;

  __device__ explicit Box(const T* at) : x0(at[0]), y0(at[1]), x1(at[2]), y1(at[3]) {}
  __device__ bool holds(const T* point) const {
    return point[0] >= x0 && point[0] <= x1 && point[1] >= y0 && point[1] <= y1;
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    median_of_each(BoxedValues<T> in, std::size_t first, double* median, std::int64_t* count) {
  __shared__ SelectShared shared;
  __shared__ unsigned inside, not_finite;
  const std::size_t item = first + blockIdx.y;
  const std::int64_t pair = static_cast<std::int64_t>(item) * in.n_boxes + blockIdx.x;
  const Box<T> in_a(in.boxes_a + 4 * pair), in_b(in.boxes_b + 4 * pair);
  const std::int64_t start = static_cast<std::int64_t>(item) * in.n_points;
  const T *a = in.a + 2 * start, *b = in.b + 2 * start, *values = in.values + start;
  const std::int64_t length = in.lengths ? in.lengths[item] : in.n_points;
  const std::int64_t n = length < in.n_points ? length : in.n_points;
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) inside = not_finite = 0;
  __syncthreads();
  unsigned own = 0;
  bool finite = true;
  for (std::int64_t k = t; k < n; k += kThreads) {
    if (!in_a.holds(a + 2 * k) || !in_b.holds(b + 2 * k)) continue;
    own += 1;
    finite = finite && is_finite(static_cast<double>(values[k]));
  }
  atomicAdd(&inside, own);
  atomicOr(&not_finite, finite ? 0u : 1u);
  __syncthreads();
  double found = inside == 0 ? std::nan("") : kNoLimit;
  if (inside > 0 && not_finite == 0) {
    auto value_at = [&](std::size_t k) {
      return in_a.holds(a + 2 * k) && in_b.holds(b + 2 * k) ? static_cast<double>(values[k]) : std::nan("");
    };
    const std::size_t points = static_cast<std::size_t>(n);
    const Extent extent = block_extent<kThreads>(value_at, points, shared);
    found = block_median<kThreads>(value_at, points, extent, shared);
  }
  if (t != 0) return;
  median[pair] = found;
  count[pair] = inside;
}

}  // namespace

template <typename T>
int box_medians(const BoxedValues<T>& in, double* median, std::int64_t* count, cudaStream_t stream) {
  if (in.n_boxes == 0) return 0;
  return in_batches(in.n_items, [&](std::size_t first, unsigned n) {
    return launch(median_of_each<T>, dim3(static_cast<unsigned>(in.n_boxes), n), dim3(kThreads), stream, in,
                  first, median, count);
  });
}

template int box_medians(const BoxedValues<float>&, double*, std::int64_t*, cudaStream_t);
template int box_medians(const BoxedValues<double>&, double*, std::int64_t*, cudaStream_t);

}  // namespace wmb::cuda
