// SPDX-License-Identifier: Apache-2.0
#include "cuda/flow.h"

#include "cuda/bind/bind.h"

namespace wmb::cuda {

void bind_flow(nb::module_& m) {
  m.def("flow_channels_workspace", &flow_channels_workspace, nb::arg("n_fields"), nb::arg("height"));
  m.def(
      "flow_channels",
      [](int type, Address flow, std::size_t n_fields, std::size_t height, std::size_t width,
         Address horizontal, Address radial, Address code, Address status, Address workspace, int device,
         Address stream) {
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            return flow_channels(
                at<const T>(flow), n_fields, height, width,
                {at<T>(horizontal), at<T>(radial), at<std::uint8_t>(code), at<std::uint8_t>(status)},
                at<double>(workspace), on);
          });
        });
      },
      nb::arg("type"), nb::arg("flow"), nb::arg("n_fields"), nb::arg("height"), nb::arg("width"),
      nb::arg("horizontal"), nb::arg("radial"), nb::arg("code"), nb::arg("status"), nb::arg("workspace"),
      nb::arg("device"), nb::arg("stream"));
  m.def(
      "parallax_split",
      [](int type, Address u, Address inverse_depth, std::size_t n_items, std::size_t each, Address start,
         Address count, Address translation, Address rotation, Address slope, Address intercept, Address code,
         Address status, int device, Address stream) {
        const Items items{n_items, each, at<const std::int64_t>(start), at<const std::int64_t>(count)};
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            return parallax_split(at<const T>(u), at<const T>(inverse_depth), items,
                                  {at<T>(translation), at<T>(rotation), at<T>(slope), at<T>(intercept),
                                   at<std::uint8_t>(code), at<std::uint8_t>(status)},
                                  on);
          });
        });
      },
      nb::arg("type"), nb::arg("u"), nb::arg("inverse_depth"), nb::arg("n_items"), nb::arg("each"),
      nb::arg("start"), nb::arg("count"), nb::arg("translation"), nb::arg("rotation"), nb::arg("slope"),
      nb::arg("intercept"), nb::arg("code"), nb::arg("status"), nb::arg("device"), nb::arg("stream"));
}

}  // namespace wmb::cuda
