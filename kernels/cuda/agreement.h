// SPDX-License-Identifier: Apache-2.0
// How far a pixel's depth is from the one that another view has in the place where it lands.
#pragma once

#include <cmath>

#include "core/views.h"
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

// The same in float32, sooner: most of the way is float32, with a bound of what that may be off, and where
// the pixel or the gate is not certain within it, the way above is gone. So the same pixels are found, and
// the same are co-visible; the error, whose numerator stays float64, may be off by its last bit.

// A sum of terms of u z and v z, which are linear in the column, the row, and one over the depth: a thread
// knows those of its column, a tile those of its rows.
struct Terms {
  float sum[2], size[2];  // size: of the absolute terms
};

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
    out.size[k] = static_cast<float>(absolute(focal[k]) * size[k] + absolute(centre[k]) * size[2]);
  }
  return out;
}

// The gate, and within which ratios in float32 certainly lie inside or outside.
struct CertainGate {
  float in_lo, in_hi, out_lo, out_hi;
};

__device__ inline CertainGate certain_gate(float lo, float hi) {
  const float margin_lo = (1 + lo) * 0x1p-20f, margin_hi = (1 + hi) * 0x1p-20f;
  const bool open = !(hi < static_cast<float>(kNoLimit));
  return {lo + margin_lo, open ? hi : hi - margin_hi, lo - margin_lo, open ? hi : hi + margin_hi};
}

constexpr float kStep = 0x1p-24f;           // half a step of float32 at 1
constexpr float kRoundings = 10.0f;         // of what makes a coordinate, and some to spare
constexpr std::int64_t kLargest = 1 << 22;  // height or width, so that their numbers are exact in float32

__device__ inline bool error_of(float depth, double ray_x, double ray_y, const Terms& column,
                                const Terms& row, const Terms& shift, const CertainGate& gate,
                                const Passage& passage, const Seen<float>& to, float& error) {
  const double d = static_cast<double>(depth);
  const double z = transform(passage.to, Point3<double>{ray_x * d, ray_y * d, d}).z;
  if (!(z > 0.0)) return false;
  const float per_z = 1.0f / static_cast<float>(z),
              last[2] = {static_cast<float>(to.width), static_cast<float>(to.height)};
  float number[2];
  bool certain = true, outside = false;
  for (int k = 0; k < 2; ++k) {
    const float at = __fmaf_rn(depth, column.sum[k] + row.sum[k], shift.sum[k]) * per_z + 0.5f;
    const float size = __fmaf_rn(depth, column.size[k] + row.size[k], shift.size[k]) * per_z;
    const float off = __fmaf_rn(kRoundings * kStep, size, kStep);
    number[k] = std::floor(at);
    const float beyond = at - number[k];
    certain = certain && beyond > off && beyond < 1.0f - off;
    outside = outside || at < -off || at > last[k] + off;
  }
  if (outside) return false;
  if (!certain) return error_of(d, ray_x, ray_y, passage, to, error);
  if (!(number[0] >= 0.0f && number[0] < last[0] && number[1] >= 0.0f && number[1] < last[1])) return false;
  const float seen =
      to.map[static_cast<std::int64_t>(number[1]) * to.width + static_cast<std::int64_t>(number[0])];
  if (!(seen > 0.0f && seen < static_cast<float>(kNoLimit))) return false;
  const double difference = z - static_cast<double>(seen);
  const float relative = static_cast<float>(difference) / seen, ratio = 1.0f + relative;
  const bool in = ratio > gate.in_lo && ratio < gate.in_hi;
  if (!in) {
    if (ratio < gate.out_lo || (ratio > gate.out_hi && ratio < static_cast<float>(kNoLimit))) return false;
    if (!agrees(z, static_cast<double>(seen), to.rule.lo, to.rule.hi)) return false;
  }
  error = std::fabs(relative);
  return true;
}

}  // namespace wmb::cuda
