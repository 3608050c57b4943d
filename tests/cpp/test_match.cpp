// SPDX-License-Identifier: Apache-2.0
// Cosines and nearest rows against plain sums, at widths and heights that no tile or lane divides.
#include <algorithm>
#include <limits>

#include "check.h"
#include "cpu/cosine.h"
#include "cpu/match.h"

namespace {

using wmb::MatchRule;
using wmb::Metric;

constexpr std::int64_t kDims[] = {1, 2, 7, 8, 9, 31, 33, 127, 129, 260};

// Random rows; some without a direction, some repeated, some tiny or huge.
template <typename T>
std::vector<T> rows(std::int64_t n, std::int64_t dim, std::uint64_t seed) {
  check::Numbers numbers(seed);
  std::vector<T> out = numbers.some<T>(static_cast<std::size_t>(n * dim));
  auto row = [&](std::int64_t i) { return out.begin() + i * dim; };
  if (n > 9) {
    std::fill(row(3), row(4), T(0));
    *row(4) = std::numeric_limits<T>::quiet_NaN();
    std::copy(row(0), row(1), row(6));
    for (auto x = row(7); x != row(8); ++x) *x *= T(1e-30);
    for (auto x = row(8); x != row(9); ++x) *x *= T(1e30);
  }
  return out;
}

template <typename T>
double plain_cosine(const T* x, const T* y, std::int64_t dim) {
  double xx = 0, yy = 0, xy = 0;
  for (std::int64_t k = 0; k < dim; ++k) {
    xx += double(x[k]) * x[k], yy += double(y[k]) * y[k], xy += double(x[k]) * y[k];
  }
  return xy / std::sqrt(xx * yy);  // NaN for a row of zeros
}

template <typename T>
void cosines(std::int64_t n, std::int64_t m, std::int64_t dim) {
  const double within = sizeof(T) == 4 ? 2e-6 : 1e-14;
  const std::vector<T> a = rows<T>(n, dim, 1), b = rows<T>(m, dim, 2);
  const std::vector<std::int64_t> spans = {0, n, 0, m, 0, n / 2, m / 2, m}, same = {0, n, 0, n};
  CHECK(check::same_everywhere([&] {
    std::vector<T> scores(static_cast<std::size_t>(n * m + n / 2 * (m - m / 2))),
        half(static_cast<std::size_t>(n * n)), pairs(static_cast<std::size_t>(std::min(n, m)));
    wmb::cosine_matrix(a.data(), b.data(), dim, spans.data(), 2, false, scores.data());
    wmb::cosine_matrix(a.data(), a.data(), dim, same.data(), 1, true, half.data());
    wmb::cosine_pairs(a.data(), dim, b.data(), dim, static_cast<std::int64_t>(pairs.size()), dim,
                      pairs.data());
    bool right = true;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < m; ++j) {
        const double wanted = plain_cosine(a.data() + i * dim, b.data() + j * dim, dim);
        right = right &&
                check::near(static_cast<double>(scores[static_cast<std::size_t>(i * m + j)]), wanted, within);
        if (i == j)
          right =
              right && check::near(static_cast<double>(pairs[static_cast<std::size_t>(i)]), wanted, within);
      }
    CHECK(right);
    for (T s : scores) CHECK(!(s > 1) && !(s < -1));
    return check::Bytes().add(std::vector<std::int64_t>{n, m}).add(scores).add(half).add(pairs);
  }));
}

TEST(cosines_are_plain_sums) {
  for (std::int64_t dim : kDims) {
    cosines<float>(13, 35, dim);
    cosines<double>(11, 18, dim);
  }
  cosines<float>(1, 1, 3);
  cosines<float>(0, 5, 3);
  cosines<double>(5, 0, 3);
}

// The rule itself, row by row.
template <typename T>
std::vector<std::int64_t> plain_matches(const std::vector<double>& value, std::int64_t n, std::int64_t m,
                                        bool mutual) {
  auto best = [&](std::int64_t count, auto at) {
    std::int64_t found = -1;
    for (std::int64_t k = 0; k < count; ++k)
      if (at(k) == at(k) && (found < 0 || at(k) > at(found))) found = k;
    return found;
  };
  std::vector<std::int64_t> out(static_cast<std::size_t>(n), -1);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t j =
        best(m, [&](std::int64_t k) { return value[static_cast<std::size_t>(i * m + k)]; });
    if (j < 0) continue;
    const std::int64_t back =
        best(n, [&](std::int64_t k) { return value[static_cast<std::size_t>(k * m + j)]; });
    if (!mutual || back == i) out[static_cast<std::size_t>(i)] = j;
  }
  return out;
}

TEST(binary_rows_match_by_the_bits_that_differ) {
  for (std::int64_t dim : {1, 7, 8, 9, 32, 33}) {
    const std::int64_t n = 19, m = 70;
    check::Numbers numbers(static_cast<std::uint64_t>(dim));
    std::vector<std::uint8_t> a(static_cast<std::size_t>(n * dim)), b(static_cast<std::size_t>(m * dim));
    for (auto* set : {&a, &b})
      for (std::uint8_t& x : *set) x = static_cast<std::uint8_t>(numbers.bits());
    std::vector<double> value(static_cast<std::size_t>(n * m));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < m; ++j) {
        int differ = 0;
        for (std::int64_t k = 0; k < dim; ++k)
          differ += __builtin_popcount(a[static_cast<std::size_t>(i * dim + k)] ^
                                       b[static_cast<std::size_t>(j * dim + k)]);
        value[static_cast<std::size_t>(i * m + j)] = -differ;
      }
    const std::vector<std::int64_t> spans = {0, n, 0, m};
    for (bool mutual : {false, true})
      CHECK(check::same_everywhere([&] {
        std::vector<std::int64_t> index(static_cast<std::size_t>(n));
        std::vector<float> score(static_cast<std::size_t>(n));
        wmb::match_binary(a.data(), b.data(), dim, spans.data(), 1, {Metric::hamming, mutual, 0.0},
                          index.data(), score.data());
        CHECK(index == plain_matches<float>(value, n, m, mutual));
        return check::Bytes().add(index).add(score);
      }));
  }
}

TEST(rows_match_their_nearest) {
  for (std::int64_t dim : kDims) {
    const std::int64_t n = 21, m = 67;
    const std::vector<double> a = rows<double>(n, dim, 5), b = rows<double>(m, dim, 6);
    std::vector<double> value(static_cast<std::size_t>(n * m));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < m; ++j) {
        double squares = 0;
        for (std::int64_t k = 0; k < dim; ++k) {
          const double d =
              a[static_cast<std::size_t>(i * dim + k)] - b[static_cast<std::size_t>(j * dim + k)];
          squares += d * d;
        }
        value[static_cast<std::size_t>(i * m + j)] = -squares;
      }
    const std::vector<std::int64_t> spans = {0, n, 0, m};
    for (bool mutual : {false, true})
      CHECK(check::same_everywhere([&] {
        std::vector<std::int64_t> index(static_cast<std::size_t>(n));
        std::vector<double> score(static_cast<std::size_t>(n));
        wmb::match(a.data(), b.data(), dim, spans.data(), 1, {Metric::l2, mutual, 0.0}, index.data(),
                   score.data());
        // Sums of other orders differ in the last bits, and 1e30 swallows those: compare the values, not the
        // places.
        const std::vector<std::int64_t> wanted = plain_matches<double>(value, n, m, false);
        if (!mutual)
          for (std::size_t i = 0; i < index.size(); ++i) {
            CHECK((index[i] < 0) == (wanted[i] < 0));
            if (index[i] < 0) continue;
            const double best = value[i * static_cast<std::size_t>(m) + static_cast<std::size_t>(wanted[i])];
            CHECK_NEAR(score[i], std::sqrt(-best), 1e-13 * std::sqrt(-best));
          }
        return check::Bytes().add(index).add(score);
      }));
  }
}

TEST(distances_whose_squares_are_zero) {
  const std::vector<float> a = {2.2e-30f, 1, 4.9e-30f, 1}, b = {0, 1, 5e-30f, 1, 2e-30f, 1, 7, 1};
  const std::vector<std::int64_t> spans = {0, 2, 0, 4};
  for (double ratio : {0.0, 0.5})
    CHECK(check::same_everywhere([&] {
      std::vector<std::int64_t> index(2);
      std::vector<float> score(2);
      wmb::match(a.data(), b.data(), 2, spans.data(), 1, {Metric::l2, true, ratio}, index.data(),
                 score.data());
      CHECK(index[0] == 2 && index[1] == 1);
      CHECK_NEAR(score[0] * 1e30, 0.2, 1e-5);
      return check::Bytes().add(index).add(score);
    }));
}

TEST(ragged_items_and_the_ratio_test) {
  const std::int64_t dim = 24;
  const std::vector<float> a = rows<float>(150, dim, 7), b = rows<float>(200, dim, 8);
  const std::vector<std::int64_t> spans = {0,   150, 0, 200, 10, 10, 0, 200, 149, 150,
                                           199, 200, 0, 5,   7,  7,  3, 80,  1,   160};
  for (Metric metric : {Metric::cosine, Metric::l2})
    for (double ratio : {0.0, 0.9})
      CHECK(check::same_everywhere([&] {
        std::vector<std::int64_t> index(150 + 0 + 1 + 5 + 77);
        std::vector<float> score(index.size());
        wmb::match(a.data(), b.data(), dim, spans.data(), 5, {metric, true, ratio}, index.data(),
                   score.data());
        for (std::size_t i = 0; i < index.size(); ++i) CHECK((index[i] < 0) == std::isnan(score[i]));
        for (std::size_t i = 151; i < 156; ++i) CHECK(index[i] == -1);
        return check::Bytes().add(index).add(score);
      }));
}

}  // namespace
