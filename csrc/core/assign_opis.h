// SPDX-License-Identifier: Apache-2.0
// The assignment as OPIS's public solver makes it, its choice among ties included.
//
// Rows are added in order, each by a shortest path over reduced costs. Columns are looked at in ascending
// order, and a nearer one is taken on < alone. Prices are kept for rows and columns, and every step of a path
// moves all of them at once: the rounding of those sums is part of what the solver answers.
// Source: OPIS (arXiv 2609.35052), the Hungarian solver of its released evaluator.
#pragma once

#include <cstdint>
#include <limits>

#include "core/hd.h"

namespace wmb {

// All with one entry more than there are rows or columns: 0 stands for none.
struct OpisWork {
  double* row_price;
  double* column_price;
  double* least;
  std::int64_t* row_of;
  std::int64_t* from;
  bool* reached;
};

// cost has rows <= cols; cost[i * row_step + j * column_step]. Writes the row of each column to work.row_of,
// counted from 1. False where not every row can be assigned.
WMB_HD inline bool solve_as_opis(std::int64_t rows, std::int64_t cols, const double* cost,
                                 std::int64_t row_step, std::int64_t column_step, const OpisWork& w) {
  const double inf = std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i <= rows; ++i) w.row_price[i] = 0;
  for (std::int64_t j = 0; j <= cols; ++j) {
    w.column_price[j] = 0;
    w.row_of[j] = 0;
  }
  for (std::int64_t added = 1; added <= rows; ++added) {
    for (std::int64_t j = 0; j <= cols; ++j) {
      w.least[j] = inf;
      w.reached[j] = false;
    }
    w.row_of[0] = added;
    std::int64_t column = 0;
    while (w.row_of[column] != 0) {
      w.reached[column] = true;
      const std::int64_t row = w.row_of[column];
      double step = inf;
      std::int64_t nearest = 0;
      for (std::int64_t j = 1; j <= cols; ++j) {
        if (w.reached[j]) continue;
        const double reduced =
            cost[(row - 1) * row_step + (j - 1) * column_step] - w.row_price[row] - w.column_price[j];
        if (reduced < w.least[j]) {
          w.least[j] = reduced;
          w.from[j] = column;
        }
        if (w.least[j] < step) {
          step = w.least[j];
          nearest = j;
        }
      }
      if (nearest == 0) return false;
      for (std::int64_t j = 0; j <= cols; ++j) {
        if (w.reached[j]) {
          w.row_price[w.row_of[j]] += step;
          w.column_price[j] -= step;
        } else {
          w.least[j] -= step;
        }
      }
      column = nearest;
    }
    while (column != 0) {
      w.row_of[column] = w.row_of[w.from[column]];
      column = w.from[column];
    }
  }
  return true;
}

}  // namespace wmb
