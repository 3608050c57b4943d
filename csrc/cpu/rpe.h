// SPDX-License-Identifier: Apache-2.0
// Relative pose errors over a batch; one item is the work of one thread.
#pragma once

#include "cpu/pairs.h"
#include "cpu/trajectories.h"

namespace wmb {

struct RpeOptions {
  FitOptions fit;
  PairOptions pairs;
  bool world;
  bool has_extra;
  Relation extra;
};

// Pairs and errors of item i begin at `starts[i]`, counted in pairs; the rest is one row an item.
struct RpeArrays {
  const std::int64_t* starts;
  std::int64_t* pairs;
  double* translation;
  double* rotation;
  double* extra;
  double* translation_statistics;
  double* rotation_statistics;
  double* extra_statistics;
  double* deviation;
  double* fits;
};

// How many pairs each item has.
template <typename T>
Refused count_pairs(const Tracks<T>& tracks, const Items& items, const RpeOptions& options,
                    std::int64_t* counts);

template <typename T>
Refused rpe(const Tracks<T>& tracks, const Items& items, const RpeOptions& options, const RpeArrays& out);

}  // namespace wmb
