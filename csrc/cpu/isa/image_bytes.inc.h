// SPDX-License-Identifier: Apache-2.0
// The image loops of bytes, in whole numbers. Part of image.inc.h, and compiled as often.
#pragma once

#include <cstring>

#include "cpu/image_kernels.h"
#include "cpu/isa/lanes.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace wmb {
namespace {

using Byte = std::uint8_t;

inline std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

Difference byte_difference(const Byte* a, const Byte* b, std::size_t n) {
  constexpr std::size_t kExact = 1 << 15;  // squares of bytes that 32 bits can sum
  std::uint64_t total = 0;
  for (std::size_t begin = 0; begin < n; begin += kExact) {
    const std::size_t end = smaller(n, begin + kExact);
    std::int32_t sum = 0;
    for (std::size_t k = begin; k < end; ++k) {
      const std::int16_t d = static_cast<std::int16_t>(a[k] - b[k]);
      sum += d * d;
    }
    total += static_cast<std::uint32_t>(sum);
  }
  return {static_cast<double>(total), 0, 0};
}

using Fraction = SsimFraction<Lanes>;

// The first n_left of four values; zero for lanes beyond them, which may hold anything.
inline Lanes first_of(Lanes values, std::size_t n_left) {
  const long long n = static_cast<long long>(n_left);
  return select(Mask{0, 1, 2, 3} < Mask{n, n, n, n}, values, Lanes(0.0));
}

// n pixels of a row from `first` on, which may lie beyond its ends.
struct Stretch {
  std::int64_t first, n, width;
};

// Calls run(at, from, n) for the pixels inside, put in one piece, and for every mirrored one.
template <typename Run>
inline void for_pixels(const Stretch& s, Run run) {
  std::int64_t k = 0;
  auto mirror = [&] {
    run(static_cast<std::size_t>(k), static_cast<std::size_t>(mirrored(s.first + k, s.width)), 1);
  };
  for (; k < s.n && s.first + k < 0; ++k) mirror();
  const std::int64_t inside = s.width - s.first < s.n ? s.width - s.first : s.n;
  if (k < inside) {
    run(static_cast<std::size_t>(k), static_cast<std::size_t>(s.first + k),
        static_cast<std::size_t>(inside - k));
    k = inside;
  }
  for (; k < s.n; ++k) mirror();
}

// Weights of the sums of two neighbours, and of twice the middle value: times 2^32 they are kHigh times 2^15
// plus kLow, within 8e-11 of the Gaussian, and add up to a half exactly, so that a flat row stays exact. Sums
// of 16-bit numbers with either fit 32 bits, where those with kHigh may wrap round on the way. A row's sums
// are rounded to units of 2^-17. What comes of that is at most 8e-7 of a similarity: 2^-17 in 2 cov + C2 and
// va + vb + C2, and 2^-25 of each mean times at most 4 * 128 in either, over the least denominator, 58.5.
constexpr std::int16_t kHigh[kGaussianRadius + 1] = {17433, 27919, 14334, 4719, 996, 135};
constexpr std::int16_t kLow[kGaussianRadius + 1] = {11285, 2026, 4073, -10053, -510, -6821};
constexpr int kLowBits = 15;

// With u = a - 128, v = b - 128 and d = a - b the numbers 128 u, 128 v, d (d + 1) / 2 - 16320 and u v - 64,
// of which any two add up to 16 bits. Of equal images the third is flat, and their similarity 1 exactly.
inline void undo_byte_scales(Lanes (&sums)[4]) {
  const Lanes mean(0x1p-24), product(0x1p-17), triangle(0x1p-16), middle(128.0);
  const Lanes a = fused(sums[0], mean, middle), b = fused(sums[1], mean, middle);
  // a b = u v + 128 (a + b) - 128^2, a^2 + b^2 = 2 a b + d (d + 1) - d.
  const Lanes ab = fused(sums[3], product, fused(a + b, middle, Lanes(64.0 - 16384.0)));
  const Lanes difference = fused(sums[2], triangle, Lanes(2 * 16320.0)) - (a - b);
  sums[0] = a, sums[1] = b, sums[2] = ab + ab + difference, sums[3] = ab;
}

constexpr std::size_t kByteStrip = 64, kBlock = 16;

// The four numbers of a sample, each kind `wide` from the one before.
inline void byte_numbers(Byte a, Byte b, std::int16_t* out, std::size_t wide) {
  const int u = a - 128, v = b - 128, d = a - b;
  out[0] = static_cast<std::int16_t>(u * 128);
  out[wide] = static_cast<std::int16_t>(v * 128);
  out[2 * wide] = static_cast<std::int16_t>(d * (d + 1) / 2 - 16320);
  out[3 * wide] = static_cast<std::int16_t>(u * v - 64);
}

#if defined(__AVX2__)

inline __m256i bytes(const Byte* from) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

inline void store(std::int16_t* to, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v); }

// Those of kBlock samples.
inline void block_numbers(const Byte* a, const Byte* b, std::int16_t* out, std::size_t wide) {
  const __m256i middle = _mm256_set1_epi16(128), x = bytes(a), y = bytes(b);
  const __m256i u = _mm256_sub_epi16(x, middle), v = _mm256_sub_epi16(y, middle), d = _mm256_sub_epi16(x, y);
  const __m256i triangle =
      _mm256_srli_epi16(_mm256_mullo_epi16(d, _mm256_add_epi16(d, _mm256_set1_epi16(1))), 1);
  store(out, _mm256_slli_epi16(u, 7));
  store(out + wide, _mm256_slli_epi16(v, 7));
  store(out + 2 * wide, _mm256_sub_epi16(triangle, _mm256_set1_epi16(16320)));
  store(out + 3 * wide, _mm256_sub_epi16(_mm256_mullo_epi16(u, v), _mm256_set1_epi16(64)));
}

inline __m256i sixteen(const std::int16_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

inline __m256i weights(const std::int16_t (&of)[kGaussianRadius + 1], int first) {
  return _mm256_set1_epi32((of[first] & 0xffff) | of[first + 1] * 65536);
}

inline void store_wide(double* to, __m128i v) { _mm256_storeu_pd(to, _mm256_cvtepi32_pd(v)); }

// Weighted sums of sixteen values and their neighbours `step` apart.
inline void byte_sums(const std::int16_t* middle, std::ptrdiff_t step, double* to) {
  __m256i value[kGaussianRadius + 1] = {_mm256_add_epi16(sixteen(middle), sixteen(middle))};
  for (int d = 1; d <= kGaussianRadius; ++d)
    value[d] = _mm256_add_epi16(sixteen(middle - d * step), sixteen(middle + d * step));
  __m256i pairs[2][3];
  for (int d = 0; d < 3; ++d) {
    pairs[0][d] = _mm256_unpacklo_epi16(value[2 * d], value[2 * d + 1]);  // of values 0 to 3 and 8 to 11
    pairs[1][d] = _mm256_unpackhi_epi16(value[2 * d], value[2 * d + 1]);  // of the others
  }
  for (int half = 0; half < 2; ++half) {
    __m256i high = _mm256_madd_epi16(pairs[half][0], weights(kHigh, 0));
    __m256i low = _mm256_madd_epi16(pairs[half][0], weights(kLow, 0));
    for (int d = 1; d < 3; ++d) {
      high = _mm256_add_epi32(high, _mm256_madd_epi16(pairs[half][d], weights(kHigh, 2 * d)));
      low = _mm256_add_epi32(low, _mm256_madd_epi16(pairs[half][d], weights(kLow, 2 * d)));
    }
    low = _mm256_srai_epi32(_mm256_add_epi32(low, _mm256_set1_epi32(1 << (kLowBits - 1))), kLowBits);
    const __m256i sum = _mm256_add_epi32(high, low);
    store_wide(to + 4 * half, _mm256_castsi256_si128(sum));
    store_wide(to + 8 + 4 * half, _mm256_extracti128_si256(sum, 1));
  }
}

#else

inline void block_numbers(const Byte* a, const Byte* b, std::int16_t* out, std::size_t wide) {
  for (std::size_t k = 0; k < kBlock; ++k) byte_numbers(a[k], b[k], out + k, wide);
}

inline void byte_sums(const std::int16_t* middle, std::ptrdiff_t step, double* to) {
  for (std::ptrdiff_t k = 0; k < static_cast<std::ptrdiff_t>(kBlock); ++k) {
    std::uint32_t high = 0;
    std::int32_t low = 1 << (kLowBits - 1);
    for (std::ptrdiff_t d = 0; d <= kGaussianRadius; ++d) {
      const std::int32_t value = middle[k - d * step] + middle[k + d * step];
      high += static_cast<std::uint32_t>(kHigh[d] * value);
      low += kLow[d] * value;
    }
    to[k] = static_cast<std::int32_t>(high + static_cast<std::uint32_t>(low >> kLowBits));
  }
}

#endif

// What sum_row is for floats: Gaussian sums along a row of kByteStrip samples, of the four numbers.
template <int Step>
void byte_gaussian_row(const Byte* a, const Byte* b, const Stretch& stretch, std::int16_t* room, double* to) {
  constexpr std::size_t kWide = kByteStrip + 2 * kGaussianRadius * Step;
  for_pixels(stretch, [&](std::size_t at, std::size_t from, std::size_t n_pixels) {
    const std::size_t n = n_pixels * Step;
    std::int16_t* out = room + at * Step;
    const Byte *pa = a + from * Step, *pb = b + from * Step;
    if (n < kBlock) {
      for (std::size_t k = 0; k < n; ++k) byte_numbers(pa[k], pb[k], out + k, kWide);
      return;
    }
    for (std::size_t k = 0; k < n; k += kBlock) {
      const std::size_t here = smaller(k, n - kBlock);  // the last block may overlap the one before
      block_numbers(pa + here, pb + here, out + here, kWide);
    }
  });
  for (std::size_t m = 0; m < 4; ++m)
    for (std::size_t k = 0; k < kByteStrip; k += kBlock)
      byte_sums(room + m * kWide + kGaussianRadius * Step + k, Step, to + m * kByteStrip + k);
}

// Sums over the seven rows of a window, column by column.
struct Columns {
  static constexpr std::size_t kSamples = 504;  // of windows; whole pixels of one sample or three
  static constexpr std::size_t kWide = kSamples + 2 * kUniformRadius * 3 + kLanes;
  std::uint16_t a[kWide], b[kWide];
  std::int32_t squares[kWide], product[kWide];
};

// Puts a row in.
void enter(Columns& sums, const Byte* a, const Byte* b, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    sums.a[k] = static_cast<std::uint16_t>(sums.a[k] + a[k]);
    sums.b[k] = static_cast<std::uint16_t>(sums.b[k] + b[k]);
    sums.squares[k] += a[k] * a[k] + b[k] * b[k];
    sums.product[k] += a[k] * b[k];
  }
}

// Puts one row in and takes another out.
void move_on(Columns& sums, const Byte* a, const Byte* b, const Byte* old_a, const Byte* old_b,
             std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    sums.a[k] = static_cast<std::uint16_t>(sums.a[k] + a[k] - old_a[k]);
    sums.b[k] = static_cast<std::uint16_t>(sums.b[k] + b[k] - old_b[k]);
    sums.squares[k] += a[k] * a[k] + b[k] * b[k] - (old_a[k] * old_a[k] + old_b[k] * old_b[k]);
    sums.product[k] += a[k] * b[k] - old_a[k] * old_b[k];
  }
}

// Sums of seven numbers `Step` apart, for each of n beginnings.
template <int Step, typename T>
void seven(const T* from, std::size_t n, std::int32_t* to) {
  constexpr int kSeven = 2 * kUniformRadius + 1;
  for (std::size_t k = 0; k < n; ++k) {
    T sum = 0;
    for (int i = 0; i < kSeven; ++i) sum = static_cast<T>(sum + from[k + i * Step]);
    to[k] = sum;
  }
}

typedef std::int32_t Ints __attribute__((vector_size(16)));

inline Lanes whole4(const std::int32_t* from) {
  Ints v;
  std::memcpy(&v, from, sizeof v);
  return Lanes(__builtin_convertvector(v, Doubles));
}

// Windows of bytes: running sums of whole numbers, exact.
template <int Step>
double byte_uniform(const ImagePair<Byte>& pair, const Windows& windows, const SsimRule& rule, double* room) {
  constexpr std::size_t kPixels = Columns::kSamples / Step, kHalf = kUniformRadius;
  static_assert(sizeof(Columns) + 4 * Columns::kWide * sizeof(std::int32_t) <= kSsimRoom * sizeof(double));
  Columns& columns = *reinterpret_cast<Columns*>(room);
  std::int32_t* sums = reinterpret_cast<std::int32_t*>(&columns + 1);
  const std::size_t stride = pair.width * Step;
  Lanes total(0.0);
  for (std::size_t left = windows.first_column; left < windows.last_column; left += kPixels) {
    const std::size_t n = smaller(kPixels, windows.last_column - left) * Step, wide = n + 2 * kHalf * Step;
    std::memset(&columns, 0, sizeof columns);
    for (std::size_t y = windows.first_row; y < windows.last_row; ++y) {
      const std::size_t top = (y - kHalf - pair.held) * stride + (left - kHalf) * Step,
                        last = top + 2 * kHalf * stride;
      if (y == windows.first_row) {
        for (std::size_t at = top; at <= last; at += stride) enter(columns, pair.a + at, pair.b + at, wide);
      } else {
        move_on(columns, pair.a + last, pair.b + last, pair.a + top - stride, pair.b + top - stride, wide);
      }
      seven<Step>(columns.a, n, sums);
      seven<Step>(columns.b, n, sums + Columns::kWide);
      seven<Step>(columns.squares, n, sums + 2 * Columns::kWide);
      seven<Step>(columns.product, n, sums + 3 * Columns::kWide);
      for (std::size_t k = 0; k < n; k += kLanes) {
        Lanes four[4];
        for (std::size_t m = 0; m < 4; ++m) four[m] = whole4(sums + m * Columns::kWide + k);
        const Fraction similarity = ssim_of(four, rule);
        total = total + first_of(similarity.top / similarity.bottom, n - k);
      }
    }
  }
  return sum_of(total);
}

}  // namespace
}  // namespace wmb
