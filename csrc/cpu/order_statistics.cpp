// SPDX-License-Identifier: Apache-2.0
#include "cpu/order_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wmb {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kFew = 12;  // numbers that are cheaper to sort than to count once more
constexpr int kMostCounts = 24;

std::pair<double, double> selected(double* v, std::size_t n, RankPair at) {
  std::nth_element(v, v + at.second, v + n);
  return {at.first == at.second ? v[at.second] : *std::max_element(v, v + at.second), v[at.second]};
}

// The numbers among which those of both ranks must be: at least low, and below high.
struct Bracket {
  double low, high;
  std::size_t below_low, below_high;  // how many numbers of the row are below each

  std::size_t size() const { return below_high - below_low; }

  // Narrows to the pivots on either side of both ranks. False where a pivot parts the two.
  bool narrow(const double (&pivots)[kPivots], const std::size_t (&counts)[kPivots], const RankPair& at) {
    for (int i = 0; i < kPivots; ++i) {
      if (counts[i] > at.first && counts[i] <= at.second) return false;
      if (counts[i] <= at.first && pivots[i] > low) {
        low = pivots[i];
        below_low = counts[i];
      } else if (counts[i] > at.second && pivots[i] < high) {
        high = pivots[i];
        below_high = counts[i];
      }
    }
    return true;
  }

  // Pivots about the place of the ranks if the numbers were spread evenly, as far off as chance puts it; now
  // and then quarters, so that a crowd at one end cannot hold them there.
  void aim(const RankPair& at, double largest, int step, double (&pivots)[kPivots]) const {
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

}  // namespace

// The number that the sums are about is one of them, hence the square of its distance from the mean is at
// most n times the variance: what cancels here are as few digits.
MeanAndDeviation mean_and_deviation(const ErrorSums& sums, std::size_t n) {
  const double count = static_cast<double>(n), off = sums.sum / count;
  const double variance = sums.about_squares / count - off * off;
  return {sums.about + off, std::sqrt(variance < 0.0 ? 0.0 : variance)};
}

// The ranks are closed in by counting the numbers below pivots, which runs through them without a branch, and
// those outside are dropped as soon as they are most. What is left in the end is selected from.
std::pair<double, double> neighbours(const double* e, std::size_t n, const ErrorSums& sums, RankPair at,
                                     const double (&pivots)[kPivots], std::vector<double>& scratch) {
  const auto& kernels = trajectory_kernels();
  if (sums.least == sums.largest) return {sums.least, sums.least};
  scratch.resize(n + kLanesOfPack);
  double* kept = scratch.data();
  if (!(sums.largest < kInfinity)) {
    std::copy_n(e, n, kept);
    return selected(kept, n, at);
  }
  const MeanAndDeviation about = mean_and_deviation(sums, n);
  Bracket around{sums.least, kInfinity, 0, n};
  double here[kPivots];
  for (int i = 0; i < kPivots; ++i) here[i] = about.mean + pivots[i] * about.deviation;
  for (int step = 0; step < kMostCounts && around.size() > kFew; ++step) {
    std::size_t counts[kPivots];
    kernels.count_below(e, n, here, counts);
    if (!around.narrow(here, counts, at)) break;
    if (4 * around.size() < n) {
      n = kernels.keep_between(e, n, around.low, around.high, kept);
      e = kept;
      at = {at.first - around.below_low, at.second - around.below_low};
      around.below_low = 0;
      around.below_high = n;
    }
    around.aim(at, sums.largest, step, here);
  }
  n = kernels.keep_between(e, n, around.low, around.high, kept);
  return selected(kept, n, {at.first - around.below_low, at.second - around.below_low});
}

}  // namespace wmb
