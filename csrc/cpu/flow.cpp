// SPDX-License-Identifier: Apache-2.0
#include "cpu/flow.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/flow.h"
#include "core/percentile.h"
#include "core/reason.h"
#include "cpu/order_statistics.h"
#include "cpu/parallel.h"

namespace wmb {
namespace {

constexpr std::size_t kRowsAChunk = 4;  // their unit vectors stay in the second-level cache
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

}  // namespace

// A chunk is a band of rows of all fields, so that the unit vectors are computed once a call and not once a
// field.
template <typename T>
void flow_channels(const T* flow, std::size_t n_fields, std::size_t height, std::size_t width,
                   double* horizontal, double* radial, std::uint8_t* code) {
  std::vector<FlowSums> rows(n_fields * height);
  auto band = [&](std::size_t chunk) {
    const std::size_t first = chunk * kRowsAChunk, stop = std::min(height, first + kRowsAChunk);
    std::vector<double> unit((stop - first) * 2 * width);
    for (std::size_t y = first; y < stop; ++y) radial_row(width, height, y, &unit[(y - first) * 2 * width]);
    for (std::size_t field = 0; field < n_fields; ++field) {
      for (std::size_t y = first; y < stop; ++y) {
        const std::size_t row = field * height + y;
        rows[row] = flow_row_sums(flow + row * 2 * width, &unit[(y - first) * 2 * width], width);
      }
    }
  };
  for_chunks(chunk_count(height, kRowsAChunk), band);
  const double pixels = static_cast<double>(height) * static_cast<double>(width);
  for (std::size_t field = 0; field < n_fields; ++field) {
    FlowSums total{0, 0};
    for (std::size_t y = 0; y < height; ++y) {
      total.horizontal += rows[field * height + y].horizontal;
      total.radial += rows[field * height + y].radial;
    }
    const bool has_horizontal = std::isfinite(total.horizontal), has_radial = std::isfinite(total.radial);
    horizontal[field] = has_horizontal ? total.horizontal / pixels : kMissing;
    radial[field] = has_radial ? total.radial / pixels : kMissing;
    code[field] =
        static_cast<std::uint8_t>(has_horizontal && has_radial ? Reason::ok : Reason::value_not_finite);
  }
}

namespace {

// Where a normal distribution has its percentiles 5 and 95, and to either side of that.
constexpr double kLowPivots[kPivots] = {-1.8, -1.65, -1.4}, kHighPivots[kPivots] = {1.4, 1.65, 1.8};

double percentile_of(const std::vector<double>& values, const ErrorSums& sums, double percent,
                     const double (&pivots)[kPivots], std::vector<double>& scratch) {
  const PercentilePlace place = percentile_place(values.size(), percent);
  const RankPair at{place.below, std::min(place.below + 1, values.size() - 1)};
  const auto [low, high] = neighbours(values.data(), values.size(), sums, at, pivots, scratch);
  return percentile_between(low, high, place.fraction);
}

template <typename T>
bool all_finite(const T* x, std::size_t n) {
  return std::all_of(x, x + n, [](T value) { return std::isfinite(value); });
}

template <typename T>
Reason split_one(const T* u, const T* inverse_depth, std::size_t n, ParallaxLine& line, double& spread) {
  if (n == 0) return Reason::no_samples;
  const ParallaxLine found = parallax_line(u, inverse_depth, n);
  // A number that is not finite shows in the line; so do numbers too large to add, hence the second look.
  if (!std::isfinite(found.slope) || !std::isfinite(found.intercept)) {
    if (!all_finite(u, n) || !all_finite(inverse_depth, n)) return Reason::value_not_finite;
  }
  line = found;
  const std::vector<double> depths(inverse_depth, inverse_depth + n);
  std::vector<double> scratch;
  ErrorSums sums;
  trajectory_kernels().sums(depths.data(), n, sums);
  spread = percentile_of(depths, sums, 95, kHighPivots, scratch);
  spread -= percentile_of(depths, sums, 5, kLowPivots, scratch);
  return Reason::ok;
}

}  // namespace

template <typename T>
void parallax_split(const T* u, const T* inverse_depth, const std::int64_t* start, const std::int64_t* count,
                    std::size_t n_items, ParallaxOut out) {
  auto item = [&](std::size_t i) {
    ParallaxLine line{kMissing, kMissing};
    double spread = kMissing;
    const Reason reason =
        split_one(u + start[i], inverse_depth + start[i], static_cast<std::size_t>(count[i]), line, spread);
    out.slope[i] = line.slope;
    out.intercept[i] = line.intercept;
    out.spread[i] = spread;
    out.code[i] = static_cast<std::uint8_t>(reason);
  };
  for_chunks(n_items, item);
}

template void flow_channels(const float*, std::size_t, std::size_t, std::size_t, double*, double*,
                            std::uint8_t*);
template void flow_channels(const double*, std::size_t, std::size_t, std::size_t, double*, double*,
                            std::uint8_t*);
template void parallax_split(const float*, const float*, const std::int64_t*, const std::int64_t*,
                             std::size_t, ParallaxOut);
template void parallax_split(const double*, const double*, const std::int64_t*, const std::int64_t*,
                             std::size_t, ParallaxOut);

}  // namespace wmb
