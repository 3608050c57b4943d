// SPDX-License-Identifier: Apache-2.0
// All pairs of rows of two sets, tile by tile: what the similarity ops share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cosine.h"
#include "cpu/parallel.h"
#include "cpu/simd.h"

namespace wmb {

enum class Metric { cosine, l2, hamming };

// Runs body(item, parallel) for each item of a batch: side by side where they are small, else one after
// another, each on several threads where that pays. `work[i]` is in multiply-adds.
template <typename Body>
void run_items(const std::vector<double>& work, Body&& body) {
  FloatEnvironment environment;
  constexpr double kWorthSharing = 2e6, kSmall = 5e7;
  double largest = 0, total = 0;
  for (double w : work) {
    largest = w > largest ? w : largest;
    total += w;
  }
  if (work.size() > 1 && largest < kSmall) {
    run_each(total > kWorthSharing, static_cast<std::int64_t>(work.size()),
             [&](std::size_t i) { body(i, false); });
  } else {
    for (std::size_t i = 0; i < work.size(); ++i) body(i, work[i] > kWorthSharing);
  }
}

// What makes a row's length 1; see core/cosine.h.
template <typename T>
Direction direction_of(const T* x, std::int64_t dim);

constexpr Direction kNotFoundYet{0.0, -1.0};

// The rows of a set that take part; `row[i]` is where the i-th of them stands in `data`.
template <typename T>
struct RowSet {
  const T* data;
  std::int64_t dim;
  std::vector<std::int64_t> row;
  std::vector<Direction> direction;  // what each is multiplied by; (1, 1) under l2, (0, 0) for a zero row

  std::int64_t size() const { return static_cast<std::int64_t>(row.size()); }
  const T* at(std::int64_t i) const { return data + row[i] * dim; }
};

// Rows that can be compared: those with a direction under cosine, finite ones under l2.
template <typename T>
RowSet<T> usable_rows(const T* data, std::int64_t n, std::int64_t dim, Metric metric, bool parallel);

// All rows, as zeros where they have no direction. Directions are found when rows are packed, so that each is
// fetched from memory once.
template <typename T>
RowSet<T> every_row(const T* data, std::int64_t n, std::int64_t dim);

// The values of one metric between rows and columns that are packed for it: cosine, or minus the squared
// distance.
template <typename T>
class Tiles {
 public:
  using Block = Scratch<T>;
  // Room for n columns, which pack_columns() fills.
  Tiles(std::int64_t dim, std::int64_t n, Metric metric);

  int cols() const { return kernels_.cols; }
  // Rows that are packed at once, of a set of so many.
  std::int64_t block_rows(std::int64_t n) const;
  Scratch<T> tile_memory() const { return Scratch<T>(block_rows(kMostBlockRows) * kernels_.cols); }

  // Makes rows [first, first + n) of b the columns.
  void pack_columns(RowSet<T>& b, std::int64_t first, std::int64_t n, bool parallel);
  // Packs rows [first, first + n) of a, n at most block_rows().
  Block pack_block(RowSet<T>& a, std::int64_t first, std::int64_t n) const;
  // Values of a block against columns [strip * cols(), + cols()): rows that are `stride` apart. Columns
  // beyond the end of b are zero rows' values.
  void fill(const Block& block, std::int64_t n, std::int64_t strip, T* tile, std::int64_t stride) const;

 private:
  static constexpr std::int64_t kMostBlockRows = 384;
  void pack(RowSet<T>& set, std::int64_t first, int width, std::int64_t k0, T* out) const;

  const isa::Kernels<T>& kernels_;
  const bool l2_;
  const std::int64_t dim_;
  Scratch<T> columns_;
};

}  // namespace wmb
