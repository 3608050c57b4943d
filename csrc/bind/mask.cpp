// SPDX-License-Identifier: Apache-2.0
#include "cpu/mask.h"

#include "bind/bind.h"
#include "cpu/boxes.h"

namespace wmb {
namespace {

using Masks = In<std::uint8_t, nb::shape<-1, -1>>;

void iou(Masks a, Masks b, double empty, Out<double, nb::shape<-1>> result) {
  nb::gil_scoped_release release;
  mask_iou(a.data(), b.data(), a.shape(0), a.shape(1), empty, result.data());
}

template <typename T>
using Pairs = In<T, nb::shape<-1, -1, 2>>;
template <typename T>
using Boxes = In<T, nb::shape<-1, -1, 4>>;

template <typename T>
void medians(Pairs<T> a, Pairs<T> b, In<T, nb::ndim<2>> values, Boxes<T> boxes_a, Boxes<T> boxes_b,
             In<std::int64_t, nb::ndim<1>> lengths, Out<double, nb::ndim<2>> median,
             Out<std::int64_t, nb::ndim<2>> count) {
  BoxedValues<T> in{static_cast<std::int64_t>(values.shape(0)),
                    static_cast<std::int64_t>(values.shape(1)),
                    static_cast<std::int64_t>(boxes_a.shape(1)),
                    a.data(),
                    b.data(),
                    values.data(),
                    boxes_a.data(),
                    boxes_b.data(),
                    lengths.data()};
  nb::gil_scoped_release release;
  box_medians(in, median.data(), count.data());
}

template <typename T>
void bind_medians(nb::module_& m) {
  m.def("box_medians", &medians<T>, nb::arg("a").noconvert(), nb::arg("b").noconvert(),
        nb::arg("values").noconvert(), nb::arg("boxes_a").noconvert(), nb::arg("boxes_b").noconvert(),
        nb::arg("lengths").noconvert(), nb::arg("median").noconvert(), nb::arg("count").noconvert());
}

}  // namespace

void bind_mask(nb::module_& m) {
  m.def("mask_iou", &iou, nb::arg("a").noconvert(), nb::arg("b").noconvert(), nb::arg("empty"),
        nb::arg("iou").noconvert());
  bind_medians<float>(m);
  bind_medians<double>(m);
}

}  // namespace wmb
