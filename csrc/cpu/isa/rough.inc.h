// SPDX-License-Identifier: Apache-2.0
// Sums that only say which rows are worth scoring. Nothing of them gets into a result, so each level adds in
// the order that suits it. Part of kernels.inc.h.
#include <cstdint>

namespace wmb::isa {
namespace {

// The lanes of C vectors, and the products of the last n terms.
template <typename V, int C>
inline typename V::Scalar rough_total(typename V::Vec (&sum)[C], std::int64_t n, const typename V::Scalar* x,
                                      const typename V::Scalar* y) {
  typename V::Scalar lanes[V::kLanes];
#pragma GCC unroll 4
  for (int c = 1; c < C; ++c) sum[0] = V::add(sum[0], sum[c]);
  V::store(lanes, sum[0]);
  for (int half = V::kLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  for (std::int64_t i = 0; i < n; ++i) lanes[0] += x[i] * y[i];
  return lanes[0];
}

// One row with Q queries, whose dot products are `stride` apart, and its squares where they are asked for. A
// single row, because memory is read fastest in one stream; C chains a sum, so that one need not wait for the
// other.
template <typename V, int Q, int C, bool kSquares>
void rough_row(std::int64_t n, const typename V::Scalar* row, const typename V::Scalar* queries,
               std::int64_t stride, typename V::Scalar* dots, typename V::Scalar* squares) {
  typename V::Vec dot[Q][C], square[C];
#pragma GCC unroll 4
  for (int c = 0; c < C; ++c) {
    square[c] = V::zero();
#pragma GCC unroll 4
    for (int q = 0; q < Q; ++q) dot[q][c] = V::zero();
  }
  const auto add = [&](std::int64_t i, int c) {
    const auto x = V::load(row + i);
    if constexpr (kSquares) square[c] = V::rough(x, x, square[c]);
#pragma GCC unroll 4
    for (int q = 0; q < Q; ++q) dot[q][c] = V::rough(x, V::load(queries + q * n + i), dot[q][c]);
  };
  std::int64_t i = 0;
  for (; i + C * V::kLanes <= n; i += C * V::kLanes)
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) add(i + c * V::kLanes, c);
  for (; i + V::kLanes <= n; i += V::kLanes) add(i, 0);
  if constexpr (kSquares) *squares = rough_total<V, C>(square, n - i, row + i, row + i);
#pragma GCC unroll 4
  for (int q = 0; q < Q; ++q)
    dots[q * stride] = rough_total<V, C>(dot[q], n - i, row + i, queries + q * n + i);
}

template <typename V>
void rough(std::int64_t n_rows, std::int64_t n, const typename V::Scalar* rows, std::int64_t n_queries,
           const typename V::Scalar* queries, typename V::Scalar* dots, typename V::Scalar* squares) {
  for (std::int64_t r = 0; r < n_rows; ++r, rows += n, ++dots, ++squares) {
    std::int64_t q = 0;
    for (; q + 4 <= n_queries; q += 4)
      (q == 0 ? rough_row<V, 4, 2, true> : rough_row<V, 4, 2, false>)(n, rows, queries + q * n, n_rows,
                                                                      dots + q * n_rows, squares);
    for (; q < n_queries; ++q)
      (q == 0 ? rough_row<V, 1, 4, true> : rough_row<V, 1, 4, false>)(n, rows, queries + q * n, n_rows,
                                                                      dots + q * n_rows, squares);
  }
}

}  // namespace
}  // namespace wmb::isa
