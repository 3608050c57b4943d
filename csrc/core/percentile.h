// SPDX-License-Identifier: Apache-2.0
// Percentiles by linear interpolation between order statistics, NumPy's default rule.
#pragma once

#include <cmath>
#include <cstddef>

#include "core/hd.h"

namespace wmb {

// Where a percentile lies among n sorted values: between below and below + 1.
struct PercentilePlace {
  std::size_t below;
  double fraction;
};

WMB_HD inline PercentilePlace percentile_place(std::size_t n, double percent) {
  const double at = percent / 100 * static_cast<double>(n - 1);
  const std::size_t below = static_cast<std::size_t>(std::floor(at));
  return {below, at - static_cast<double>(below)};
}

// NumPy's interpolation, which takes the nearer end as its base.
WMB_HD inline double percentile_between(double low, double high, double fraction) {
  const double step = high - low;
  return fraction < 0.5 ? low + step * fraction : high - step * (1 - fraction);
}

}  // namespace wmb
