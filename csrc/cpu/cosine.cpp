// SPDX-License-Identifier: Apache-2.0
#include "cpu/cosine.h"

#include <algorithm>
#include <limits>

#include "core/cosine.h"
#include "cpu/tiles.h"

namespace wmb {
namespace {

constexpr std::int64_t kPairsAtOnce = 1 << 15;  // elements of a row set that a chunk reads, about

template <typename T>
constexpr T kMissing = std::numeric_limits<T>::quiet_NaN();

template <typename T>
T cosine_of_pair(const T* x, const T* y, std::int64_t dim) {
  double sums[3];
  kernels<T>().products(dim, x, y, sums);
  if (squares_are_safe(sums[1]) && squares_are_safe(sums[2]))
    return static_cast<T>(cosine_from_sums(sums[0], sums[1], sums[2]));
  Direction u = direction_of(x, dim), v = direction_of(y, dim);
  if (u.factor == 0 || v.factor == 0) return kMissing<T>;
  std::vector<T> unit_x(dim), unit_y(dim);
  kernels<T>().scale(dim, x, u.shift, u.factor, unit_x.data());
  kernels<T>().scale(dim, y, v.shift, v.factor, unit_y.data());
  kernels<T>().products(dim, unit_x.data(), unit_y.data(), sums);
  return static_cast<T>(cosine_from_sums(sums[0], sums[1], sums[2]));
}

// Columns that are filled at once, so that rows are written in runs, not tile by tile.
constexpr std::int64_t kPanelColumns = 256;
// Columns of one chunk of a matrix of few rows; a multiple of every level's tile.
constexpr std::int64_t kColumnsAtOnce = 4096;
// What is larger than this will not be in the caches when it is read: it is written past them.
constexpr std::int64_t kLargeBytes = 32 << 20;

template <typename T>
class Writer {
 public:
  Writer(T* scores, std::int64_t width, bool past_caches)
      : scores_(scores), width_(width), past_caches_(past_caches) {}

  // A panel whose first element belongs at (row, column).
  void write(std::int64_t n_rows, std::int64_t n_cols, const T* panel, std::int64_t stride, std::int64_t row,
             std::int64_t column) const {
    T* to = scores_ + row * width_ + column;
    if (past_caches_) return kernels<T>().stream(n_rows, n_cols, panel, stride, to, width_);
    for (std::int64_t r = 0; r < n_rows; ++r) std::copy_n(panel + r * stride, n_cols, to + r * width_);
  }

  // A panel that is to be transposed. `memory` holds as much as the panel, and is used if writes go past the
  // caches.
  void write_transposed(std::int64_t n_rows, std::int64_t n_cols, const T* panel, std::int64_t stride,
                        std::int64_t row, std::int64_t column, T* memory) const {
    if (!past_caches_)
      return kernels<T>().transpose(n_rows, n_cols, panel, stride, scores_ + row * width_ + column, width_);
    kernels<T>().transpose(n_rows, n_cols, panel, stride, memory, n_rows);
    write(n_cols, n_rows, memory, n_rows, row, column);
  }

 private:
  T* scores_;
  std::int64_t width_;
  bool past_caches_;
};

enum class Part {
  all,
  transposed,  // the tiles' rows are the matrix's columns
  upper        // a set with itself: from the diagonal on, and what mirrors it
};

// A block of n rows, from `first` on, against columns [from, to). Those of `unpacked` are packed on the way,
// tile by tile; where it is null, all are packed already.
template <typename T>
void matrix_rows(const Scratch<T>& block, std::int64_t first, std::int64_t n, Tiles<T>& tiles,
                 RowSet<T>* unpacked, std::int64_t from, std::int64_t to, Part part, const Writer<T>& out) {
  const std::int64_t cols = tiles.cols();
  const std::int64_t room = (n + kernels<T>().rows - 1) * kPanelColumns;  // tiles end with whole strips
  Scratch<T> panel(room), mirrored(part == Part::all ? 0 : room);
  for (std::int64_t j = from; j < to; j += kPanelColumns) {
    std::int64_t width = std::min(kPanelColumns, to - j);
    for (std::int64_t c = 0; c < width; c += cols) {
      if (unpacked) tiles.pack_columns(*unpacked, j + c, cols, false);
      tiles.fill(block, n, unpacked ? 0 : (j + c) / cols, panel.data() + c, kPanelColumns);
    }
    // The first tile of the upper part may begin before the diagonal, on what another block mirrors.
    std::int64_t lead = part == Part::upper ? std::max<std::int64_t>(first - j, 0) : 0;
    if (part != Part::transposed)
      out.write(n, width - lead, panel.data() + lead, kPanelColumns, first, j + lead);
    if (part == Part::all) continue;
    std::int64_t skip = part == Part::upper ? std::max<std::int64_t>(first + n - j, 0) : 0;
    if (skip < width)
      out.write_transposed(n, width - skip, panel.data() + skip, kPanelColumns, j + skip, first,
                           mirrored.data());
  }
}

// Which of two sets is packed in rows and which in columns: what leaves less room unused at the edges.
template <typename T>
bool better_transposed(std::int64_t n, std::int64_t m) {
  const std::int64_t rows = kernels<T>().rows, cols = kernels<T>().cols;
  auto padded = [](std::int64_t size, std::int64_t step) {
    return static_cast<double>((size + step - 1) / step * step);
  };
  return padded(m, rows) * padded(n, cols) < padded(n, rows) * padded(m, cols);
}

// Has the operating system hand out the pages of the result in a row, while they are fresh in its own lists:
// a virtual machine's take several times as long when they are first touched one by one in the middle of the
// work.
template <typename T>
void touch(T* scores, std::int64_t n, bool parallel) {
  constexpr std::int64_t kPage = 4096 / sizeof(T), kAtOnce = 4096 * kPage;
  run_each(parallel, chunk_count(n, kAtOnce), [&](std::size_t chunk) {
    std::int64_t first = chunk * kAtOnce, last = std::min(first + kAtOnce, n);
    for (std::int64_t i = first; i < last; i += kPage) scores[i] = 0;
  });
}

template <typename T>
void matrix_item(RowSet<T>& a, RowSet<T>& b, bool symmetric, bool parallel, T* scores) {
  if (a.size() == 0 || b.size() == 0) return;
  const bool large = a.size() * b.size() * static_cast<std::int64_t>(sizeof(T)) > kLargeBytes;
  if (large) touch(scores, a.size() * b.size(), parallel);
  Writer<T> out(scores, b.size(), large);
  Part part = symmetric                                  ? Part::upper
              : better_transposed<T>(a.size(), b.size()) ? Part::transposed
                                                         : Part::all;
  RowSet<T>&down = part == Part::transposed ? b : a, &across = part == Part::transposed ? a : b;
  const std::int64_t n = down.size(), m = across.size();
  Tiles<T> all(down.dim, 0, Metric::cosine);
  const std::int64_t fit = all.block_rows(n), cols = all.cols();
  if (n <= fit) {  // each tile's columns are used once: there is no need to keep them
    auto block = all.pack_block(down, 0, n);
    return run_each(parallel, chunk_count(m, kColumnsAtOnce), [&](std::size_t chunk) {
      std::int64_t from = chunk * kColumnsAtOnce, to = std::min(from + kColumnsAtOnce, m);
      Tiles<T> tiles(down.dim, cols, Metric::cosine);
      matrix_rows(block, 0, n, tiles, &across, from, to, part, out);
    });
  }
  Tiles<T> tiles(down.dim, m, Metric::cosine);
  tiles.pack_columns(across, 0, m, parallel);
  // Whole cache lines in the runs that mirror a block, where blocks are large.
  const std::int64_t lines = 8 * kernels<T>().rows, height = fit > lines ? fit / lines * lines : fit;
  run_each(parallel, chunk_count(n, height), [&](std::size_t chunk) {
    std::int64_t first = chunk * height, of_block = std::min(height, n - first);
    std::int64_t from = part == Part::upper ? first / cols * cols : 0;
    matrix_rows(tiles.pack_block(down, first, of_block), first, of_block, tiles,
                static_cast<RowSet<T>*>(nullptr), from, m, part, out);
  });
}

// NaN in the rows and columns of vectors without a direction.
template <typename T>
void blank(const RowSet<T>& a, const RowSet<T>& b, T* scores) {
  const std::int64_t n = a.size(), m = b.size();
  for (std::int64_t i = 0; i < n; ++i)
    if (a.direction[i].factor == 0) std::fill_n(scores + i * m, m, kMissing<T>);
  for (std::int64_t j = 0; j < m; ++j)
    for (std::int64_t i = 0; b.direction[j].factor == 0 && i < n; ++i) scores[i * m + j] = kMissing<T>;
}

}  // namespace

template <typename T>
void cosine_pairs(const T* a, std::int64_t stride_a, const T* b, std::int64_t stride_b, std::int64_t n,
                  std::int64_t dim, T* scores) {
  std::int64_t at_once = std::max<std::int64_t>(kPairsAtOnce / std::max<std::int64_t>(dim, 1), 1);
  auto body = [&](std::size_t chunk) {
    std::int64_t first = chunk * at_once, last = std::min(first + at_once, n);
    for (std::int64_t i = first; i < last; ++i)
      scores[i] = cosine_of_pair(a + i * stride_a, b + i * stride_b, dim);
  };
  for_chunks(chunk_count(n, at_once), body);
}

template <typename T>
void cosine_matrix(const T* a, const T* b, std::int64_t dim, const std::int64_t* spans, std::int64_t n_items,
                   bool symmetric, T* scores) {
  std::vector<double> work(n_items);
  std::vector<T*> out(n_items);
  for (std::int64_t i = 0; i < n_items; ++i) {
    std::int64_t n = spans[4 * i + 1] - spans[4 * i], m = spans[4 * i + 3] - spans[4 * i + 2];
    work[i] = static_cast<double>(n) * static_cast<double>(m) * static_cast<double>(dim);
    out[i] = scores;
    scores += n * m;
  }
  run_items(work, [&](std::size_t i, bool parallel) {
    const std::int64_t* span = spans + 4 * i;
    auto rows_a = every_row(a + span[0] * dim, span[1] - span[0], dim);
    if (symmetric) {
      matrix_item(rows_a, rows_a, true, parallel, out[i]);
      return blank(rows_a, rows_a, out[i]);
    }
    auto rows_b = every_row(b + span[2] * dim, span[3] - span[2], dim);
    matrix_item(rows_a, rows_b, false, parallel, out[i]);
    blank(rows_a, rows_b, out[i]);
  });
}

template void cosine_pairs(const float*, std::int64_t, const float*, std::int64_t, std::int64_t, std::int64_t,
                           float*);
template void cosine_pairs(const double*, std::int64_t, const double*, std::int64_t, std::int64_t,
                           std::int64_t, double*);
template void cosine_matrix(const float*, const float*, std::int64_t, const std::int64_t*, std::int64_t, bool,
                            float*);
template void cosine_matrix(const double*, const double*, std::int64_t, const std::int64_t*, std::int64_t,
                            bool, double*);

}  // namespace wmb
