// SPDX-License-Identifier: Apache-2.0
#include "cuda/select.h"

#include <algorithm>
#include <limits>

#include "test.h"

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
  const wmb::cuda::Items items{lengths.size(), 0, starts.data(), lengths.data()};
  std::vector<double> got(lengths.size());
  CHECK(check::same_both_ways([&] {
    CHECK(wmb::cuda::percentiles(values.data(), items, percent, got.data(), nullptr) == 0);
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
  CHECK(wmb::cuda::percentiles(values.data(), {2, 3, nullptr, lengths.data()}, 50.0, got.data(), nullptr) ==
        0);
  CHECK_NEAR(got[0], 2.0, 0.0);
  CHECK_NEAR(got[1], kNone, 0.0);
}
