// SPDX-License-Identifier: Apache-2.0
// The floor: one lane, for any machine. Without an fma instruction the C library's correctly rounded one is
// called.
#include <cstdint>

namespace wmb::isa {
namespace {

template <typename T, typename I>
struct Lane {
  using Scalar = T;
  using Vec = T;
  using IndexVec = I;
  static constexpr int kLanes = 1;
  static Vec zero() { return 0; }
  static Vec set1(T x) { return x; }
  static Vec load(const T* p) { return *p; }
  static void store(T* p, Vec v) { *p = v; }
  static void stream(T* p, Vec v) { *p = v; }
  static void flush() {}
  static constexpr int kSquare = 1;
  static void square(const T* from, std::int64_t, T* to, std::int64_t) { *to = *from; }
  static Vec add(Vec a, Vec b) { return a + b; }
  static Vec sub(Vec a, Vec b) { return a - b; }
  static Vec mul(Vec a, Vec b) { return a * b; }
  static Vec min(Vec a, Vec b) { return a < b ? a : b; }
  static Vec max(Vec a, Vec b) { return a > b ? a : b; }
  static float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
  static Vec fnma(Vec a, Vec b, Vec c) { return fma(-a, b, c); }
  static Vec rough(Vec a, Vec b, Vec c) { return a * b + c; }
  static bool above(Vec a, Vec b) { return a > b; }
  static unsigned bits(bool lanes) { return lanes; }
  static Vec choose(bool lanes, Vec a, Vec b) { return lanes ? a : b; }
  static IndexVec set1_index(I i) { return i; }
  static IndexVec load_index(const I* p) { return *p; }
  static void store_index(I* p, IndexVec v) { *p = v; }
  static IndexVec choose_index(bool lanes, IndexVec a, IndexVec b) { return lanes ? a : b; }
};

using F32 = Lane<float, std::int32_t>;
struct F64 : Lane<double, std::int64_t> {
  static Vec widen(const float* p) { return *p; }
  static Vec widen(const double* p) { return *p; }
  static void narrow(float* p, Vec v) { *p = static_cast<float>(v); }
  static void narrow(double* p, Vec v) { *p = v; }
  // Products of two float32 are exact in float64: multiply and add rounds as fma does.
  template <typename T>
  static Vec term(Vec a, Vec b, Vec c) {
    return sizeof(T) == sizeof(float) ? a * b + c : fma(a, b, c);
  }
};

}  // namespace
}  // namespace wmb::isa

#include "cpu/isa/kernels.inc.h"
#include "cpu/isa/relax.inc.h"

namespace wmb::isa {

const Level portable = {"portable",  table<F32, 4, 8>(), table<F64, 4, 8>(),
                        row_scans(), minus_hamming<8>,   &unfused_portable};

}  // namespace wmb::isa
