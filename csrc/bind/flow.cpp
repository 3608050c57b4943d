// SPDX-License-Identifier: Apache-2.0
#include "cpu/flow.h"

#include "bind/bind.h"

namespace wmb {
namespace {

using Numbers = Out<double, nb::shape<-1>>;
using Codes = Out<std::uint8_t, nb::shape<-1>>;
using Indices = In<std::int64_t, nb::shape<-1>>;

template <typename T>
void channels(In<T, nb::shape<-1, -1, -1, 2>> flow, Numbers horizontal, Numbers radial, Codes code) {
  nb::gil_scoped_release release;
  flow_channels(flow.data(), flow.shape(0), flow.shape(1), flow.shape(2), horizontal.data(), radial.data(),
                code.data());
}

template <typename T>
void split(In<T, nb::shape<-1>> u, In<T, nb::shape<-1>> inverse_depth, Indices start, Indices count,
           Numbers slope, Numbers intercept, Numbers spread, Codes code) {
  nb::gil_scoped_release release;
  parallax_split(u.data(), inverse_depth.data(), start.data(), count.data(), start.shape(0),
                 {slope.data(), intercept.data(), spread.data(), code.data()});
}

template <typename T>
void bind_flow_of(nb::module_& m) {
  m.def("flow_channels", &channels<T>, nb::arg("flow").noconvert(), nb::arg("horizontal").noconvert(),
        nb::arg("radial").noconvert(), nb::arg("code").noconvert());
  m.def("parallax_split", &split<T>, nb::arg("u").noconvert(), nb::arg("inverse_depth").noconvert(),
        nb::arg("start").noconvert(), nb::arg("count").noconvert(), nb::arg("slope").noconvert(),
        nb::arg("intercept").noconvert(), nb::arg("spread").noconvert(), nb::arg("code").noconvert());
}

}  // namespace

void bind_flow(nb::module_& m) {
  bind_flow_of<float>(m);
  bind_flow_of<double>(m);
}

}  // namespace wmb
