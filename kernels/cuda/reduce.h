// SPDX-License-Identifier: Apache-2.0
// Sums over a block in a fixed order: a thread adds its own numbers from front to back, then halves of the
// block are folded onto each other. The bits depend on the size of the block, which is a constant of each
// kernel, and on nothing else.
//
// Where the size is 32, each warp of a block of any size is taken for a block of its own.
#pragma once

#include "cuda/launch.h"

namespace wmb::cuda {

constexpr unsigned kWarp = 32;

template <int Threads>
__device__ inline unsigned member() {
  return threadIdx.x % Threads;
}

template <int Threads>
__device__ inline void barrier() {
  if constexpr (static_cast<unsigned>(Threads) == kWarp)
    __syncwarp();
  else
    __syncthreads();
}

// The sums of K numbers a thread, in every thread. `shared` holds K * Threads numbers; a barrier stands at
// either end, so it may be used again at once.
template <int Threads, int K>
__device__ inline void block_sums(double (&values)[K], double* shared) {
  static_assert((Threads & (Threads - 1)) == 0, "a power of two");
  const int t = static_cast<int>(member<Threads>());
  for (int k = 0; k < K; ++k) shared[k * Threads + t] = values[k];
  barrier<Threads>();
  for (int half = Threads / 2; half > 0; half /= 2) {
    if (t < half)
      for (int k = 0; k < K; ++k) shared[k * Threads + t] += shared[k * Threads + t + half];
    barrier<Threads>();
  }
  for (int k = 0; k < K; ++k) values[k] = shared[k * Threads];
  barrier<Threads>();
}

template <int Threads>
__device__ inline double block_sum(double value, double* shared) {
  double one[1] = {value};
  block_sums<Threads, 1>(one, shared);
  return one[0];
}

}  // namespace wmb::cuda
