// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "cuda/bind/bind.h"

NB_MODULE(_cuda, m) {
  m.doc() = "The CUDA kernels of wmb_fast. Imports without a driver. Called through wmb_fast.kernels.cuda.";
  m.def(
      "probe_devices",
      [] {
        wmb::cuda::DeviceProbe probe = wmb::cuda::probe_devices();
        return std::make_tuple(probe.error, probe.count, nanobind::str(probe.message));
      },
      "(CUDA error code, device count, error text) of counting the devices.");
  wmb::cuda::bind_align(m);
  wmb::cuda::bind_boxes(m);
  wmb::cuda::bind_flow(m);
  wmb::cuda::bind_image(m);
  wmb::cuda::bind_reproject(m);
  wmb::cuda::bind_reproject_pairs(m);
  wmb::cuda::bind_rpe(m);
  wmb::cuda::bind_stats(m);
  wmb::cuda::bind_visibility(m);
}
