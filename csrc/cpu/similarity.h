// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/similarity.h"

namespace wmb {

// n things: vectors (n, dim), category codes (n,), attributes by code and by number (n_attributes, n).
template <typename T>
struct Things {
  std::int64_t n;
  const T* vectors;
  const std::int64_t* categories;
  const std::int64_t* text;
  const double* number;
};

// scores[i, j] of things i of a and j of b whose cosines are given: the weighted mean of (cosine + 1) / 2,
// of the attributes that both have, and of the category. Without `comparable` all vectors are; else a pair
// whose vectors are not scores 0 where it shares no attribute, either. Whether a cosine near the floor
// reaches it is decided on a sum in the order of the dimensions.
template <typename T>
void mixed_similarity(const Things<T>& a, const Things<T>& b, std::int64_t dim, std::int64_t n_attributes,
                      const T* cosines, const bool* comparable, const SimilarityRule& rule, double* scores);

}  // namespace wmb
