// SPDX-License-Identifier: Apache-2.0
// What the binding files share: arrays on a device are addresses, because the kinds, shapes and strides have
// been checked (wmb_fast._walls) and to name an array again would take longer than to launch the kernel.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <stdexcept>

#include "cuda/device.h"
#include "cuda/stream.h"

namespace wmb::cuda {

namespace nb = nanobind;

using Address = std::uintptr_t;  // on the device; 0 for an argument that is absent

template <typename T>
T* at(Address address) {
  return reinterpret_cast<T*>(address);
}

// The dtypes by number, as kernels/cuda/launch.py says them.
enum class Type : int { float32, float64, uint8 };

// Calls run(a value of the type) for a float type.
template <typename Run>
auto with_float(int type, Run run) {
  if (type == static_cast<int>(Type::float32)) return run(float{});
  if (type == static_cast<int>(Type::float64)) return run(double{});
  throw std::invalid_argument("a float type must be 0 or 1");
}

// Calls run(stream) with this device as the current one, and raises the error that it returns.
template <typename Run>
void queue(int device, Address stream, Run run) {
  const OnDevice here(device);
  const int error = here.error() != 0 ? here.error() : run(at<CUstream_st>(stream));
  if (error != 0) throw std::runtime_error(error_text(error));
}

void bind_align(nb::module_& m);
void bind_boxes(nb::module_& m);
void bind_flow(nb::module_& m);
void bind_image(nb::module_& m);
void bind_reproject(nb::module_& m);
void bind_reproject_pairs(nb::module_& m);
void bind_rpe(nb::module_& m);
void bind_stats(nb::module_& m);
void bind_visibility(nb::module_& m);

}  // namespace wmb::cuda
