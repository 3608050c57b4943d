// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace wmb::cuda {

// What stands between us and a device: the CUDA error of counting devices (0: none), and how many there are.
struct DeviceProbe {
  int error;
  int count;
  const char* message;
};

DeviceProbe probe_devices();

}  // namespace wmb::cuda
