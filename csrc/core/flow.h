// SPDX-License-Identifier: Apache-2.0
// Reductions of an optical flow field, and the split of sideways flow into translation and rotation.
//
//   horizontal = mean u                  radial = mean (u rx + v ry)
//   (rx, ry) = (x - W/2, y - H/2) / (|(x - W/2, y - H/2)| + 1e-6), x and y the pixel's integer coordinates
//
// All in float64, whatever the flow's type. A row is summed in eight virtual lanes, lanes in pairs.
// Source: WorldMark (arXiv 2604.21686), section 3.4 and equation 1, as its evaluator computes them.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "core/hd.h"

namespace wmb {

constexpr double kRadialEpsilon = 1e-6;

// Writes the unit vectors (rx, ry) of one row, interleaved as the flow is; out has 2 * width values.
WMB_HD inline void radial_row(std::size_t width, std::size_t height, std::size_t y, double* out) {
  const double dy = static_cast<double>(y) - static_cast<double>(height) / 2;
  for (std::size_t x = 0; x < width; ++x) {
    const double dx = static_cast<double>(x) - static_cast<double>(width) / 2;
    const double norm = std::sqrt(dx * dx + dy * dy) + kRadialEpsilon;
    out[2 * x] = dx / norm;
    out[2 * x + 1] = dy / norm;
  }
}

struct FlowSums {
  double horizontal;
  double radial;
};

constexpr std::size_t kFlowLanes = 8;

// Sums in eight virtual lanes. A lane is only ever named by a constant, so that all stay in registers.
struct FlowLanes {
  double plain[kFlowLanes] = {};
  double along[kFlowLanes] = {};

  template <typename T>
  WMB_HD inline void add(const T* flow, const double* unit) {
    for (std::size_t lane = 0; lane < kFlowLanes; ++lane) {
      const double value = static_cast<double>(flow[lane]);
      plain[lane] += value;
      along[lane] += value * unit[lane];
    }
  }

  WMB_HD inline FlowSums sums() const {
    return {
        (plain[0] + plain[2]) + (plain[4] + plain[6]),
        ((along[0] + along[1]) + (along[2] + along[3])) + ((along[4] + along[5]) + (along[6] + along[7]))};
  }
};

// The sums over one row of interleaved (u, v): of u, and of (u, v) along the unit vectors. What is left of a
// row after whole blocks of lanes is filled up with zeros.
template <typename T>
WMB_HD inline FlowSums flow_row_sums(const T* row, const double* unit, std::size_t width) {
  FlowLanes lanes;
  const std::size_t n = 2 * width;
  std::size_t k = 0;
  for (; k + kFlowLanes <= n; k += kFlowLanes) lanes.add(row + k, unit + k);
  if (k < n) {
    T rest[kFlowLanes] = {};
    double rest_unit[kFlowLanes] = {};
    for (std::size_t i = 0; k + i < n; ++i) {
      rest[i] = row[k + i];
      rest_unit[i] = unit[k + i];
    }
    lanes.add(rest, rest_unit);
  }
  return lanes.sums();
}

struct ParallaxLine {
  double slope;      // of u against inverse depth: what translation adds, per unit of inverse depth
  double intercept;  // u at infinite depth: what rotation alone makes
};

// Sums of pairs of numbers in eight virtual lanes, in order; the lanes are added in pairs at the end.
struct PairLanes {
  double a[kFlowLanes] = {}, b[kFlowLanes] = {};

  WMB_HD inline double sum_a() const { return sum(a); }
  WMB_HD inline double sum_b() const { return sum(b); }
  WMB_HD static inline double sum(const double* x) {
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
  }
};

// Calls add(lanes, lane, i) for each i < n, lane i % 8.
template <typename Add>
WMB_HD inline PairLanes pair_sums(std::size_t n, const Add& add) {
  PairLanes lanes;
  std::size_t i = 0;
  for (; i + kFlowLanes <= n; i += kFlowLanes)
    for (std::size_t lane = 0; lane < kFlowLanes; ++lane) add(lanes, lane, i + lane);
  for (std::size_t lane = 0; i < n; ++i, ++lane) add(lanes, lane, i);
  return lanes;
}

// The least-squares line u = slope * inverse_depth + intercept through `count` >= 1 points of these means,
// with zz the sum of (z - mean_z)^2 and zu that of (z - mean_z)(u - mean_u). Where the inverse depths do not
// determine both (all equal), the one of least norm, as a singular value decomposition with the usual cut at
// epsilon * n gives it.
WMB_HD inline ParallaxLine parallax_line(double count, double mean_u, double mean_z, double zz, double zu) {
  // Squared singular values of the n x 2 matrix [inverse depth, 1]: their sum and product.
  const double sum = zz + count * (mean_z * mean_z + 1);
  const double product = count * zz;
  const double largest = (sum + std::sqrt(std::fmax(0.0, sum * sum - 4 * product))) / 2;
  const double cut = std::numeric_limits<double>::epsilon() * std::fmax(count, 2.0);
  if (product <= cut * cut * largest * largest) {
    const double scale = mean_u / (mean_z * mean_z + 1);
    return {mean_z * scale, scale};
  }
  const double slope = zu / zz;
  return {slope, mean_u - slope * mean_z};
}

template <typename T>
WMB_HD inline ParallaxLine parallax_line(const T* u, const T* inverse_depth, std::size_t n) {
  const double count = static_cast<double>(n);
  const PairLanes sums = pair_sums(n, [=](PairLanes& to, std::size_t lane, std::size_t i) {
    to.a[lane] += static_cast<double>(u[i]);
    to.b[lane] += static_cast<double>(inverse_depth[i]);
  });
  const double mean_u = sums.sum_a() / count, mean_z = sums.sum_b() / count;
  const PairLanes products = pair_sums(n, [=](PairLanes& to, std::size_t lane, std::size_t i) {
    const double z = static_cast<double>(inverse_depth[i]) - mean_z;
    to.a[lane] += z * z;
    to.b[lane] += z * (static_cast<double>(u[i]) - mean_u);
  });
  return parallax_line(count, mean_u, mean_z, products.sum_a(), products.sum_b());
}

}  // namespace wmb
