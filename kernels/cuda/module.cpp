// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "cuda/device.h"

namespace nb = nanobind;

NB_MODULE(_cuda, m) {
  m.doc() = "The CUDA kernels of wmb_fast. Imports without a driver.";
  m.def(
      "probe_devices",
      [] {
        wmb::cuda::DeviceProbe probe = wmb::cuda::probe_devices();
        return std::make_tuple(probe.error, probe.count, nb::str(probe.message));
      },
      "(CUDA error code, device count, error text) of counting the devices.");
}
