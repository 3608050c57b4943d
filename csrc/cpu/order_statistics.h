// SPDX-License-Identifier: Apache-2.0
// Exact order statistics of numbers in any order, none NaN.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "cpu/trajectory_kernels.h"

namespace wmb {

struct MeanAndDeviation {
  double mean, deviation;  // of the population
};

// Of n >= 1 numbers, from their sums.
MeanAndDeviation mean_and_deviation(const ErrorSums& sums, std::size_t n);

// Two ranks, counted from 0, the second the first or the next.
struct RankPair {
  std::size_t first, second;
};

// The numbers of these ranks. `pivots` says where they are looked for first, in standard deviations from the
// mean: a good guess saves passes, and changes nothing else.
std::pair<double, double> neighbours(const double* e, std::size_t n, const ErrorSums& sums, RankPair at,
                                     const double (&pivots)[kPivots], std::vector<double>& scratch);

}  // namespace wmb
