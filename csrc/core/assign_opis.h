// SPDX-License-Identifier: Apache-2.0
// The assignment as OPIS's public solver makes it, its choice among ties included.
//
// Rows are added in order, each by a shortest path over reduced costs. Columns are looked at in ascending
// order, and a nearer one is taken on < alone. Prices are kept for rows and columns, and every step of a path
// moves all of them at once: the rounding of those sums is part of what the solver answers. The step of one
// scan is taken off the keys by the next, which reads them anyhow.
//
// Where rows may stay alone, the solver is given a null column for each of them, behind the others and alike
// to all rows. Those not yet touched are equals, of which the first is taken: so only the ones in use, and
// one more, are scanned.
// Source: OPIS (arXiv 2609.35052), the Hungarian solver of its released evaluator.
#pragma once

#include <cstdint>
#include <limits>

#include "core/hd.h"

namespace wmb {

constexpr std::int64_t kNobody = -1;  // has the column; and instead of a column, where a path begins

struct OpisProblem {
  std::int64_t rows, cols, stride;  // rows <= cols where no row may stay alone
  const double* cost;               // rows x stride; +inf beyond the columns
  const double* alone;              // the null columns' cost, once for each, then +inf; null: there are none
};

// Of the columns, padded to the stride, and the null columns behind them; the first and the last have one
// entry a row.
struct OpisWork {
  double* row_price;
  double* column_price;
  double* open;  // the price of a column not yet reached; -inf for those reached, which nothing relaxes
  double* key;   // least cost of a path to each column not yet reached; +inf for those reached
  std::int64_t* row_of;
  std::int64_t* from;  // the column before it on the path
  std::int64_t* reached;
  double* dearer;  // by how much a row's cheapest column is dearer than to stay alone; NaN: not yet asked
};

template <typename Scans>
class OpisSolver {
 public:
  OpisSolver(const OpisProblem& problem, const OpisWork& work, const Scans& scans)
      : p_(problem), w_(work), scans_(scans) {}

  // Writes the row of each column, or kNobody, to work.row_of. False where not every row can be assigned.
  WMB_HD bool solve() {
    const std::int64_t all = p_.stride + (p_.alone ? scans_.whole_steps(p_.rows) : 0);
    for (std::int64_t i = 0; i < p_.rows; ++i) {
      w_.row_price[i] = 0;
      w_.dearer[i] = std::numeric_limits<double>::quiet_NaN();
    }
    for (std::int64_t j = 0; j < all; ++j) {
      w_.column_price[j] = w_.open[j] = 0;
      w_.row_of[j] = kNobody;
    }
    for (std::int64_t i = 0; i < p_.rows; ++i)
      if (!add_row(i)) return false;
    return true;
  }

 private:
  // Adds one row. False where there is no way to.
  WMB_HD bool add_row(std::int64_t added) {
    const double inf = std::numeric_limits<double>::infinity();
    n_scanned_ = p_.alone ? scans_.whole_steps(n_alone_ + 1) : 0;
    for (std::int64_t j = 0; j < p_.stride + n_scanned_; ++j) w_.key[j] = inf;
    double step = 0;
    std::int64_t row = added, column = kNobody, n_reached = 0;
    for (;;) {
      step = relax(row, step, column);
      if (step == inf) return false;
      column = scans_.first_least(w_.key, step);
      if (step != 0) pay(step, added, n_reached);
      if (column == p_.stride && n_alone_ > 0 && all_stay_alone()) column += n_alone_;
      row = w_.row_of[column];
      if (row == kNobody) break;
      w_.key[column] = inf;
      w_.open[column] = -inf;
      w_.reached[n_reached++] = column;
    }
    for (std::int64_t k = 0; k < n_reached; ++k) w_.open[w_.reached[k]] = w_.column_price[w_.reached[k]];
    n_alone_ += column >= p_.stride;
    for (; w_.from[column] != kNobody; column = w_.from[column])
      w_.row_of[column] = w_.row_of[w_.from[column]];
    w_.row_of[column] = added;
    return true;
  }

  WMB_HD double relax(std::int64_t row, double step, std::int64_t column) {
    const double least = scans_.relax_as_opis(p_.stride, p_.cost + row * p_.stride, w_.open,
                                              w_.row_price[row], step, column, w_.key, w_.from);
    if (n_scanned_ == 0) return least;
    const double alone = scans_.relax_as_opis(n_scanned_, p_.alone, w_.open + p_.stride, w_.row_price[row],
                                              step, column, w_.key + p_.stride, w_.from + p_.stride);
    return alone < least ? alone : least;
  }

  WMB_HD void pay(double step, std::int64_t added, std::int64_t n_reached) {
    w_.row_price[added] += step;
    for (std::int64_t k = 0; k < n_reached; ++k) {
      const std::int64_t column = w_.reached[k];
      w_.row_price[w_.row_of[column]] += step;
      const double price = w_.column_price[column] -= step;
      highest_ = price > highest_ ? price : highest_;
    }
  }

  // Whether the way from the first null column on leads through all that are in use, at no cost, to the free
  // one: because all are equally dear, and no row there has anything as near. Then nobody need walk it, which
  // would take as many scans as rows are alone, for each row.
  WMB_HD bool all_stay_alone() {
    for (std::int64_t k = p_.stride; k < p_.stride + n_alone_; ++k) {
      const std::int64_t row = w_.row_of[k];
      if (w_.column_price[k] != 0 || w_.row_price[row] != p_.alone[0]) return false;
      if (w_.dearer[row] != w_.dearer[row]) w_.dearer[row] = cheapest(row) - p_.alone[0];
      if (!(w_.dearer[row] > highest_)) return false;
    }
    return true;
  }

  WMB_HD double cheapest(std::int64_t row) const {
    double least = std::numeric_limits<double>::infinity();
    for (const double* cost = p_.cost + row * p_.stride; cost < p_.cost + (row + 1) * p_.stride; ++cost)
      least = *cost < least ? *cost : least;
    return least;
  }

  const OpisProblem p_;
  const OpisWork w_;
  const Scans& scans_;
  std::int64_t n_alone_ = 0, n_scanned_ = 0;  // null columns in use; those a path looks at
  double highest_ = 0;                        // no column's price is above it
};

}  // namespace wmb
