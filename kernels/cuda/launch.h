// SPDX-License-Identifier: Apache-2.0
// How kernels are launched: on the caller's stream, without waiting for them. The one place with CUDA's own
// syntax, so that tests can compile the same files for the host (tests/cuda_shim).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "core/reason.h"

namespace wmb::cuda {

// 0, or the CUDA error of the launch.
template <typename... Parameters, typename... Arguments>
int launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream,
           Arguments... arguments) {
#if defined(__CUDACC__)
  kernel<<<grid, block, 0, stream>>>(static_cast<Parameters>(arguments)...);
#else
  (void)stream;
  ::cuda_shim::run(grid, block, [&] { kernel(static_cast<Parameters>(arguments)...); });
#endif
  return static_cast<int>(cudaGetLastError());
}

constexpr std::size_t kMostAlongY = 65535;  // blocks of a grid: CUDA's bound

// Calls launch_some(first item, how many) for at most so many items at once; 0, or the first error. Without
// items nothing is launched. Launches of one stream follow each other, so that they may share a workspace.
template <typename LaunchSome>
int in_batches(std::size_t n_items, LaunchSome launch_some, std::size_t most = kMostAlongY) {
  for (std::size_t first = 0; first < n_items; first += most) {
    const std::size_t left = n_items - first;
    const int error = launch_some(first, static_cast<unsigned>(left < most ? left : most));
    if (error != 0) return error;
  }
  return 0;
}

// A reason as records hold it: its code, and the status that goes with it.
__device__ inline void write_reason(Reason reason, std::size_t item, std::uint8_t* code,
                                    std::uint8_t* status) {
  code[item] = static_cast<std::uint8_t>(reason);
  status[item] = static_cast<std::uint8_t>(status_of(reason));
}

}  // namespace wmb::cuda
