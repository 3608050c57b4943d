// SPDX-License-Identifier: Apache-2.0
// Four doubles that are worked on together. The number is fixed: one AVX register, two of SSE2 or NEON, so
// the bits are the same on all. Everything here has internal linkage: two files compiled for different
// machines never share one copy of a function.
#pragma once

#include <cstddef>
#include <cstring>

#include "core/scalar.h"

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

// x, y and z of four points that lie one after the other.
inline void load_points(const double* p, Lanes& x, Lanes& y, Lanes& z) {
  Doubles a = load4(p), b = load4(p + 4), c = load4(p + 8);  // x0 y0 z0 x1 | y1 z1 x2 y2 | z2 x3 y3 z3
  Doubles ab = __builtin_shuffle(a, b, Mask{0, 3, 6, 7});    // x0 x1 x2 y2
  Doubles mid = __builtin_shuffle(a, b, Mask{1, 4, 2, 5});   // y0 y1 z0 z1
  x = Lanes(__builtin_shuffle(ab, c, Mask{0, 1, 2, 5}));
  Doubles y01y2 = __builtin_shuffle(mid, ab, Mask{0, 1, 7, 7});
  y = Lanes(__builtin_shuffle(y01y2, c, Mask{0, 1, 2, 6}));
  z = Lanes(__builtin_shuffle(mid, c, Mask{2, 3, 4, 7}));
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

}  // namespace
}  // namespace wmb
