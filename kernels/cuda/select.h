// SPDX-License-Identifier: Apache-2.0
// Exact order statistics of an item's numbers, by one block, or one warp (see reduce.h). Numbers become
// integers of the same order; a rank is then closed in by counting, eight bits at a time from the first in
// which the numbers differ at all. Counts are integers, so the order of threads changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/percentile.h"
#include "cuda/reduce.h"

namespace wmb::cuda {

using Key = unsigned long long;  // what CUDA has atomics for

constexpr Key kSignOfKey = Key{1} << 63;
constexpr int kDigitBits = 8;
constexpr unsigned kBins = 1u << kDigitBits;

// An integer that is larger where the number is. Both zeros have one; NaN has none.
__device__ inline Key key_of(double x) {
  const Key bits = static_cast<Key>(__double_as_longlong(x + 0.0));
  return bits & kSignOfKey ? ~bits : bits | kSignOfKey;
}

__device__ inline double number_of(Key key) {
  return __longlong_as_double(static_cast<long long>(key & kSignOfKey ? key & ~kSignOfKey : ~key));
}

constexpr unsigned kAllLanes = 0xffffffffu, kMostWarps = 32;

// What the threads of a block share while they select; may be used again at once.
struct SelectShared {
  unsigned bins[kBins];
  unsigned bin, below, inside;
  unsigned count;
  Key of_warp[kMostWarps];
};

// The least of the threads' keys. Not by atomics: those of 64 bits take turns.
template <int Threads>
__device__ Key block_least(Key mine, SelectShared& shared) {
  static_assert(Threads % kWarp == 0 && Threads <= kWarp * kMostWarps, "whole warps");
  for (unsigned with = kWarp / 2; with > 0; with /= 2) {
    const Key other = __shfl_xor_sync(kAllLanes, mine, with);
    mine = other < mine ? other : mine;
  }
  if (threadIdx.x % kWarp == 0) shared.of_warp[member<Threads>() / kWarp] = mine;
  barrier<Threads>();
  Key least = shared.of_warp[0];
  for (unsigned warp = 1; warp < Threads / kWarp; ++warp)
    least = shared.of_warp[warp] < least ? shared.of_warp[warp] : least;
  barrier<Threads>();
  return least;
}

// The numbers of an item that are not NaN: how many (below 2^32), and between which keys they lie.
struct Extent {
  unsigned count;
  Key least, largest;
};

// value_at(k), for k below n, is a number, or NaN for one that does not count; it is asked several times.
template <int Threads, typename ValueAt>
__device__ Extent block_extent(ValueAt value_at, std::size_t n, SelectShared& shared) {
  if (member<Threads>() == 0) shared.count = 0;
  barrier<Threads>();
  Extent mine{0, ~Key{0}, 0};
  for (std::size_t k = member<Threads>(); k < n; k += Threads) {
    const double x = value_at(k);
    if (x != x) continue;
    const Key key = key_of(x);
    ++mine.count;
    mine.least = key < mine.least ? key : mine.least;
    mine.largest = key > mine.largest ? key : mine.largest;
  }
  if (mine.count > 0) atomicAdd(&shared.count, mine.count);
  const Key least = block_least<Threads>(mine.least, shared);
  const unsigned count = shared.count;
  const Key largest = ~block_least<Threads>(~mine.largest, shared);
  return {count, least, largest};
}

// The first warp finds the bin that holds a rank, counted from 0: eight bins a lane.
__device__ inline void find_bin(unsigned rank, SelectShared& shared) {
  constexpr unsigned kOfLane = kBins / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  unsigned mine = 0;
  for (unsigned b = 0; b < kOfLane; ++b) mine += shared.bins[kOfLane * lane + b];
  unsigned upto = mine;  // after the loop: of this lane and those before it
  for (unsigned by = 1; by < kWarp; by *= 2) {
    const unsigned other = __shfl_sync(kAllLanes, upto, (lane + kWarp - by) % kWarp);
    if (lane >= by) upto += other;
  }
  unsigned below = upto - mine;
  if (rank < below || rank >= upto) return;  // another lane's
  unsigned bin = kOfLane * lane;
  while (rank >= below + shared.bins[bin]) below += shared.bins[bin++];
  shared.bin = bin;
  shared.below = below;
  shared.inside = shared.bins[bin];
}

struct Neighbours {
  double low, high;
};

// The numbers of this rank, counted from 0, and of the next; the last rank has itself for the next. `rank` is
// below the count of `extent`, which is that of the same numbers.
template <int Threads, typename ValueAt>
__device__ Neighbours block_neighbours(ValueAt value_at, std::size_t n, const Extent& extent, unsigned rank,
                                       SelectShared& shared) {
  const Key differing = extent.least ^ extent.largest;
  int bits = 0;  // low bits in which the keys that are left may differ
  while (bits < 64 && (differing >> bits) != 0) ++bits;
  Key prefix = bits == 64 ? 0 : extent.least >> bits << bits;
  auto is_inside = [&](Key key) { return bits == 64 || ((key ^ prefix) >> bits) == 0; };
  unsigned left = rank, inside = extent.count;  // the rank among those that are left, and how many they are
  while (bits > 0 && inside > 1) {
    const int width = bits < kDigitBits ? bits : kDigitBits, shift = bits - width;
    for (unsigned b = member<Threads>(); b < kBins; b += Threads) shared.bins[b] = 0;
    barrier<Threads>();
    for (std::size_t k = member<Threads>(); k < n; k += Threads) {
      const double x = value_at(k);
      const Key key = key_of(x);
      if (x == x && is_inside(key))
        atomicAdd(&shared.bins[static_cast<unsigned>(key >> shift) & ((1u << width) - 1)], 1u);
    }
    barrier<Threads>();
    if (member<Threads>() < kWarp) find_bin(left, shared);
    barrier<Threads>();
    prefix |= static_cast<Key>(shared.bin) << shift;
    left -= shared.below;
    inside = shared.inside;
    bits = shift;
  }
  const bool is_last = rank + 1 == extent.count, same_next = is_last || left + 1 < inside;
  if (bits == 0 && same_next) return {number_of(prefix), number_of(prefix)};
  // The one number inside, or its like, and the least of those above.
  Key here = ~Key{0}, above = ~Key{0};
  for (std::size_t k = member<Threads>(); k < n; k += Threads) {
    const double x = value_at(k);
    if (x != x) continue;
    const Key key = key_of(x);
    if (is_inside(key))
      here = key;
    else if (key > prefix && key < above)
      above = key;
  }
  const Key found = block_least<Threads>(here, shared);
  const Key next = same_next ? found : block_least<Threads>(above, shared);
  return {number_of(found), number_of(next)};
}

// The median of at least one number.
template <int Threads, typename ValueAt>
__device__ double block_median(ValueAt value_at, std::size_t n, const Extent& extent, SelectShared& shared) {
  const Neighbours at = block_neighbours<Threads>(value_at, n, extent, (extent.count - 1) / 2, shared);
  return extent.count % 2 == 1 || at.low == at.high ? at.low : 0.5 * (at.low + at.high);
}

// A percentile of at least one number, by NumPy's linear rule.
template <int Threads, typename ValueAt>
__device__ double block_percentile(ValueAt value_at, std::size_t n, const Extent& extent, double percent,
                                   SelectShared& shared) {
  const PercentilePlace place = percentile_place(extent.count, percent);
  const unsigned rank = static_cast<unsigned>(place.below);
  const Neighbours at = block_neighbours<Threads>(value_at, n, extent, rank, shared);
  return percentile_between(at.low, at.high, place.fraction);
}

}  // namespace wmb::cuda
