// SPDX-License-Identifier: Apache-2.0
// The k best rows against the sorted row of the matrix, and the look that most rows of a gallery get instead.
#include <algorithm>
#include <limits>

#include "check.h"
#include "cpu/cosine.h"
#include "cpu/sieve.h"
#include "cpu/topk.h"

namespace {

// Rows on whose sums rounding works hardest, a kind each: what happens to come, equal terms, a large term and
// many that are rounded up or down to it, terms that cancel, tiny and huge ones, none, and NaN.
constexpr std::int64_t kKinds = 9;

template <typename T>
void fill(T* row, std::int64_t dim, std::int64_t kind, check::Numbers& numbers) {
  const double half_step = std::sqrt(static_cast<double>(std::numeric_limits<T>::epsilon()) / 4);
  for (std::int64_t k = 0; k < dim; ++k) {
    const double x = numbers.next();
    const double of_kind[kKinds] = {x,
                                    1.0 / 3,
                                    k == 0 ? 1 : 1.01 * half_step,
                                    k == 0 ? 1 : 0.99 * half_step,
                                    (k % 2 == 0 ? 1 : -1) + 1e-3 * x,
                                    x * (sizeof(T) == 4 ? 1e-40 : 1e-310),
                                    x * (sizeof(T) == 4 ? 1e37 : 1e300),
                                    0,
                                    k == dim / 2 ? std::numeric_limits<double>::quiet_NaN() : x};
    row[k] = static_cast<T>(of_kind[kind]);
  }
}

template <typename T>
std::vector<T> rows_of_all_kinds(std::int64_t n, std::int64_t dim, std::uint64_t seed) {
  check::Numbers numbers(seed);
  std::vector<T> out(static_cast<std::size_t>(n * dim));
  for (std::int64_t i = 0; i < n; ++i) fill(out.data() + i * dim, dim, i % kKinds, numbers);
  return out;
}

template <typename T>
std::vector<T> matrix(const std::vector<T>& a, const std::vector<T>& b, std::int64_t dim) {
  const std::int64_t n = static_cast<std::int64_t>(a.size()) / dim,
                     m = static_cast<std::int64_t>(b.size()) / dim, spans[] = {0, n, 0, m};
  std::vector<T> scores(static_cast<std::size_t>(n * m));
  wmb::cosine_matrix(a.data(), b.data(), dim, spans, 1, false, scores.data());
  return scores;
}

// Whether a look at row r of b keeps it, with this bar.
template <typename T>
bool is_kept(wmb::Sieve<T>& sieve, const std::vector<T>& b, std::int64_t r, T bar) {
  std::vector<std::int64_t> kept;
  const wmb::isa::Candidates<T> bars{bar, 0, 0, nullptr, nullptr};
  sieve.pass(b.data(), r, 1, &bars, kept);
  return kept == std::vector<std::int64_t>{r};
}

template <typename T>
void look(std::int64_t dim) {
  const T infinity = std::numeric_limits<T>::infinity(),
          far = static_cast<T>(8 * dim + 1024) * std::numeric_limits<T>::epsilon();
  const std::vector<T> a = rows_of_all_kinds<T>(kKinds, dim, 3), b = rows_of_all_kinds<T>(40, dim, 4);
  const std::vector<T> scores = matrix(a, b, dim);
  const auto queries = wmb::usable_rows(a.data(), kKinds, dim, wmb::Metric::cosine, false);
  std::int64_t passed_over = 0;
  for (std::int64_t q = 0; q < queries.size(); ++q)
    for (std::int64_t r = 0; r < 40; ++r) {
      const T score = scores[static_cast<std::size_t>(queries.row[static_cast<std::size_t>(q)] * 40 + r)];
      if (std::isnan(score)) continue;
      wmb::Sieve<T> above(queries, q, 1), below(queries, q, 1);
      CHECK(is_kept(above, b, r, std::nextafter(score, -infinity)));
      passed_over += !is_kept(below, b, r, score + far);
    }
  CHECK(passed_over >= queries.size() * 20);  // all whose squares are a float's
}

TEST(a_look_keeps_every_row_above_the_bar) {
  const char* levels[3];
  const int n_levels = wmb::simd_levels(levels);
  for (int level = 0; level < n_levels; ++level) {
    wmb::set_simd_level(levels[level]);
    for (std::int64_t dim : {1, 2, 7, 8, 9, 31, 64, 127, 128, 129, 260, 1025}) {
      look<float>(dim);
      look<double>(dim);
    }
  }
}

template <typename T>
void best(std::int64_t n, std::int64_t m, std::int64_t dim, std::int64_t k) {
  const std::vector<T> a = rows_of_all_kinds<T>(n, dim, 5);
  std::vector<T> b = rows_of_all_kinds<T>(m, dim, 6);
  const std::vector<T> scores = matrix(a, b, dim);
  const std::vector<std::int64_t> spans = {0, n, 0, m};
  CHECK(check::same_everywhere([&] {
    std::vector<std::int64_t> index(static_cast<std::size_t>(n * k));
    std::vector<T> score(static_cast<std::size_t>(n * k));
    wmb::topk(a.data(), b.data(), dim, spans.data(), 1, k, index.data(), score.data());
    for (std::int64_t q = 0; q < n; ++q) {
      const T* row = scores.data() + q * m;
      std::vector<std::int64_t> order;
      for (std::int64_t j = 0; j < m; ++j)
        if (!std::isnan(row[j])) order.push_back(j);
      std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return row[i] > row[j]; });
      order.resize(static_cast<std::size_t>(k), -1);
      CHECK(std::equal(order.begin(), order.end(), index.begin() + q * k));
      for (std::int64_t i = 0; i < k; ++i) {
        const std::int64_t found = order[static_cast<std::size_t>(i)];
        const T got = score[static_cast<std::size_t>(q * k + i)];
        CHECK(found < 0 ? std::isnan(got) : got == row[found]);
      }
    }
    return check::Bytes().add(index).add(score);
  }));
}

TEST(the_best_are_those_of_the_sorted_row) {
  for (std::int64_t n : {1, 2, 5, 9, 40}) {
    best<float>(n, 300, 33, 3);
    best<double>(n, 300, 33, 3);
  }
  best<float>(3, 70, 17, 100);
  best<float>(1, 9000, 2, 1);
  best<double>(2, 5, 129, 5);
}

}  // namespace
