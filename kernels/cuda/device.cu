// SPDX-License-Identifier: Apache-2.0
#include "cuda/device.h"

#include <cuda_runtime_api.h>

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

const char* error_text(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

OnDevice::OnDevice(int device) {
  int now = -1;
  error_ = static_cast<int>(cudaGetDevice(&now));
  if (error_ != 0 || now == device) return;
  error_ = static_cast<int>(cudaSetDevice(device));
  if (error_ == 0) before_ = now;
}

OnDevice::~OnDevice() {
  if (before_ >= 0) cudaSetDevice(before_);
}

}  // namespace wmb::cuda
