// SPDX-License-Identifier: Apache-2.0
// How far a pixel's depth is from the one that another view has in the place where it lands.
#pragma once

#include <cmath>

#include "core/views.h"
#include "cuda/passage.h"
#include "cuda/reproject_pairs.h"

namespace wmb::cuda {

// The map that pixels are compared with, and how.
template <typename T>
struct Seen {
  const T* map;
  std::int64_t height, width;
  AgreementRule<T> rule;
};

template <typename T>
__device__ inline bool depth_at(const Seen<T>& to, const Pixel<double>& at, double& depth) {
  const double height = static_cast<double>(to.height), width = static_cast<double>(to.width);
  double number;
  if (!to.rule.bilinear) {
    if (!nearest_pixel(at, height, width, number)) return false;
    depth = static_cast<double>(to.map[static_cast<std::int64_t>(number)]);
    return is_depth(depth);
  }
  double x, y;
  if (!between_pixels(at, height, width, number, x, y)) return false;
  const T* corner = to.map + static_cast<std::int64_t>(number);
  const T* below = corner + (to.height > 1 ? to.width : 0);
  const int right = to.width > 1 ? 1 : 0;  // else it has no weight
  return depth_between(static_cast<double>(corner[0]), static_cast<double>(corner[right]),
                       static_cast<double>(below[0]), static_cast<double>(below[right]), x, y, depth);
}

// Whether a pixel with depth is co-visible, and how far the depths are apart.
template <typename T>
__device__ inline bool error_of(double depth, double ray_x, double ray_y, const Passage& passage,
                                const Seen<T>& to, T& error) {
  const Landing landed = land(depth, ray_x, ray_y, passage);
  double seen;
  if (!landed.ahead || !depth_at(to, landed.at, seen) || !agrees(landed.p.z, seen, to.rule.lo, to.rule.hi))
    return false;
  error = static_cast<T>(relative_error(landed.p.z, seen));
  return true;
}

// The same in float32, sooner, in two steps: where pixels land, then what is seen there, so that what several
// of them look up is asked for at once. Most of it is float32, with a bound of what that may be off; where
// the pixel or the gate is not certain within it, the way above must be gone. So the same pixels are found,
// and the same are co-visible; the error, whose numerator stays float64, may be off by its last bit.

// Sums of terms of u z and v z, which are linear in the column, the row, and one over the depth: a thread
// knows those of its column, a tile those of its rows.
struct alignas(16) Terms {
  float sum[2];
  float off[2];  // the most by which float32 may miss them, below zero
};

constexpr float kStep = 0x1p-24f;    // half a step of float32 at 1
constexpr float kRoundings = 12.0f;  // of what makes a coordinate, and some to spare
constexpr float kWhole = 0x1.8p23f;  // adding it leaves a whole number, for what is less than a quarter of it
constexpr float kSmall = 0x1p-60f, kGreat = 0x1p60f;  // between them no quotient leaves float32 unnoticed
constexpr std::int64_t kLargest = 1 << 22;            // height or width, so that their numbers are

// Those of some numbers times the columns of [R t].
__device__ inline Terms terms_of(const Passage& p, double x, double y, double z, double one) {
  const double focal[2] = {p.destination.fx, p.destination.fy};
  const double centre[2] = {p.destination.cx, p.destination.cy};
  Terms out;
  double along[3], size[3];
  for (int k = 0; k < 3; ++k) {
    const double a = p.to.r[k][0] * x, b = p.to.r[k][1] * y, c = p.to.r[k][2] * z, d = p.to.t[k] * one;
    along[k] = a + b + c + d;
    size[k] = absolute(a) + absolute(b) + absolute(c) + absolute(d);
  }
  for (int k = 0; k < 2; ++k) {
    out.sum[k] = static_cast<float>(focal[k] * along[k] + centre[k] * along[2]);
    const double terms = absolute(focal[k]) * size[k] + absolute(centre[k]) * size[2];
    out.off[k] = static_cast<float>(-static_cast<double>(kRoundings * kStep) * terms);
  }
  return out;
}

// What a thread needs of a passage for each of its pixels: the row of [R t] that makes z, and the terms of t.
struct SoonPassage {
  double r[3], t;
  Terms shift;
  unsigned height, width;
};

__device__ inline SoonPassage soon(const Passage& p, const Seen<float>& to) {
  return {{p.to.r[2][0], p.to.r[2][1], p.to.r[2][2]},
          p.to.t[2],
          terms_of(p, 0.0, 0.0, 0.0, 1.0),
          static_cast<unsigned>(to.height),
          static_cast<unsigned>(to.width)};
}

constexpr int kNowhere = -1, kUnsure = -2;

// The number of the pixel where a pixel with depth lands.
__device__ inline int place_of(float depth, double ray_x, double ray_y, const Terms& column, const Terms& row,
                               const SoonPassage& p, double& z) {
  const double d = static_cast<double>(depth);
  z = p.r[0] * (ray_x * d) + p.r[1] * (ray_y * d) + p.r[2] * d + p.t;  // as transform() has it
  const float per_z = __fdividef(1.0f, static_cast<float>(z));
  unsigned number[2];
  bool certain = z < static_cast<double>(kGreat);
  for (int k = 0; k < 2; ++k) {
    const float at = __fmaf_rn(depth, column.sum[k] + row.sum[k], p.shift.sum[k]) * per_z;
    const float off = __fmaf_rn(depth, column.off[k] + row.off[k], p.shift.off[k]);
    const float most = __fmaf_rn(off, per_z, 0.5f - kStep);  // how far from the centre it still is this pixel
    const float whole = at + kWhole;
    certain = certain && std::fabs(at - (whole - kWhole)) < most;
    number[k] = static_cast<unsigned>(__float_as_int(whole) - __float_as_int(kWhole));
  }
  const bool inside = number[0] < p.width && number[1] < p.height;
  const int place = inside ? static_cast<int>(number[1] * p.width + number[0]) : kNowhere;
  return !(z > 0.0) ? kNowhere : certain ? place : kUnsure;
}

// The gate: within which ratios in float32 certainly lie inside or outside.
struct CertainGate {
  float in_lo, in_hi, out_lo, out_hi;
};

__device__ inline CertainGate certain_gate(float lo, float hi) {
  const float margin_lo = (1 + lo) * 0x1p-20f, margin_hi = (1 + hi) * 0x1p-20f;
  const bool open = !(hi < static_cast<float>(kNoLimit));
  return {lo + margin_lo, open ? hi : hi - margin_hi, lo - margin_lo, open ? hi : hi + margin_hi};
}

enum class Agrees { no, yes, unsure };

// Whether what is seen in its place is co-visible.
__device__ inline Agrees compare(double z, float seen, const CertainGate& gate, float& error) {
  const float difference = static_cast<float>(z - static_cast<double>(seen)),
              per_seen = __fdividef(1.0f, seen);
  const float quotient = difference * per_seen;
  const float relative = __fmaf_rn(__fmaf_rn(-quotient, seen, difference), per_seen, quotient);
  const float ratio = 1.0f + relative;
  error = std::fabs(relative);
  const bool plain = seen > kSmall && seen < kGreat;
  if (plain && ratio > gate.in_lo && ratio < gate.in_hi) return Agrees::yes;
  if (!(seen > 0.0f && seen < static_cast<float>(kNoLimit))) return Agrees::no;
  const bool out = ratio < gate.out_lo || (ratio > gate.out_hi && ratio < static_cast<float>(kNoLimit));
  return plain && out ? Agrees::no : Agrees::unsure;
}

}  // namespace wmb::cuda
