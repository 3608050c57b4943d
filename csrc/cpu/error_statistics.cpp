// SPDX-License-Identifier: Apache-2.0
// rmse, mean, median, population standard deviation, least, largest and sum of squares of one item's errors.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "cpu/trajectories.h"

namespace wmb {
namespace {

constexpr std::size_t kBuckets = 512;

// The two middle numbers of v are in v[middle - 1], v[middle] after this; `v` is reordered.
double median_by_selection(double* v, std::size_t n) {
  std::size_t middle = n / 2;
  std::nth_element(v, v + middle, v + n);
  if (n % 2 == 1) return v[middle];
  return 0.5 * (*std::max_element(v, v + middle) + v[middle]);
}

// Exact, and cheaper than a selection over all: numbers go to equal buckets between the extremes (a monotone
// map), and a selection over the bucket, or the two, that hold the middle finds them.
double median(const double* e, std::size_t n, double least, double largest, std::vector<double>& scratch) {
  double width = (kBuckets - 1) / (largest - least);
  if (n < 64 || !(width < 1e300)) {
    scratch.assign(e, e + n);
    return median_by_selection(scratch.data(), n);
  }
  auto bucket = [&](double v) { return static_cast<std::size_t>((v - least) * width); };
  std::size_t counts[kBuckets] = {};
  for (std::size_t i = 0; i < n; ++i) ++counts[bucket(e[i])];
  std::size_t low_rank = (n - 1) / 2, high_rank = n / 2, before = 0, first = 0;
  while (before + counts[first] <= low_rank) before += counts[first++];
  std::size_t last = first, upto = before + counts[first];
  while (upto <= high_rank) upto += counts[++last];
  scratch.clear();
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t b = bucket(e[i]);
    if (b >= first && b <= last) scratch.push_back(e[i]);
  }
  auto low = scratch.begin() + static_cast<std::ptrdiff_t>(low_rank - before);
  std::nth_element(scratch.begin(), low, scratch.end());
  if (low_rank == high_rank) return *low;
  return 0.5 * (*low + *std::min_element(low + 1, scratch.end()));
}

}  // namespace

void summarise(const double* errors, std::size_t n, std::vector<double>& scratch, double* row) {
  const auto& kernels = trajectory_kernels();
  std::vector<double> kept;
  double sums[5];
  kernels.sums(errors, n, 0.0, sums);
  if (sums[0] != sums[0]) {
    std::copy_if(errors, errors + n, std::back_inserter(kept), [](double e) { return e == e; });
    errors = kept.data();
    n = kept.size();
    kernels.sums(errors, n, 0.0, sums);
  }
  row[7] = static_cast<double>(n);
  if (n == 0) {
    std::fill_n(row, 7, std::nan(""));
    return;
  }
  double count = static_cast<double>(n), mean = sums[0] / count, about[5];
  kernels.sums(errors, n, mean, about);
  row[0] = std::sqrt(sums[1] / count);
  row[1] = mean;
  row[2] = median(errors, n, sums[3], sums[4], scratch);
  row[3] = std::sqrt(about[2] / count);
  row[4] = sums[3];
  row[5] = sums[4];
  row[6] = sums[1];
}

}  // namespace wmb
