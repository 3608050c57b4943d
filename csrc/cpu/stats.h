// SPDX-License-Identifier: Apache-2.0
// The loops over batches of samples: correlations, their means, agreement with votes, bootstrap intervals.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wmb {

// Item k is count[k] values from start[k] on.
struct SampleItems {
  std::size_t count;
  const std::int64_t* start;
  const std::int64_t* length;
};

struct CorrelationOut {
  double* value;
  double* p;
  std::int64_t* n_used;
  std::uint8_t* code;
};

// Of ranks (Spearman) or of values (Pearson). `omit` leaves out pairs with a NaN; otherwise one makes the
// item missing.
void correlate(const double* a, const double* b, SampleItems items, bool of_ranks, bool omit,
               CorrelationOut out);

struct MeanOut {
  double* value;
  std::int64_t* n_used;
  std::uint8_t* code;
};

// n_items rows of n correlations; weights may be null.
void fisher_mean(const double* rhos, const double* weights, std::size_t n_items, std::size_t n, MeanOut out);

struct VotesOut {
  double* value;
  std::int64_t* counts;  // n_items x 5: agree, decisive, tie, split, missing
  std::uint8_t* code;
};

// n_items rows of n pairs with n_voters votes each.
void pairwise_agreement(const double* metric, const double* votes, std::size_t n_items, std::size_t n,
                        std::size_t n_voters, VotesOut out);

// Cases are numbered group after group. Stratum s draws its size[s] cases out of themselves; member lists the
// cases of the strata one after another. Groups of a level are averaged into those of the next: parent holds
// the parents of all levels but the last, level after level.
struct BootstrapPlan {
  std::size_t n_cases;
  std::size_t n_strata;
  const std::int64_t* stratum_size;
  const std::int64_t* member;
  std::size_t n_groups;  // of the first level
  const std::int64_t* group_size;
  std::size_t n_levels;
  const std::int64_t* level_size;
  const std::int64_t* parent;
};

// Where resamples come from: `given` (n x n_cases positions within the stratum), or, if null, the seed.
struct Resamples {
  std::size_t n;
  std::uint64_t seed;
  const std::int64_t* given;
};

struct IntervalOut {
  double* low;
  double* high;
  double* estimate;
  std::uint8_t* code;
};

// values is n_items x n_cases, NaN where missing. The interval holds the middle `level` of the resampled
// means.
void bootstrap(const double* values, std::size_t n_items, BootstrapPlan plan, Resamples resamples,
               double level, IntervalOut out);

}  // namespace wmb
