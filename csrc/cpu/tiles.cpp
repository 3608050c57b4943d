// SPDX-License-Identifier: Apache-2.0
#include "cpu/tiles.h"

#include <algorithm>
#include <cmath>

namespace wmb {
namespace {

using isa::kChain;

constexpr std::int64_t kBlockBytes = 320 << 10;  // of packed rows of a: they stay in a core's own cache
constexpr std::int64_t kRowsAtOnce = 64;
constexpr int kWidestStrip = 32;

std::int64_t rounded_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

template <typename T>
bool all_finite(const T* x, std::int64_t n) {
  return std::all_of(x, x + n, [](T v) { return std::isfinite(v); });
}

}  // namespace

template <typename T>
Direction direction_of(const T* x, std::int64_t dim) {
  double squares = kernels<T>().squares(dim, x);
  if (squares_are_safe(squares)) return {1.0, 1.0 / std::sqrt(squares)};
  if (!all_finite(x, dim)) return {0.0, 0.0};
  double largest = 0;
  for (std::int64_t k = 0; k < dim; ++k) largest = std::max(largest, std::abs(static_cast<double>(x[k])));
  if (largest == 0) return {0.0, 0.0};
  double shift = std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000));
  std::vector<T> shifted(dim);
  kernels<T>().scale(dim, x, shift, 1.0, shifted.data());
  return {shift, 1.0 / std::sqrt(kernels<T>().squares(dim, shifted.data()))};
}

template <typename T>
RowSet<T> usable_rows(const T* data, std::int64_t n, std::int64_t dim, Metric metric, bool parallel) {
  std::vector<Direction> direction(n, {1.0, 1.0});
  run_each(parallel, chunk_count(n, kRowsAtOnce), [&](std::size_t chunk) {
    std::int64_t first = chunk * kRowsAtOnce, last = std::min(first + kRowsAtOnce, n);
    for (std::int64_t i = first; i < last; ++i) {
      const T* x = data + i * dim;
      if (metric == Metric::cosine) {
        direction[i] = direction_of(x, dim);
      } else if (!all_finite(x, dim)) {
        direction[i] = {0.0, 0.0};
      }
    }
  });
  RowSet<T> set{data, dim, {}, {}};
  set.row.reserve(n);
  set.direction.reserve(n);
  for (std::int64_t i = 0; i < n; ++i)
    if (direction[i].factor != 0) {
      set.row.push_back(i);
      set.direction.push_back(direction[i]);
    }
  return set;
}

template <typename T>
RowSet<T> every_row(const T* data, std::int64_t n, std::int64_t dim) {
  RowSet<T> set{data, dim, std::vector<std::int64_t>(n), std::vector<Direction>(n, kNotFoundYet)};
  for (std::int64_t i = 0; i < n; ++i) set.row[i] = i;
  return set;
}

template <typename T>
Tiles<T>::Tiles(std::int64_t dim, std::int64_t n, Metric metric)
    : kernels_(kernels<T>()),
      l2_(metric == Metric::l2),
      dim_(dim),
      columns_(rounded_up(n, kernels_.cols) * dim + isa::kOverrun) {}

template <typename T>
void Tiles<T>::pack_columns(RowSet<T>& b, std::int64_t first, std::int64_t n, bool parallel) {
  run_each(parallel, chunk_count(n, kernels_.cols), [&](std::size_t strip) {
    std::int64_t column = strip * kernels_.cols;
    for (std::int64_t k0 = 0; k0 < dim_; k0 += kChain)
      pack(b, first + column, kernels_.cols, k0, columns_.data() + column * dim_ + k0 * kernels_.cols);
  });
}

template <typename T>
std::int64_t Tiles<T>::block_rows(std::int64_t n) const {
  std::int64_t fit = kBlockBytes / static_cast<std::int64_t>(sizeof(T)) / std::max<std::int64_t>(dim_, 1);
  std::int64_t rows =
      std::max<std::int64_t>(std::min(fit, kMostBlockRows) / kernels_.rows, 1) * kernels_.rows;
  return std::min(rows, rounded_up(std::max<std::int64_t>(n, 1), kernels_.rows));
}

// One piece of a strip: columns [k0, k0 + kChain) of rows [first, first + width), missing rows as zeros.
template <typename T>
void Tiles<T>::pack(RowSet<T>& set, std::int64_t first, int width, std::int64_t k0, T* out) const {
  T rows[kWidestStrip][kChain];
  std::int64_t depth = std::min(kChain, dim_ - k0);
  for (int r = 0; r < width; ++r) {
    std::int64_t i = first + r;
    if (i < set.size() && set.direction[i].factor < 0) set.direction[i] = direction_of(set.at(i), dim_);
    if (i < set.size() && set.direction[i].factor != 0) {
      kernels_.scale(depth, set.at(i) + k0, set.direction[i].shift, set.direction[i].factor, rows[r]);
    } else {
      std::fill_n(rows[r], depth, T(0));
    }
  }
  (width == kernels_.rows ? kernels_.interleave_rows : kernels_.interleave_cols)(depth, rows[0], out);
}

template <typename T>
typename Tiles<T>::Block Tiles<T>::pack_block(RowSet<T>& a, std::int64_t first, std::int64_t n) const {
  std::int64_t padded = rounded_up(n, kernels_.rows);
  Block block(padded * dim_ + isa::kOverrun);
  for (std::int64_t k0 = 0; k0 < dim_; k0 += kChain)
    for (std::int64_t r = 0; r < padded; r += kernels_.rows)
      pack(a, first + r, kernels_.rows, k0, block.data() + k0 * padded + r * std::min(kChain, dim_ - k0));
  return block;
}

template <typename T>
void Tiles<T>::fill(const Block& block, std::int64_t n, std::int64_t strip, T* tile,
                    std::int64_t stride) const {
  std::int64_t padded = rounded_up(n, kernels_.rows);
  const T* b = columns_.data() + strip * kernels_.cols * dim_;
  auto kernel = l2_ ? kernels_.minus_l2 : kernels_.dot;
  for (std::int64_t k0 = 0; k0 < dim_; k0 += kChain)
    kernel(padded / kernels_.rows, std::min(kChain, dim_ - k0), block.data() + k0 * padded,
           b + k0 * kernels_.cols, tile, stride, k0 == 0, k0 + kChain >= dim_);
}

template Direction direction_of(const float*, std::int64_t);
template Direction direction_of(const double*, std::int64_t);
template RowSet<float> usable_rows(const float*, std::int64_t, std::int64_t, Metric, bool);
template RowSet<double> usable_rows(const double*, std::int64_t, std::int64_t, Metric, bool);
template RowSet<float> every_row(const float*, std::int64_t, std::int64_t);
template RowSet<double> every_row(const double*, std::int64_t, std::int64_t);
template class Tiles<float>;
template class Tiles<double>;

}  // namespace wmb
