// SPDX-License-Identifier: Apache-2.0
// Percentile bootstrap of means of means. The resamples are those of the host (csrc/cpu/stats_bootstrap.cpp),
// and every mean adds what the host's does in the same order: a thread has one resample of a few items, and
// goes through the cases of a group one by one. How often a case was drawn is counted in integers, and read
// by neighbouring threads side by side.
#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "core/reason.h"
#include "core/stats.h"
#include "cuda/launch.h"
#include "cuda/select.h"
#include "cuda/stats.h"

namespace wmb::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kResamples = 128;  // a block's, where a thread has one
constexpr int kItems = 4;        // a thread's: a count that was read serves them all
constexpr std::size_t kMostNumbers = std::size_t{1} << 25;  // of counts, and of means, at once
constexpr std::size_t kMostDeep = 32;                       // blocks along z, which share the groups

inline std::size_t quotient(std::size_t n, std::size_t by) { return (n + by - 1) / by; }

// How much is worked on at once, and where it lies.
struct Room {
  std::size_t resamples, items;
  double *deviation, *first;   // n_items x n_cases: from the group's first value; n_items x n_groups
  double* estimate;            // n_items x (n + 1): of each resample, and of the sample itself
  double *means, *above;       // groups x items x resamples
  unsigned *times, *is_wrong;  // n_cases x resamples; whether an index was beyond its stratum
  std::size_t size;
};

Room room_of(const BootstrapPlan& plan, std::size_t n, double* workspace) {
  const std::size_t n_groups = plan.level_size[0],
                    n_above = plan.level_size.size() > 1 ? plan.level_size[1] : 0;
  Room room{};
  room.resamples = std::min(n + 1, std::max<std::size_t>(kResamples, kMostNumbers / (plan.n_cases + 1)));
  const std::size_t fit = kMostNumbers / ((n_groups + 1) * room.resamples);
  room.items = std::min({plan.n_items, std::max<std::size_t>(fit, 1), std::size_t{65535}});
  const std::size_t means = room.items * room.resamples;
  double* at = workspace;
  auto take = [&](std::size_t count) {
    double* here = at;
    if (at != nullptr) at += count;
    room.size += count;
    return here;
  };
  room.deviation = take(plan.n_items * plan.n_cases);
  room.first = take(plan.n_items * n_groups);
  room.estimate = take(plan.n_items * (n + 1));
  room.means = take(n_groups * means);
  room.above = take(n_above * means);
  room.times = reinterpret_cast<unsigned*>(take(quotient(plan.n_cases * room.resamples, 2)));
  room.is_wrong = reinterpret_cast<unsigned*>(take(1));
  return room;
}

__global__ void __launch_bounds__(kThreads) clear(unsigned* numbers, std::size_t n) {
  const std::size_t k = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (k < n) numbers[k] = 0;
}

// A block takes an item's first value of each group, and all differences from it, NaN where missing.
__global__ void __launch_bounds__(kThreads)
    take_first(const double* values, std::size_t n_cases, std::size_t n_groups, const std::int64_t* begin,
               double* deviation, double* first) {
  const std::size_t item = blockIdx.x;
  const double* here = values + item * n_cases;
  double* firsts = first + item * n_groups;
  for (std::size_t g = threadIdx.x; g < n_groups; g += kThreads) {
    std::int64_t c = begin[g];
    while (c < begin[g + 1] && std::isnan(here[c])) ++c;
    firsts[g] = c < begin[g + 1] ? here[c] : std::nan("");
  }
  __syncthreads();
  for (std::size_t g = 0; g < n_groups; ++g)
    for (std::int64_t c = begin[g] + static_cast<std::int64_t>(threadIdx.x); c < begin[g + 1]; c += kThreads)
      deviation[item * n_cases + static_cast<std::size_t>(c)] = here[c] - firsts[g];
}

// A block counts the cases of a resample; the one after the last is the sample itself.
__global__ void __launch_bounds__(kThreads)
    draw(std::size_t n_cases, const std::int64_t* member, const std::int64_t* stratum_begin,
         const std::int64_t* stratum_size, Resamples resamples, std::size_t first, unsigned* times,
         unsigned* is_wrong) {
  const std::size_t b = first + blockIdx.x;
  auto count = [&](std::int64_t c) {
    atomicAdd(&times[static_cast<std::size_t>(c) * gridDim.x + blockIdx.x], 1u);
  };
  if (b == resamples.n) {
    for (std::size_t c = threadIdx.x; c < n_cases; c += kThreads) count(static_cast<std::int64_t>(c));
  } else if (resamples.given != nullptr) {
    for (std::size_t k = threadIdx.x; k < n_cases; k += kThreads) {
      const std::int64_t index = resamples.given[b * n_cases + k];
      if (index >= 0 && index < stratum_size[k])
        count(member[stratum_begin[k] + index]);
      else
        atomicOr(is_wrong, 1u);
    }
  } else {
    const std::uint32_t low = static_cast<std::uint32_t>(b), high = static_cast<std::uint32_t>(b >> 32);
    for (std::uint32_t four = threadIdx.x; 4 * std::size_t{four} < n_cases; four += kThreads) {
      const Random4 drawn = philox({{four, 0, low, high}}, resamples.seed);
      for (std::size_t i = 0, k = 4 * std::size_t{four}; i < 4 && k < n_cases; ++i, ++k)
        count(member[stratum_begin[k] + below(drawn.word[i], static_cast<std::uint32_t>(stratum_size[k]))]);
    }
  }
}

// The mean of each group of the first level, for `items` items from `deviation` on.
__global__ void __launch_bounds__(kResamples)
    average_cases(const double* deviation, const double* first, const unsigned* times, std::size_t n_cases,
                  std::size_t n_groups, const std::int64_t* begin, std::size_t items, std::size_t resamples,
                  double* means) {
  const std::size_t b = std::size_t{blockIdx.x} * kResamples + threadIdx.x,
                    item = std::size_t{blockIdx.y} * kItems;
  if (b >= resamples) return;
  const double* row[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) row[i] = deviation + (item + i < items ? item + i : items - 1) * n_cases;
  for (std::size_t g = blockIdx.z; g < n_groups; g += gridDim.z) {
    double sum[kItems] = {};
    unsigned n[kItems] = {};
    for (std::int64_t c = begin[g]; c < begin[g + 1]; ++c) {
      const unsigned drawn = times[static_cast<std::size_t>(c) * resamples + b];
      const double count = static_cast<double>(drawn);
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        const double value = row[i][c];
        if (std::isnan(value)) continue;
        sum[i] += count * value;
        n[i] += drawn;
      }
    }
#pragma unroll
    for (int i = 0; i < kItems; ++i)
      if (item + i < items)
        means[(g * items + item + i) * resamples + b] =
            mean_about(first[(item + i) * n_groups + g], sum[i], static_cast<double>(n[i]));
  }
}

// The mean over the groups of each group above; a group without a value has no part in it. The result for
// group g of an item and resample lies at g * group_step + item * item_step + resample.
__global__ void __launch_bounds__(kResamples)
    average_groups(const double* means, std::size_t n_above, const std::int64_t* begin, std::size_t resamples,
                   double* above, std::size_t group_step, std::size_t item_step) {
  const std::size_t b = std::size_t{blockIdx.x} * kResamples + threadIdx.x, item = blockIdx.y,
                    items = gridDim.y;
  if (b >= resamples) return;
  for (std::size_t to = blockIdx.z; to < n_above; to += gridDim.z) {
    double first = 0, sum = 0, n = 0;
    for (std::int64_t g = begin[to]; g < begin[to + 1]; ++g) {
      const double mean = means[(static_cast<std::size_t>(g) * items + item) * resamples + b];
      if (std::isnan(mean)) continue;
      if (n == 0) first = mean;
      sum += mean - first;
      n += 1;
    }
    above[to * group_step + item * item_step + b] = mean_about(first, sum, n);
  }
}

__device__ inline bool all_finite(double low, double high, double estimate) {
  return std::isfinite(low) && std::isfinite(high) && std::isfinite(estimate);
}

// A block finds an item's interval, and what there is to say of it.
template <typename T>
__global__ void __launch_bounds__(kThreads, 4)
    find_interval(const double* values, std::size_t n_cases, const double* estimates, std::size_t n,
                  double level, bool propagate, bool given, const unsigned* is_wrong, IntervalOut<T> out) {
  __shared__ SelectShared shared;
  const std::size_t item = blockIdx.x;
  const double *here = values + item * n_cases, *means = estimates + item * (n + 1), missing = std::nan("");
  const Extent present = block_extent<kThreads>([=](std::size_t k) { return here[k]; }, n_cases, shared);
  double low = missing, high = missing, estimate = missing;
  Reason reason = Reason::no_samples;
  if (n_cases > 0) {
    auto mean_at = [=](std::size_t k) { return means[k]; };
    const Extent extent = block_extent<kThreads>(mean_at, n, shared);
    reason = extent.count == 0                ? Reason::not_finite
             : extent.least == extent.largest ? Reason::resamples_equal
                                              : Reason::ok;
    if (extent.count > 0) {
      low = block_percentile<kThreads>(mean_at, n, extent, 50 * (1 - level), shared);
      high = block_percentile<kThreads>(mean_at, n, extent, 50 * (1 + level), shared);
    }
    estimate = means[n];
    const bool holes = present.count < n_cases;
    if (reason == Reason::ok && holes) reason = Reason::values_left_out;
    if (present.count == 1 && !given) {
      low = high = missing;
      reason = Reason::one_case;
    }
    // What leaves an item without an answer goes before what is said of one.
    const bool infinite =
        present.count > 0 && (std::isinf(number_of(present.least)) || std::isinf(number_of(present.largest)));
    const bool beyond = present.count > 1 && !all_finite(low, high, estimate);  // sums that left float64
    if (given && *is_wrong != 0)
      reason = Reason::index_beyond_stratum;
    else if (infinite || (holes && propagate))
      reason = Reason::value_not_finite;
    else if (present.count == 0)
      reason = Reason::not_finite;
    else if (beyond)
      reason = Reason::value_not_finite;
    if (status_of(reason) == Status::missing) low = high = estimate = missing;
  }
  if (threadIdx.x != 0) return;
  out.low[item] = static_cast<T>(low);
  out.high[item] = static_cast<T>(high);
  out.estimate[item] = static_cast<T>(estimate);
  out.n_used[item] = static_cast<std::int64_t>(present.count);
  write_reason(reason, item, out.code, out.status);
}

int clear_all(unsigned* numbers, std::size_t n, cudaStream_t stream) {
  return launch(clear, dim3(static_cast<unsigned>(quotient(n, kThreads))), dim3(kThreads), stream, numbers,
                n);
}

dim3 grid_of(std::size_t resamples, std::size_t along, std::size_t groups) {
  return dim3(static_cast<unsigned>(quotient(resamples, kResamples)), static_cast<unsigned>(along),
              static_cast<unsigned>(std::min(groups, kMostDeep)));
}

// The estimates of some items for some resamples, whose counts stand in room.times.
int average(const BootstrapPlan& plan, const Room& room, std::size_t first_item, std::size_t items,
            std::size_t first, std::size_t resamples, std::size_t n, cudaStream_t stream) {
  const std::size_t n_groups = plan.level_size[0], n_levels = plan.level_size.size();
  int error = launch(average_cases, grid_of(resamples, quotient(items, kItems), n_groups), dim3(kResamples),
                     stream, room.deviation + first_item * plan.n_cases, room.first + first_item * n_groups,
                     room.times, plan.n_cases, n_groups, plan.begin, items, resamples, room.means);
  const std::int64_t* begin = plan.begin + n_groups + 1;
  double *means = room.means, *above = room.above;
  for (std::size_t level = 1; level <= n_levels && error == 0; ++level) {
    const bool last = level == n_levels;
    const std::size_t n_above = last ? 1 : plan.level_size[level];
    error = launch(average_groups, grid_of(resamples, items, n_above), dim3(kResamples), stream, means,
                   n_above, begin, resamples, last ? room.estimate + first_item * (n + 1) + first : above,
                   items * resamples, last ? n + 1 : resamples);
    std::swap(means, above);
    begin += n_above + 1;
  }
  return error;
}

// The estimates of all items for all resamples and the sample itself.
int average_all(const double* values, const BootstrapPlan& plan, const Resamples& resamples, const Room& room,
                cudaStream_t stream) {
  int error = launch(take_first, dim3(static_cast<unsigned>(plan.n_items)), dim3(kThreads), stream, values,
                     plan.n_cases, plan.level_size[0], plan.begin, room.deviation, room.first);
  for (std::size_t first = 0; first <= resamples.n && error == 0; first += room.resamples) {
    const std::size_t some = std::min(room.resamples, resamples.n + 1 - first);
    error = clear_all(room.times, plan.n_cases * some, stream);
    if (error == 0)
      error =
          launch(draw, dim3(static_cast<unsigned>(some)), dim3(kThreads), stream, plan.n_cases, plan.member,
                 plan.stratum_begin, plan.stratum_size, resamples, first, room.times, room.is_wrong);
    for (std::size_t item = 0; item < plan.n_items && error == 0; item += room.items)
      error = average(plan, room, item, std::min(room.items, plan.n_items - item), first, some, resamples.n,
                      stream);
  }
  return error;
}

}  // namespace

std::size_t bootstrap_workspace(const BootstrapPlan& plan, std::size_t n) {
  return room_of(plan, n, nullptr).size;
}

template <typename T>
int bootstrap(const double* values, const BootstrapPlan& plan, Resamples resamples, double level,
              bool propagate, IntervalOut<T> out, double* workspace, cudaStream_t stream) {
  if (plan.n_items == 0) return 0;
  const Room room = room_of(plan, resamples.n, workspace);
  int error = clear_all(room.is_wrong, 1, stream);
  if (error == 0 && plan.n_cases > 0) error = average_all(values, plan, resamples, room, stream);
  if (error != 0) return error;
  return launch(find_interval<T>, dim3(static_cast<unsigned>(plan.n_items)), dim3(kThreads), stream, values,
                plan.n_cases, room.estimate, resamples.n, level, propagate, resamples.given != nullptr,
                room.is_wrong, out);
}

template int bootstrap(const double*, const BootstrapPlan&, Resamples, double, bool, IntervalOut<float>,
                       double*, cudaStream_t);
template int bootstrap(const double*, const BootstrapPlan&, Resamples, double, bool, IntervalOut<double>,
                       double*, cudaStream_t);

}  // namespace wmb::cuda
