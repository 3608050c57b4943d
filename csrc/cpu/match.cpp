// SPDX-License-Identifier: Apache-2.0
#include "cpu/match.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "core/match.h"
#include "cpu/near.h"

namespace wmb {
namespace {

using isa::TopTwo;

constexpr std::int64_t kColumnsAtOnce = 8192;  // a multiple of every level's tile

template <typename T>
constexpr T kNone = -std::numeric_limits<T>::infinity();

// The best of every row and column of one problem.
template <typename T>
struct Best {
  using Index = typename isa::LaneIndex<T>::type;
  std::vector<TopTwo<T>> rows;
  std::vector<T> col_value;
  std::vector<Index> col_row;

  Best(std::int64_t n_rows, std::int64_t n_cols)
      : rows(n_rows, {{kNone<T>, kNone<T>}, {-1, -1}}), col_value(n_cols, kNone<T>), col_row(n_cols, -1) {}

  // Takes in the best of a part of the problem. Order does not matter, because preferred() is a total order.
  void merge(const std::vector<TopTwo<T>>& part_rows, std::int64_t first_row,
             const std::vector<T>& part_value, const std::vector<Index>& part_row, std::int64_t first_col) {
    for (std::size_t i = 0; i < part_rows.size(); ++i) {
      TopTwo<T>& row = rows[first_row + i];
      for (int k = 0; k < 2; ++k) add(row, part_rows[i].value[k], part_rows[i].index[k]);
    }
    for (std::size_t j = 0; j < col_value.size() - first_col && j < part_value.size(); ++j)
      if (preferred(part_value[j], part_row[j], col_value[first_col + j], col_row[first_col + j])) {
        col_value[first_col + j] = part_value[j];
        col_row[first_col + j] = part_row[j];
      }
  }

 private:
  static void add(TopTwo<T>& row, T value, Index index) {
    if (value == kNone<T>) return;
    if (preferred(value, index, row.value[0], row.index[0])) {
      row = {{value, row.value[0]}, {index, row.index[0]}};
    } else if (preferred(value, index, row.value[1], row.index[1])) {
      row.value[1] = value;
      row.index[1] = index;
    }
  }
};

// Goes over all pairs, block by block. `tiles` as in cpu/tiles.h.
template <typename T, typename AnyTiles>
Best<T> sweep(RowSet<T>& a, const AnyTiles& tiles, std::int64_t n_cols, int keep, bool parallel) {
  using Index = typename Best<T>::Index;
  const std::int64_t n_rows = a.size(), cols = tiles.cols(), height = tiles.block_rows(n_rows);
  const std::int64_t across = chunk_count(n_cols, kColumnsAtOnce);
  Best<T> best(n_rows, n_cols);
  std::mutex merging;
  run_each(parallel, chunk_count(n_rows, height) * across, [&](std::size_t chunk) {
    std::int64_t first_row = chunk / across * height, first_col = chunk % across * kColumnsAtOnce;
    std::int64_t n = std::min(height, n_rows - first_row),
                 last_col = std::min(first_col + kColumnsAtOnce, n_cols);
    std::vector<TopTwo<T>> rows(n, {{kNone<T>, kNone<T>}, {-1, -1}});
    std::vector<T> col_value(chunk_count(last_col - first_col, cols) * cols, kNone<T>);
    std::vector<Index> col_row(col_value.size(), -1);
    auto block = tiles.pack_block(a, first_row, n);
    auto tile = tiles.tile_memory();
    for (std::int64_t j = first_col; j < last_col; j += cols) {
      tiles.fill(block, n, j / cols, tile.data(), cols);
      for (std::int64_t beyond = n_cols - j; beyond < cols; ++beyond)
        for (std::int64_t r = 0; r < n; ++r) tile.data()[r * cols + beyond] = kNone<T>;
      kernels<T>().best(n, tile.data(), static_cast<Index>(first_row), static_cast<Index>(j), keep,
                        rows.data(), col_value.data() + (j - first_col), col_row.data() + (j - first_col));
    }
    std::lock_guard<std::mutex> hold(merging);
    best.merge(rows, first_row, col_value, col_row, first_col);
  });
  return best;
}

template <typename T>
T score_of(T value, Metric metric) {
  if (metric == Metric::cosine) return value;
  return metric == Metric::l2 ? std::sqrt(T(0) - value) : T(0) - value;
}

// By how much the squared distance of two directions may differ from 2 - 2 cos, of a cosine from a tile: the
// roundings of a chain, of the sum of chains and of both rows, by Cauchy and Schwarz, doubled.
template <typename T>
double distance_slack(std::int64_t dim) {
  double roundings = static_cast<double>(isa::kChain + dim / isa::kChain + 4);
  return 2.02 * roundings * std::numeric_limits<T>::epsilon() / 2;
}

template <typename T>
bool passes(const RowSet<T>& a, const RowSet<T>& b, std::int64_t i, const TopTwo<T>& row, MatchRule rule,
            const NearDistances& near) {
  if (row.index[1] < 0) return false;
  double d[2];
  if (rule.metric == Metric::cosine) {
    const double slack = distance_slack<T>(a.dim), square = rule.ratio * rule.ratio;
    const double first = 2 - 2.0 * row.value[0], second = 2 - 2.0 * row.value[1];
    if (first + slack < square * (second - slack)) return true;
    if (first - slack > square * (second + slack)) return false;
  }
  for (int k = 0; k < 2; ++k) {
    const std::int64_t j = row.index[k];
    if (rule.metric == Metric::cosine) {  // too close to say: from the rows themselves
      d[k] = std::sqrt(direction_distance_squared(a.at(i), a.direction[i], b.at(j), b.direction[j], a.dim));
      continue;
    }
    const std::vector<double>& nearer = k == 0 ? near.first : near.second;
    d[k] = !nearer.empty() && !std::isnan(nearer[i]) ? nearer[i] : score_of(row.value[k], rule.metric);
  }
  return passes_ratio(d[0], d[1], rule.ratio);
}

// What the best of rows and columns say about each row of a.
template <typename T>
void decide(const RowSet<T>& a, const RowSet<T>& b, const Best<T>& best, MatchRule rule,
            const NearDistances& near, bool parallel, std::int64_t* index, T* score) {
  constexpr std::int64_t kRowsAtOnce = 256;
  run_each(parallel, chunk_count(a.size(), kRowsAtOnce), [&](std::size_t chunk) {
    std::int64_t first = chunk * kRowsAtOnce, last = std::min(first + kRowsAtOnce, a.size());
    for (std::int64_t i = first; i < last; ++i) {
      const TopTwo<T>& row = best.rows[i];
      std::int64_t j = row.index[0];
      if (j < 0 || (rule.mutual && best.col_row[j] != i)) continue;
      if (rule.ratio > 0 && !passes(a, b, i, row, rule, near)) continue;
      index[a.row[i]] = b.row[j];
      const bool is_near = !near.first.empty() && !std::isnan(near.first[i]);
      score[a.row[i]] = is_near ? static_cast<T>(near.first[i]) : score_of(row.value[0], rule.metric);
    }
  });
}

// The least and the largest magnitude among finite numbers that are not 0; infinity and 0 where there is
// none. Floats without their sign are ordered as the integers of their bits, whose minimum compilers
// vectorise.
template <typename T>
struct Extent {
  using Bits = typename isa::LaneIndex<T>::type;
  T least = std::numeric_limits<T>::infinity(), largest = 0;

  void add(const T* x, std::int64_t n) {
    constexpr Bits kMost = std::numeric_limits<Bits>::max();
    const Bits infinite = bits_of(std::numeric_limits<T>::infinity());
    Bits low = infinite, high = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const Bits size = bits_of(x[i]) & kMost, finite = size < infinite ? size : 0,
                 present = size > 0 ? size : kMost;
      high = finite > high ? finite : high;
      low = present < low ? present : low;
    }
    least = std::min(least, value_of(low));
    largest = std::max(largest, value_of(high));
  }

 private:
  static Bits bits_of(T x) {
    Bits bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
  }
  static T value_of(Bits bits) {
    T x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }
};

template <typename T>
void match_item(const T* a, std::int64_t n, const T* b, std::int64_t m, std::int64_t dim, MatchRule rule,
                bool all_safe, bool parallel, std::int64_t* index, T* score) {
  RowSet<T> rows_a = usable_rows(a, n, dim, rule.metric, parallel);
  RowSet<T> rows_b = usable_rows(b, m, dim, rule.metric, parallel);
  const int keep = rule.ratio > 0 || !all_safe ? 2 : 1;
  Tiles<T> tiles(dim, rows_b.size(), rule.metric);
  tiles.pack_columns(rows_b, 0, rows_b.size(), parallel);
  auto best = sweep(rows_a, tiles, rows_b.size(), keep, parallel);
  NearDistances near;
  if (rule.metric == Metric::l2) near = settle_near(rows_a, rows_b, all_safe, best);
  decide(rows_a, rows_b, best, rule, near, parallel, index, score);
}

// Rows whose squared distances could overflow are compared in float64, times a power of two.
template <typename T>
void match_huge_item(const T* a, std::int64_t n, const T* b, std::int64_t m, std::int64_t dim, MatchRule rule,
                     double scale, bool parallel, std::int64_t* index, T* score) {
  std::vector<double> wide_a(n * dim), wide_b(m * dim), wide_score(score, score + n);
  auto scaled = [&](T x) { return static_cast<double>(x) * scale; };
  std::transform(a, a + n * dim, wide_a.begin(), scaled);
  std::transform(b, b + m * dim, wide_b.begin(), scaled);
  match_item(wide_a.data(), n, wide_b.data(), m, dim, rule, false, parallel, index, wide_score.data());
  std::transform(wide_score.begin(), wide_score.end(), score,
                 [&](double s) { return static_cast<T>(s / scale); });
}

template <typename T>
void match_item_in_range(const T* a, std::int64_t n, const T* b, std::int64_t m, std::int64_t dim,
                         MatchRule rule, bool parallel, std::int64_t* index, T* score) {
  Extent<T> extent;
  if (rule.metric == Metric::l2) {
    extent.add(a, n * dim);
    extent.add(b, m * dim);
  }
  constexpr bool kIsSingle = sizeof(T) == 4;
  if (extent.largest < (kIsSingle ? T(0x1p50) : T(0x1p480)))
    match_item(a, n, b, m, dim, rule, extent.least >= Nearness<T>::least, parallel, index, score);
  else
    match_huge_item(a, n, b, m, dim, rule, kIsSingle ? 1.0 : 0x1p-600, parallel, index, score);
}

// Binary rows as whole words, zero beyond dim.
class BinaryTiles {
 public:
  using Block = std::int64_t;  // the first row: rows need no packing
  BinaryTiles(const std::uint8_t* a, std::int64_t n, const std::uint8_t* b, std::int64_t m, std::int64_t dim)
      : words_((dim + 7) / 8),
        a_(words_of(a, n, n, dim)),
        b_(words_of(b, m, (m + cols() - 1) / cols() * cols(), dim)) {}

  std::int64_t cols() const { return simd().f32.cols; }
  std::int64_t block_rows(std::int64_t) const { return kBlockRows; }
  Scratch<float> tile_memory() const { return Scratch<float>(kBlockRows * cols()); }
  Block pack_block(RowSet<float>&, std::int64_t first, std::int64_t) const { return first; }
  void fill(Block first, std::int64_t n, std::int64_t strip, float* tile, std::int64_t) const {
    simd().minus_hamming(n, words_, a_.data() + first * words_, b_.data() + strip * cols() * words_, tile);
  }

 private:
  static constexpr std::int64_t kBlockRows = 256;
  std::vector<std::uint64_t> words_of(const std::uint8_t* rows, std::int64_t n, std::int64_t room,
                                      std::int64_t dim) const {
    std::vector<std::uint64_t> words(room * words_, 0);
    for (std::int64_t i = 0; i < n; ++i) std::memcpy(words.data() + i * words_, rows + i * dim, dim);
    return words;
  }

  std::int64_t words_;
  std::vector<std::uint64_t> a_, b_;
};

// Runs body(span, parallel, index, score) for each item, its outputs set to "no match".
template <typename T, typename Body>
void match_items(const std::int64_t* spans, std::int64_t n_items, double work_of_a_pair, std::int64_t* index,
                 T* score, Body&& body) {
  std::vector<double> work(n_items);
  std::vector<std::int64_t> out(n_items + 1, 0);
  for (std::int64_t i = 0; i < n_items; ++i) {
    std::int64_t n = spans[4 * i + 1] - spans[4 * i], m = spans[4 * i + 3] - spans[4 * i + 2];
    work[i] = work_of_a_pair * static_cast<double>(n) * static_cast<double>(m);
    out[i + 1] = out[i] + n;
  }
  std::fill_n(index, out[n_items], -1);
  std::fill_n(score, out[n_items], std::numeric_limits<T>::quiet_NaN());
  run_items(work, [&](std::size_t i, bool parallel) {
    body(spans + 4 * i, parallel, index + out[i], score + out[i]);
  });
}

}  // namespace

template <typename T>
void match(const T* a, const T* b, std::int64_t dim, const std::int64_t* spans, std::int64_t n_items,
           MatchRule rule, std::int64_t* index, T* score) {
  match_items(spans, n_items, static_cast<double>(dim), index, score,
              [&](const std::int64_t* span, bool parallel, std::int64_t* item_index, T* item_score) {
                match_item_in_range(a + span[0] * dim, span[1] - span[0], b + span[2] * dim,
                                    span[3] - span[2], dim, rule, parallel, item_index, item_score);
              });
}

void match_binary(const std::uint8_t* a, const std::uint8_t* b, std::int64_t dim, const std::int64_t* spans,
                  std::int64_t n_items, MatchRule rule, std::int64_t* index, float* score) {
  match_items(spans, n_items, static_cast<double>(dim) / 8, index, score,
              [&](const std::int64_t* span, bool parallel, std::int64_t* item_index, float* item_score) {
                std::int64_t n = span[1] - span[0], m = span[3] - span[2];
                BinaryTiles tiles(a + span[0] * dim, n, b + span[2] * dim, m, dim);
                auto rows_a = every_row<float>(nullptr, n, 0), rows_b = every_row<float>(nullptr, m, 0);
                auto best = sweep(rows_a, tiles, m, rule.ratio > 0 ? 2 : 1, parallel);
                decide(rows_a, rows_b, best, rule, {}, parallel, item_index, item_score);
              });
}

template <typename T>
void patch_best_match(const T* a, const T* b, std::int64_t dim, const std::int64_t* spans,
                      std::int64_t n_items, T* score) {
  std::vector<double> work(n_items);
  std::vector<std::int64_t> out(n_items + 1, 0);
  for (std::int64_t i = 0; i < n_items; ++i) {
    std::int64_t n = spans[4 * i + 1] - spans[4 * i], m = spans[4 * i + 3] - spans[4 * i + 2];
    work[i] = static_cast<double>(dim) * static_cast<double>(n) * static_cast<double>(m);
    out[i + 1] = out[i] + n + m;
  }
  std::fill_n(score, out[n_items], std::numeric_limits<T>::quiet_NaN());
  run_items(work, [&](std::size_t i, bool parallel) {
    const std::int64_t *span = spans + 4 * i, n = span[1] - span[0], m = span[3] - span[2];
    RowSet<T> rows_a = usable_rows(a + span[0] * dim, n, dim, Metric::cosine, parallel);
    RowSet<T> rows_b = usable_rows(b + span[2] * dim, m, dim, Metric::cosine, parallel);
    if (rows_a.size() == 0 || rows_b.size() == 0) return;
    Tiles<T> tiles(dim, rows_b.size(), Metric::cosine);
    tiles.pack_columns(rows_b, 0, rows_b.size(), parallel);
    auto best = sweep(rows_a, tiles, rows_b.size(), 1, parallel);
    T *forward = score + out[i], *backward = forward + n;
    for (std::int64_t r = 0; r < rows_a.size(); ++r) forward[rows_a.row[r]] = best.rows[r].value[0];
    for (std::int64_t c = 0; c < rows_b.size(); ++c) backward[rows_b.row[c]] = best.col_value[c];
  });
}

template void match(const float*, const float*, std::int64_t, const std::int64_t*, std::int64_t, MatchRule,
                    std::int64_t*, float*);
template void match(const double*, const double*, std::int64_t, const std::int64_t*, std::int64_t, MatchRule,
                    std::int64_t*, double*);
template void patch_best_match(const float*, const float*, std::int64_t, const std::int64_t*, std::int64_t,
                               float*);
template void patch_best_match(const double*, const double*, std::int64_t, const std::int64_t*, std::int64_t,
                               double*);

}  // namespace wmb
