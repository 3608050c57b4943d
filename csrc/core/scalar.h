// SPDX-License-Identifier: Apache-2.0
// What the templates of the core need of a scalar besides + - * /. A vector of lanes offers the same names.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/hd.h"

namespace wmb {

WMB_HD inline double select(bool condition, double yes, double no) { return condition ? yes : no; }
WMB_HD inline double square_root(double x) { return ::sqrt(x); }
WMB_HD inline double absolute(double x) { return x < 0.0 ? -x : x; }

// x without its fraction where 0 <= x < 2^31; anything elsewhere.
WMB_HD inline double whole(double x) {
  return x >= 0 && x < 2147483648.0 ? static_cast<double>(static_cast<std::int32_t>(x)) : 0.0;
}
// x as a T holds it.
template <typename T>
WMB_HD inline double rounded(double x) {
  return static_cast<double>(static_cast<T>(x));
}

template <typename T>
WMB_HD inline T larger(T a, T b) {
  return select(a > b, a, b);
}

}  // namespace wmb
