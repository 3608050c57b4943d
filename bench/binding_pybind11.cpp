// SPDX-License-Identifier: Apache-2.0
// The binding of csrc/bind/mask.cpp said in pybind11: the same function of the core, the same constraints on
// its arrays. bench/bench_binding.py compiles it and compares what a call costs.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>

#include "cpu/mask.h"
#include "cpu/parallel.h"

namespace py = pybind11;

template <typename T>
using Array = py::array_t<T, py::array::c_style>;

void iou(const Array<std::uint8_t>& a, const Array<std::uint8_t>& b, double empty, Array<double>& result) {
  if (a.ndim() != 2 || b.ndim() != 2 || result.ndim() != 1) throw py::type_error("wrong number of axes");
  const std::uint8_t *x = a.data(), *y = b.data();
  double* to = result.mutable_data();
  const auto items = static_cast<std::size_t>(a.shape(0)), pixels = static_cast<std::size_t>(a.shape(1));
  py::gil_scoped_release release;
  wmb::mask_iou(x, y, items, pixels, empty, to);
}

PYBIND11_MODULE(binding_pybind11, m) {
  m.def("set_num_threads", &wmb::set_num_threads);
  m.def("mask_iou", &iou, py::arg("a").noconvert(), py::arg("b").noconvert(), py::arg("empty"),
        py::arg("iou").noconvert());
}
