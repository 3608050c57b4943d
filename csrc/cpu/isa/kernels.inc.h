// SPDX-License-Identifier: Apache-2.0
// The kernels, written once. Each file of this folder defines two vector types, F32 and F64, and includes
// this.
//
// A vector type V gives: Scalar, Vec, IndexVec, kLanes; zero, set1, load, store, add, sub, max, fma(a, b, c)
// = a*b + c, fnma(a, b, c) = c - a*b; above(a, b) = the lanes, as bits, in which a > b; choose(above, a, b);
// and for the index lanes set1_index, load_index, store_index, choose_index; mul, stream (a store past the
// caches); kSquare and square(from, from_stride, to, to_stride), which transposes so many rows and columns.
// rough(a, b, c) = a*b + c, rounded once or twice. F64 also gives widen(const float*) and narrow(float*).
#include "cpu/isa/isa.h"
#include "cpu/isa/rough.inc.h"

namespace wmb::isa {
namespace {

template <typename V, int R, int C, bool kL2>
inline void strip(std::int64_t depth, const typename V::Scalar* a, const typename V::Scalar* b,
                  typename V::Scalar* tile, std::int64_t stride, bool first, bool last) {
  typename V::Vec sum[R][C];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) sum[r][c] = V::zero();
#pragma GCC unroll 4
  for (std::int64_t k = 0; k < depth; ++k, a += R, b += C * V::kLanes) {
    typename V::Vec right[C];
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) right[c] = V::load(b + c * V::kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      typename V::Vec left = V::set1(a[r]);
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) {
        if constexpr (kL2) {
          typename V::Vec difference = V::sub(left, right[c]);
          sum[r][c] = V::fnma(difference, difference, sum[r][c]);
        } else {
          sum[r][c] = V::fma(left, right[c], sum[r][c]);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) {
      typename V::Scalar* out = tile + r * stride + c * V::kLanes;
      typename V::Vec total = first ? sum[r][c] : V::add(V::load(out), sum[r][c]);
      if (!kL2 && last) total = V::max(V::min(total, V::set1(1)), V::set1(-1));
      V::store(out, total);
    }
}

template <typename V, int R, int C, bool kL2>
void strips(std::int64_t n_strips, std::int64_t depth, const typename V::Scalar* a,
            const typename V::Scalar* b, typename V::Scalar* tile, std::int64_t stride, bool first,
            bool last) {
  // What follows b in memory is read next: fetched meanwhile, a share with each strip.
  const char* next = reinterpret_cast<const char*>(b + depth * C * V::kLanes);
  const std::int64_t share = (depth * C * V::kLanes * sizeof(*b) + n_strips - 1) / n_strips;
  for (std::int64_t s = 0; s < n_strips; ++s, a += R * depth, tile += R * stride) {
    for (std::int64_t line = 0; line < share; line += 64) __builtin_prefetch(next + s * share + line);
    strip<V, R, C, kL2>(depth, a, b, tile, stride, first, last);
  }
}

template <typename T>
void insert(TopTwo<T>& row, T value, typename LaneIndex<T>::type index) {
  if (value > row.value[0]) {
    row.value[1] = row.value[0];
    row.index[1] = row.index[0];
    row.value[0] = value;
    row.index[0] = index;
  } else if (value > row.value[1]) {
    row.value[1] = value;
    row.index[1] = index;
  }
}

template <typename V, int C>
void best(std::int64_t n_rows, const typename V::Scalar* tile,
          typename Kernels<typename V::Scalar>::Index first_row,
          typename Kernels<typename V::Scalar>::Index first_col, int keep, TopTwo<typename V::Scalar>* rows,
          typename V::Scalar* col_value, typename Kernels<typename V::Scalar>::Index* col_index) {
  using Index = typename Kernels<typename V::Scalar>::Index;
  typename V::Vec top[C];
  typename V::IndexVec top_row[C];
#pragma GCC unroll 16
  for (int c = 0; c < C; ++c) {
    top[c] = V::load(col_value + c * V::kLanes);
    top_row[c] = V::load_index(col_index + c * V::kLanes);
  }
  for (std::int64_t r = 0; r < n_rows; ++r, tile += C * V::kLanes) {
    auto row_lanes = V::set1_index(static_cast<Index>(first_row + r));
    auto bar = V::set1(rows[r].value[keep - 1]);
    typename V::Vec value[C];
    auto largest = V::load(tile);
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) {
      value[c] = V::load(tile + c * V::kLanes);
      largest = V::max(largest, value[c]);
      auto higher = V::above(value[c], top[c]);
      top[c] = V::choose(higher, value[c], top[c]);
      top_row[c] = V::choose_index(higher, row_lanes, top_row[c]);
    }
    if (__builtin_expect(V::bits(V::above(largest, bar)) == 0, 1)) continue;
    for (int c = 0; c < C; ++c)
      for (unsigned lanes = V::bits(V::above(value[c], bar)); lanes != 0; lanes &= lanes - 1) {
        int j = c * V::kLanes + __builtin_ctz(lanes);
        insert(rows[r], tile[j], static_cast<Index>(first_col + j));
      }
  }
#pragma GCC unroll 16
  for (int c = 0; c < C; ++c) {
    V::store(col_value + c * V::kLanes, top[c]);
    V::store_index(col_index + c * V::kLanes, top_row[c]);
  }
}

constexpr int kSumLanes = 16;

// One more term of a lane. The product of two float32 is exact in float64, so a plain multiply and add rounds
// as fma.
inline double term(float x, float y, double sum) {
  return sum + static_cast<double>(x) * static_cast<double>(y);
}
inline double term(double x, double y, double sum) { return __builtin_fma(x, y, sum); }

// Adds the last n terms to their lanes, then the lanes: in halves.
template <typename T>
inline double finish(double* lanes, std::int64_t n, const T* x, const T* y) {
  for (std::int64_t i = 0; i < n; ++i) lanes[i] = term(x[i], y[i], lanes[i]);
  for (int half = kSumLanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

template <typename V, typename T>
double squares(std::int64_t n, const T* x) {
  constexpr int C = kSumLanes / V::kLanes;
  typename V::Vec sum[C];
#pragma GCC unroll 16
  for (int c = 0; c < C; ++c) sum[c] = V::zero();
  std::int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes)
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) {
      auto u = V::widen(x + i + c * V::kLanes);
      sum[c] = V::template term<T>(u, u, sum[c]);
    }
  double lanes[kSumLanes];
#pragma GCC unroll 16
  for (int c = 0; c < C; ++c) V::store(lanes + c * V::kLanes, sum[c]);
  return finish(lanes, n - i, x + i, x + i);
}

template <typename V, typename T>
void products(std::int64_t n, const T* x, const T* y, double* sums) {
  constexpr int C = kSumLanes / V::kLanes;
  typename V::Vec sum[3][C];
#pragma GCC unroll 16
  for (int c = 0; c < C; ++c) sum[0][c] = sum[1][c] = sum[2][c] = V::zero();
  std::int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes)
#pragma GCC unroll 16
    for (int c = 0; c < C; ++c) {
      auto u = V::widen(x + i + c * V::kLanes);
      auto v = V::widen(y + i + c * V::kLanes);
      sum[0][c] = V::template term<T>(u, v, sum[0][c]);
      sum[1][c] = V::template term<T>(u, u, sum[1][c]);
      sum[2][c] = V::template term<T>(v, v, sum[2][c]);
    }
  double lanes[3][kSumLanes];
#pragma GCC unroll 16
  for (int c = 0; c < C; ++c)
    for (int s = 0; s < 3; ++s) V::store(lanes[s] + c * V::kLanes, sum[s][c]);
  sums[0] = finish(lanes[0], n - i, x + i, y + i);
  sums[1] = finish(lanes[1], n - i, x + i, x + i);
  sums[2] = finish(lanes[2], n - i, y + i, y + i);
}

template <typename V, int C>
bool offer(std::int64_t n_rows, const typename V::Scalar* tile, std::int64_t stride,
           typename Kernels<typename V::Scalar>::Index first_col,
           Candidates<typename V::Scalar>* candidates) {
  using Index = typename Kernels<typename V::Scalar>::Index;
  bool filled = false;
  for (std::int64_t r = 0; r < n_rows; ++r, tile += stride) {
    Candidates<typename V::Scalar>& row = candidates[r];
    auto bar = V::set1(row.bar);
    auto largest = V::load(tile);
#pragma GCC unroll 16
    for (int c = 1; c < C; ++c) largest = V::max(largest, V::load(tile + c * V::kLanes));
    if (__builtin_expect(V::bits(V::above(largest, bar)) == 0, 1)) continue;
    Index count = row.count;
    for (int c = 0; c < C; ++c)
      for (unsigned lanes = V::bits(V::above(V::load(tile + c * V::kLanes), bar)); lanes != 0;
           lanes &= lanes - 1) {
        int j = c * V::kLanes + __builtin_ctz(lanes);
        row.value[count] = tile[j];
        row.index[count++] = static_cast<Index>(first_col + j);
      }
    row.count = count;
    filled |= count > row.full;
  }
  return filled;
}

template <typename V>
void scale(std::int64_t n, const double* x, double shift, double factor, double* out) {
  auto shifts = V::set1(shift), factors = V::set1(factor);
  std::int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes)
    V::store(out + i, V::mul(V::mul(V::load(x + i), shifts), factors));
  for (; i < n; ++i) out[i] = x[i] * shift * factor;
}

inline float times(float x, float high, float low) { return __builtin_fmaf(x, high, x * low); }

// The factor as a float32 and what is left of it. Its power of two goes ahead, in float64, only where the
// numbers would otherwise leave the range of float32: the bits are the same either way.
template <typename V>
void scale(std::int64_t n, const float* x, double shift, double factor, float* out) {
  constexpr double kLeast = 0x1p-60, kMost = 0x1p60;
  double ahead = 1;
  if (shift != 1 || factor < kLeast || factor > kMost) {
    int exponent;
    factor = __builtin_frexp(factor, &exponent);
    ahead = __builtin_ldexp(shift, exponent);
  }
  const float high = static_cast<float>(factor), low = static_cast<float>(factor - high);
  std::int64_t i = 0;
  if (ahead == 1) {
    auto highs = V::set1(high), lows = V::set1(low);
    for (; i + V::kLanes <= n; i += V::kLanes) {
      auto v = V::load(x + i);
      V::store(out + i, V::fma(v, highs, V::mul(v, lows)));
    }
  }
  for (; i < n; ++i) out[i] = times(static_cast<float>(static_cast<double>(x[i]) * ahead), high, low);
}

// In squares of V::kSquare. Where the lines are no multiple of it, what a square writes too much falls on the
// next row's first elements, which are written after it.
template <typename V, int kWidth>
void interleave(std::int64_t depth, const typename V::Scalar* lines, typename V::Scalar* strip) {
  std::int64_t k = 0;
  for (; k + V::kSquare <= depth; k += V::kSquare)
    for (int i = (kWidth - 1) / V::kSquare * V::kSquare; i >= 0; i -= V::kSquare)
      V::square(lines + i * kChain + k, kChain, strip + k * kWidth + i, kWidth);
  for (; k < depth; ++k)
    for (int i = 0; i < kWidth; ++i) strip[k * kWidth + i] = lines[i * kChain + k];
}

template <typename V>
void transpose(std::int64_t n_rows, std::int64_t n_cols, const typename V::Scalar* from,
               std::int64_t from_stride, typename V::Scalar* to, std::int64_t to_stride) {
  constexpr std::int64_t kSquare = V::kSquare;
  for (std::int64_t c = 0; c < n_cols; c += kSquare)
    for (std::int64_t r = 0; r < n_rows; r += kSquare) {
      if (r + kSquare <= n_rows && c + kSquare <= n_cols) {
        V::square(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
        continue;
      }
      for (std::int64_t j = c; j < n_cols && j < c + kSquare; ++j)
        for (std::int64_t i = r; i < n_rows && i < r + kSquare; ++i)
          to[j * to_stride + i] = from[i * from_stride + j];
    }
}

template <typename V>
void stream(std::int64_t n_rows, std::int64_t n_cols, const typename V::Scalar* from,
            std::int64_t from_stride, typename V::Scalar* to, std::int64_t to_stride) {
  for (std::int64_t r = 0; r < n_rows; ++r, from += from_stride, to += to_stride) {
    std::int64_t i = 0;
    for (; i < n_cols && reinterpret_cast<std::uintptr_t>(to + i) % sizeof(typename V::Vec) != 0; ++i)
      to[i] = from[i];
    for (; i + V::kLanes <= n_cols; i += V::kLanes) V::stream(to + i, V::load(from + i));
    for (; i < n_cols; ++i) to[i] = from[i];
  }
  V::flush();
}

template <int kCols>
void minus_hamming(std::int64_t n_rows, std::int64_t n_words, const std::uint64_t* a, const std::uint64_t* b,
                   float* tile) {
  for (std::int64_t r = 0; r < n_rows; ++r, a += n_words)
    for (int c = 0; c < kCols; ++c) {
      const std::uint64_t* other = b + c * n_words;
      int differing = 0;
      for (std::int64_t w = 0; w < n_words; ++w) differing += __builtin_popcountll(a[w] ^ other[w]);
      *tile++ = static_cast<float>(-differing);
    }
}

// The table of a level: R rows and C vectors a register tile.
template <typename V, int R, int C>
constexpr Kernels<typename V::Scalar> table() {
  using T = typename V::Scalar;
  return {R,
          C * V::kLanes,
          strips<V, R, C, false>,
          strips<V, R, C, true>,
          best<V, C>,
          offer<V, C>,
          squares<F64, T>,
          products<F64, T>,
          rough<V>,
          scale<V>,
          interleave<V, R>,
          interleave<V, C * V::kLanes>,
          transpose<V>,
          stream<V>};
}

}  // namespace
}  // namespace wmb::isa
