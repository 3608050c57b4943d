// SPDX-License-Identifier: Apache-2.0
#include "cpu/assign_opis.h"

#include <algorithm>
#include <limits>

#include "core/assign_opis.h"
#include "cpu/simd.h"

namespace wmb {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct LevelScans {
  const isa::RowScans& level;

  std::int64_t whole_steps(std::int64_t n) const { return whole_row_steps(n); }
  double relax_as_opis(std::int64_t n, const double* cost, const double* price, double shift, double step,
                       std::int64_t column, double* key, std::int64_t* from) const {
    return level.relax_as_opis(n, cost, price, shift, step, column, key, from);
  }
  std::int64_t first_least(const double* key, double least) const { return level.first_least(key, least); }
};

// Finds the row of each column, or kNobody; false where not every row can be assigned.
bool solve(const OpisProblem& p, Memory& memory, const std::int64_t*& row_of) {
  const std::size_t rows = static_cast<std::size_t>(p.rows);
  const std::size_t all = static_cast<std::size_t>(p.stride + (p.alone ? whole_row_steps(p.rows) : 0));
  const OpisWork w{memory.doubles(rows), memory.doubles(all), memory.doubles(all), memory.doubles(all),
                   memory.indices(all),  memory.indices(all), memory.indices(all), memory.doubles(rows)};
  const LevelScans scans{simd().rows};
  row_of = w.row_of;
  return OpisSolver<LevelScans>(p, w, scans).solve();
}

// Where there are more rows than columns, the public solver turns the problem.
bool assign_turned(const AssignProblem& p, Memory& memory, std::int64_t* column) {
  const std::int64_t stride = whole_row_steps(p.rows);
  double* turned = memory.doubles(static_cast<std::size_t>(p.cols * stride));
  for (std::int64_t j = 0; j < p.cols; ++j) {
    double* to = turned + j * stride;
    for (std::int64_t i = 0; i < p.rows; ++i) to[i] = p.cost[i * p.stride + j];
    std::fill(to + p.rows, to + stride, kInfinity);
  }
  const std::int64_t* column_of;
  if (!solve({p.cols, p.rows, stride, turned, nullptr}, memory, column_of)) return false;
  std::copy_n(column_of, p.rows, column);
  return true;
}

// The null columns' costs, as the solver reads them.
const double* null_costs(const AssignProblem& p, Memory& memory) {
  const std::int64_t n = whole_row_steps(p.rows);
  double* costs = memory.doubles(static_cast<std::size_t>(n));
  std::fill_n(costs, p.rows, p.alone);
  std::fill(costs + p.rows, costs + n, kInfinity);
  return costs;
}

}  // namespace

bool assign_as_opis(const AssignProblem& p, Memory& memory, std::int64_t* column) {
  std::fill_n(column, p.rows, kAlone);
  const bool all_must = p.alone == kInfinity;
  if (all_must && p.rows > p.cols) return assign_turned(p, memory, column);
  const double* alone = all_must ? nullptr : null_costs(p, memory);
  const std::int64_t* row_of;
  if (!solve({p.rows, p.cols, p.stride, p.cost, alone}, memory, row_of)) return false;
  for (std::int64_t j = 0; j < p.cols; ++j)
    if (row_of[j] != kNobody) column[row_of[j]] = j;
  return true;
}

}  // namespace wmb
