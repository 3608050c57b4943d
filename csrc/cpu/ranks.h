// SPDX-License-Identifier: Apache-2.0
// Midranks, exactly: tied values share the mean of the ranks they take up.
#pragma once

#include <cstdint>
#include <vector>

namespace wmb {

struct RankItem {
  std::uint64_t key;
  std::uint32_t index;
};

// Ranks any number of times with the same memory.
class Ranker {
 public:
  // Writes 2 * midrank - (n + 1), an integer with mean zero, for n values none of which is NaN.
  void centred(const double* values, std::uint32_t n, std::int64_t* ranks);

 private:
  void sort_by_digits(std::uint32_t n);

  std::vector<RankItem> items_, other_;
  std::vector<std::uint32_t> counts_;
};

}  // namespace wmb
