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

const char* error_text(int error);

// Makes a device the current one, and the one that was current so again at its end.
class OnDevice {
 public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  int error() const { return error_; }

 private:
  int before_ = -1;  // -1 where there is nothing to put back
  int error_ = 0;
};

}  // namespace wmb::cuda
