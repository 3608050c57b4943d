// SPDX-License-Identifier: Apache-2.0
// Structural similarity of two images, of one window; and what its variants do to borders and colours.
//
//   SSIM = (2 ma mb + C1)(2 cov + C2) / ((ma^2 + mb^2 + C1)(va + vb + C2)),  Ck = (Kk data_range)^2
//
// with means m, variances v and covariance over the window, weighted or not. Four numbers of a window are
// enough, its sums of a, b, a^2 + b^2 and a b: va + vb is all that is needed of the variances.
// Source: Wang et al., IEEE Transactions on Image Processing 13 (2004), equations 13 to 16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/hd.h"

namespace wmb {

constexpr double kSsimK1 = 0.01, kSsimK2 = 0.03;

// The middle weight of the Gaussian window of standard deviation 1.5, and those 1 to 5 pixels off: exp(-d^2 /
// 4.5) over their sum.
constexpr int kGaussianRadius = 5;
constexpr double kGaussian[kGaussianRadius + 1] = {0.26601172486179436,  0.2130055377112537,
                                                   0.10936068950970002,  0.03600077212843082,
                                                   0.007598758135239184, 0.0010283800844791099};

constexpr int kUniformRadius = 3;

// What turns the four sums of a window into its similarity: the formula above, both sides of the fraction
// multiplied by n^2 n (n - 1), so that of whole numbers every term but the last division is exact.
struct SsimRule {
  double n;   // pixels that the sums count: 1 for means
  double c1;  // n^2 C1
  double c2;  // C2 times n^2, or n (n - 1) where the covariance is that of a sample
};

WMB_HD inline SsimRule ssim_rule(double n, double covariance_n, double data_range) {
  const double a = kSsimK1 * data_range, b = kSsimK2 * data_range;
  return {n, n * n * (a * a), n * covariance_n * (b * b)};
}

// The similarity is top / bottom. Real: double, or lanes of it.
template <typename Real>
struct SsimFraction {
  Real top, bottom;
};

template <typename Real>
WMB_HD inline SsimFraction<Real> ssim_of(const Real (&sums)[4], const SsimRule& rule) {
  const Real n(rule.n), c1(rule.c1), c2(rule.c2);
  const Real means = sums[0] * sums[1], mean_squares = sums[0] * sums[0] + sums[1] * sums[1];
  const Real covariance = n * sums[3] - means, variances = n * sums[2] - mean_squares;
  return {(means + means + c1) * (covariance + covariance + c2), (mean_squares + c1) * (variances + c2)};
}

// x + y, with one division.
template <typename Real>
WMB_HD inline Real sum_of(const SsimFraction<Real>& x, const SsimFraction<Real>& y) {
  return (x.top * y.bottom + y.top * x.bottom) / (x.bottom * y.bottom);
}

// The pixel of n >= 1 that a border mirrored about the outermost pixel shows at i: 2 1 [0 1 2 3] 2 1.
WMB_HD inline std::int64_t mirrored(std::int64_t i, std::int64_t n) {
  if (n == 1) return 0;
  const std::int64_t period = 2 * (n - 1);
  i %= period;
  if (i < 0) i += period;
  return i < n ? i : period - i;
}

// Grey of a colour, 0.299 R + 0.587 G + 0.114 B: of bytes rounded, with OpenCV's 15-bit weights.
WMB_HD inline std::uint8_t grey(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  return static_cast<std::uint8_t>((9798 * red + 19235 * green + 3735 * blue + (1 << 14)) >> 15);
}
WMB_HD inline double grey(double red, double green, double blue) {
  return 0.299 * red + 0.587 * green + 0.114 * blue;
}

// A batch of images (n_items, height, width, channels), or (n_items, channels, height, width) where planar.
struct ImageShape {
  std::size_t n_items, height, width, channels;
  bool planar;
};

enum class SsimVariant {
  uniform7,          // 7 x 7 equal weights, the covariance of a sample, windows inside the image alone
  gaussian11,        // 11 x 11 Gaussian weights, the border mirrored
  gaussian11_valid,  // the same, windows inside the image alone
  gaussian11_gray,   // as gaussian11, of the images' grey
};

// How images of a shape are worked on.
struct SsimPlan {
  SsimRule rule;
  bool uniform, grey;
  std::size_t planes, step;   // of an item: images that lie one after another, samples a pixel of each
  std::size_t margin;         // rows and columns at the border without a window
  std::size_t rows, columns;  // of windows
  double n_windows;           // of an item
};

inline SsimPlan ssim_plan(const ImageShape& shape, SsimVariant variant, double data_range) {
  SsimPlan plan{};
  constexpr double kSeven = 2 * kUniformRadius + 1, kPixels = kSeven * kSeven;
  plan.uniform = variant == SsimVariant::uniform7;
  plan.grey = variant == SsimVariant::gaussian11_gray && shape.channels == 3;
  plan.rule = plan.uniform ? ssim_rule(kPixels, kPixels - 1, data_range) : ssim_rule(1, 1, data_range);
  plan.planes = shape.planar && !plan.grey ? shape.channels : 1;
  plan.step = shape.planar || plan.grey ? 1 : shape.channels;
  if (plan.uniform) plan.margin = kUniformRadius;
  if (variant == SsimVariant::gaussian11_valid) plan.margin = kGaussianRadius;
  plan.rows = shape.height - 2 * plan.margin;
  plan.columns = shape.width - 2 * plan.margin;
  plan.n_windows = static_cast<double>(plan.rows * plan.columns * plan.planes * plan.step);
  return plan;
}

}  // namespace wmb
