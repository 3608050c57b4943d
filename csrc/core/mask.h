// SPDX-License-Identifier: Apache-2.0
// Overlap of two masks. A pixel is in where its byte is not zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/hd.h"

namespace wmb {

struct Overlap {
  std::uint64_t both;    // pixels in both masks
  std::uint64_t either;  // pixels in at least one
};

constexpr std::size_t kBytesACount = 255;  // as many ones as a byte can sum

// Counts in bytes, many lanes side by side, emptied before they are full: so many that the loop over them is
// one that compilers put into vectors.
WMB_HD inline Overlap overlap(const std::uint8_t* a, const std::uint8_t* b, std::size_t n) {
  constexpr std::size_t kLanes = 256;
  Overlap total{0, 0};
  std::size_t k = 0;
  while (k + kLanes <= n) {
    std::uint8_t both[kLanes] = {}, either[kLanes] = {};
    for (std::size_t step = 0; step < kBytesACount && k + kLanes <= n; ++step, k += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::uint8_t in_a = a[k + lane] != 0, in_b = b[k + lane] != 0;
        both[lane] = static_cast<std::uint8_t>(both[lane] + (in_a & in_b));
        either[lane] = static_cast<std::uint8_t>(either[lane] + (in_a | in_b));
      }
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      total.both += both[lane];
      total.either += either[lane];
    }
  }
  for (; k < n; ++k) {
    total.both += a[k] != 0 && b[k] != 0;
    total.either += a[k] != 0 || b[k] != 0;
  }
  return total;
}

}  // namespace wmb
