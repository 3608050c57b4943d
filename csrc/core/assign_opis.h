// SPDX-License-Identifier: Apache-2.0
// The assignment as OPIS's public solver makes it, its choice among ties included.
//
// Rows are added in order, each by a shortest path over reduced costs. Columns are looked at in ascending
// order, and a nearer one is taken on < alone. Prices are kept for rows and columns, and every step of a path
// moves all of them at once: the rounding of those sums is part of what the solver answers. The step of one
// scan is taken off the keys by the next, which reads them anyhow.
// Source: OPIS (arXiv 2609.35052), the Hungarian solver of its released evaluator.
#pragma once

#include <cstdint>
#include <limits>

#include "core/hd.h"

namespace wmb {

constexpr std::int64_t kNobody = -1;  // has the column; and instead of a column, where a path begins

struct OpisProblem {
  std::int64_t rows, cols, stride;  // rows <= cols
  const double* cost;               // rows x stride; +inf beyond the columns
};

// All of length stride but the first, which has one entry a row.
struct OpisWork {
  double* row_price;
  double* column_price;
  double* open;  // the price of a column not yet reached; -inf for those reached, which nothing relaxes
  double* key;   // least cost of a path to each column not yet reached; +inf for those reached
  std::int64_t* row_of;
  std::int64_t* from;  // the column before it on the path
  std::int64_t* reached;
};

// Adds one row. False where there is no way to.
template <typename Scans>
WMB_HD bool add_row_as_opis(const OpisProblem& p, const OpisWork& w, std::int64_t added, const Scans& scans) {
  const double inf = std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < p.stride; ++j) w.key[j] = inf;
  double step = 0;
  std::int64_t row = added, column = kNobody, n_reached = 0;
  for (;;) {
    step = scans.relax_as_opis(p.stride, p.cost + row * p.stride, w.open, w.row_price[row], step, column,
                               w.key, w.from);
    if (step == inf) return false;
    column = scans.first_least(w.key, step);
    w.row_price[added] += step;
    for (std::int64_t k = 0; k < n_reached; ++k) {
      w.row_price[w.row_of[w.reached[k]]] += step;
      w.column_price[w.reached[k]] -= step;
    }
    row = w.row_of[column];
    if (row == kNobody) break;
    w.key[column] = inf;
    w.open[column] = -inf;
    w.reached[n_reached++] = column;
  }
  for (std::int64_t k = 0; k < n_reached; ++k) w.open[w.reached[k]] = w.column_price[w.reached[k]];
  for (; w.from[column] != kNobody; column = w.from[column]) w.row_of[column] = w.row_of[w.from[column]];
  w.row_of[column] = added;
  return true;
}

// Writes the row of each column, or kNobody, to work.row_of. False where not every row can be assigned.
template <typename Scans>
WMB_HD bool solve_as_opis(const OpisProblem& p, const OpisWork& w, const Scans& scans) {
  for (std::int64_t i = 0; i < p.rows; ++i) w.row_price[i] = 0;
  for (std::int64_t j = 0; j < p.stride; ++j) {
    w.column_price[j] = w.open[j] = 0;
    w.row_of[j] = kNobody;
  }
  for (std::int64_t i = 0; i < p.rows; ++i)
    if (!add_row_as_opis(p, w, i, scans)) return false;
  return true;
}

}  // namespace wmb
