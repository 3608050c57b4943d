// SPDX-License-Identifier: Apache-2.0
// A quick look at the rows of a gallery, for a search with few queries: most rows are far from the best, and
// saying so takes one pass at the speed of memory. Only the others are packed and scored. What is kept
// besides the rows that must be changes no result.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/tiles.h"

namespace wmb {

template <typename T>
class Sieve {
 public:
  static constexpr std::int64_t kRowsAtOnce = 32;

  // For queries [first, first + n). With many of them, a tile's share of packing a row is less than a look.
  Sieve(const RowSet<T>& queries, std::int64_t first, std::int64_t n);

  // Adds to `kept` those of rows [first, first + n), n at most kRowsAtOnce, whose score with any query may be
  // above the query's bar. A score is what Tiles gives.
  void pass(const T* rows, std::int64_t first, std::int64_t n, const isa::Candidates<T>* bars,
            std::vector<std::int64_t>& kept);

 private:
  bool looks(const isa::Candidates<T>* bars);
  std::int64_t look(const T* rows, std::int64_t n, const isa::Candidates<T>* bars, std::int64_t first,
                    std::int64_t* kept);

  std::int64_t n_queries_, dim_, resting_ = 0;
  Scratch<T> queries_, dots_;
};

}  // namespace wmb
