// SPDX-License-Identifier: Apache-2.0
#include "cpu/mask.h"

#include "bind/bind.h"

namespace wmb {
namespace {

using Masks = In<std::uint8_t, nb::shape<-1, -1>>;

void iou(Masks a, Masks b, double empty, Out<double, nb::shape<-1>> result) {
  nb::gil_scoped_release release;
  mask_iou(a.data(), b.data(), a.shape(0), a.shape(1), empty, result.data());
}

}  // namespace

void bind_mask(nb::module_& m) {
  m.def("mask_iou", &iou, nb::arg("a").noconvert(), nb::arg("b").noconvert(), nb::arg("empty"),
        nb::arg("iou").noconvert());
}

}  // namespace wmb
