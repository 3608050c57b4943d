// SPDX-License-Identifier: Apache-2.0
// The second pass of reductions to one number an item: what its blocks have left is added in a fixed order.
#pragma once

#include "cuda/launch.h"
#include "cuda/reduce.h"

namespace wmb::cuda {

constexpr int kPartsThreads = 256;

// Finish makes the item's result of the sum of its parts.
template <typename Out, typename Finish>
__global__ void __launch_bounds__(kPartsThreads)
    add_parts(const double* parts, std::size_t n_parts, Finish finish, Out* out) {
  __shared__ double shared[kPartsThreads];
  const std::size_t item = blockIdx.x;
  double sum = 0;
  for (std::size_t k = threadIdx.x; k < n_parts; k += kPartsThreads) sum += parts[item * n_parts + k];
  sum = block_sum<kPartsThreads>(sum, shared);
  if (threadIdx.x == 0) out[item] = static_cast<Out>(finish(sum));
}

}  // namespace wmb::cuda
