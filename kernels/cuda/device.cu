// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "cuda/device.h"

namespace wmb::cuda {

DeviceProbe probe_devices() {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    cudaGetLastError();  // not left behind for the caller's next CUDA call
    return {static_cast<int>(error), 0, cudaGetErrorString(error)};
  }
  return {0, count, ""};
}

}  // namespace wmb::cuda
