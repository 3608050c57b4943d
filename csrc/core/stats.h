// SPDX-License-Identifier: Apache-2.0
// Correlation coefficients, how likely they are by chance, and means of them; means about a first value.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/hd.h"

namespace wmb {

// The mean of n values of which `sum` is that of the differences from `first`, one of them: equal values have
// that value as their mean, to the bit. NaN without any.
WMB_HD inline double mean_about(double first, double sum, double n) {
  return n > 0 ? first + sum / n : std::numeric_limits<double>::quiet_NaN();
}

// Gamma(a + 1/2) / Gamma(a), a > 0. The asymptotic series of its logarithm in B_2k (2^(1 - 2k) - 2) / (2k (2k
// - 1)), from where it has sixteen digits; recurrence below. Taken as a ratio, because the difference of two
// log-gammas loses as many digits as a is long.
WMB_HD inline double gamma_half_ratio(double a) {
  double factor = 1;
  for (; a < 20; a += 1) factor *= a / (a + 0.5);
  const double z = 1 / a, zz = z * z;
  const double series =
      z * (-1.0 / 8 + zz * (1.0 / 192 + zz * (-1.0 / 640 + zz * (17.0 / 14336 - zz * 31.0 / 18432))));
  return factor * std::sqrt(a) * std::exp(series);
}

// The continued fraction of the incomplete beta function, by Lentz's method.
// Source: NIST DLMF 8.17.22.
WMB_HD inline double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kEpsilon = 1e-16;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
  double fraction = d;
  for (int m = 1; m < 10000; ++m) {
    for (int odd = 0; odd < 2; ++odd) {
      const double term = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                              : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
      d = 1 + term * d;
      d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
      c = 1 + term / c;
      c = std::fabs(c) < kTiny ? kTiny : c;
      fraction *= c * d;
    }
    if (std::fabs(c * d - 1) < kEpsilon) break;
  }
  return fraction;
}

// The probability that |t| of Student's distribution with `freedom` degrees exceeds |r| sqrt(freedom / (1 -
// r^2)), which is the two-sided p value of a correlation r: I_(1 - r^2)(freedom / 2, 1/2).
WMB_HD inline double correlation_p(double r, double freedom) {
  const double size = std::fabs(r);
  if (size >= 1) return 0;
  if (size == 0) return 1;
  const double a = freedom / 2, b = 0.5, x = (1 - size) * (1 + size);
  const double log_x = size < 0.5 ? std::log1p(-size * size) : std::log(x);
  constexpr double kRootPi = 1.7724538509055160273;
  const double front = std::exp(a * log_x) * size * gamma_half_ratio(a) / kRootPi;  // x^a (1-x)^b / B(a, b)
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, size * size) / b;
}

// Correlations this close to one are taken back to it before they are transformed: atanh(1) is infinite.
constexpr double kFisherCap = 1 - 1e-7;
// Beyond this a number is no correlation with rounding on it.
constexpr double kLargestCorrelation = 1 + 1e-6;

struct FisherSum {
  double weighted = 0, weights = 0;
  std::int64_t n_used = 0;
  bool capped = false, invalid = false;

  // Adds atanh(r); NaN is left out with its weight.
  WMB_HD void add(double r, double weight) {
    if (std::isnan(r)) return;
    ++n_used;
    const double size = std::fabs(r);
    invalid |= size > kLargestCorrelation;
    capped |= size > kFisherCap;
    const double z = std::atanh(size > kFisherCap ? kFisherCap : size);
    weighted += weight * (r < 0 ? -z : z);
    weights += weight;
  }

  WMB_HD double mean() const { return std::tanh(weighted / weights); }
};

}  // namespace wmb
