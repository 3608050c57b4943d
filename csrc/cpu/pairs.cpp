// SPDX-License-Identifier: Apache-2.0
#include "cpu/pairs.h"

#include <algorithm>
#include <cmath>

namespace wmb {
namespace {

using Pairs = std::vector<std::int64_t>;

void add(Pairs& pairs, std::size_t i, std::size_t j) {
  pairs.push_back(static_cast<std::int64_t>(i));
  pairs.push_back(static_cast<std::int64_t>(j));
}

void by_frames(std::size_t n, const PairOptions& options, Pairs& pairs) {
  std::size_t delta = static_cast<std::size_t>(options.delta);
  if (delta >= n) return;
  const std::size_t step = options.all ? 1 : delta, count = (n - delta - 1) / step + 1;
  pairs.resize(2 * count);
  for (std::size_t k = 0; k < count; ++k) {
    pairs[2 * k] = static_cast<std::int64_t>(k * step);
    pairs[2 * k + 1] = static_cast<std::int64_t>(k * step + delta);
  }
}

// From the first on, each time the steps since the last chosen pose come to delta.
void by_chain(const std::vector<double>& steps, const std::vector<std::size_t>& at, double delta,
              Pairs& pairs) {
  double sum = 0.0;
  std::size_t last = 0;
  for (std::size_t k = 1; k < at.size(); ++k) {
    sum += steps[k - 1];
    if (!(sum >= delta)) continue;
    add(pairs, at[last], at[k]);
    last = k;
    sum = 0.0;
  }
}

// The miss |path[j] - path[i] - delta| falls and then rises along j, so two binary searches find its first
// minimum.
void by_nearest(const std::vector<double>& steps, const std::vector<std::size_t>& at, double delta,
                double tolerance, Pairs& pairs) {
  if (at.empty()) return;
  std::vector<double> path(at.size(), 0.0);
  for (std::size_t k = 1; k < at.size(); ++k) path[k] = path[k - 1] + steps[k - 1];
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    auto miss = [&](double along) { return std::abs(along - path[i] - delta); };
    auto first = path.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    auto best =
        std::partition_point(first, path.end(), [&](double along) { return along - path[i] < delta; });
    if (best == path.end() || (best != first && miss(*(best - 1)) <= miss(*best))) {
      double least = miss(*(best - 1));
      best = std::partition_point(first, best, [&](double along) { return miss(along) > least; });
    }
    if (miss(*best) <= tolerance) add(pairs, at[i], at[static_cast<std::size_t>(best - path.begin())]);
  }
}

// Every later pose at an angle of delta, give or take. An arc tangent is taken only of angles whose cosine
// comes near.
template <typename T>
void by_angle(const T* poses, const std::vector<std::size_t>& at, double in_unit, const PairOptions& options,
              bool polish, Pairs& pairs) {
  double margin = options.tolerance * options.delta, low = options.delta - margin,
         high = options.delta + margin;
  const double kMargin = 1e-3;  // far above what rounding, or a pose off SO(3), does to a cosine
  double least = std::cos(std::min(high / in_unit, kPi)) - kMargin;
  double most = std::cos(std::min(std::max(low / in_unit, 0.0), kPi)) + kMargin;
  std::vector<Mat3<double>> rotations(at.size());
  for (std::size_t k = 0; k < at.size(); ++k) rotations[k] = pose_at(poses, at[k]).r;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const Mat3<double>& a = rotations[i];
    for (std::size_t j = i + 1; j < at.size(); ++j) {
      const Mat3<double>& b = rotations[j];
      double trace = 0.0;
      for (int k = 0; k < 9; ++k) trace += a.m[k] * b.m[k];
      double cosine = 0.5 * (trace - 1.0);
      if (cosine < least || cosine > most) continue;
      double angle = in_unit * error_angle(transposed_times(a, b), polish);
      if (low <= angle && angle <= high) add(pairs, at[i], at[j]);
    }
  }
}

}  // namespace

template <typename T>
void select_pairs(const T* poses, std::size_t n, const std::uint8_t* use, double scale, bool polish,
                  const PairOptions& options, Pairs& pairs) {
  if (options.unit == Unit::frames) return by_frames(n, options, pairs);
  std::vector<std::size_t> at;
  for (std::size_t k = 0; k < n; ++k)
    if (use == nullptr || use[k] != 0) at.push_back(k);
  double in_unit = options.unit == Unit::degrees ? kDegrees : 1.0;
  bool metres = options.unit == Unit::metres;
  if (options.all && !metres) return by_angle(poses, at, in_unit, options, polish, pairs);
  std::vector<double> steps;
  for (std::size_t k = 1; k < at.size(); ++k) {
    Pose<double> a = pose_at(poses, at[k - 1]), b = pose_at(poses, at[k]);
    steps.push_back(metres ? norm(scale * b.p - scale * a.p)
                           : in_unit * error_angle(transposed_times(a.r, b.r), polish));
  }
  if (options.all)
    by_nearest(steps, at, options.delta, options.tolerance * options.delta, pairs);
  else
    by_chain(steps, at, options.delta, pairs);
}

template void select_pairs<float>(const float*, std::size_t, const std::uint8_t*, double, bool,
                                  const PairOptions&, Pairs&);
template void select_pairs<double>(const double*, std::size_t, const std::uint8_t*, double, bool,
                                   const PairOptions&, Pairs&);

}  // namespace wmb
