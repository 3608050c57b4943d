// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace wmb {

// scores[i] = cosine of rows i of a and b, dim columns; a stride of 0 repeats one row. NaN where a row has no
// direction.
template <typename T>
void cosine_pairs(const T* a, std::int64_t stride_a, const T* b, std::int64_t stride_b, std::int64_t n,
                  std::int64_t dim, T* scores);

// For each item the cosines of rows [a_start, a_stop) of a with rows [b_start, b_stop) of b, row-major, item
// after item. spans holds these four numbers an item. Where `symmetric`, b is a and the spans agree: half is
// computed.
template <typename T>
void cosine_matrix(const T* a, const T* b, std::int64_t dim, const std::int64_t* spans, std::int64_t n_items,
                   bool symmetric, T* scores);

}  // namespace wmb
