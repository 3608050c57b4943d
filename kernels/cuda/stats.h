// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/stream.h"

namespace wmb::cuda {

// What is resampled and averaged. The arrays are on the device, all of int64.
struct BootstrapPlan {
  std::size_t n_items, n_cases;
  const std::int64_t* member;         // the cases of each stratum, one stratum after another
  const std::int64_t* stratum_begin;  // of each draw: where its stratum begins in `member`,
  const std::int64_t* stratum_size;   // and how many it has
  // Where the groups of each level begin, in the cases or groups of the one below, and where the last one
  // ends: size + 1 numbers a level, and 0 and the last level's size for the one group above all.
  const std::int64_t* begin;
  std::vector<std::size_t> level_size;
};

struct Resamples {
  std::size_t n;
  std::uint64_t seed;
  const std::int64_t* given;  // n x n_cases, or null: drawn
};

template <typename T>
struct IntervalOut {
  T *low, *high, *estimate;
  std::int64_t* n_used;
  std::uint8_t* code;
  std::uint8_t* status;
};

// How many numbers of workspace bootstrap wants.
std::size_t bootstrap_workspace(const BootstrapPlan& plan, std::size_t n);

// values is n_items x n_cases, in the order of the groups and NaN where missing. `propagate`: an item with a
// missing value is missing.
template <typename T>
int bootstrap(const double* values, const BootstrapPlan& plan, Resamples resamples, double level,
              bool propagate, IntervalOut<T> out, double* workspace, cudaStream_t stream);

}  // namespace wmb::cuda
