// SPDX-License-Identifier: Apache-2.0
#include "cpu/ranks.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace wmb {
namespace {

constexpr int kDigitBits = 11, kDigits = 6;  // 66 bits, of which a key has 64
constexpr std::size_t kDigitValues = std::size_t{1} << kDigitBits;
constexpr std::uint32_t kFewItems = 400;  // below this, comparing is faster than counting digits

// A number that is ordered as the value is; both zeros are one.
std::uint64_t order_key(double value) {
  value += 0.0;
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint64_t sign = std::uint64_t{1} << 63;
  return bits & sign ? ~bits : bits | sign;
}

std::size_t digit_of(std::uint64_t key, int digit) {
  return (key >> (digit * kDigitBits)) & (kDigitValues - 1);
}

}  // namespace

// Least digit first; a digit that all keys share (as the low ones of float32 values and of small whole
// numbers) takes no pass.
void Ranker::sort_by_digits(std::uint32_t n) {
  counts_.assign(kDigits * kDigitValues, 0);
  for (std::uint32_t i = 0; i < n; ++i) {
    for (int d = 0; d < kDigits; ++d) ++counts_[d * kDigitValues + digit_of(items_[i].key, d)];
  }
  other_.resize(n);
  for (int d = 0; d < kDigits; ++d) {
    std::uint32_t* starts = &counts_[d * kDigitValues];
    if (starts[digit_of(items_[0].key, d)] == n) continue;
    std::uint32_t start = 0;
    for (std::size_t value = 0; value < kDigitValues; ++value) {
      const std::uint32_t count = starts[value];
      starts[value] = start;
      start += count;
    }
    for (std::uint32_t i = 0; i < n; ++i) other_[starts[digit_of(items_[i].key, d)]++] = items_[i];
    items_.swap(other_);
  }
}

void Ranker::centred(const double* values, std::uint32_t n, std::int64_t* ranks) {
  items_.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) items_[i] = {order_key(values[i]), i};
  if (n < kFewItems) {
    std::sort(items_.begin(), items_.end(),
              [](const RankItem& a, const RankItem& b) { return a.key < b.key; });
  } else {
    sort_by_digits(n);
  }
  for (std::uint32_t first = 0; first < n;) {
    std::uint32_t stop = first + 1;
    while (stop < n && items_[stop].key == items_[first].key) ++stop;
    // Ranks first + 1 to stop: twice their mean is first + 1 + stop.
    const std::int64_t rank = std::int64_t{first} + stop - n;
    for (; first < stop; ++first) ranks[items_[first].index] = rank;
  }
}

}  // namespace wmb
