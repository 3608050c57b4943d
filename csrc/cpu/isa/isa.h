// SPDX-License-Identifier: Apache-2.0
// The kernels that exist once a SIMD level. Every level gives the same bits: they are vectorised over
// outputs, and each output is made of the same operations in the same order. `rough` alone does not, and no
// output is made of it.
//
// The files of this folder are compiled with wider instruction sets than the rest. They hold no std
// containers and nothing with external linkage but one table each: the linker keeps one copy of an inline
// function, and it must not be one that needs AVX-512.
#pragma once

#include <cstdint>

#include "cpu/isa/unfused.h"

namespace wmb::isa {

// An integer as wide as T, so that indices sit in the same lanes as values.
template <typename T>
struct LaneIndex;
template <>
struct LaneIndex<float> {
  using type = std::int32_t;
};
template <>
struct LaneIndex<double> {
  using type = std::int64_t;
};

// The two best columns of a row: largest value first, among equals the lowest index.
template <typename T>
struct TopTwo {
  T value[2];
  typename LaneIndex<T>::type index[2];
};

// Candidates of one row, in the order of their columns: whatever beat `bar` when it was met. There is room
// for a tile's columns more than `full`.
template <typename T>
struct Candidates {
  T bar;
  typename LaneIndex<T>::type count, full;
  T* value;
  typename LaneIndex<T>::type* index;
};

// Terms of one fma chain. A longer sum is the sum of such chains, added in order.
constexpr std::int64_t kChain = 128;

constexpr std::int64_t kOverrun = 8;

template <typename T>
struct Kernels {
  using Index = typename LaneIndex<T>::type;

  // A tile has `cols` columns and any multiple of `rows` rows, `stride` apart. A strip of a packs `rows` rows
  // as a[k * rows + r], a strip of b packs `cols` rows as b[k * cols + c]; depth is at most kChain.
  int rows, cols;

  // tile[r, c] = (first ? 0 : tile[r, c]) + sum over k of a[k, r] * b[k, c]; and of -(a[k, r] - b[k, c])^2.
  // The last piece of a dot product brings it within +-1.
  void (*dot)(std::int64_t n_strips, std::int64_t depth, const T* a, const T* b, T* tile, std::int64_t stride,
              bool first, bool last);
  void (*minus_l2)(std::int64_t n_strips, std::int64_t depth, const T* a, const T* b, T* tile,
                   std::int64_t stride, bool first, bool last);

  // Updates the best of each row, and of each of the (packed) tile's columns. `keep` (1 or 2) says how many a
  // row must have right. Rows and columns must come in ascending order.
  void (*best)(std::int64_t n_rows, const T* tile, Index first_row, Index first_col, int keep,
               TopTwo<T>* rows, T* col_value, Index* col_index);

  // Adds what is above each row's bar to its candidates. True where a row has more than `full` of them now.
  bool (*offer)(std::int64_t n_rows, const T* tile, std::int64_t stride, Index first_col,
                Candidates<T>* candidates);

  // Sums in float64 over sixteen lanes: of x^2, and of x*y, x^2, y^2.
  double (*squares)(std::int64_t n, const T* x);
  void (*products)(std::int64_t n, const T* x, const T* y, double* sums);

  // dots[q * n_rows + r] = sum over n of row r times query q, and squares[r] of row r's squares: in T, in any
  // order, each product and each sum rounded at most once. Only for saying which rows are worth scoring.
  void (*rough)(std::int64_t n_rows, std::int64_t n, const T* rows, std::int64_t n_queries, const T* queries,
                T* dots, T* squares);

  // out = x * shift * factor within 0.501 units in the last place; the shift and powers of two in the factor
  // change no bit of it, unless they leave the range of T.
  void (*scale)(std::int64_t n, const T* x, double shift, double factor, T* out);

  // Packs `rows` or `cols` lines of `depth` elements, kChain apart, as a strip of a or of b. May write up to
  // kOverrun elements beyond the strip, and read lines up to the next multiple of eight.
  void (*interleave_rows)(std::int64_t depth, const T* lines, T* strip);
  void (*interleave_cols)(std::int64_t depth, const T* lines, T* strip);

  // to[c, r] = from[r, c].
  void (*transpose)(std::int64_t n_rows, std::int64_t n_cols, const T* from, std::int64_t from_stride, T* to,
                    std::int64_t to_stride);
  // Copies rows of n_cols elements past the caches: for what is too large to stay in them.
  void (*stream)(std::int64_t n_rows, std::int64_t n_cols, const T* from, std::int64_t from_stride, T* to,
                 std::int64_t to_stride);
};

// Scans over one row of an assignment problem. n is a multiple of kRowStep; what lies beyond the row's end
// holds +inf.
constexpr std::int64_t kRowStep = 8;

struct RowScans {
  // key[j] = min(key[j], cost[j] - price[j] - shift), from[j] = row where that made it smaller. Returns the
  // least key.
  double (*relax)(std::int64_t n, const double* cost, const double* price, double shift, std::int64_t row,
                  double* key, std::int64_t* from);
  // The same for the public OPIS solver, in its order: key[j] -= step first, and cost[j] - shift - price[j].
  double (*relax_as_opis)(std::int64_t n, const double* cost, const double* price, double shift, double step,
                          std::int64_t column, double* key, std::int64_t* from);
  // The first j whose key is `least`, which one must be.
  std::int64_t (*first_least)(const double* key, double least);
  // The first j with key[j] + busy[j] <= least, or n.
  std::int64_t (*first_free_least)(std::int64_t n, const double* key, const double* busy, double least);
  // The set of j with cost[j] - price[j] <= bound, 64 to a word.
  void (*within)(std::int64_t n, const double* cost, const double* price, double bound, std::uint64_t* bits);
};

struct Level {
  const char* name;
  Kernels<float> f32;
  Kernels<double> f64;
  RowScans rows;
  // tile[r * f32.cols + c] = -(number of bits in which rows a[r] and b[c] differ).
  void (*minus_hamming)(std::int64_t n_rows, std::int64_t n_words, const std::uint64_t* a,
                        const std::uint64_t* b, float* tile);
  const Unfused* unfused;
};

extern const Level portable;
extern const Level avx2;
extern const Level avx512;

}  // namespace wmb::isa
