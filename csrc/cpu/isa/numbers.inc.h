// SPDX-License-Identifier: Apache-2.0
// Passes over a row of numbers, for statistics of errors. Part of trajectory.inc.h, and compiled as often.
#pragma once

#include "cpu/isa/lanes.h"
#include "cpu/trajectory_kernels.h"

namespace wmb {
namespace {

// Sums are closed every so many points, so that their rounding error does not grow with the length.
constexpr std::size_t kBlock = 1024;

// What ErrorSums hold, lane by lane. The numbers are added four at a time, in order; the last one to three go
// to the first lanes.
struct SumLanes {
  Lanes about, sum, about_squares, squares, least, largest;

  // `first` is the row's first number.
  inline void start(double first) {
    about = Lanes(first - first == 0.0 ? first : 0.0);
    least = largest = Lanes(first);
    open();
  }
  inline void open() { sum = about_squares = squares = Lanes(0.0); }
  inline void add(const Lanes& v) {
    const Lanes off = v - about;
    sum = sum + off;
    about_squares = about_squares + off * off;
    squares = squares + v * v;
    least = select(v < least, v, least);
    largest = select(v > largest, v, largest);
  }
  inline void add_some(const double* v, std::size_t n) {
    for (std::size_t lane = 0; lane < n; ++lane) {
      const double off = v[lane] - about.v[lane];
      sum.v[lane] += off;
      about_squares.v[lane] += off * off;
      squares.v[lane] += v[lane] * v[lane];
      least.v[lane] = v[lane] < least.v[lane] ? v[lane] : least.v[lane];
      largest.v[lane] = v[lane] > largest.v[lane] ? v[lane] : largest.v[lane];
    }
  }
  inline void close(ErrorSums& out) {
    out.sum += sum_of(sum);
    out.about_squares += sum_of(about_squares);
    out.squares += sum_of(squares);
  }
  inline void finish(ErrorSums& out) const {
    out.about = about.v[0];
    out.least = least.v[0];
    out.largest = largest.v[0];
    for (int lane = 1; lane < kLanes; ++lane) {
      out.least = least.v[lane] < out.least ? least.v[lane] : out.least;
      out.largest = largest.v[lane] > out.largest ? largest.v[lane] : out.largest;
    }
  }
};

void sums(const double* e, std::size_t n, ErrorSums& out) {
  out = ErrorSums{};
  if (n == 0) return;
  SumLanes lanes;
  lanes.start(e[0]);
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t end = begin + kBlock < n ? begin + kBlock : n;
    std::size_t k = begin;
    lanes.open();
    for (; k + kLanes <= end; k += kLanes) lanes.add(Lanes(load4(e + k)));
    lanes.add_some(e + k, end - k);
    lanes.close(out);
  }
  lanes.finish(out);
}

void count_below(const double* e, std::size_t n, const double (&pivots)[kPivots],
                 std::size_t (&counts)[kPivots]) {
  const Lanes a(pivots[0]), b(pivots[1]), c(pivots[2]);
  Mask in_a = {0, 0, 0, 0}, in_b = in_a, in_c = in_a;
  std::size_t k = 0;
  for (; k + kLanes <= n; k += kLanes) {
    const Lanes v(load4(e + k));
    in_a -= v < a;  // true is -1
    in_b -= v < b;
    in_c -= v < c;
  }
  counts[0] = static_cast<std::size_t>((in_a[0] + in_a[1]) + (in_a[2] + in_a[3]));
  counts[1] = static_cast<std::size_t>((in_b[0] + in_b[1]) + (in_b[2] + in_b[3]));
  counts[2] = static_cast<std::size_t>((in_c[0] + in_c[1]) + (in_c[2] + in_c[3]));
  for (; k < n; ++k) {
    for (int i = 0; i < kPivots; ++i) counts[i] += e[k] < pivots[i];
  }
}

std::size_t keep_between(const double* e, std::size_t n, double low, double high, double* out) {
  std::size_t count = 0, k = 0;
  const Lanes least(low), limit(high);
  for (; k + kLanes <= n; k += kLanes) {
    const Doubles v = load4(e + k);
    count += pack(v, (v >= least.v) & (v < limit.v), out + count);
  }
  // Written in any case, and written over unless it counts: no branch to guess wrong.
  for (; k < n; ++k) {
    out[count] = e[k];
    count += (low <= e[k]) & (e[k] < high);
  }
  return count;
}

}  // namespace
}  // namespace wmb
