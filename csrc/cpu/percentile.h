// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/percentile.h"

namespace wmb {

// A percentile of at least one value, none of them NaN; puts the values into another order.
inline double percentile(std::vector<double>& values, double percent) {
  const PercentilePlace place = percentile_place(values.size(), percent);
  auto low = values.begin() + static_cast<std::ptrdiff_t>(place.below);
  std::nth_element(values.begin(), low, values.end());
  const bool last = low + 1 == values.end();
  return percentile_between(*low, last ? *low : *std::min_element(low + 1, values.end()), place.fraction);
}

}  // namespace wmb
