// SPDX-License-Identifier: Apache-2.0
#include "cpu/assign.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/assign.h"
#include "core/assign_ties.h"
#include "core/reason.h"
#include "cpu/assign_opis.h"
#include "cpu/memory.h"
#include "cpu/parallel.h"
#include "cpu/simd.h"

namespace wmb {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHuge = 0x1p900, kShrink = 0x1p-120;  // sums of larger costs could overflow
constexpr std::int64_t kPairsAChunk = 1 << 14;

struct LevelScans {
  const isa::RowScans& level;

  double relax(std::int64_t n, const double* cost, const double* price, double shift, std::int64_t row,
               double* key, std::int64_t* from) const {
    return level.relax(n, cost, price, shift, row, key, from);
  }
  std::int64_t first_least(const double* key, double least) const { return level.first_least(key, least); }
  std::int64_t first_free_least(std::int64_t n, const double* key, const double* busy, double least) const {
    return level.first_free_least(n, key, busy, least);
  }
  void within(std::int64_t n, const double* cost, const double* price, double bound,
              std::uint64_t* bits) const {
    level.within(n, cost, price, bound, bits);
  }
};

// One problem as the solvers take it: costs to minimise, in float64, forbidden pairs at +inf.
struct Prepared {
  AssignProblem problem;
  double null_cost;
  double largest;  // magnitude
  bool has_nan;
};

// The largest magnitude, and whether all is finite, in lanes that are only ever named by a constant.
struct Extent {
  double size[isa::kRowStep] = {};
  double zero[isa::kRowStep] = {};  // x - x: NaN where x is not finite

  // n is a multiple of kRowStep.
  void add_row(const double* x, std::int64_t n) {
    double s[isa::kRowStep], z[isa::kRowStep];
    std::copy_n(size, isa::kRowStep, s);
    std::copy_n(zero, isa::kRowStep, z);
    for (std::int64_t j = 0; j < n; j += isa::kRowStep) {
      for (std::int64_t lane = 0; lane < isa::kRowStep; ++lane) {
        const double magnitude = std::fabs(x[j + lane]);
        s[lane] = magnitude > s[lane] ? magnitude : s[lane];
        z[lane] += x[j + lane] - x[j + lane];
      }
    }
    std::copy_n(s, isa::kRowStep, size);
    std::copy_n(z, isa::kRowStep, zero);
  }
  double largest() const { return *std::max_element(size, size + isa::kRowStep); }
  bool all_finite() const {
    return std::all_of(zero, zero + isa::kRowStep, [](double z) { return z == 0; });
  }
};

// Costs that the solvers can read where they lie: float64, finite, and not too large. Null where they cannot.
const double* as_they_are(const double* cost, std::int64_t rows, std::int64_t cols, std::int64_t stride,
                          const AssignOptions& options, double& largest) {
  if (options.maximize || stride != cols) return nullptr;
  Extent extent;
  for (std::int64_t i = 0; i < rows; ++i) extent.add_row(cost + i * cols, cols);
  if (!extent.all_finite() || extent.largest() > kHuge || std::fabs(options.null_cost) > kHuge)
    return nullptr;
  largest = extent.largest();
  return cost;
}
const double* as_they_are(const float*, std::int64_t, std::int64_t, std::int64_t, const AssignOptions&,
                          double&) {
  return nullptr;
}

template <typename T>
Prepared prepare(const T* cost, std::int64_t rows, std::int64_t cols, std::int64_t stride,
                 const AssignOptions& options, Memory& memory) {
  const double null = options.may_be_alone ? std::fabs(options.null_cost) : 0.0;
  double found = 0.0;
  if (const double* here = as_they_are(cost, rows, cols, stride, options, found))
    return {{rows, cols, stride, here, kInfinity}, options.null_cost, std::max(null, found), false};
  double* copy = memory.doubles(static_cast<std::size_t>(rows * stride));
  const double sign = options.maximize ? -1.0 : 1.0;
  Extent extent;
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* from = cost + i * cols;
    double* to = copy + i * stride;
    for (std::int64_t j = 0; j < cols; ++j) to[j] = sign * static_cast<double>(from[j]);
    for (std::int64_t j = cols; j < stride; ++j) to[j] = 0;
    extent.add_row(to, stride);
    for (std::int64_t j = cols; j < stride; ++j) to[j] = kInfinity;
  }
  double largest = null;
  const bool all_finite = extent.all_finite();
  if (all_finite) largest = std::max(largest, extent.largest());
  bool has_nan = false;
  if (!all_finite) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (double* value = copy + i * stride; value < copy + i * stride + cols; ++value) {
        has_nan |= std::isnan(*value) || *value == -kInfinity;
        if (std::isfinite(*value)) {
          largest = std::max(largest, std::fabs(*value));
        } else {
          *value = kInfinity;
        }
      }
    }
  }
  double null_cost = sign * options.null_cost;
  if (largest > kHuge) {
    for (std::int64_t k = 0; k < rows * stride; ++k) copy[k] *= kShrink;
    largest *= kShrink;
    null_cost *= kShrink;
  }
  return {{rows, cols, stride, copy, kInfinity}, null_cost, largest, has_nan};
}

TieWork tie_work(const AssignProblem& p, Memory& memory) {
  TieWork t{};
  t.row_words = words_of(p.stride);
  t.col_words = words_of(p.rows);
  t.columns = memory.words(static_cast<std::size_t>(p.rows * t.row_words));
  t.rows = memory.words(static_cast<std::size_t>(p.cols * t.col_words));
  t.good = memory.words(static_cast<std::size_t>(t.row_words));
  t.unsettled = memory.words(static_cast<std::size_t>(t.col_words));
  t.next = memory.indices(static_cast<std::size_t>(p.rows));
  t.queue = memory.indices(static_cast<std::size_t>(p.cols));
  t.row_price = memory.doubles(static_cast<std::size_t>(p.rows));
  return t;
}

Reason solve_lowest(Prepared& prepared, bool may_be_alone, std::int64_t* column, Memory& memory) {
  AssignProblem& p = prepared.problem;
  const std::size_t stride = static_cast<std::size_t>(p.stride);
  const AssignWork w{memory.doubles(stride), memory.doubles(stride), memory.doubles(stride),
                     memory.doubles(stride), memory.doubles(stride), memory.indices(stride),
                     memory.indices(stride), memory.indices(stride), column};
  const LevelScans scans{simd().rows};
  bool solved = false;
  if (may_be_alone) {
    p.alone = prepared.null_cost;
  } else if (p.rows == p.cols) {
    solved = solve_assignment(p, w, scans);  // rows that all must be assigned
    if (!solved) p.alone = dearest(prepared.largest, p.rows, p.cols);
  } else {
    p.alone = dearest(prepared.largest, p.rows, p.cols);
  }
  if (!solved) solve_assignment(p, w, scans);
  lowest_assignment(p, w, tie_work(p, memory), scans);
  if (prepared.has_nan) return Reason::cost_is_nan;
  const std::int64_t assigned = p.rows - std::count(column, column + p.rows, kAlone);
  return may_be_alone || assigned == std::min(p.rows, p.cols) ? Reason::ok : Reason::not_all_assigned;
}

Reason solve_opis(Prepared& prepared, bool may_be_alone, std::int64_t* column, Memory& memory) {
  AssignProblem& p = prepared.problem;
  if (may_be_alone) p.alone = prepared.null_cost;
  if (!prepared.has_nan)
    return assign_as_opis(p, memory, column) ? Reason::ok : Reason::opis_not_all_assigned;
  std::fill(column, column + p.rows, kAlone);
  return Reason::opis_cost_is_nan;
}

template <typename T>
double sum_assigned(const T* cost, std::int64_t rows, std::int64_t cols, const std::int64_t* column) {
  double sum = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (column[i] != kAlone) sum += static_cast<double>(cost[i * cols + column[i]]);
  }
  return sum;
}

}  // namespace

template <typename T>
void assign(const T* cost, AssignItems items, AssignOptions options, std::int64_t* column, double* total,
            std::uint8_t* code) {
  std::int64_t largest = 1;
  for (std::size_t k = 0; k < items.count; ++k) largest = std::max(largest, items.rows[k] * items.cols[k]);
  const std::size_t chunk = static_cast<std::size_t>(std::max<std::int64_t>(1, kPairsAChunk / largest));
  auto body = [&](std::size_t c) {
    Memory memory;
    for (std::size_t k = c * chunk; k < std::min(items.count, (c + 1) * chunk); ++k) {
      memory.reuse();
      const std::int64_t rows = items.rows[k], cols = items.cols[k];
      const std::int64_t stride = whole_row_steps(cols);
      const T* costs = cost + items.cost_start[k];
      std::int64_t* columns = column + items.row_start[k];
      Prepared prepared = prepare(costs, rows, cols, stride, options, memory);
      const Reason reason = options.as_opis ? solve_opis(prepared, options.may_be_alone, columns, memory)
                                            : solve_lowest(prepared, options.may_be_alone, columns, memory);
      code[k] = static_cast<std::uint8_t>(reason);
      const bool missing = reason == Reason::opis_cost_is_nan || reason == Reason::opis_not_all_assigned;
      total[k] =
          missing ? std::numeric_limits<double>::quiet_NaN() : sum_assigned(costs, rows, cols, columns);
    }
  };
  for_chunks(chunk_count(items.count, chunk), body);
}

template void assign(const float*, AssignItems, AssignOptions, std::int64_t*, double*, std::uint8_t*);
template void assign(const double*, AssignItems, AssignOptions, std::int64_t*, double*, std::uint8_t*);

}  // namespace wmb
