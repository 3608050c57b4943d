// SPDX-License-Identifier: Apache-2.0
// Transposed squares in registers, for every level that has AVX. Rows are stored in ascending order.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace wmb::isa {
namespace {

// to[c, r] = from[r, c], 8 x 8.
inline void square8(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride) {
  __m256 half[8], pair[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // rows i and i + 4 side by side: the halves need not change places later
    const float *low = from + i * from_stride, *high = from + (i + 4) * from_stride;
    half[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
    half[i + 4] =
        _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low + 4)), _mm_loadu_ps(high + 4), 1);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    pair[i] = _mm256_unpacklo_ps(half[i], half[i + 1]);
    pair[i + 1] = _mm256_unpackhi_ps(half[i], half[i + 1]);
    pair[i + 2] = _mm256_unpacklo_ps(half[i + 2], half[i + 3]);
    pair[i + 3] = _mm256_unpackhi_ps(half[i + 2], half[i + 3]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    float* out = to + i * to_stride;
    _mm256_storeu_ps(out, _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44));
    _mm256_storeu_ps(out + to_stride, _mm256_shuffle_ps(pair[i], pair[i + 2], 0xee));
    _mm256_storeu_ps(out + 2 * to_stride, _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44));
    _mm256_storeu_ps(out + 3 * to_stride, _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xee));
  }
}

// The same, 4 x 4.
inline void square4(const double* from, std::int64_t from_stride, double* to, std::int64_t to_stride) {
  __m256d half[4];
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const double *low = from + i * from_stride, *high = from + (i + 2) * from_stride;
    half[i] = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high), 1);
    half[i + 2] =
        _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(low + 2)), _mm_loadu_pd(high + 2), 1);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 4; i += 2) {
    _mm256_storeu_pd(to + i * to_stride, _mm256_unpacklo_pd(half[i], half[i + 1]));
    _mm256_storeu_pd(to + (i + 1) * to_stride, _mm256_unpackhi_pd(half[i], half[i + 1]));
  }
}

}  // namespace
}  // namespace wmb::isa
