// SPDX-License-Identifier: Apache-2.0
// Compiled with -mavx2 -mno-fma: GCC fuses across statements as soon as it may.
#include <immintrin.h>

#include <cstdint>

#include "cpu/isa/unfused.h"

namespace wmb::isa {
namespace {

constexpr int kLanes = 4;

struct Flag {
  __m256d v;
  friend Flag operator&(Flag a, Flag b) { return {_mm256_and_pd(a.v, b.v)}; }
};

struct Real {
  __m256d v;
  Real() = default;
  Real(__m256d x) : v(x) {}
  Real(double x) : v(_mm256_set1_pd(x)) {}
  friend Real operator+(Real a, Real b) { return _mm256_add_pd(a.v, b.v); }
  friend Real operator-(Real a, Real b) { return _mm256_sub_pd(a.v, b.v); }
  friend Real operator*(Real a, Real b) { return _mm256_mul_pd(a.v, b.v); }
  friend Real operator/(Real a, Real b) { return _mm256_div_pd(a.v, b.v); }
  friend Flag operator<(Real a, Real b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_LT_OQ)}; }
  friend Flag operator<=(Real a, Real b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_LE_OQ)}; }
  friend Flag operator>(Real a, Real b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_GT_OQ)}; }
  friend Flag operator>=(Real a, Real b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_GE_OQ)}; }
};

// All ones in the first `left` of four lanes of 32 bits.
inline __m128i first_lanes(std::int64_t left) {
  return _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(left)), _mm_setr_epi32(0, 1, 2, 3));
}
inline Real load(const float* p, std::int64_t left) {
  return _mm256_cvtps_pd(left >= kLanes ? _mm_loadu_ps(p) : _mm_maskload_ps(p, first_lanes(left)));
}
inline Real load(const double* p, std::int64_t left) {
  return left >= kLanes ? _mm256_loadu_pd(p)
                        : _mm256_maskload_pd(p, _mm256_cvtepi32_epi64(first_lanes(left)));
}
inline void store(float* p, Real x, std::int64_t left) {
  if (left >= kLanes)
    _mm_storeu_ps(p, _mm256_cvtpd_ps(x.v));
  else
    _mm_maskstore_ps(p, first_lanes(left), _mm256_cvtpd_ps(x.v));
}
inline void store(double* p, Real x, std::int64_t left) {
  if (left >= kLanes)
    _mm256_storeu_pd(p, x.v);
  else
    _mm256_maskstore_pd(p, _mm256_cvtepi32_epi64(first_lanes(left)), x.v);
}
inline void load_two(const float* p, std::int64_t left, Real& first, Real& second) {
  __m128 low = _mm_maskload_ps(p, first_lanes(2 * left)), high = _mm_setzero_ps();
  if (left > 2) high = _mm_maskload_ps(p + 4, first_lanes(2 * left - 4));
  first = _mm256_cvtps_pd(_mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)));
  second = _mm256_cvtps_pd(_mm_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1)));
}
inline void load_two(const double* p, std::int64_t left, Real& first, Real& second) {
  __m256d low = load(p, 2 * left).v, high = _mm256_setzero_pd();
  if (left > 2) high = load(p + 4, 2 * left - 4).v;
  __m256d firsts = _mm256_unpacklo_pd(low, high), seconds = _mm256_unpackhi_pd(low, high);
  first = _mm256_permute4x64_pd(firsts, _MM_SHUFFLE(3, 1, 2, 0));
  second = _mm256_permute4x64_pd(seconds, _MM_SHUFFLE(3, 1, 2, 0));
}
inline Flag equal(const std::int64_t* p, std::int64_t left, std::int64_t value) {
  const __m256i lanes = left >= kLanes ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))
                                       : _mm256_maskload_epi64(reinterpret_cast<const long long*>(p),
                                                               _mm256_cvtepi32_epi64(first_lanes(left)));
  return {_mm256_castsi256_pd(_mm256_cmpeq_epi64(lanes, _mm256_set1_epi64x(value)))};
}
inline Real counting(std::int64_t i) { return Real(static_cast<double>(i)) + _mm256_setr_pd(0, 1, 2, 3); }
inline Real select(Flag f, Real a, Real b) { return _mm256_blendv_pd(b.v, a.v, f.v); }
inline Real absolute(Real x) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), x.v); }
inline Real square_root(Real x) { return _mm256_sqrt_pd(x.v); }
inline Real whole(Real x) { return _mm256_round_pd(x.v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
template <typename T>
inline Real rounded(Real x) {
  if constexpr (sizeof(T) == sizeof(float)) return _mm256_cvtps_pd(_mm256_cvtpd_ps(x.v));
  return x;
}
inline void store_index(std::int32_t* p, Real x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvttpd_epi32(x.v));
}
// Four loads beat the gather instructions.
inline Real gather(const float* p, const std::int32_t* i) {
  return _mm256_cvtps_pd(_mm_setr_ps(p[i[0]], p[i[1]], p[i[2]], p[i[3]]));
}
inline Real gather(const double* p, const std::int32_t* i) {
  return _mm256_setr_pd(p[i[0]], p[i[1]], p[i[2]], p[i[3]]);
}
inline __m128 two_pairs(const float* p, const float* q) {
  return _mm_loadh_pi(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))),
                      reinterpret_cast<const __m64*>(q));
}
inline void gather_two(const float* p, const std::int32_t* i, Real& first, Real& second) {
  __m128 low = two_pairs(p + i[0], p + i[1]), high = two_pairs(p + i[2], p + i[3]);
  first = _mm256_cvtps_pd(_mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)));
  second = _mm256_cvtps_pd(_mm_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1)));
}
inline void gather_two(const double* p, const std::int32_t* i, Real& first, Real& second) {
  first = gather(p, i);
  second = gather(p + 1, i);
}
struct Counter {
  __m256i n = _mm256_setzero_si256();
  void add(Flag f) { n = _mm256_sub_epi64(n, _mm256_castpd_si256(f.v)); }
  std::int64_t total() const {
    alignas(32) std::int64_t lanes[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), n);
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
  }
};

struct Sum {
  __m256d lanes = _mm256_setzero_pd();
  void add(Real x, std::int64_t) { lanes = _mm256_add_pd(lanes, x.v); }
  double total() const {
    alignas(32) double lane[4];
    _mm256_store_pd(lane, lanes);
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
  }
};

// For each set of eight lanes, their numbers in front.
struct InFront {
  std::uint8_t lane[256][8];
  constexpr InFront() : lane() {
    for (int set = 0; set < 256; ++set) {
      int n = 0;
      for (int i = 0; i < 8; ++i)
        if (set >> i & 1) lane[set][n++] = static_cast<std::uint8_t>(i);
    }
  }
};
constexpr InFront kInFront;

inline __m256i in_front(unsigned lanes) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(kInFront.lane[lanes])));
}

// Counts of lanes of 32 bits; a block has far fewer than 2^31 values.
struct Counter8 {
  __m256i n = _mm256_setzero_si256();
  void add(__m256 lanes) { n = _mm256_sub_epi32(n, _mm256_castps_si256(lanes)); }
  std::int64_t total() const {
    alignas(32) std::int32_t lanes[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), n);
    std::int64_t sum = 0;
    for (std::int32_t lane : lanes) sum += lane;
    return sum;
  }
};

std::int64_t below_of(std::int64_t n, const float* x, float least, float pivot, std::int64_t& found) {
  const __m256 from = _mm256_set1_ps(least), end = _mm256_set1_ps(pivot);
  Counter8 below;
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256 v = _mm256_loadu_ps(x + i);
    below.add(_mm256_and_ps(_mm256_cmp_ps(v, from, _CMP_GT_OQ), _mm256_cmp_ps(v, end, _CMP_LT_OQ)));
  }
  found += below.total();
  return i;
}

std::int64_t below_of(std::int64_t n, const double* x, double least, double pivot, std::int64_t& found) {
  Counter below;
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    Real v(_mm256_loadu_pd(x + i));
    below.add((v > Real(least)) & (v < Real(pivot)));
  }
  found += below.total();
  return i;
}

std::int64_t inside_of(std::int64_t n, const float* x, float least, float low, float high, float* kept,
                       Ranks& found) {
  const __m256 from = _mm256_set1_ps(least), end = _mm256_set1_ps(__builtin_huge_valf());
  const __m256 lows = _mm256_set1_ps(low), highs = _mm256_set1_ps(high);
  Counter8 usables, belows, at_low, at_high;
  float* next = kept;
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256 v = _mm256_loadu_ps(x + i);
    __m256 usable = _mm256_and_ps(_mm256_cmp_ps(v, from, _CMP_GT_OQ), _mm256_cmp_ps(v, end, _CMP_LT_OQ));
    __m256 inside = _mm256_and_ps(_mm256_cmp_ps(v, lows, _CMP_GT_OQ), _mm256_cmp_ps(v, highs, _CMP_LT_OQ));
    usables.add(usable);
    belows.add(_mm256_and_ps(usable, _mm256_cmp_ps(v, lows, _CMP_LT_OQ)));
    at_low.add(_mm256_and_ps(usable, _mm256_cmp_ps(v, lows, _CMP_EQ_OQ)));
    at_high.add(_mm256_and_ps(usable, _mm256_cmp_ps(v, highs, _CMP_EQ_OQ)));
    unsigned lanes = static_cast<unsigned>(_mm256_movemask_ps(_mm256_and_ps(usable, inside)));
    _mm256_storeu_ps(next, _mm256_permutevar8x32_ps(v, in_front(lanes)));
    next += __builtin_popcount(lanes);
  }
  found.usable += usables.total();
  found.below += belows.total();
  found.at_low += at_low.total();
  if (low < high) found.at_high += at_high.total();
  found.inside += next - kept;
  return i;
}

std::int64_t inside_of(std::int64_t n, const double* x, double least, double low, double high, double* kept,
                       Ranks& found) {
  const Real from(least), end(kNoLimit), lows(low), highs(high);
  Counter usables, belows, at_low, at_high;
  double* next = kept;
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    Real v(_mm256_loadu_pd(x + i));
    Flag usable = (v > from) & (v < end), inside = usable & (v > lows) & (v < highs);
    usables.add(usable);
    belows.add(usable & (v < lows));
    at_low.add(usable & (v >= lows) & (v <= lows));
    at_high.add(usable & (v >= highs) & (v <= highs));
    unsigned lanes = static_cast<unsigned>(_mm256_movemask_pd(inside.v));
    unsigned halves = (lanes & 1) * 3 | (lanes >> 1 & 1) * 12 | (lanes >> 2 & 1) * 48 | (lanes >> 3) * 192;
    __m256 packed = _mm256_permutevar8x32_ps(_mm256_castpd_ps(v.v), in_front(halves));
    _mm256_storeu_pd(next, _mm256_castps_pd(packed));
    next += __builtin_popcount(lanes);
  }
  found.usable += usables.total();
  found.below += belows.total();
  found.at_low += at_low.total();
  if (low < high) found.at_high += at_high.total();
  found.inside += next - kept;
  return i;
}

}  // namespace
}  // namespace wmb::isa

#include "cpu/isa/unfused.inc.h"

namespace wmb::isa {

const Unfused unfused_avx2 = table();

}  // namespace wmb::isa
