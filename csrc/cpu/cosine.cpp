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

constexpr std::int64_t kStripsAtOnce = 16;  // so that a row is written in runs, not tile by tile

// Rows [first, first + n) of the matrix; with `symmetric` from column `first` on, and what mirrors it.
template <typename T>
void matrix_rows(const Tiles<T>& tiles, std::int64_t m, std::int64_t first, std::int64_t n, bool symmetric,
                 T* scores) {
  const std::int64_t cols = tiles.cols(), n_strips = chunk_count(m, cols);
  auto block = tiles.pack_block(first, n);
  std::vector<Scratch<T>> memory;
  for (std::int64_t s = 0; s < kStripsAtOnce; ++s) memory.push_back(tiles.tile_memory());
  for (std::int64_t start = symmetric ? first / cols : 0; start < n_strips; start += kStripsAtOnce) {
    std::int64_t stop = std::min(start + kStripsAtOnce, n_strips);
    for (std::int64_t s = start; s < stop; ++s) {
      T* tile = memory[s - start].data();
      tiles.fill(block, n, s, tile);
      for (std::int64_t i = 0; i < n * cols; ++i) tile[i] = clip_cosine(tile[i]);
    }
    for (std::int64_t r = 0; r < n; ++r)
      for (std::int64_t s = start; s < stop; ++s) {
        std::int64_t from = std::max(s * cols, symmetric ? first : 0), to = std::min((s + 1) * cols, m);
        const T* row = memory[s - start].data() + r * cols - s * cols;
        if (from < to) std::copy(row + from, row + to, scores + (first + r) * m + from);
      }
    for (std::int64_t j = std::max(start * cols, first + n); symmetric && j < std::min(stop * cols, m); ++j) {
      const T* column = memory[j / cols - start].data() + j % cols;
      for (std::int64_t r = 0; r < n; ++r) scores[j * m + first + r] = column[r * cols];
    }
  }
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
    auto rows_a = usable_rows(a + span[0] * dim, span[1] - span[0], dim, Metric::cosine, true, parallel);
    auto rows_b =
        symmetric ? rows_a
                  : usable_rows(b + span[2] * dim, span[3] - span[2], dim, Metric::cosine, true, parallel);
    Tiles<T> tiles(rows_a, rows_b, Metric::cosine, parallel);
    run_each(parallel, chunk_count(rows_a.size(), tiles.block_rows()), [&](std::size_t chunk) {
      std::int64_t first = chunk * tiles.block_rows();
      std::int64_t n = std::min(tiles.block_rows(), rows_a.size() - first);
      matrix_rows(tiles, rows_b.size(), first, n, symmetric, out[i]);
    });
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
