// SPDX-License-Identifier: Apache-2.0
// Exact order statistics. A sample brackets the ranks asked for, one pass counts what lies outside the
// bracket and keeps what lies inside, and so on with what was kept. The sample decides the speed alone, never
// the answer.
#pragma once

#include <cstdint>
#include <vector>

namespace wmb {

template <typename T>
struct Span {
  const T* data;
  std::int64_t n;
};

// Of the n values x with least < x < infinity, the two between which the q-quantile lies, and how far from
// the first to the second: position q (n - 1) counted from 0. All NaN where n is zero.
struct Quantile {
  double low, high, fraction;
  std::int64_t n;

  double linear() const { return low + (high - low) * fraction; }
  double middle() const { return fraction == 0 ? low : (low + high) / 2; }  // of a median
};

template <typename T>
Quantile quantile(const std::vector<Span<T>>& spans, T least, double q, bool parallel);

}  // namespace wmb
