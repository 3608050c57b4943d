// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: Philox4x32 with ten rounds. A draw is a function of the seed and of its own
// number, so it is the same in whatever order, batch or thread it is made.
// Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <cstdint>

#include "core/hd.h"

namespace wmb {

struct Random4 {
  std::uint32_t word[4];
};

WMB_HD inline Random4 philox(Random4 counter, std::uint64_t seed) {
  std::uint32_t key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  std::uint32_t* c = counter.word;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0], p1 = std::uint64_t{0xCD9E8D57} * c[2];
    const std::uint32_t c1 = c[1], c3 = c[3];
    c[0] = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ key0;
    c[1] = static_cast<std::uint32_t>(p1);
    c[2] = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ key1;
    c[3] = static_cast<std::uint32_t>(p0);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

// A number below n out of 32 random bits, by multiplication. Each has its share to within n / 2^32 of itself.
WMB_HD inline std::uint32_t below(std::uint32_t bits, std::uint32_t n) {
  return static_cast<std::uint32_t>((std::uint64_t{bits} * n) >> 32);
}

}  // namespace wmb
