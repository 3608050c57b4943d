// SPDX-License-Identifier: Apache-2.0
// The loop over batches of assignment problems.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wmb {

struct AssignOptions {
  bool maximize;
  bool as_opis;       // ties as the public solver, else the lexicographically smallest
  bool may_be_alone;  // at null_cost
  double null_cost;
};

// Item k is rows[k] x cols[k] costs from cost_start[k] on; its columns go to column from row_start[k] on.
struct AssignItems {
  std::size_t count;
  const std::int64_t* rows;
  const std::int64_t* cols;
  const std::int64_t* cost_start;
  const std::int64_t* row_start;
};

// Writes the column of each row or -1, the sum of the assigned costs of each item, and its reason.
template <typename T>
void assign(const T* cost, AssignItems items, AssignOptions options, std::int64_t* column, double* total,
            std::uint8_t* code);

}  // namespace wmb
