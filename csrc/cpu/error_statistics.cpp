// SPDX-License-Identifier: Apache-2.0
// rmse, mean, median, population standard deviation, least, largest and sum of squares of one item's errors.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "cpu/trajectories.h"

namespace wmb {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kFew = 12;  // numbers that are cheaper to sort than to count once more
constexpr int kMostCounts = 24;
// Where pivots are tried first, in standard deviations from the mean: errors lean to the left of it.
constexpr double kFirstPivots[kPivots] = {-0.4, -0.1, 0.15};

struct Middle {
  std::size_t first, second;  // the ranks whose mean is the median, among the numbers that are left
};

double selected(double* v, std::size_t n, Middle at) {
  std::nth_element(v, v + at.second, v + n);
  if (at.first == at.second) return v[at.second];
  return 0.5 * (*std::max_element(v, v + at.second) + v[at.second]);
}

// The numbers among which the median's must be: at least low, and below high.
struct Bracket {
  double low, high;
  std::size_t below_low, below_high;  // how many numbers of the row are below each

  std::size_t size() const { return below_high - below_low; }

  // Narrows to the pivots on either side of both middle ranks. False where a pivot parts the two.
  bool narrow(const double (&pivots)[kPivots], const std::size_t (&counts)[kPivots], const Middle& at) {
    for (int i = 0; i < kPivots; ++i) {
      if (counts[i] <= at.first && pivots[i] > low) {
        low = pivots[i];
        below_low = counts[i];
      } else if (counts[i] > at.second && pivots[i] < high) {
        high = pivots[i];
        below_high = counts[i];
      } else if (counts[i] > at.first && counts[i] <= at.second) {
        return false;
      }
    }
    return true;
  }

  // Pivots about the place the middle would have if the numbers were spread evenly, as far off as chance puts
  // it; now and then quarters, so that a crowd at one end cannot hold them there.
  void aim(const Middle& at, double largest, int step, double (&pivots)[kPivots]) const {
    const double top = high < kInfinity ? high : largest, count = static_cast<double>(size());
    const double share = (static_cast<double>(at.second - below_low) + 0.5) / count;
    const double off = 1.0 / std::sqrt(count);
    const double shares[kPivots] = {share - off, share, share + off};
    for (int i = 0; i < kPivots; ++i) {
      const double s = step % 3 == 2 ? 0.25 * (i + 1) : std::min(std::max(shares[i], 0.0), 1.0);
      pivots[i] = (1.0 - s) * low + s * top;
    }
  }
};

// Exact. The middle is closed in by counting the numbers below pivots, which runs through them without a
// branch, and those outside are dropped as soon as they are most. What is left in the end is selected from.
double median(const double* e, std::size_t n, const ErrorSums& sums, double mean, double deviation,
              std::vector<double>& scratch) {
  const auto& kernels = trajectory_kernels();
  if (sums.least == sums.largest) return sums.least;
  scratch.resize(n + kLanesOfPack);
  double* kept = scratch.data();
  Middle at{(n - 1) / 2, n / 2};
  if (!(sums.largest < kInfinity)) {
    std::copy_n(e, n, kept);
    return selected(kept, n, at);
  }
  Bracket around{sums.least, kInfinity, 0, n};
  double pivots[kPivots];
  for (int i = 0; i < kPivots; ++i) pivots[i] = mean + kFirstPivots[i] * deviation;
  for (int step = 0; step < kMostCounts && around.size() > kFew; ++step) {
    std::size_t counts[kPivots];
    kernels.count_below(e, n, pivots, counts);
    if (!around.narrow(pivots, counts, at)) break;
    if (4 * around.size() < n) {
      n = kernels.keep_between(e, n, around.low, around.high, kept);
      e = kept;
      at = {at.first - around.below_low, at.second - around.below_low};
      around.below_low = 0;
      around.below_high = n;
    }
    around.aim(at, sums.largest, step, pivots);
  }
  n = kernels.keep_between(e, n, around.low, around.high, kept);
  return selected(kept, n, {at.first - around.below_low, at.second - around.below_low});
}

}  // namespace

void summarise(const double* errors, std::size_t n, const ErrorSums& sums, std::vector<double>& scratch,
               double* row) {
  row[7] = static_cast<double>(n);
  if (n == 0) {
    std::fill_n(row, 7, std::nan(""));
    return;
  }
  // The number that the sums are about is one of them, hence the square of its distance from the mean is at
  // most n times the variance: what cancels here are as few digits.
  const double count = static_cast<double>(n), off = sums.sum / count, mean = sums.about + off;
  const double variance = sums.about_squares / count - off * off;
  row[0] = std::sqrt(sums.squares / count);
  row[1] = mean;
  row[3] = std::sqrt(variance < 0.0 ? 0.0 : variance);
  row[2] = median(errors, n, sums, mean, row[3], scratch);
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
