// SPDX-License-Identifier: Apache-2.0
// rmse, mean, median, population standard deviation, least, largest and sum of squares of one item's errors.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "cpu/order_statistics.h"
#include "cpu/trajectories.h"

namespace wmb {
namespace {

// Where the median is looked for first: errors lean to the left of their mean.
constexpr double kMedianPivots[kPivots] = {-0.4, -0.1, 0.15};

double median(const double* e, std::size_t n, const ErrorSums& sums, std::vector<double>& scratch) {
  const auto [low, high] = neighbours(e, n, sums, {(n - 1) / 2, n / 2}, kMedianPivots, scratch);
  return low == high ? low : 0.5 * (low + high);
}

}  // namespace

void summarise(const double* errors, std::size_t n, const ErrorSums& sums, std::vector<double>& scratch,
               double* row) {
  row[7] = static_cast<double>(n);
  if (n == 0) {
    std::fill_n(row, 7, std::nan(""));
    return;
  }
  const MeanAndDeviation about = mean_and_deviation(sums, n);
  row[0] = std::sqrt(sums.squares / static_cast<double>(n));
  row[1] = about.mean;
  row[2] = median(errors, n, sums, scratch);
  row[3] = about.deviation;
  row[4] = sums.least;
  row[5] = sums.largest;
  row[6] = sums.squares;
}

void summarise(const double* errors, std::size_t n, std::vector<double>& scratch, double* row) {
  const auto& kernels = trajectory_kernels();
  ErrorSums sums;
  kernels.sums(errors, n, sums);
  if (sums.squares == sums.squares) {
    summarise(errors, n, sums, scratch, row);
    return;
  }
  std::vector<double> kept;
  std::copy_if(errors, errors + n, std::back_inserter(kept), [](double e) { return e == e; });
  kernels.sums(kept.data(), kept.size(), sums);
  summarise(kept.data(), kept.size(), sums, scratch, row);
}

}  // namespace wmb
