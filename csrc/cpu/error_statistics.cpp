// SPDX-License-Identifier: Apache-2.0
// rmse, mean, median, population standard deviation, least, largest and sum of squares of one item's errors.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "cpu/trajectories.h"

namespace wmb {
namespace {

constexpr std::size_t kFew = 24;  // numbers that are cheaper to sort than to count once more
constexpr int kMostCounts = 24;

// v[at] in order of size, or the mean of that and the number before it; `v` is reordered.
double selected(double* v, std::size_t n, std::size_t at, bool with_before) {
  std::nth_element(v, v + at, v + n);
  return with_before ? 0.5 * (*std::max_element(v, v + at) + v[at]) : v[at];
}

// Exact. The middle is closed in by counting the numbers below a pivot, which runs through them without a
// branch; the pivot is where the middle would be if the numbers left were spread evenly. What is left in the
// end is selected from.
double median(const double* e, std::size_t n, double least, double largest, double mean,
              std::vector<double>& scratch) {
  const auto& kernels = trajectory_kernels();
  if (least == largest) return least;
  if (!(largest < std::numeric_limits<double>::infinity())) {
    scratch.assign(e, e + n);
    return selected(scratch.data(), n, n / 2, n % 2 == 0);
  }
  const std::size_t middle = n / 2;  // for even n the number before it is needed, too
  double low = least, high = largest, pivot = mean;
  std::size_t below_low = 0, below_high = n;  // of `high` at least all but the largest
  bool open = true;                           // nothing was found above the middle yet: `high` counts in
  for (int step = 0; step < kMostCounts && below_high - below_low > kFew; ++step) {
    if (!(low < pivot && pivot < high)) pivot = 0.5 * low + 0.5 * high;
    if (!(low < pivot && pivot < high)) break;
    std::size_t below = kernels.count_below(e, n, pivot);
    if (below <= middle - 1 + n % 2) {
      low = pivot;
      below_low = below;
    } else if (below > middle) {
      high = pivot;
      below_high = below;
      open = false;
    } else {
      break;  // the two middle numbers lie on either side
    }
    double share =
        (static_cast<double>(middle - below_low) + 0.5) / static_cast<double>(below_high - below_low);
    // Now and then halve, so that a crowd at one end cannot hold the pivot there.
    pivot = step % 3 == 2 ? 0.5 * low + 0.5 * high : low + (high - low) * share;
  }
  scratch.resize(n + 1);
  double upper = open ? std::numeric_limits<double>::infinity() : high;
  std::size_t kept = kernels.keep_between(e, n, low, upper, scratch.data());
  return selected(scratch.data(), kept, middle - below_low, n % 2 == 0);
}

}  // namespace

void summarise(const double* errors, std::size_t n, std::vector<double>& scratch, double* row) {
  const auto& kernels = trajectory_kernels();
  std::vector<double> kept;
  double sums[4];
  kernels.sums(errors, n, sums);
  if (sums[0] != sums[0]) {
    std::copy_if(errors, errors + n, std::back_inserter(kept), [](double e) { return e == e; });
    errors = kept.data();
    n = kept.size();
    kernels.sums(errors, n, sums);
  }
  row[7] = static_cast<double>(n);
  if (n == 0) {
    std::fill_n(row, 7, std::nan(""));
    return;
  }
  double count = static_cast<double>(n), mean = sums[0] / count;
  row[0] = std::sqrt(sums[1] / count);
  row[1] = mean;
  row[2] = median(errors, n, sums[2], sums[3], mean, scratch);
  row[3] = std::sqrt(kernels.squares_about(errors, n, mean) / count);
  row[4] = sums[2];
  row[5] = sums[3];
  row[6] = sums[1];
}

}  // namespace wmb
