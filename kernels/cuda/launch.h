// SPDX-License-Identifier: Apache-2.0
// How kernels are launched: on the caller's stream, without waiting for them. The one place with CUDA's own syntax,
// so that tests can compile the same files for the host (tests/cuda_shim).
#pragma once

#include <cuda_runtime.h>

namespace wmb::cuda {

// 0, or the CUDA error of the launch.
template <typename... Parameters, typename... Arguments>
int launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, cudaStream_t stream, Arguments... arguments) {
#if defined(__CUDACC__)
  kernel<<<grid, block, 0, stream>>>(static_cast<Parameters>(arguments)...);
#else
  (void)stream;
  ::cuda_shim::run(grid, block, [&] { kernel(static_cast<Parameters>(arguments)...); });
#endif
  return static_cast<int>(cudaGetLastError());
}

}  // namespace wmb::cuda
