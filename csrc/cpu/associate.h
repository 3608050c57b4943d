// SPDX-License-Identifier: Apache-2.0
// Pairs of time stamps. Both rows are finite and ascending; `a[i]` and `b[j]` may pair when |a[i] - b[j]| is
// at most `limit`. Pairs are written as (i, j), ascending in i; the return value is their number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wmb {

// One to one, closest first; among equal differences the earlier a, then the earlier b. O(n log n). `pairs`
// has room for min(n_a, n_b).
std::size_t associate_one_to_one(const double* a, std::size_t n_a, const double* b, std::size_t n_b,
                                 double limit, std::int64_t* pairs);

// For every a the closest b, the earlier of two. `pairs` has room for n_a. Beyond the ends of b the limit is
// added to the end, where between stamps it is compared with a difference: evo's rounding.
std::size_t associate_nearest(const double* a, std::size_t n_a, const double* b, std::size_t n_b,
                              double limit, std::int64_t* pairs);

}  // namespace wmb
