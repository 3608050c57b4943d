// SPDX-License-Identifier: Apache-2.0
// Exact order statistics on a device, by the digits of keys: integers of the same order as the numbers.
// Counts alone are added up, so that no order of threads changes anything.
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda/launch.h"

namespace wmb::cuda {

using Count = unsigned long long;

template <typename T>
struct KeyOf;
template <>
struct KeyOf<float> {
  using Type = unsigned;
};
template <>
struct KeyOf<double> {
  using Type = unsigned long long;
};
template <typename T>
using Key = typename KeyOf<T>::Type;

template <typename T>
WMB_HD inline Key<T> key_of(T x) {
  constexpr Key<T> kSign = Key<T>(1) << (8 * sizeof(T) - 1);
  Key<T> bits;
  memcpy(&bits, &x, sizeof bits);
  return bits & kSign ? ~bits : bits | kSign;
}

template <typename T>
WMB_HD inline T value_of(Key<T> key) {
  constexpr Key<T> kSign = Key<T>(1) << (8 * sizeof(T) - 1);
  const Key<T> bits = key & kSign ? key & ~kSign : ~key;
  T x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

constexpr int kDigit = 8;  // bits at a time
constexpr int kDigits = 1 << kDigit;

// What the threads of a block share while they select.
template <typename K>
struct SelectRoom {
  unsigned count[kDigits];
  K key, above;
  long long rank;  // among those with the digits known so far
  unsigned equal;  // how many have all of them
};

// Finds the digit in which rank lies: the first warp alone, eight digits a lane.
template <typename K>
__device__ inline void take_digit(SelectRoom<K>& room, int shift) {
  constexpr int kEach = kDigits / 32;
  const unsigned lane = threadIdx.x;
  unsigned own = 0;
  for (int k = 0; k < kEach; ++k) own += room.count[lane * kEach + k];
  unsigned through = own;  // up to this lane's last
  for (unsigned by = 1; by < 32; by *= 2) {
    const unsigned before = __shfl_sync(0xffffffffu, through, lane < by ? lane : lane - by);
    if (lane >= by) through += before;
  }
  const long long rank = room.rank;
  __syncwarp();
  long long left = rank - (through - own);
  if (left < 0 || left >= own) return;
  int digit = static_cast<int>(lane) * kEach;
  while (left >= room.count[digit]) left -= room.count[digit++];
  room.key |= static_cast<K>(digit) << shift;
  room.rank = left;
  room.equal = room.count[digit];
}

template <typename K>
struct Two {
  K first, second;
};

// Of the keys that each(k, key) has for k in [0, n), those at rank and at the one after (the last stands for
// what is beyond); rank is below their number. For all threads of a block, of at least 32.
template <int Threads, typename K, typename Each>
__device__ inline Two<K> block_select(std::int64_t n, long long rank, SelectRoom<K>& room, Each each) {
  const int t = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (t == 0) {
    room.key = 0;
    room.above = ~K(0);
    room.rank = rank;
  }
  for (int shift = 8 * static_cast<int>(sizeof(K)) - kDigit; shift >= 0; shift -= kDigit) {
    for (int k = t; k < kDigits; k += Threads) room.count[k] = 0;
    __syncthreads();
    const K known = shift + kDigit == 8 * static_cast<int>(sizeof(K)) ? K(0) : ~K(0) << (shift + kDigit);
    const K prefix = room.key;
    for (std::int64_t k = t; k < n; k += Threads) {
      K key;
      if (each(k, key) && (key & known) == prefix) atomicAdd(&room.count[key >> shift & (kDigits - 1)], 1u);
    }
    __syncthreads();
    if (t < 32) take_digit(room, shift);
    __syncthreads();
  }
  const K first = room.key;
  if (room.rank + 1 < static_cast<long long>(room.equal)) return {first, first};
  for (std::int64_t k = t; k < n; k += Threads) {
    K key;
    if (each(k, key) && key > first) atomicMin(&room.above, key);
  }
  __syncthreads();
  return {first, room.above == ~K(0) ? first : room.above};
}

// The median of n values, as csrc/cpu/select.h has it: two in the middle are added before they are halved.
WMB_HD inline double middle(double low, double high, long long n) {
  return n % 2 != 0 ? low : (low + high) / 2;
}

}  // namespace wmb::cuda
