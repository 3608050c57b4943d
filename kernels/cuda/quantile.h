// SPDX-License-Identifier: Apache-2.0
// Exact quantiles of long spans of numbers, all at once: a digit of their keys at a time, each by a pass over
// the numbers and a step down. Launches alone: nothing waits to see how far it has come.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/reproject.h"
#include "cuda/launch.h"
#include "cuda/select.h"

namespace wmb::cuda {

constexpr int kWideDigit = 11;  // bits
constexpr int kBins = 1 << kWideDigit;
constexpr int kCounting = 256;                     // threads
constexpr std::int64_t kOfBlock = kCounting * 32;  // values that a block counts

// How far the quantile of a span has been found, of its numbers x with least < x < infinity.
struct Descent {
  Count key, above;  // the digits known so far; the least key beyond it
  Count rank, equal, n;
  double fraction;

  // The two numbers between which the quantile lies; NaN where there is none.
  template <typename T>
  WMB_HD double low() const {
    return n > 0 ? static_cast<double>(value_of<T>(static_cast<Key<T>>(key))) : __builtin_nan("");
  }
  template <typename T>
  WMB_HD double high() const {
    const bool other = fraction > 0 && rank + 1 >= equal;
    return other ? static_cast<double>(value_of<T>(static_cast<Key<T>>(above))) : low<T>();
  }
  template <typename T>
  WMB_HD double linear() const {
    return low<T>() + (high<T>() - low<T>()) * fraction;
  }
  template <typename T>
  WMB_HD double median() const {
    return fraction == 0 ? low<T>() : (low<T>() + high<T>()) / 2;
  }
};

// Equally long spans, one after another, with a descent and kBins counts each.
template <typename T>
struct Spans {
  const T* data;
  std::int64_t length;
  T least;
  Descent* descents;
  Count* bins;
};

template <typename T>
__global__ void __launch_bounds__(kCounting) begin_descent(Spans<T> spans) {
  const std::size_t span = blockIdx.y;
  for (int k = threadIdx.x; k < kBins; k += kCounting) spans.bins[span * kBins + k] = 0;
  if (threadIdx.x == 0) spans.descents[span] = {0, ~Count(0), 0, 0, 0, 0.0};
}

// The bits above a digit.
template <typename T>
WMB_HD inline Key<T> bits_above(int shift, int width) {
  return shift + width >= 8 * static_cast<int>(sizeof(T)) ? Key<T>(0) : ~Key<T>(0) << (shift + width);
}

template <typename T>
__global__ void __launch_bounds__(kCounting) count_digits(Spans<T> spans, int shift, int width) {
  __shared__ unsigned bins[kBins];
  const std::size_t span = blockIdx.y;
  const int t = static_cast<int>(threadIdx.x);
  for (int k = t; k < kBins; k += kCounting) bins[k] = 0;
  __syncthreads();
  const T* data = spans.data + static_cast<std::int64_t>(span) * spans.length;
  const Key<T> known = bits_above<T>(shift, width), prefix = static_cast<Key<T>>(spans.descents[span].key);
  const Key<T> digit = (Key<T>(1) << width) - 1;
  const std::int64_t begin = std::int64_t{blockIdx.x} * kOfBlock, left = spans.length - begin;
  const std::int64_t end = begin + (left < kOfBlock ? left : kOfBlock);
#pragma unroll 8
  for (std::int64_t k = begin + t; k < end; k += kCounting) {
    const T x = data[k];
    const Key<T> key = key_of(x);
    if (x > spans.least && x < static_cast<T>(kNoLimit) && (key & known) == prefix)
      atomicAdd(&bins[key >> shift & digit], 1u);
  }
  __syncthreads();
  for (int k = t; k < kBins; k += kCounting)
    if (bins[k] > 0) atomicAdd(&spans.bins[span * kBins + k], Count{bins[k]});
}

// Takes the digit in which the rank lies, and empties the bins. The first pass has told how many numbers
// there are.
template <typename T>
__global__ void __launch_bounds__(kCounting) descend(Spans<T> spans, double quantile, bool first, int shift) {
  __shared__ Count through[kCounting];  // counts up to a thread's last bin
  constexpr int kEach = kBins / kCounting;
  const std::size_t span = blockIdx.y;
  const int t = static_cast<int>(threadIdx.x);
  Count* own = spans.bins + span * kBins + t * kEach;
  Count count[kEach], sum = 0;
  for (int k = 0; k < kEach; ++k) {
    count[k] = own[k];
    own[k] = 0;
    sum += count[k];
  }
  through[t] = sum;
  __syncthreads();
  for (int by = 1; by < kCounting; by *= 2) {
    const Count before = t >= by ? through[t - by] : 0;
    __syncthreads();
    through[t] += before;
    __syncthreads();
  }
  Descent& descent = spans.descents[span];
  if (first && t == 0) {
    descent.n = through[kCounting - 1];
    const double at = quantile * static_cast<double>(descent.n > 0 ? descent.n - 1 : 0);
    descent.rank = static_cast<Count>(at);
    descent.fraction = at - static_cast<double>(descent.rank);
  }
  __syncthreads();
  const Count rank = descent.rank;
  __syncthreads();
  if (rank >= through[t] || rank < through[t] - sum) return;
  Count left = rank - (through[t] - sum);
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    if (left < count[k]) {
      descent.key |= static_cast<Count>(t * kEach + k) << shift;
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
  __shared__ Key<T> least;
  const std::size_t span = blockIdx.y;
  Descent& descent = spans.descents[span];
  if (descent.fraction == 0 || descent.rank + 1 < descent.equal) return;  // all threads
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) least = ~Key<T>(0);
  __syncthreads();
  const T* data = spans.data + static_cast<std::int64_t>(span) * spans.length;
  const Key<T> found = static_cast<Key<T>>(descent.key);
  const std::int64_t begin = std::int64_t{blockIdx.x} * kOfBlock, left = spans.length - begin;
  const std::int64_t end = begin + (left < kOfBlock ? left : kOfBlock);
  Key<T> own = ~Key<T>(0);
#pragma unroll 8
  for (std::int64_t k = begin + t; k < end; k += kCounting) {
    const T x = data[k];
    const Key<T> key = key_of(x);
    if (x > spans.least && x < static_cast<T>(kNoLimit) && key > found && key < own) own = key;
  }
  if (own != ~Key<T>(0)) atomicMin(&least, own);
  __syncthreads();
  if (t == 0 && least != ~Key<T>(0)) atomicMin(&descent.above, Count{least});
}

// Finds the quantiles of some spans.
template <typename T>
int find_quantiles(const Spans<T>& spans, unsigned n_spans, double quantile, cudaStream_t stream) {
  const dim3 each(1, n_spans), threads(kCounting);
  const dim3 all(static_cast<unsigned>((spans.length + kOfBlock - 1) / kOfBlock), n_spans);
  int error = launch(begin_descent<T>, each, threads, stream, spans);
  constexpr int kBits = 8 * static_cast<int>(sizeof(T));
  for (int known = 0; known < kBits && error == 0 && spans.length > 0; known += kWideDigit) {
    const int width = kBits - known < kWideDigit ? kBits - known : kWideDigit, shift = kBits - known - width;
    error = launch(count_digits<T>, all, threads, stream, spans, shift, width);
    if (error == 0) error = launch(descend<T>, each, threads, stream, spans, quantile, known == 0, shift);
  }
  if (error != 0 || spans.length == 0) return error;
  return launch(look_above<T>, all, threads, stream, spans);
}

}  // namespace wmb::cuda
