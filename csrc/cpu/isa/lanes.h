// SPDX-License-Identifier: Apache-2.0
// Four doubles that are worked on together. The number is fixed: one AVX register, two of SSE2 or NEON, so
// the bits are the same on all. Everything here has internal linkage: two files compiled for different
// machines never share one copy of a function.
#pragma once

#include <cstddef>
#include <cstring>
#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "core/scalar.h"

#if defined(__FMA__)
#include <immintrin.h>
#endif

namespace wmb {
namespace {

constexpr int kLanes = 4;
typedef double Doubles __attribute__((vector_size(32)));
typedef long long Mask __attribute__((vector_size(32)));
typedef float Floats __attribute__((vector_size(16)));

struct Lanes {
  Doubles v;
  Lanes() = default;
  explicit Lanes(Doubles value) : v(value) {}
  explicit Lanes(double value) : v(Doubles{value, value, value, value}) {}
};

inline Lanes operator+(Lanes a, Lanes b) { return Lanes(a.v + b.v); }
inline Lanes operator-(Lanes a, Lanes b) { return Lanes(a.v - b.v); }
inline Lanes operator*(Lanes a, Lanes b) { return Lanes(a.v * b.v); }
inline Lanes operator/(Lanes a, Lanes b) { return Lanes(a.v / b.v); }
inline Mask operator<(Lanes a, Lanes b) { return a.v < b.v; }
inline Mask operator>(Lanes a, Lanes b) { return a.v > b.v; }
inline Lanes select(Mask condition, Lanes yes, Lanes no) { return Lanes(condition ? yes.v : no.v); }

inline Lanes square_root(Lanes a) {
  return Lanes(Doubles{__builtin_sqrt(a.v[0]), __builtin_sqrt(a.v[1]), __builtin_sqrt(a.v[2]),
                       __builtin_sqrt(a.v[3])});
}

inline Lanes absolute(Lanes a) {
  const Mask keep = {~(1LL << 63), ~(1LL << 63), ~(1LL << 63), ~(1LL << 63)};
  return Lanes((Doubles)((Mask)a.v & keep));
}

// a b + c, rounded once.
inline Lanes fused(Lanes a, Lanes b, Lanes c) {
#if defined(__FMA__)
  return Lanes(Doubles(_mm256_fmadd_pd(a.v, b.v, c.v)));
#else
  return Lanes(Doubles{__builtin_fma(a.v[0], b.v[0], c.v[0]), __builtin_fma(a.v[1], b.v[1], c.v[1]),
                       __builtin_fma(a.v[2], b.v[2], c.v[2]), __builtin_fma(a.v[3], b.v[3], c.v[3])});
#endif
}

// Lane 0 + 1, 2 + 3, then the two: always in this order.
inline double sum_of(Lanes a) { return (a.v[0] + a.v[1]) + (a.v[2] + a.v[3]); }

inline Doubles load4(const double* from) {
  Doubles v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

inline Doubles load4(const float* from) {
  Floats v;
  std::memcpy(&v, from, sizeof v);
  return __builtin_convertvector(v, Doubles);
}

inline void store4(double* to, Doubles v) { std::memcpy(to, &v, sizeof v); }

// Two doubles from here and two from there. Said in instructions where they exist: of plain code GCC makes a
// load for each number.
inline Doubles load2and2(const double* low, const double* high) {
#if defined(__AVX__)
  return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high), 1);
#else
  return Doubles{low[0], low[1], high[0], high[1]};
#endif
}

// x, y and z of four points that lie one after the other. Halves are paired as they are loaded, so that no
// number crosses from one half of a register to the other afterwards.
inline void load_points(const double* p, Lanes& x, Lanes& y, Lanes& z) {
  const Doubles a = load2and2(p, p + 6);       // x0 y0 x2 y2
  const Doubles b = load2and2(p + 2, p + 8);   // z0 x1 z2 x3
  const Doubles c = load2and2(p + 4, p + 10);  // y1 z1 y3 z3
  x = Lanes(__builtin_shuffle(a, b, Mask{0, 5, 2, 7}));
  y = Lanes(__builtin_shuffle(a, c, Mask{1, 4, 3, 6}));
  z = Lanes(__builtin_shuffle(b, c, Mask{0, 5, 2, 7}));
}

// Rows of four matrices, turned into columns: lane k of out[j] is entry j of row k.
inline void transpose4(Doubles a, Doubles b, Doubles c, Doubles d, Lanes out[4]) {
  Doubles ab_low = __builtin_shuffle(a, b, Mask{0, 4, 2, 6}),
          ab_high = __builtin_shuffle(a, b, Mask{1, 5, 3, 7});
  Doubles cd_low = __builtin_shuffle(c, d, Mask{0, 4, 2, 6}),
          cd_high = __builtin_shuffle(c, d, Mask{1, 5, 3, 7});
  out[0] = Lanes(__builtin_shuffle(ab_low, cd_low, Mask{0, 1, 4, 5}));
  out[1] = Lanes(__builtin_shuffle(ab_high, cd_high, Mask{0, 1, 4, 5}));
  out[2] = Lanes(__builtin_shuffle(ab_low, cd_low, Mask{2, 3, 6, 7}));
  out[3] = Lanes(__builtin_shuffle(ab_high, cd_high, Mask{2, 3, 6, 7}));
}

// Writes the lanes of v whose condition holds, one after the other, and returns their number. Up to four are
// written over.
inline std::size_t pack(Doubles v, Mask condition, double* to) {
#if defined(__AVX2__)
  // The pairs of 32-bit halves that each of the sixteen conditions keeps.
  alignas(32) static constexpr int kKept[16][8] = {
      {0, 0, 0, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0, 0, 0}, {2, 3, 0, 0, 0, 0, 0, 0}, {0, 1, 2, 3, 0, 0, 0, 0},
      {4, 5, 0, 0, 0, 0, 0, 0}, {0, 1, 4, 5, 0, 0, 0, 0}, {2, 3, 4, 5, 0, 0, 0, 0}, {0, 1, 2, 3, 4, 5, 0, 0},
      {6, 7, 0, 0, 0, 0, 0, 0}, {0, 1, 6, 7, 0, 0, 0, 0}, {2, 3, 6, 7, 0, 0, 0, 0}, {0, 1, 2, 3, 6, 7, 0, 0},
      {4, 5, 6, 7, 0, 0, 0, 0}, {0, 1, 4, 5, 6, 7, 0, 0}, {2, 3, 4, 5, 6, 7, 0, 0}, {0, 1, 2, 3, 4, 5, 6, 7}};
  const int bits = _mm256_movemask_pd((__m256d)condition);
  const __m256i kept = _mm256_load_si256(reinterpret_cast<const __m256i*>(kKept[bits]));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32((__m256i)v, kept));
  return static_cast<std::size_t>(__builtin_popcount(static_cast<unsigned>(bits)));
#else
  std::size_t count = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    to[count] = v[lane];
    count -= static_cast<std::size_t>(condition[lane]);
  }
  return count;
#endif
}

}  // namespace
}  // namespace wmb
