// SPDX-License-Identifier: Apache-2.0
// How alike two described things are: a weighted mean over what both have.
// Source: Gower, A general coefficient of similarity and some of its properties, Biometrics 27 (1971).
#pragma once

#include <cstdint>

#include "core/hd.h"
#include "core/scalar.h"

namespace wmb {

constexpr std::int64_t kAbsent = -1;  // the code of a category or an attribute that is not there

struct SimilarityRule {
  double vector, attribute, category;  // weights
  double unknown_category;             // the likeness to something without a category
  double floor;                        // two vectors of a lower cosine are not of one thing
  double near;                         // cosines this near to the floor are summed again
  double shortest;                     // a vector no longer than this has no direction
};

WMB_HD inline double category_part(std::int64_t mine, std::int64_t theirs, const SimilarityRule& rule) {
  const double known = mine == theirs ? rule.category : 0.0;
  return mine == kAbsent || theirs == kAbsent ? rule.category * rule.unknown_category : known;
}

// Numbers by their distance in parts of the first, or in units where that is less than one; text, and what
// has no distance, by its code.
WMB_HD inline double attribute_likeness(std::int64_t mine, std::int64_t theirs, double x, double y) {
  const double nearness = 1.0 - absolute(y - x) / larger(absolute(x), 1.0);
  if (nearness != nearness) return mine == theirs ? 1.0 : 0.0;
  return larger(nearness, 0.0);
}

}  // namespace wmb
