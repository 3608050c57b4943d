// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx2 -mfma -mpopcnt.
#include <immintrin.h>

#include <cstdint>

#include "cpu/isa/squares.h"

namespace wmb::isa {
namespace {

struct F32 {
  using Scalar = float;
  using Vec = __m256;
  using IndexVec = __m256i;
  static constexpr int kLanes = 8;
  static Vec zero() { return _mm256_setzero_ps(); }
  static Vec set1(float x) { return _mm256_set1_ps(x); }
  static Vec load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
  static void stream(float* p, Vec v) { _mm256_stream_ps(p, v); }
  static void flush() { _mm_sfence(); }
  static constexpr int kSquare = 8;
  static void square(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride) {
    square8(from, from_stride, to, to_stride);
  }
  static Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
  static Vec sub(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
  static Vec min(Vec a, Vec b) { return _mm256_min_ps(a, b); }
  static Vec max(Vec a, Vec b) { return _mm256_max_ps(a, b); }
  static Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
  static Vec fnma(Vec a, Vec b, Vec c) { return _mm256_fnmadd_ps(a, b, c); }
  static Vec rough(Vec a, Vec b, Vec c) { return fma(a, b, c); }
  static Vec above(Vec a, Vec b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
  static unsigned bits(Vec lanes) { return static_cast<unsigned>(_mm256_movemask_ps(lanes)); }
  static Vec choose(Vec lanes, Vec a, Vec b) { return _mm256_blendv_ps(b, a, lanes); }
  static IndexVec set1_index(std::int32_t i) { return _mm256_set1_epi32(i); }
  static IndexVec load_index(const std::int32_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static void store_index(std::int32_t* p, IndexVec v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  static IndexVec choose_index(Vec lanes, IndexVec a, IndexVec b) {
    return _mm256_blendv_epi8(b, a, _mm256_castps_si256(lanes));
  }
};

struct F64 {
  using Scalar = double;
  using Vec = __m256d;
  using IndexVec = __m256i;
  static constexpr int kLanes = 4;
  static Vec zero() { return _mm256_setzero_pd(); }
  static Vec set1(double x) { return _mm256_set1_pd(x); }
  static Vec load(const double* p) { return _mm256_loadu_pd(p); }
  static void store(double* p, Vec v) { _mm256_storeu_pd(p, v); }
  static void stream(double* p, Vec v) { _mm256_stream_pd(p, v); }
  static void flush() { _mm_sfence(); }
  static constexpr int kSquare = 4;
  static void square(const double* from, std::int64_t from_stride, double* to, std::int64_t to_stride) {
    square4(from, from_stride, to, to_stride);
  }
  static Vec add(Vec a, Vec b) { return _mm256_add_pd(a, b); }
  static Vec sub(Vec a, Vec b) { return _mm256_sub_pd(a, b); }
  static Vec mul(Vec a, Vec b) { return _mm256_mul_pd(a, b); }
  static Vec min(Vec a, Vec b) { return _mm256_min_pd(a, b); }
  static Vec max(Vec a, Vec b) { return _mm256_max_pd(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_pd(a, b, c); }
  static Vec fnma(Vec a, Vec b, Vec c) { return _mm256_fnmadd_pd(a, b, c); }
  static Vec rough(Vec a, Vec b, Vec c) { return fma(a, b, c); }
  template <typename T>
  static Vec term(Vec a, Vec b, Vec c) {
    return fma(a, b, c);
  }
  static Vec widen(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
  static Vec widen(const double* p) { return load(p); }
  static void narrow(float* p, Vec v) { _mm_storeu_ps(p, _mm256_cvtpd_ps(v)); }
  static void narrow(double* p, Vec v) { store(p, v); }
  static Vec above(Vec a, Vec b) { return _mm256_cmp_pd(a, b, _CMP_GT_OQ); }
  static unsigned bits(Vec lanes) { return static_cast<unsigned>(_mm256_movemask_pd(lanes)); }
  static Vec choose(Vec lanes, Vec a, Vec b) { return _mm256_blendv_pd(b, a, lanes); }
  static IndexVec set1_index(std::int64_t i) { return _mm256_set1_epi64x(i); }
  static IndexVec load_index(const std::int64_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static void store_index(std::int64_t* p, IndexVec v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  static IndexVec choose_index(Vec lanes, IndexVec a, IndexVec b) {
    return _mm256_blendv_epi8(b, a, _mm256_castpd_si256(lanes));
  }
};

}  // namespace
}  // namespace wmb::isa

#include "cpu/isa/kernels.inc.h"
#include "cpu/isa/relax.inc.h"

namespace wmb::isa {

const Level avx2 = {"avx2",      table<F32, 6, 2>(), table<F64, 6, 2>(),
                    row_scans(), minus_hamming<16>,  &unfused_avx2};

}  // namespace wmb::isa
