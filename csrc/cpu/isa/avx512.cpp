// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx512f -mavx2 -mfma -mpopcnt.
#include <immintrin.h>

#include <cstdint>

#include "cpu/isa/squares.h"

namespace wmb::isa {
namespace {

struct F32 {
  using Scalar = float;
  using Vec = __m512;
  using IndexVec = __m512i;
  static constexpr int kLanes = 16;
  static Vec zero() { return _mm512_setzero_ps(); }
  static Vec set1(float x) { return _mm512_set1_ps(x); }
  static Vec load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
  static void stream(float* p, Vec v) { _mm512_stream_ps(p, v); }
  static void flush() { _mm_sfence(); }
  static constexpr int kSquare = 8;
  static void square(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride) {
    square8(from, from_stride, to, to_stride);
  }
  static Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
  static Vec sub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
  static Vec min(Vec a, Vec b) { return _mm512_min_ps(a, b); }
  static Vec max(Vec a, Vec b) { return _mm512_max_ps(a, b); }
  static Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
  static Vec fnma(Vec a, Vec b, Vec c) { return _mm512_fnmadd_ps(a, b, c); }
  static Vec rough(Vec a, Vec b, Vec c) { return fma(a, b, c); }
  static __mmask16 above(Vec a, Vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
  static unsigned bits(__mmask16 lanes) { return lanes; }
  static Vec choose(__mmask16 lanes, Vec a, Vec b) { return _mm512_mask_blend_ps(lanes, b, a); }
  static IndexVec set1_index(std::int32_t i) { return _mm512_set1_epi32(i); }
  static IndexVec load_index(const std::int32_t* p) { return _mm512_loadu_si512(p); }
  static void store_index(std::int32_t* p, IndexVec v) { _mm512_storeu_si512(p, v); }
  static IndexVec choose_index(__mmask16 lanes, IndexVec a, IndexVec b) {
    return _mm512_mask_blend_epi32(lanes, b, a);
  }
};

struct F64 {
  using Scalar = double;
  using Vec = __m512d;
  using IndexVec = __m512i;
  static constexpr int kLanes = 8;
  static Vec zero() { return _mm512_setzero_pd(); }
  static Vec set1(double x) { return _mm512_set1_pd(x); }
  static Vec load(const double* p) { return _mm512_loadu_pd(p); }
  static void store(double* p, Vec v) { _mm512_storeu_pd(p, v); }
  static void stream(double* p, Vec v) { _mm512_stream_pd(p, v); }
  static void flush() { _mm_sfence(); }
  static constexpr int kSquare = 4;
  static void square(const double* from, std::int64_t from_stride, double* to, std::int64_t to_stride) {
    square4(from, from_stride, to, to_stride);
  }
  static Vec add(Vec a, Vec b) { return _mm512_add_pd(a, b); }
  static Vec sub(Vec a, Vec b) { return _mm512_sub_pd(a, b); }
  static Vec mul(Vec a, Vec b) { return _mm512_mul_pd(a, b); }
  static Vec min(Vec a, Vec b) { return _mm512_min_pd(a, b); }
  static Vec max(Vec a, Vec b) { return _mm512_max_pd(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_pd(a, b, c); }
  static Vec fnma(Vec a, Vec b, Vec c) { return _mm512_fnmadd_pd(a, b, c); }
  static Vec rough(Vec a, Vec b, Vec c) { return fma(a, b, c); }
  template <typename T>
  static Vec term(Vec a, Vec b, Vec c) {
    return fma(a, b, c);
  }
  static Vec widen(const float* p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
  static Vec widen(const double* p) { return load(p); }
  static void narrow(float* p, Vec v) { _mm256_storeu_ps(p, _mm512_cvtpd_ps(v)); }
  static void narrow(double* p, Vec v) { store(p, v); }
  static __mmask8 above(Vec a, Vec b) { return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ); }
  static unsigned bits(__mmask8 lanes) { return lanes; }
  static Vec choose(__mmask8 lanes, Vec a, Vec b) { return _mm512_mask_blend_pd(lanes, b, a); }
  static IndexVec set1_index(std::int64_t i) { return _mm512_set1_epi64(i); }
  static IndexVec load_index(const std::int64_t* p) { return _mm512_loadu_si512(p); }
  static void store_index(std::int64_t* p, IndexVec v) { _mm512_storeu_si512(p, v); }
  static IndexVec choose_index(__mmask8 lanes, IndexVec a, IndexVec b) {
    return _mm512_mask_blend_epi64(lanes, b, a);
  }
};

}  // namespace
}  // namespace wmb::isa

#include "cpu/isa/kernels.inc.h"
#include "cpu/isa/relax.inc.h"

namespace wmb::isa {

const Level avx512 = {"avx512",    table<F32, 12, 2>(), table<F64, 12, 2>(),
                      row_scans(), minus_hamming<32>,   &unfused_avx2};

}  // namespace wmb::isa
