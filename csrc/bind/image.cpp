// SPDX-License-Identifier: Apache-2.0
#include "cpu/image.h"

#include "bind/bind.h"

namespace wmb {
namespace {

using Numbers = Out<double, nb::shape<-1>>;

template <typename T>
void difference(In<T, nb::shape<-1, -1>> a, In<T, nb::shape<-1, -1>> b, Numbers squares, Numbers low,
                Numbers high) {
  nb::gil_scoped_release release;
  squared_difference(a.data(), b.data(), a.shape(0), a.shape(1), squares.data(), low.data(), high.data());
}

template <typename T>
void similarity(In<T, nb::shape<-1, -1, -1, -1>> a, In<T, nb::shape<-1, -1, -1, -1>> b, bool planar,
                int variant, double low, double extent, bool blue_first, Numbers result) {
  nb::gil_scoped_release release;
  const ImageShape shape = planar ? ImageShape{a.shape(0), a.shape(2), a.shape(3), a.shape(1), true}
                                  : ImageShape{a.shape(0), a.shape(1), a.shape(2), a.shape(3), false};
  ssim(a.data(), b.data(), shape, static_cast<SsimVariant>(variant), low, extent, blue_first, result.data());
}

template <typename T>
void bind_image_of(nb::module_& m) {
  m.def("squared_difference", &difference<T>, nb::arg("a").noconvert(), nb::arg("b").noconvert(),
        nb::arg("squares").noconvert(), nb::arg("low").noconvert(), nb::arg("high").noconvert());
  m.def("ssim", &similarity<T>, nb::arg("a").noconvert(), nb::arg("b").noconvert(), nb::arg("planar"),
        nb::arg("variant"), nb::arg("low"), nb::arg("extent"), nb::arg("blue_first"),
        nb::arg("result").noconvert());
}

}  // namespace

void bind_image(nb::module_& m) {
  bind_image_of<std::uint8_t>(m);
  bind_image_of<float>(m);
  bind_image_of<double>(m);
}

}  // namespace wmb
