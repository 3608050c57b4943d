// SPDX-License-Identifier: Apache-2.0
// A block splits one item: sums for the means, sums about them for the line, and two exact percentiles. The
// first pass brings an item into the cache, the others find it there.
#include <cmath>

#include "core/flow.h"
#include "core/reason.h"
#include "cuda/flow.h"
#include "cuda/launch.h"
#include "cuda/reduce.h"
#include "cuda/select.h"

namespace wmb::cuda {
namespace {

constexpr int kThreads = 256;

struct Split {
  ParallaxLine line;
  double translation, rotation;

  // Numbers that were not finite show here, and so do those whose squares left float64.
  __device__ bool finite() const {
    return std::isfinite(translation) && std::isfinite(rotation) && std::isfinite(line.slope);
  }
};

// Of n >= 1 points, in every thread.
template <typename T>
__device__ Split split_of(const T* u, const T* inverse_depth, std::size_t n) {
  __shared__ double shared[2 * kThreads];
  __shared__ SelectShared selecting;
  const double count = static_cast<double>(n);
  double mean[2] = {0.0, 0.0};
  for (std::size_t k = threadIdx.x; k < n; k += kThreads) {
    mean[0] += static_cast<double>(u[k]);
    mean[1] += static_cast<double>(inverse_depth[k]);
  }
  block_sums<kThreads, 2>(mean, shared);
  mean[0] /= count;
  mean[1] /= count;
  double products[2] = {0.0, 0.0};
  for (std::size_t k = threadIdx.x; k < n; k += kThreads) {
    const double z = static_cast<double>(inverse_depth[k]) - mean[1];
    products[0] += z * z;
    products[1] += z * (static_cast<double>(u[k]) - mean[0]);
  }
  block_sums<kThreads, 2>(products, shared);
  Split split{parallax_line(count, mean[0], mean[1], products[0], products[1]), std::nan(""), 0.0};
  split.rotation = std::fabs(split.line.intercept);
  auto value_at = [=](std::size_t k) { return static_cast<double>(inverse_depth[k]); };
  const Extent extent = block_extent<kThreads>(value_at, n, selecting);
  if (extent.count == 0) return split;
  const double high = block_percentile<kThreads>(value_at, n, extent, 95.0, selecting);
  const double low = block_percentile<kThreads>(value_at, n, extent, 5.0, selecting);
  split.translation = std::fabs(split.line.slope) * (high - low);
  return split;
}

template <typename T>
__global__ void __launch_bounds__(kThreads, 4)
    split_items(const T* u, const T* inverse_depth, Items items, ParallaxOut<T> out) {
  const std::size_t item = blockIdx.x, begin = items.begin(item), n = items.size(item);
  const double missing = std::nan("");
  Split split{{missing, missing}, missing, missing};
  if (n > 0) split = split_of(u + begin, inverse_depth + begin, n);
  if (threadIdx.x != 0) return;
  const bool finite = split.finite();
  out.translation[item] = static_cast<T>(finite ? split.translation : missing);
  out.rotation[item] = static_cast<T>(finite ? split.rotation : missing);
  out.slope[item] = static_cast<T>(finite ? split.line.slope : missing);
  out.intercept[item] = static_cast<T>(finite ? split.line.intercept : missing);
  const Reason reason = n == 0 ? Reason::no_samples : finite ? Reason::ok : Reason::value_not_finite;
  write_reason(reason, item, out.code, out.status);
}

}  // namespace

template <typename T>
int parallax_split(const T* u, const T* inverse_depth, Items items, ParallaxOut<T> out, cudaStream_t stream) {
  if (items.n == 0) return 0;
  return launch(split_items<T>, dim3(static_cast<unsigned>(items.n)), dim3(kThreads), stream, u,
                inverse_depth, items, out);
}

template int parallax_split(const float*, const float*, Items, ParallaxOut<float>, cudaStream_t);
template int parallax_split(const double*, const double*, Items, ParallaxOut<double>, cudaStream_t);

}  // namespace wmb::cuda
