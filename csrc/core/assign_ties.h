// SPDX-License-Identifier: Apache-2.0
// Among the optimal assignments the lexicographically smallest: row 0 takes the lowest column it has in any
// of them, then row 1, and so on; staying alone comes after every column.
//
// The optimal assignments are those made of tight pairs, cost[i, j] - u[i] - v[j] = 0, that leave alone only
// rows with u[i] = alone and free only columns with v[j] = 0. So: row by row, is there a lower tight column,
// whose owner finds another tight one, and so on along rows not yet settled, until somebody takes the column
// given up, or a free one, or may stay alone?
//
// Prices are sums of costs and carry their rounding: a pair counts as tight where the difference is within
// kTieUlps * (rows + cols) ulps of the numbers it is made of. Costs whose sums are exact (whole numbers) have
// exact ties.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/assign.h"
#include "core/hd.h"

namespace wmb {

constexpr double kTieUlps = 2;

// Sets of columns by row and of rows by column, 64 to a word.
struct TieWork {
  std::int64_t row_words, col_words;  // words of a set of columns (stride of them), of a set of rows
  std::uint64_t* columns;             // rows x row_words: the tight columns of each row
  std::uint64_t* rows;                // cols x col_words: the rows tight at each column
  std::uint64_t* good;                // row_words: columns whose owner, if any, can be satisfied otherwise
  std::uint64_t* unsettled;           // col_words: rows not yet settled and not yet satisfied
  std::int64_t* next;                 // a row: the column it can take instead, or kAlone
  std::int64_t* queue;                // cols
  double* row_price;                  // rows
};

WMB_HD inline std::int64_t words_of(std::int64_t n) { return (n + 63) / 64; }
WMB_HD inline void put(std::uint64_t* set, std::int64_t i) { set[i >> 6] |= std::uint64_t{1} << (i & 63); }
WMB_HD inline void take_out(std::uint64_t* set, std::int64_t i) {
  set[i >> 6] &= ~(std::uint64_t{1} << (i & 63));
}
// Makes a set of `words` words the numbers from `begin` to `end`, the latter not included.
WMB_HD inline void put_range(std::uint64_t* set, std::int64_t words, std::int64_t begin, std::int64_t end) {
  for (std::int64_t k = 0; k < words; ++k) {
    const std::int64_t low = begin - 64 * k, high = end - 64 * k;
    const std::uint64_t from = low <= 0 ? ~std::uint64_t{0} : low < 64 ? ~std::uint64_t{0} << low : 0;
    const std::uint64_t below = high >= 64 ? ~std::uint64_t{0}
                                : high > 0 ? (std::uint64_t{1} << high) - 1
                                           : 0;
    set[k] = from & below;
  }
}
WMB_HD inline bool has(const std::uint64_t* set, std::int64_t i) { return set[i >> 6] >> (i & 63) & 1; }
WMB_HD inline std::int64_t lowest_bit(std::uint64_t word) {
#if defined(__CUDA_ARCH__)
  return __ffsll(static_cast<long long>(word)) - 1;
#else
  return __builtin_ctzll(word);
#endif
}

// Differences up to this share of the numbers they are made of are rounding.
WMB_HD inline double tie_share(const AssignProblem& p) {
  return kTieUlps * static_cast<double>(p.rows + p.cols) * 2.220446049250313e-16;
}

WMB_HD inline bool tight(const AssignProblem& p, double share, std::int64_t i, std::int64_t j, double u,
                         double v) {
  const double cost = p.cost[i * p.stride + j];
  return cost - u - v <= share * (std::fabs(cost) + std::fabs(u) + std::fabs(v)) && std::isfinite(cost);
}

// Whether a column may be left free: its price is zero, up to the rounding of what the price was made of.
WMB_HD inline bool may_be_free(const AssignProblem& p, double share, std::int64_t i, std::int64_t j, double u,
                               double v) {
  return std::fabs(v) <= share * (std::fabs(p.cost[i * p.stride + j]) + std::fabs(u));
}

WMB_HD inline bool may_stay_alone(const AssignProblem& p, double share, double u) {
  return std::isfinite(p.alone) && p.alone - u <= share * (std::fabs(p.alone) + std::fabs(u));
}

// Collects the tight pairs, and says whether there is any besides those assigned.
template <typename Scans>
WMB_HD bool collect_tight(const AssignProblem& p, const AssignWork& w, const TieWork& t, const Scans& scans) {
  const double share = tie_share(p);
  double dearest_price = 0;
  for (std::int64_t j = 0; j < p.cols; ++j) {
    const double size = std::fabs(w.price[j]);
    dearest_price = size > dearest_price ? size : dearest_price;
  }
  for (std::int64_t k = 0; k < p.cols * t.col_words; ++k) t.rows[k] = 0;
  bool found = false;
  for (std::int64_t i = 0; i < p.rows; ++i) {
    const double* cost = p.cost + i * p.stride;
    const std::int64_t own = w.column_of[i];
    const double u = own == kAlone ? p.alone : cost[own] - w.price[own];
    t.row_price[i] = u;
    // Thrice the share of |u| + |v| covers the share of |cost| + |u| + |v| wherever that pair is tight.
    const double bound = u + 3 * share * (std::fabs(u) + dearest_price);
    std::uint64_t* columns = t.columns + i * t.row_words;
    scans.within(p.stride, cost, w.price, bound, columns);
    for (std::int64_t k = 0; k < t.row_words; ++k) {
      for (std::uint64_t left = columns[k]; left != 0; left &= left - 1) {
        const std::int64_t j = 64 * k + lowest_bit(left);
        if (!tight(p, share, i, j, u, w.price[j])) {
          take_out(columns, j);
          continue;
        }
        put(t.rows + j * t.col_words, i);
        found |= j != own;
      }
    }
  }
  return found;
}

// Marks a column good, once, and queues it.
WMB_HD inline void mark_good(const TieWork& t, std::int64_t column, std::int64_t& n_queued) {
  if (has(t.good, column)) return;
  put(t.good, column);
  t.queue[n_queued++] = column;
}

// Follows tight pairs of unsettled rows backwards from the columns queued: what those rows hold becomes good
// too, and `next` leads forwards again. Returns a row from which the first of these columns can be filled
// without anyone to fill the gap behind it: one that is alone, or holds a column that may be free. kAlone if
// there is none. Stops once `wanted` is good.
WMB_HD inline std::int64_t follow(const AssignProblem& p, const AssignWork& w, const TieWork& t,
                                  std::int64_t wanted, std::int64_t& head, std::int64_t& n_queued) {
  const double share = tie_share(p);
  std::int64_t filler = kAlone;
  for (; head < n_queued && !has(t.good, wanted); ++head) {
    const std::int64_t column = t.queue[head];
    const std::uint64_t* rows = t.rows + column * t.col_words;
    for (std::int64_t k = 0; k < t.col_words; ++k) {
      for (std::uint64_t fresh = rows[k] & t.unsettled[k]; fresh != 0; fresh &= fresh - 1) {
        const std::int64_t r = 64 * k + lowest_bit(fresh), held = w.column_of[r];
        take_out(t.unsettled, r);
        t.next[r] = column;
        if (held != kAlone) mark_good(t, held, n_queued);
        if (filler != kAlone) continue;
        if (held == kAlone || may_be_free(p, share, r, held, t.row_price[r], w.price[held])) filler = r;
      }
    }
  }
  return filler;
}

// Finds the good columns, if row i gives up its own: those from where the chain of displaced rows comes round
// to that column; and, if that column can be filled or left free otherwise, those from where the chain ends
// at a free column or with a row that may stay alone. The two chains share no row: from the rows of the
// second, the column is out of reach. Returns the row that fills it then, or kAlone. Stops once `wanted` is
// good; where it is not in the end, all good columns are known.
WMB_HD inline std::int64_t find_good(const AssignProblem& p, const AssignWork& w, const TieWork& t,
                                     std::int64_t i, std::int64_t wanted) {
  const double share = tie_share(p);
  const std::int64_t own = w.column_of[i];
  for (std::int64_t k = 0; k < t.row_words; ++k) t.good[k] = 0;
  put_range(t.unsettled, t.col_words, i + 1, p.rows);
  std::int64_t head = 0, n_queued = 0, filler = kAlone;
  bool may_give_up = true;
  if (own != kAlone) {
    mark_good(t, own, n_queued);
    filler = follow(p, w, t, wanted, head, n_queued);
    const bool free = may_be_free(p, share, i, own, t.row_price[i], w.price[own]);
    if (free) filler = kAlone;
    may_give_up = free || filler != kAlone;
  }
  if (!may_give_up || has(t.good, wanted)) return kAlone;
  // A full assignment of as many columns has none free and nobody alone.
  if (p.rows == p.cols && !std::isfinite(p.alone)) return filler;
  for (std::int64_t j = 0; j < p.cols; ++j) {
    if (w.row_of[j] == kAlone) mark_good(t, j, n_queued);
  }
  for (std::int64_t r = i + 1; r < p.rows; ++r) {
    if (!has(t.unsettled, r) || w.column_of[r] == kAlone || !may_stay_alone(p, share, t.row_price[r]))
      continue;
    take_out(t.unsettled, r);
    t.next[r] = kAlone;
    mark_good(t, w.column_of[r], n_queued);
  }
  follow(p, w, t, wanted, head, n_queued);
  return filler;
}

// A row takes a column; who held it moves on along `next`, and so on, until somebody takes a free column or
// stays alone. What the row itself held is free then, or taken by the last of them.
WMB_HD inline void take_column(const AssignWork& w, const TieWork& t, std::int64_t row, std::int64_t column) {
  if (w.column_of[row] != kAlone) w.row_of[w.column_of[row]] = kAlone;
  for (;;) {
    const std::int64_t displaced = w.row_of[column];
    w.row_of[column] = row;
    w.column_of[row] = column;
    if (displaced == kAlone) return;
    row = displaced;
    column = t.next[row];
    if (column != kAlone) continue;
    w.column_of[row] = kAlone;
    return;
  }
}

// Gives row i the column j of the good ones, and fills the one it gives up where it must be filled.
WMB_HD inline void settle(const AssignWork& w, const TieWork& t, std::int64_t i, std::int64_t j,
                          std::int64_t filler) {
  const std::int64_t own = w.column_of[i];
  take_column(w, t, i, j);
  if (own != kAlone && w.row_of[own] == kAlone && filler != kAlone) take_column(w, t, filler, t.next[filler]);
}

// Turns an optimal assignment into the lexicographically smallest one.
template <typename Scans>
WMB_HD void lowest_assignment(const AssignProblem& p, const AssignWork& w, const TieWork& t,
                              const Scans& scans) {
  if (!collect_tight(p, w, t, scans)) return;
  for (std::int64_t i = 0; i < p.rows; ++i) {
    const std::int64_t own = w.column_of[i], below = own == kAlone ? p.cols : own;
    const std::uint64_t* columns = t.columns + i * t.row_words;
    std::int64_t filler = kAlone;
    bool searched = false;
    for (std::int64_t k = 0; k < t.row_words && 64 * k < below; ++k) {
      std::uint64_t lower = columns[k];
      if (64 * (k + 1) > below) lower &= (std::uint64_t{1} << (below & 63)) - 1;
      for (; lower != 0; lower &= lower - 1) {
        const std::int64_t j = 64 * k + lowest_bit(lower);
        if (w.row_of[j] != kAlone && w.row_of[j] < i) continue;  // taken by a row that is settled
        if (!searched) filler = find_good(p, w, t, i, j);
        searched = true;
        if (!has(t.good, j)) continue;
        settle(w, t, i, j, filler);
        k = t.row_words;
        break;
      }
    }
  }
}

}  // namespace wmb
