// SPDX-License-Identifier: Apache-2.0
#include "cpu/image.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "cpu/image_kernels.h"
#include "cpu/parallel.h"

namespace wmb {
namespace {

constexpr std::size_t kSamplesAChunk = std::size_t{1} << 18;

}  // namespace

template <typename T>
void squared_difference(const T* a, const T* b, std::size_t n_items, std::size_t n, double* squares,
                        double* low, double* high) {
  const std::size_t n_chunks = std::max<std::size_t>(1, chunk_count(n, kSamplesAChunk));
  const ImageKernels<T>& kernels = image_kernels<T>();
  std::vector<Difference> parts(n_items * n_chunks);
  auto chunk = [&](std::size_t k) {
    const std::size_t begin = k % n_chunks * kSamplesAChunk, start = k / n_chunks * n + begin;
    parts[k] = kernels.difference(a + start, b + start, std::min(n - begin, kSamplesAChunk));
  };
  for_chunks(parts.size(), chunk);
  for (std::size_t item = 0; item < n_items; ++item) {
    Difference total = parts[item * n_chunks];
    for (std::size_t k = 1; k < n_chunks; ++k) {
      const Difference& part = parts[item * n_chunks + k];
      total.squares += part.squares;
      total.low = std::min(total.low, part.low);
      total.high = std::max(total.high, part.high);
    }
    squares[item] = total.squares;
    low[item] = total.low;
    high[item] = total.high;
  }
}

namespace {

struct Plan : SsimPlan {
  double low;
  std::size_t bands;  // a plane
};

Plan plan_of(const ImageShape& shape, SsimVariant variant, double low, double extent) {
  const SsimPlan plan = ssim_plan(shape, variant, extent);
  return {plan, low, chunk_count(plan.rows, kBandRows)};
}

template <typename T>
double windows_sum(const Plan& plan, const ImagePair<T>& pair, const Windows& windows,
                   std::vector<double>& room) {
  const ImageKernels<T>& kernels = image_kernels<T>();
  return (plan.uniform ? kernels.uniform : kernels.gaussian)(pair, windows, plan.rule, room.data());
}

// The same of the grey of the rows that these windows cover.
template <typename T>
double grey_windows_sum(const Plan& plan, const ImageShape& shape, const T* a, const T* b, bool blue_first,
                        const Windows& windows, std::vector<double>& room) {
  using Grey = std::conditional_t<std::is_same_v<T, std::uint8_t>, std::uint8_t, double>;
  const std::size_t first = windows.first_row - std::min<std::size_t>(windows.first_row, kGaussianRadius);
  const std::size_t last = std::min(shape.height, windows.last_row + kGaussianRadius);
  const std::size_t n = (last - first) * shape.width;
  const std::size_t channel_step = shape.planar ? shape.height * shape.width : 1;
  const std::size_t pixel_step = shape.planar ? 1 : 3, start = first * shape.width * pixel_step;
  std::vector<Grey> grey(2 * n);
  image_kernels<T>().grey(a + start, channel_step, pixel_step, blue_first, n, grey.data());
  image_kernels<T>().grey(b + start, channel_step, pixel_step, blue_first, n, grey.data() + n);
  const ImagePair<Grey> pair{grey.data(), grey.data() + n, shape.height, shape.width, 1, first, plan.low};
  return windows_sum(plan, pair, windows, room);
}

}  // namespace

template <typename T>
void ssim(const T* a, const T* b, const ImageShape& shape, SsimVariant variant, double low, double extent,
          bool blue_first, double* result) {
  const Plan plan = plan_of(shape, variant, low, extent);
  const std::size_t plane = shape.height * shape.width * (shape.planar ? 1 : shape.channels);
  const std::size_t item_size = shape.height * shape.width * shape.channels;
  std::vector<double> sums(shape.n_items * plan.planes * plan.bands);
  auto band = [&](std::size_t k) {
    std::vector<double> room(kSsimRoom);
    const std::size_t which = k / plan.bands, first = plan.margin + k % plan.bands * kBandRows;
    const std::size_t start = which / plan.planes * item_size + which % plan.planes * plane;
    const Windows windows{first, std::min(first + kBandRows, plan.margin + plan.rows), plan.margin,
                          plan.margin + plan.columns};
    sums[k] =
        plan.grey
            ? grey_windows_sum(plan, shape, a + start, b + start, blue_first, windows, room)
            : windows_sum(
                  plan, ImagePair<T>{a + start, b + start, shape.height, shape.width, plan.step, 0, plan.low},
                  windows, room);
  };
  for_chunks(sums.size(), band);
  const std::size_t n_parts = plan.planes * plan.bands;
  for (std::size_t item = 0; item < shape.n_items; ++item) {
    double total = 0;
    for (std::size_t k = 0; k < n_parts; ++k) total += sums[item * n_parts + k];
    result[item] = std::isfinite(total) ? total / plan.n_windows : std::numeric_limits<double>::quiet_NaN();
  }
}

#define WMB_IMAGE_OPS_OF(T)                                                                                  \
  template void squared_difference(const T*, const T*, std::size_t, std::size_t, double*, double*, double*); \
  template void ssim(const T*, const T*, const ImageShape&, SsimVariant, double, double, bool, double*);
WMB_IMAGE_OPS_OF(std::uint8_t)
WMB_IMAGE_OPS_OF(float)
WMB_IMAGE_OPS_OF(double)
#undef WMB_IMAGE_OPS_OF

}  // namespace wmb
