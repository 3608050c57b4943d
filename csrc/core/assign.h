// SPDX-License-Identifier: Apache-2.0
// Assignment of rows to columns at the least total cost, by shortest augmenting paths over reduced costs.
//
//   minimise  sum of cost[i, column(i)] over assigned rows + alone * (number of rows left alone)
//
// Prices v of the columns certify the optimum: with u[i] = cost[i, column(i)] - v[column(i)], or u[i] =
// alone, every pair has cost[i, j] - u[i] - v[j] >= 0, alone >= u[i], v <= 0, and v = 0 where a column stays
// free. Pairs of an optimal assignment are those with equality: core/assign_ties.h chooses among them.
//
// A column of its own at cost `alone` for each row makes every problem solvable. Nobody but its row reaches
// it, so it has no price and is only ever the end of a path.
// Source: Jonker and Volgenant, Computing 38 (1987): column reduction and augmentation.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/hd.h"

namespace wmb {

constexpr std::int64_t kAlone = -1;  // instead of a column; and instead of a row, where a column is free

struct AssignProblem {
  std::int64_t rows, cols, stride;
  const double* cost;  // rows x stride; +inf where a pair is forbidden, and beyond the columns
  double alone;        // +inf: no row may stay alone
};

// All of length stride but the last, which has one entry a row.
struct AssignWork {
  double* price;
  double* key;       // least cost of a path to each column not yet reached; +inf for those reached
  double* open;      // the price of a column not yet reached; -inf for those reached, which nothing relaxes
  double* busy;      // 0 where a column is free, else +inf
  double* distance;  // of the columns reached, in the order they were
  std::int64_t* reached;
  std::int64_t* from;    // the row before the column on its path
  std::int64_t* row_of;  // of a column
  std::int64_t* column_of;
};

// Gives each row the column where it alone is cheapest, as far as rows do not collide. Only for square
// problems whose rows must all be assigned: there prices may have any sign. False where a column has no
// allowed pair.
template <typename Scans>
WMB_HD bool reduce_columns(const AssignProblem& p, const AssignWork& w, const Scans& scans) {
  const double inf = std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < p.stride; ++j) {
    w.price[j] = inf;
    w.open[j] = 0;
  }
  for (std::int64_t i = 0; i < p.rows; ++i) {
    scans.relax(p.stride, p.cost + i * p.stride, w.open, 0.0, i, w.price, w.from);
  }
  for (std::int64_t j = 0; j < p.cols; ++j) {
    if (w.price[j] == inf) return false;
    const std::int64_t i = w.from[j];
    if (w.column_of[i] != kAlone) continue;
    w.column_of[i] = j;
    w.row_of[j] = i;
    w.busy[j] = inf;
  }
  for (std::int64_t j = p.cols; j < p.stride; ++j) w.price[j] = 0;
  return true;
}

// Turns the path that ends in a free column around: each row on it takes the column it was reached to.
WMB_HD inline void turn_path(const AssignWork& w, std::int64_t column, std::int64_t first_row) {
  for (;;) {
    const std::int64_t row = w.from[column], next = w.column_of[row];
    w.row_of[column] = row;
    w.column_of[row] = column;
    if (row == first_row) return;
    column = next;
  }
}

// Adds one row to an optimal assignment of the others. False where there is no way to.
template <typename Scans>
WMB_HD bool add_row(const AssignProblem& p, const AssignWork& w, std::int64_t row, const Scans& scans) {
  const double inf = std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < p.stride; ++j) {
    w.key[j] = inf;
    w.open[j] = w.price[j];
  }
  double least = scans.relax(p.stride, p.cost + row * p.stride, w.open, 0.0, row, w.key, w.from);
  double least_alone = p.alone, before = -inf;
  std::int64_t alone_row = row, n_reached = 0, column;
  for (;;) {
    if (least_alone < least) {
      column = kAlone;
      least = least_alone;
      break;
    }
    if (least == inf) return false;
    // Where many columns are equally near, a free one ends the path at once.
    column = least > before ? p.stride : scans.first_free_least(p.stride, w.key, w.busy, least);
    if (column == p.stride) column = scans.first_least(w.key, least);
    before = least;
    const std::int64_t owner = w.row_of[column];
    if (owner == kAlone) break;
    w.key[column] = inf;
    w.open[column] = -inf;
    w.distance[n_reached] = least;
    w.reached[n_reached++] = column;
    const double* cost = p.cost + owner * p.stride;
    const double shift = cost[column] - w.price[column] - least;
    if (p.alone - shift < least_alone) {
      least_alone = p.alone - shift;
      alone_row = owner;
    }
    least = scans.relax(p.stride, cost, w.open, shift, owner, w.key, w.from);
  }
  for (std::int64_t k = 0; k < n_reached; ++k) w.price[w.reached[k]] += w.distance[k] - least;
  if (column == kAlone) {
    if (alone_row == row) return true;
    column = w.column_of[alone_row];
    w.column_of[alone_row] = kAlone;
  } else {
    w.busy[column] = inf;
  }
  turn_path(w, column, row);
  return true;
}

// Solves a problem; false where not every row can be assigned and none may stay alone.
template <typename Scans>
WMB_HD bool solve_assignment(const AssignProblem& p, const AssignWork& w, const Scans& scans) {
  for (std::int64_t i = 0; i < p.rows; ++i) w.column_of[i] = kAlone;
  for (std::int64_t j = 0; j < p.stride; ++j) {
    w.price[j] = 0;
    w.busy[j] = 0;
    w.row_of[j] = kAlone;
  }
  const bool all_must = p.alone == std::numeric_limits<double>::infinity();
  if (all_must && p.rows == p.cols && !reduce_columns(p, w, scans)) return false;
  for (std::int64_t i = 0; i < p.rows; ++i) {
    if (w.column_of[i] == kAlone && !add_row(p, w, i, scans)) return false;
  }
  return true;
}

// What makes leaving a row alone dearer than any other choice: a power of two, so that adding it and taking
// it away again loses the fewest digits.
WMB_HD inline double dearest(double largest, std::int64_t rows, std::int64_t cols) {
  const double pairs = static_cast<double>(rows < cols ? rows : cols);
  int exponent;
  std::frexp(std::fmax(largest, 1e-300) * (2 * pairs + 2), &exponent);
  return std::ldexp(1.0, exponent + 1);
}

}  // namespace wmb
