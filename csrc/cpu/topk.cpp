// SPDX-License-Identifier: Apache-2.0
#include "cpu/topk.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <vector>

#include "core/match.h"
#include "cpu/sieve.h"
#include "cpu/tiles.h"

namespace wmb {
namespace {

using isa::Candidates;

constexpr std::int64_t kGalleryAtOnce = 4096;    // rows that one chunk of work goes over
constexpr std::int64_t kPanelBytes = 256 << 10;  // of packed gallery rows, while all queries pass by
constexpr std::int64_t kQueriesAtOnce = 1024;
constexpr std::int64_t kCandidatesAtOnce = 4 << 20;  // that the queries of a chunk may hold
constexpr std::int64_t kWidestTile = 32;

template <typename T>
constexpr T kNone = -std::numeric_limits<T>::infinity();

// A candidate while it is sorted.
template <typename T>
struct Scored {
  T value;
  typename isa::LaneIndex<T>::type index;
  bool operator<(const Scored& other) const { return preferred(value, index, other.value, other.index); }
};

// Candidates of one query that a chunk keeps: twice k, so that the k best are looked for seldom.
std::int64_t room_for(std::int64_t k) { return 2 * k + 2 * kWidestTile; }

// The candidates of the queries of one chunk.
template <typename T>
class Shortlist {
 public:
  using Index = typename isa::LaneIndex<T>::type;
  Shortlist(std::int64_t n_queries, std::int64_t k)
      : k_(k), values_(n_queries * room_for(k)), indices_(n_queries * room_for(k)), rows_(n_queries) {
    for (std::int64_t q = 0; q < n_queries; ++q)
      rows_[q] = {kNone<T>, 0, static_cast<Index>(room_for(k) - kWidestTile),
                  values_.data() + q * room_for(k), indices_.data() + q * room_for(k)};
  }

  // The candidates from query `first` on, for the kernel.
  Candidates<T>* from(std::int64_t first) { return rows_.data() + first; }

  // Leaves the k best of every query that has no room for another tile. What comes later has a higher index,
  // so it must be above the last of them.
  void make_room(std::int64_t first, std::int64_t n) {
    for (std::int64_t q = first; q < first + n; ++q)
      if (rows_[q].count > rows_[q].full) keep_best(rows_[q], false);
  }

  // The k best of a query in order, or fewer.
  const std::vector<Scored<T>>& best(std::int64_t query) {
    keep_best(rows_[query], true);
    return sorted_;
  }

 private:
  void keep_best(Candidates<T>& row, bool in_order) {
    sorted_.resize(row.count);
    for (Index i = 0; i < row.count; ++i) sorted_[i] = {row.value[i], row.index[i]};
    const bool more = row.count > k_;
    if (more) {
      std::nth_element(sorted_.begin(), sorted_.begin() + (k_ - 1), sorted_.end());
      sorted_.resize(k_);
      row.bar = sorted_.back().value;
    }
    if (in_order) std::sort(sorted_.begin(), sorted_.end());
    row.count = static_cast<Index>(sorted_.size());
    for (Index i = 0; i < row.count; ++i) {
      row.value[i] = sorted_[i].value;
      row.index[i] = sorted_[i].index;
    }
  }

  std::int64_t k_;
  Scratch<T> values_;
  Scratch<Index> indices_;
  std::vector<Candidates<T>> rows_;
  std::vector<Scored<T>> sorted_;
};

// The k best of two lists in order, in place of the first: `index` and `score`, which -1 ends. The second's
// indices are places in `rows`, which are counted from `first`.
template <typename T>
void merge(const std::vector<Scored<T>>& more, const std::vector<std::int64_t>& rows, std::int64_t first,
           std::int64_t k, std::int64_t* index, T* score, std::vector<std::int64_t>& old_index,
           std::vector<T>& old_score) {
  old_index.assign(index, index + k);
  old_score.assign(score, score + k);
  std::size_t i = 0, j = 0;
  for (std::int64_t at = 0; at < k; ++at) {
    bool has_old = old_index[i] >= 0, has_more = j < more.size();
    if (!has_old && !has_more) return;
    const std::int64_t row = has_more ? first + rows[more[j].index] : -1;
    if (has_more && (!has_old || preferred<T>(more[j].value, row, old_score[i], old_index[i]))) {
      index[at] = row;
      score[at] = more[j++].value;
    } else {
      index[at] = old_index[i];
      score[at] = old_score[i++];
    }
  }
}

// One item: the queries that have a direction, against a gallery of which any rows may have none.
template <typename T>
struct Search {
  RowSet<T> queries;
  const T* gallery;
  std::int64_t n_gallery, dim, k;
  std::int64_t* index;
  T* score;
  std::mutex merging;

  // Gallery rows [first, last) against n queries from `start` on.
  void chunk(std::int64_t start, std::int64_t n, std::int64_t first, std::int64_t last) {
    Shortlist<T> shortlist(n, std::min(k, last - first));
    set_bars(start, n, shortlist);
    const std::int64_t panel = panel_rows(n);
    Tiles<T> tiles(dim, panel, Metric::cosine);
    const auto blocks = packed_queries(tiles, start, n);
    auto tile = tiles.tile_memory();
    Sieve<T> sieve(queries, start, n);
    // Those that may be among the best, and room for the directions of all.
    RowSet<T> rows{gallery + first * dim, dim, {}, std::vector<Direction>(last - first, kNotFoundYet)};
    rows.row.reserve(last - first);
    std::int64_t scored = 0;
    for (std::int64_t from = 0; from < last - first; from += Sieve<T>::kRowsAtOnce) {
      const std::int64_t n_rows = std::min(Sieve<T>::kRowsAtOnce, last - first - from);
      const bool is_last = from + n_rows == last - first;
      sieve.pass(rows.data, from, n_rows, shortlist.from(0), rows.row);
      for (; rows.size() - scored >= panel || (is_last && scored < rows.size()); scored += panel)
        score_panel(rows, scored, std::min(panel, rows.size() - scored), n, tiles, blocks, tile.data(),
                    shortlist);
    }
    std::lock_guard<std::mutex> hold(merging);
    std::vector<std::int64_t> old_index;
    std::vector<T> old_score;
    for (std::int64_t q = 0; q < n; ++q) {
      std::int64_t out = queries.row[start + q] * k;
      merge(shortlist.best(q), rows.row, first, k, index + out, score + out, old_index, old_score);
    }
  }

 private:
  using Blocks = std::vector<typename Tiles<T>::Block>;

  // Rows [from, from + n_rows) of a set as the columns of tiles, all queries passing by.
  void score_panel(RowSet<T>& rows, std::int64_t from, std::int64_t n_rows, std::int64_t n, Tiles<T>& tiles,
                   const Blocks& blocks, T* tile, Shortlist<T>& shortlist) {
    const std::int64_t cols = tiles.cols(), height = tiles.block_rows(n);
    tiles.pack_columns(rows, from, n_rows, false);
    for (std::size_t b = 0; b < blocks.size(); ++b)
      for (std::int64_t c = 0; c < n_rows; c += cols) {
        const std::int64_t query = b * height, of_block = std::min(height, n - query);
        tiles.fill(blocks[b], of_block, c / cols, tile, cols);
        leave_out(rows, from + c, cols, of_block, tile);
        if (kernels<T>().offer(of_block, tile, cols, static_cast<typename Shortlist<T>::Index>(from + c),
                               shortlist.from(query)))
          shortlist.make_room(query, of_block);
      }
  }

  // What other chunks have found already need not be beaten, but equalled: theirs may be the higher index.
  void set_bars(std::int64_t start, std::int64_t n, Shortlist<T>& shortlist) {
    std::lock_guard<std::mutex> hold(merging);
    for (std::int64_t q = 0; q < n; ++q) {
      std::int64_t last = queries.row[start + q] * k + k - 1;
      if (index[last] >= 0) shortlist.from(q)->bar = std::nextafter(score[last], kNone<T>);
    }
  }

  // One tile's, where all queries are one block.
  std::int64_t panel_rows(std::int64_t n) const {
    Tiles<T> tiles(dim, 0, Metric::cosine);
    if (n <= tiles.block_rows(n)) return tiles.cols();
    std::int64_t rows = kPanelBytes / static_cast<std::int64_t>(sizeof(T)) / dim;
    return std::max<std::int64_t>(rows / kWidestTile, 1) * kWidestTile;
  }

  Blocks packed_queries(const Tiles<T>& tiles, std::int64_t start, std::int64_t n) {
    Blocks blocks;
    const std::int64_t height = tiles.block_rows(n);
    for (std::int64_t q = 0; q < n; q += height)
      blocks.push_back(tiles.pack_block(queries, start + q, std::min(height, n - q)));
    return blocks;
  }

  // Columns without a direction, and those beyond the end, are no candidates.
  static void leave_out(const RowSet<T>& rows, std::int64_t first, std::int64_t cols, std::int64_t n,
                        T* tile) {
    for (std::int64_t c = 0; c < cols; ++c)
      if (first + c >= rows.size() || rows.direction[first + c].factor == 0)
        for (std::int64_t r = 0; r < n; ++r) tile[r * cols + c] = kNone<T>;
  }
};

template <typename T>
void search(Search<T>& item, bool parallel) {
  const std::int64_t n = item.queries.size(), each = room_for(std::min(item.k, kGalleryAtOnce));
  const std::int64_t at_once = std::clamp<std::int64_t>(kCandidatesAtOnce / each, 1, kQueriesAtOnce);
  const std::int64_t groups = chunk_count(n, at_once), chunks = chunk_count(item.n_gallery, kGalleryAtOnce);
  run_each(parallel, groups * chunks, [&](std::size_t i) {
    std::int64_t start = i / chunks * at_once, first = i % chunks * kGalleryAtOnce;
    item.chunk(start, std::min(at_once, n - start), first, std::min(first + kGalleryAtOnce, item.n_gallery));
  });
}

}  // namespace

template <typename T>
void topk(const T* queries, const T* gallery, std::int64_t dim, const std::int64_t* spans,
          std::int64_t n_items, std::int64_t k, std::int64_t* index, T* score) {
  std::vector<double> work(n_items);
  std::vector<std::int64_t> out(n_items + 1, 0);
  for (std::int64_t i = 0; i < n_items; ++i) {
    std::int64_t n = spans[4 * i + 1] - spans[4 * i], m = spans[4 * i + 3] - spans[4 * i + 2];
    work[i] = static_cast<double>(n) * static_cast<double>(m) * static_cast<double>(dim);
    out[i + 1] = out[i] + n * k;
  }
  std::fill_n(index, out[n_items], -1);
  std::fill_n(score, out[n_items], std::numeric_limits<T>::quiet_NaN());
  run_items(work, [&](std::size_t i, bool parallel) {
    const std::int64_t* span = spans + 4 * i;
    Search<T> item{usable_rows(queries + span[0] * dim, span[1] - span[0], dim, Metric::cosine, parallel),
                   gallery + span[2] * dim,
                   span[3] - span[2],
                   dim,
                   k,
                   index + out[i],
                   score + out[i],
                   {}};
    search(item, parallel);
  });
}

template void topk(const float*, const float*, std::int64_t, const std::int64_t*, std::int64_t, std::int64_t,
                   std::int64_t*, float*);
template void topk(const double*, const double*, std::int64_t, const std::int64_t*, std::int64_t,
                   std::int64_t, std::int64_t*, double*);

}  // namespace wmb
