// SPDX-License-Identifier: Apache-2.0
// Why an item of a batch is degenerate or missing. The sentences stand in python/wmb_fast/_walls/records.py.
#pragma once

#include <cstdint>

#include "core/hd.h"

namespace wmb {

enum class Status : std::uint8_t { ok, degenerate, missing };

// Each reason, and the status of an item that has it.
#define WMB_REASONS(X)              \
  X(ok, ok)                         \
  X(too_few_points, missing)        \
  X(source_zero_spread, missing)    \
  X(target_zero_spread, degenerate) \
  X(uncorrelated, degenerate)       \
  X(rank_one, degenerate)           \
  X(mirrored, degenerate)           \
  X(coarse_coordinates, degenerate) \
  X(not_finite, missing)            \
  X(no_pairs, missing)              \
  X(no_samples, missing)            \
  X(value_not_finite, missing)      \
  X(cost_is_nan, degenerate)        \
  X(not_all_assigned, degenerate)   \
  X(opis_cost_is_nan, missing)      \
  X(opis_not_all_assigned, missing) \
  X(too_few_pairs, missing)         \
  X(two_pairs, degenerate)          \
  X(constant_input, missing)        \
  X(correlation_of_one, degenerate) \
  X(no_correlation, missing)        \
  X(no_weight, missing)             \
  X(no_decisive_pair, missing)      \
  X(resamples_equal, degenerate)    \
  X(one_case, degenerate)           \
  X(values_left_out, degenerate)    \
  X(camera_not_usable, missing)     \
  X(no_valid_depth, missing)        \
  X(no_covisibility, missing)       \
  X(no_valid_confidence, missing)   \
  X(zero_embedding, missing)        \
  X(not_a_pose, missing)            \
  X(weight_not_usable, missing)     \
  X(index_beyond_stratum, missing)

enum class Reason : std::uint8_t {
#define WMB_REASON_ENTRY(name, status) name,
  WMB_REASONS(WMB_REASON_ENTRY)
#undef WMB_REASON_ENTRY
};

WMB_HD inline Status status_of(Reason reason) {
  switch (reason) {
#define WMB_REASON_ENTRY(name, status) \
  case Reason::name:                   \
    return Status::status;
    WMB_REASONS(WMB_REASON_ENTRY)
#undef WMB_REASON_ENTRY
  }
  return Status::missing;
}

}  // namespace wmb
