// SPDX-License-Identifier: Apache-2.0
// Why an item of a batch is degenerate or missing. The sentences stand in python/wmb_fast/_walls/records.py.
#pragma once

#include <cstdint>

namespace wmb {

#define WMB_REASONS(X)     \
  X(ok)                    \
  X(too_few_points)        \
  X(source_zero_spread)    \
  X(target_zero_spread)    \
  X(uncorrelated)          \
  X(rank_one)              \
  X(mirrored)              \
  X(coarse_coordinates)    \
  X(not_finite)            \
  X(no_pairs)              \
  X(no_samples)            \
  X(value_not_finite)      \
  X(cost_is_nan)           \
  X(not_all_assigned)      \
  X(opis_cost_is_nan)      \
  X(opis_not_all_assigned) \
  X(too_few_pairs)         \
  X(two_pairs)             \
  X(constant_input)        \
  X(correlation_of_one)    \
  X(no_correlation)        \
  X(no_weight)             \
  X(no_decisive_pair)      \
  X(resamples_equal)       \
  X(one_case)              \
  X(values_left_out)       \
  X(camera_not_usable)     \
  X(no_valid_depth)        \
  X(no_covisibility)       \
  X(no_valid_confidence)   \
  X(zero_embedding)

enum class Reason : std::uint8_t {
#define WMB_REASON_ENTRY(name) name,
  WMB_REASONS(WMB_REASON_ENTRY)
#undef WMB_REASON_ENTRY
};

}  // namespace wmb
