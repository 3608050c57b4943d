// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace wmb {

// For each item the k rows of the gallery [b_start, b_stop) of the largest cosine with every query [a_start,
// a_stop), in descending order, among equals the lowest row first: k indices within the span and k scores a
// query, item after item; -1 and NaN where there are fewer than k. spans holds the four numbers an item.
// Neither the matrix of all scores nor a second copy of the gallery is written.
template <typename T>
void topk(const T* queries, const T* gallery, std::int64_t dim, const std::int64_t* spans,
          std::int64_t n_items, std::int64_t k, std::int64_t* index, T* score);

}  // namespace wmb
