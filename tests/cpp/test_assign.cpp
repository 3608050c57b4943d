// SPDX-License-Identifier: Apache-2.0
// Assignments against every permutation, and larger ones against themselves.
#include <algorithm>
#include <limits>
#include <numeric>

#include "check.h"
#include "core/reason.h"
#include "cpu/assign.h"

namespace {

constexpr double kForbidden = std::numeric_limits<double>::infinity();

// The least total over all ways to give each of `rows` (<= cols) rows a column of its own, +inf where there
// is none.
double least_total(const std::vector<double>& cost, std::int64_t rows, std::int64_t cols) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(cols));
  std::iota(order.begin(), order.end(), 0);
  double best = kForbidden;
  do {
    double total = 0;
    for (std::int64_t i = 0; i < rows; ++i)
      total += cost[static_cast<std::size_t>(i * cols + order[static_cast<std::size_t>(i)])];
    best = std::min(best, total);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(small_problems_are_solved_as_by_trying_all) {
  for (std::int64_t rows = 1; rows <= 4; ++rows)
    for (std::int64_t cols = rows; cols <= 5; ++cols)
      for (std::uint64_t seed = 0; seed < 12; ++seed) {
        check::Numbers numbers(seed);
        std::vector<double> cost(static_cast<std::size_t>(rows * cols));
        for (double& c : cost) {
          c = static_cast<double>(numbers.below(5));  // many ties
          if (seed % 3 == 0 && numbers.below(6) == 0) c = kForbidden;
        }
        const double wanted = least_total(cost, rows, cols);
        const std::int64_t start = 0;
        for (bool as_opis : {false, true}) {
          std::vector<std::int64_t> column(static_cast<std::size_t>(rows), -7);
          double total = 0;
          std::uint8_t code = 0;
          wmb::assign(cost.data(), {1, &rows, &cols, &start, &start}, {false, as_opis, false, 0.0},
                      column.data(), &total, &code);
          std::vector<std::int64_t> used;
          for (std::int64_t j : column)
            if (j >= 0) used.push_back(j);
          std::sort(used.begin(), used.end());
          CHECK(std::adjacent_find(used.begin(), used.end()) == used.end());
          if (wanted == kForbidden) {
            CHECK(code != 0);
          } else {
            CHECK(code == 0 && used.size() == static_cast<std::size_t>(rows));
            CHECK(total == wanted);
          }
        }
      }
}

template <typename T>
void batch(bool as_opis, bool may_be_alone, bool maximize) {
  const std::vector<std::int64_t> rows = {0, 1, 7, 8, 9, 37, 64, 65, 5},
                                  cols = {4, 1, 9, 8, 7, 41, 65, 64, 0};
  std::vector<std::int64_t> cost_start, row_start;
  std::int64_t n_cost = 0, n_rows = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    cost_start.push_back(n_cost), row_start.push_back(n_rows);
    n_cost += rows[k] * cols[k], n_rows += rows[k];
  }
  std::vector<T> cost = check::Numbers(3).some<T>(static_cast<std::size_t>(n_cost));
  for (T& c : cost) c = std::round(c * 8);
  cost[20] = std::numeric_limits<T>::quiet_NaN();
  cost[60] = std::numeric_limits<T>::infinity();
  CHECK(check::same_everywhere([&] {
    std::vector<std::int64_t> column(static_cast<std::size_t>(n_rows));
    std::vector<double> total(rows.size());
    std::vector<std::uint8_t> code(rows.size());
    wmb::assign(cost.data(), {rows.size(), rows.data(), cols.data(), cost_start.data(), row_start.data()},
                {maximize, as_opis, may_be_alone, 0.5}, column.data(), total.data(), code.data());
    for (std::size_t k = 0; k < rows.size(); ++k)
      for (std::int64_t i = 0; i < rows[k]; ++i) {
        const std::int64_t j = column[static_cast<std::size_t>(row_start[k] + i)];
        CHECK(-1 <= j && j < cols[k]);
      }
    return check::Bytes().add(column).add(total).add(code);
  }));
}

TEST(batches_of_every_shape) {
  for (bool as_opis : {false, true})
    for (bool may_be_alone : {false, true})
      for (bool maximize : {false, true}) {
        batch<float>(as_opis, may_be_alone, maximize);
        batch<double>(as_opis, may_be_alone, maximize);
      }
}

TEST(costs_near_the_end_of_the_numbers) {
  const std::vector<double> cost = {1e308, -1e308, 1e308, 1e308, 1e-320, 0, -1e308, 1e308, 1e308};
  const std::int64_t n = 3, start = 0;
  std::vector<std::int64_t> column(3);
  double total = 0;
  std::uint8_t code = 0;
  wmb::assign(cost.data(), {1, &n, &n, &start, &start}, {false, false, false, 0.0}, column.data(), &total,
              &code);
  CHECK((column == std::vector<std::int64_t>{1, 2, 0}));
}

}  // namespace
