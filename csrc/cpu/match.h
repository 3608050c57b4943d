// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cpu/tiles.h"

namespace wmb {

struct MatchRule {
  Metric metric;
  bool mutual;   // keep i -> j only where j -> i
  double ratio;  // keep only where the nearest is nearer than ratio times the second; 0: no such test
};

// For each item the best row of b [b_start, b_stop) for every row of a [a_start, a_stop), item after item:
// its index within the span and its score, cosine or distance; -1 and NaN where there is none. spans holds
// the four numbers an item. The matrix of all scores is never written.
template <typename T>
void match(const T* a, const T* b, std::int64_t dim, const std::int64_t* spans, std::int64_t n_items,
           MatchRule rule, std::int64_t* index, T* score);

// The same for binary rows of dim bytes: Hamming distances.
void match_binary(const std::uint8_t* a, const std::uint8_t* b, std::int64_t dim, const std::int64_t* spans,
                  std::int64_t n_items, MatchRule rule, std::int64_t* index, float* score);

// For each item the largest cosine of every row of a [a_start, a_stop) with any row of b [b_start, b_stop),
// then that of every row of b with any row of a, item after item; NaN where there is none.
template <typename T>
void patch_best_match(const T* a, const T* b, std::int64_t dim, const std::int64_t* spans,
                      std::int64_t n_items, T* score);

}  // namespace wmb
