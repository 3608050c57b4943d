// SPDX-License-Identifier: Apache-2.0
#include "cuda/select.h"

#include <algorithm>
#include <limits>

#include "cuda/items.h"
#include "test.h"

namespace {

using wmb::cuda::Items;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kThreads = 128;

// A percentile of each item, of its numbers that are not NaN; NaN where it has none.
template <typename T>
__global__ void percentiles_of_items(const T* values, Items items, double percent, double* out) {
  __shared__ wmb::cuda::SelectShared shared;
  const std::size_t item = blockIdx.x, n = items.size(item);
  const T* here = values + items.begin(item);
  auto value_at = [&](std::size_t k) { return static_cast<double>(here[k]); };
  const wmb::cuda::Extent extent = wmb::cuda::block_extent<kThreads>(value_at, n, shared);
  double result = kNone;
  if (extent.count > 0) result = wmb::cuda::block_percentile<kThreads>(value_at, n, extent, percent, shared);
  if (threadIdx.x == 0) out[item] = result;
}

template <typename T>
int percentiles(const T* values, const Items& items, double percent, double* out) {
  return wmb::cuda::launch(percentiles_of_items<T>, dim3(static_cast<unsigned>(items.n)), dim3(kThreads),
                           nullptr, values, items, percent, out);
}

// Sorting instead.
template <typename T>
double percentile_of(const T* values, std::size_t n, double percent) {
  std::vector<double> kept;
  for (std::size_t k = 0; k < n; ++k)
    if (values[k] == values[k]) kept.push_back(static_cast<double>(values[k]));
  if (kept.empty()) return kNone;
  std::sort(kept.begin(), kept.end());
  const wmb::PercentilePlace place = wmb::percentile_place(kept.size(), percent);
  const double low = kept[place.below], high = kept[std::min(place.below + 1, kept.size() - 1)];
  return wmb::percentile_between(low, high, place.fraction);
}

template <typename T>
void compare(const std::vector<T>& values, const std::vector<std::int64_t>& lengths, double percent) {
  std::vector<std::int64_t> starts;
  std::int64_t begin = 0;
  for (std::int64_t length : lengths) {
    starts.push_back(begin);
    begin += length;
  }
  const Items items{lengths.size(), 0, starts.data(), lengths.data()};
  std::vector<double> got(lengths.size());
  CHECK(check::same_both_ways([&] {
    CHECK(percentiles(values.data(), items, percent, got.data()) == 0);
    return check::Bytes().add(got);
  }));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double want = percentile_of(values.data() + starts[i], lengths[i], percent);
    CHECK_NEAR(got[i], want, 0.0);
  }
}

}  // namespace

TEST(percentiles_are_those_of_sorting) {
  const std::vector<std::int64_t> lengths{0, 1, 2, 3, 17, 301, 64};
  const std::vector<double> doubles = check::Numbers(1).some<double>(388);
  const std::vector<float> floats = check::Numbers(2).some<float>(388);
  for (double percent : {0.0, 5.0, 100.0}) compare(doubles, lengths, percent);
  compare(floats, lengths, 50.0);
}

TEST(percentiles_of_equal_missing_and_infinite_numbers) {
  const double least = std::numeric_limits<double>::denorm_min();
  compare<double>({kNone, kNone}, {2}, 50.0);
  compare<double>({1, 1, 1, 1, 1}, {5}, 50.0);
  compare<double>({1, 1, 2, 2, kNone, 2}, {6}, 25.0);
  compare<double>({-kInfinity, kInfinity, kNone, 3, -4}, {5}, 60.0);
  compare<double>({0.0, -0.0, least, -least, 1e308, -1e308}, {6}, 40.0);
  std::vector<double> few(300);  // many of each
  for (std::size_t k = 0; k < few.size(); ++k) few[k] = static_cast<double>(k * k % 3) - 1.0;
  compare(few, {150, 150}, 50.0);
  compare(few, {299, 1}, 33.0);
}

TEST(percentiles_of_lengths_beyond_the_room) {
  const std::vector<double> values{1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> lengths{5, -2};
  std::vector<double> got(2);
  const Items items{2, 3, nullptr, lengths.data()};
  CHECK(percentiles(values.data(), items, 50.0, got.data()) == 0);
  CHECK_NEAR(got[0], 2.0, 0.0);
  CHECK_NEAR(got[1], kNone, 0.0);
}
