// SPDX-License-Identifier: Apache-2.0
// Percentile bootstrap of means of means.
//
// A resample is drawn once for all items, as the number of times each case is in it; then each group's mean
// is a sum over its cases in order, for eight items side by side. Means are taken about a first value, so
// that equal values have that value as their mean, to the bit.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"
#include "core/reason.h"
#include "core/stats.h"
#include "cpu/parallel.h"
#include "cpu/percentile.h"
#include "cpu/stats.h"

namespace wmb {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kResamplesAChunk = 64;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Up to eight items side by side.
struct Block {
  std::vector<double> deviation;  // n_cases x kLanes: from the group's first value; 0 where missing
  std::vector<double> present;    // n_cases x kLanes: 1, or 0 where missing; empty if nothing is
  std::vector<double> first;      // n_groups x kLanes: NaN where a group has no value
};

Block make_block(const double* values, std::size_t n_lanes, const BootstrapPlan& plan) {
  const std::size_t size = plan.n_cases * kLanes;
  Block block;
  block.deviation.assign(size, 0);
  block.first.assign(plan.n_groups * kLanes, kMissing);
  std::vector<double> present(size, 1);
  bool all_present = true;
  for (std::size_t lane = 0; lane < n_lanes; ++lane) {
    const double* item = values + lane * plan.n_cases;
    std::size_t c = 0;
    for (std::size_t g = 0; g < plan.n_groups; ++g) {
      double& first = block.first[g * kLanes + lane];
      for (std::int64_t k = 0; k < plan.group_size[g]; ++k, ++c) {
        if (std::isnan(item[c])) {
          present[c * kLanes + lane] = 0;
          all_present = false;
          continue;
        }
        if (std::isnan(first)) first = item[c];
        block.deviation[c * kLanes + lane] = item[c] - first;
      }
    }
  }
  if (!all_present) block.present = std::move(present);
  return block;
}

// A lane is only ever named by a constant, so that all stay in registers.
struct Lanes {
  double at[kLanes] = {};

  void add(double times, const double* row) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) at[lane] += times * row[lane];
  }
};

// The mean of each group of the first level, NaN where nothing of it was drawn.
void group_means(const Block& block, const BootstrapPlan& plan, const std::uint32_t* times, double* means) {
  std::size_t c = 0;
  for (std::size_t g = 0; g < plan.n_groups; ++g) {
    Lanes sum, weight;
    std::int64_t drawn = 0;
    for (const std::size_t stop = c + static_cast<std::size_t>(plan.group_size[g]); c < stop; ++c) {
      const double count = static_cast<double>(times[c]);
      sum.add(count, &block.deviation[c * kLanes]);
      if (!block.present.empty()) weight.add(count, &block.present[c * kLanes]);
      drawn += times[c];
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double n = block.present.empty() ? static_cast<double>(drawn) : weight.at[lane];
      means[g * kLanes + lane] = mean_about(block.first[g * kLanes + lane], sum.at[lane], n);
    }
  }
}

// Averages the groups of each level into those of the next, and the last into one; `means` shrinks in place.
// A group without a value has no part in the mean above it.
void mean_of_means(const BootstrapPlan& plan, std::vector<double>& means, std::vector<double>& above,
                   double* result) {
  const std::int64_t* parent = plan.parent;
  for (std::size_t level = 0; level < plan.n_levels; ++level) {
    const bool last = level + 1 == plan.n_levels;
    const std::size_t n = static_cast<std::size_t>(plan.level_size[level]);
    const std::size_t n_above = last ? 1 : static_cast<std::size_t>(plan.level_size[level + 1]);
    above.assign(3 * n_above * kLanes, 0);  // the first child's mean, the sum from it, the number of children
    double *first = above.data(), *sum = first + n_above * kLanes, *count = sum + n_above * kLanes;
    for (std::size_t g = 0; g < n; ++g) {
      const std::size_t to = last ? 0 : static_cast<std::size_t>(parent[g]) * kLanes;
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const double mean = means[g * kLanes + lane];
        if (std::isnan(mean)) continue;
        if (count[to + lane] == 0) first[to + lane] = mean;
        sum[to + lane] += mean - first[to + lane];
        count[to + lane] += 1;
      }
    }
    for (std::size_t k = 0; k < n_above * kLanes; ++k) means[k] = mean_about(first[k], sum[k], count[k]);
    parent += last ? 0 : n;
  }
  std::copy(means.begin(), means.begin() + kLanes, result);
}

struct Draws {
  std::vector<std::uint32_t> words;  // of one resample, one a draw, and up to three more
  std::vector<std::uint32_t> times;  // how often each case is in it
};

void draw(const BootstrapPlan& plan, const Resamples& resamples, std::size_t b, Draws& draws) {
  std::fill(draws.times.begin(), draws.times.end(), 0);
  std::uint32_t* times = draws.times.data();
  const std::int64_t* member = plan.member;
  if (resamples.given != nullptr) {
    const std::int64_t* given = resamples.given + b * plan.n_cases;
    for (std::size_t s = 0; s < plan.n_strata; member += plan.stratum_size[s++]) {
      for (std::int64_t i = 0; i < plan.stratum_size[s]; ++i) ++times[member[*given++]];
    }
    return;
  }
  const std::uint32_t b_low = static_cast<std::uint32_t>(b), b_high = static_cast<std::uint32_t>(b >> 32);
  for (std::uint32_t k = 0; 4 * std::size_t{k} < draws.words.size(); ++k) {
    const Random4 four = philox({{k, 0, b_low, b_high}}, resamples.seed);
    std::copy(four.word, four.word + 4, &draws.words[4 * std::size_t{k}]);
  }
  const std::uint32_t* word = draws.words.data();
  for (std::size_t s = 0; s < plan.n_strata; ++s) {
    const std::uint32_t size = static_cast<std::uint32_t>(plan.stratum_size[s]);
    for (std::uint32_t i = 0; i < size; ++i) ++times[member[below(*word++, size)]];
    member += size;
  }
}

Reason interval_of(std::vector<double>& means, double level, double& low, double& high) {
  means.erase(std::remove_if(means.begin(), means.end(), [](double m) { return std::isnan(m); }),
              means.end());
  if (means.empty()) return Reason::not_finite;
  const auto [least, most] = std::minmax_element(means.begin(), means.end());
  const bool all_equal = *least == *most;
  low = percentile(means, 50 * (1 - level));
  high = percentile(means, 50 * (1 + level));
  return all_equal ? Reason::resamples_equal : Reason::ok;
}

}  // namespace

void bootstrap(const double* values, std::size_t n_items, BootstrapPlan plan, Resamples resamples,
               double level, IntervalOut out) {
  const std::size_t n_blocks = chunk_count(n_items, kLanes);
  std::vector<Block> blocks;
  for (std::size_t k = 0; k < n_blocks; ++k) {
    blocks.push_back(
        make_block(values + k * kLanes * plan.n_cases, std::min(kLanes, n_items - k * kLanes), plan));
  }
  // Resample n is the sample itself. Laid out block by block, resample by resample.
  const std::size_t n = resamples.n;
  std::vector<double> result(n_blocks * (n + 1) * kLanes);
  auto some = [&](std::size_t chunk) {
    Draws draws{std::vector<std::uint32_t>((plan.n_cases + 3) / 4 * 4),
                std::vector<std::uint32_t>(plan.n_cases)};
    std::vector<double> means(std::max<std::size_t>(plan.n_groups, 1) * kLanes), above;
    for (std::size_t b = chunk * kResamplesAChunk; b < std::min(n + 1, (chunk + 1) * kResamplesAChunk); ++b) {
      if (b < n)
        draw(plan, resamples, b, draws);
      else
        std::fill(draws.times.begin(), draws.times.end(), 1);
      for (std::size_t k = 0; k < n_blocks; ++k) {
        group_means(blocks[k], plan, draws.times.data(), means.data());
        mean_of_means(plan, means, above, &result[(k * (n + 1) + b) * kLanes]);
      }
    }
  };
  for_chunks(chunk_count(n + 1, kResamplesAChunk), some);
  auto item = [&](std::size_t i) {
    const double* lane = &result[i / kLanes * (n + 1) * kLanes + i % kLanes];
    std::vector<double> means(n);
    for (std::size_t b = 0; b < n; ++b) means[b] = lane[b * kLanes];
    out.low[i] = out.high[i] = kMissing;
    out.estimate[i] = lane[n * kLanes];
    out.code[i] = static_cast<std::uint8_t>(interval_of(means, level, out.low[i], out.high[i]));
  };
  for_chunks(n_items, item);
}

}  // namespace wmb
