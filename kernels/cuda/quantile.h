// SPDX-License-Identifier: Apache-2.0
// Exact quantiles of long spans of numbers, all at once: twelve bits of their keys at a time, each by a pass
// over the numbers and a step down. Launches alone: nothing waits to see how far it has come. (Spans that a
// block can go through by itself: select.h.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/reproject.h"
#include "cuda/launch.h"
#include "cuda/select.h"

namespace wmb::cuda {

constexpr int kStepBits = 12;
constexpr int kStepBins = 1 << kStepBits;
constexpr int kCounting = 256;                     // threads
constexpr std::int64_t kOfBlock = kCounting * 32;  // values that a block counts

// The lowest bits of a key, which are the same for all numbers of a type.
template <typename T>
constexpr int kSpareBits = sizeof(T) == sizeof(float) ? 29 : 0;

// How far the quantile of a span has been found, of its numbers x with least < x < infinity.
struct Descent {
  Key key, above;  // the bits known so far; the least key beyond it
  Key rank, equal, n;
  double fraction;

  // The two numbers between which the quantile lies; NaN where there is none.
  __device__ double low() const { return n > 0 ? number_of(key) : __builtin_nan(""); }
  __device__ bool between() const { return fraction > 0 && rank + 1 >= equal; }
  __device__ double high() const { return between() ? number_of(above) : low(); }
  __device__ double linear() const { return low() + (high() - low()) * fraction; }
  __device__ double median() const { return fraction == 0 ? low() : (low() + high()) / 2; }
};

// Equally long spans, one after another, with a descent and kStepBins counts each.
template <typename T>
struct Spans {
  const T* data;
  std::int64_t length;
  T least;
  Descent* descents;
  Key* bins;

  // Calls each(key) for the numbers that count among those of this block and thread.
  template <typename Each>
  __device__ void go_through(std::size_t span, Each each) const {
    const T* own = data + static_cast<std::int64_t>(span) * length;
    const std::int64_t begin = std::int64_t{blockIdx.x} * kOfBlock, left = length - begin;
    const std::int64_t end = begin + (left < kOfBlock ? left : kOfBlock);
#pragma unroll 8
    for (std::int64_t k = begin + threadIdx.x; k < end; k += kCounting) {
      const T x = own[k];
      if (x > least && x < static_cast<T>(kNoLimit)) each(key_of(static_cast<double>(x)));
    }
  }
};

template <typename T>
__global__ void __launch_bounds__(kCounting) begin_descent(Spans<T> spans) {
  const std::size_t span = blockIdx.y;
  for (int k = threadIdx.x; k < kStepBins; k += kCounting) spans.bins[span * kStepBins + k] = 0;
  if (threadIdx.x == 0) spans.descents[span] = {0, ~Key{0}, 0, 0, 0, 0.0};
}

template <typename T>
__global__ void __launch_bounds__(kCounting) count_step(Spans<T> spans, int shift, int width) {
  __shared__ unsigned bins[kStepBins];
  const std::size_t span = blockIdx.y;
  const int t = static_cast<int>(threadIdx.x);
  for (int k = t; k < kStepBins; k += kCounting) bins[k] = 0;
  __syncthreads();
  const Key known = shift + width >= 64 ? 0 : ~Key{0} << (shift + width), prefix = spans.descents[span].key;
  const unsigned step = (1u << width) - 1;
  spans.go_through(span, [&](Key key) {
    if ((key & known) == prefix) atomicAdd(&bins[static_cast<unsigned>(key >> shift) & step], 1u);
  });
  __syncthreads();
  for (int k = t; k < kStepBins; k += kCounting)
    if (bins[k] > 0) atomicAdd(&spans.bins[span * kStepBins + k], Key{bins[k]});
}

// Takes the bin in which the rank lies, and empties all. The first pass has told how many numbers there are.
template <typename T>
__global__ void __launch_bounds__(kCounting)
    step_down(Spans<T> spans, double quantile, bool first, int shift) {
  __shared__ Key through[kCounting];  // counts up to a thread's last bin
  constexpr int kEach = kStepBins / kCounting;
  const std::size_t span = blockIdx.y;
  const int t = static_cast<int>(threadIdx.x);
  Key* own = spans.bins + span * kStepBins + t * kEach;
  Key count[kEach], sum = 0;
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    count[k] = own[k];
    own[k] = 0;
    sum += count[k];
  }
  through[t] = sum;
  __syncthreads();
  for (int by = 1; by < kCounting; by *= 2) {
    const Key before = t >= by ? through[t - by] : 0;
    __syncthreads();
    through[t] += before;
    __syncthreads();
  }
  Descent& descent = spans.descents[span];
  if (first && t == 0) {
    descent.n = through[kCounting - 1];
    const double at = quantile * static_cast<double>(descent.n > 0 ? descent.n - 1 : 0);
    descent.rank = static_cast<Key>(at);
    descent.fraction = at - static_cast<double>(descent.rank);
  }
  __syncthreads();
  const Key rank = descent.rank;
  __syncthreads();
  if (rank >= through[t] || rank < through[t] - sum) return;
  Key left = rank - (through[t] - sum);
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    if (left < count[k]) {
      descent.key |= static_cast<Key>(t * kEach + k) << shift;
      descent.rank = left;
      descent.equal = count[k];
      return;
    }
    left -= count[k];
  }
}

// The least key beyond the one that was found, where the quantile lies between two.
template <typename T>
__global__ void __launch_bounds__(kCounting) look_above(Spans<T> spans) {
  __shared__ SelectShared shared;
  const std::size_t span = blockIdx.y;
  Descent& descent = spans.descents[span];
  if (!descent.between()) return;  // all threads
  const Key found = descent.key;
  Key own = ~Key{0};
  spans.go_through(span, [&](Key key) {
    if (key > found && key < own) own = key;
  });
  const Key least = block_least<kCounting>(own, shared);
  if (threadIdx.x == 0 && least != ~Key{0}) atomicMin(&descent.above, least);
}

// Finds the quantiles of some spans.
template <typename T>
int find_quantiles(const Spans<T>& spans, unsigned n_spans, double quantile, cudaStream_t stream) {
  const dim3 each(1, n_spans), threads(kCounting);
  const dim3 all(static_cast<unsigned>((spans.length + kOfBlock - 1) / kOfBlock), n_spans);
  int error = launch(begin_descent<T>, each, threads, stream, spans);
  for (int top = 64; top > kSpareBits<T> && error == 0 && spans.length > 0; top -= kStepBits) {
    const int shift = top > kSpareBits<T> + kStepBits ? top - kStepBits : kSpareBits<T>;
    error = launch(count_step<T>, all, threads, stream, spans, shift, top - shift);
    if (error == 0) error = launch(step_down<T>, each, threads, stream, spans, quantile, top == 64, shift);
  }
  if (error != 0 || spans.length == 0) return error;
  return launch(look_above<T>, all, threads, stream, spans);
}

}  // namespace wmb::cuda
