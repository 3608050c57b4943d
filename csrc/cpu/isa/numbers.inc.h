// SPDX-License-Identifier: Apache-2.0
// Passes over a row of numbers, for statistics of errors. Part of trajectory.inc.h, and compiled as often.
#pragma once

#include "cpu/isa/lanes.h"

namespace wmb {
namespace {

// Sums are closed every so many points, so that their rounding error does not grow with the length.
constexpr std::size_t kBlock = 1024;
void sums(const double* e, std::size_t n, double (&out)[4]) {
  out[0] = out[1] = 0.0;
  out[2] = out[3] = n > 0 ? e[0] : 0.0;
  Lanes least(out[2]), largest(out[3]);
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t end = begin + kBlock < n ? begin + kBlock : n;
    Lanes sum(0.0), square(0.0);
    std::size_t k = begin;
    for (; k + kLanes <= end; k += kLanes) {
      const Lanes v(load4(e + k));
      sum = sum + v;
      square = square + v * v;
      least = select(v < least, v, least);
      largest = select(v > largest, v, largest);
    }
    for (int lane = 0; k < end; ++k, ++lane) {
      sum.v[lane] += e[k];
      square.v[lane] += e[k] * e[k];
      least.v[lane] = e[k] < least.v[lane] ? e[k] : least.v[lane];
      largest.v[lane] = e[k] > largest.v[lane] ? e[k] : largest.v[lane];
    }
    out[0] += sum_of(sum);
    out[1] += sum_of(square);
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    out[2] = least.v[lane] < out[2] ? least.v[lane] : out[2];
    out[3] = largest.v[lane] > out[3] ? largest.v[lane] : out[3];
  }
}

double squares_about(const double* e, std::size_t n, double about) {
  const Lanes centre(about);
  double total = 0.0;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t end = begin + kBlock < n ? begin + kBlock : n;
    Lanes sum(0.0);
    std::size_t k = begin;
    for (; k + kLanes <= end; k += kLanes) {
      const Lanes d = Lanes(load4(e + k)) - centre;
      sum = sum + d * d;
    }
    for (int lane = 0; k < end; ++k, ++lane) sum.v[lane] += (e[k] - about) * (e[k] - about);
    total += sum_of(sum);
  }
  return total;
}

std::size_t count_below(const double* e, std::size_t n, double pivot) {
  const Lanes limit(pivot);
  Mask counts = {0, 0, 0, 0};
  std::size_t k = 0;
  for (; k + kLanes <= n; k += kLanes) counts -= Lanes(load4(e + k)) < limit;  // true is -1
  std::size_t count = static_cast<std::size_t>((counts[0] + counts[1]) + (counts[2] + counts[3]));
  for (; k < n; ++k) count += e[k] < pivot;
  return count;
}

std::size_t keep_between(const double* e, std::size_t n, double low, double high, double* out) {
  std::size_t count = 0, k = 0;
  // Written in any case, and written over unless it counts: no branch to guess wrong.
  auto keep = [&](double v) {
    out[count] = v;
    count += (low <= v) & (v < high);
  };
  const Lanes least(low), limit(high);
  constexpr std::size_t kAtOnce = 4 * kLanes;
  for (; k + kAtOnce <= n; k += kAtOnce) {
    Mask any = {0, 0, 0, 0};
    for (std::size_t i = k; i < k + kAtOnce; i += kLanes) {
      const Doubles v = load4(e + i);
      any |= (v >= least.v) & (v < limit.v);
    }
    if ((any[0] | any[1] | any[2] | any[3]) == 0) continue;
    for (std::size_t i = k; i < k + kAtOnce; ++i) keep(e[i]);
  }
  for (; k < n; ++k) keep(e[k]);
  return count;
}

}  // namespace
}  // namespace wmb
