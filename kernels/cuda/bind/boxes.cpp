// SPDX-License-Identifier: Apache-2.0
#include "cuda/boxes.h"

#include "cuda/bind/bind.h"

namespace wmb::cuda {

void bind_boxes(nb::module_& m) {
  m.def(
      "box_medians",
      [](int type, std::size_t n_items, std::int64_t n_points, std::int64_t n_boxes, Address a, Address b,
         Address values, Address boxes_a, Address boxes_b, Address lengths, Address median, Address count,
         int device, Address stream) {
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            return box_medians<T>(
                {n_items, n_points, n_boxes, at<const T>(a), at<const T>(b), at<const T>(values),
                 at<const T>(boxes_a), at<const T>(boxes_b), at<const std::int64_t>(lengths)},
                at<double>(median), at<std::int64_t>(count), on);
          });
        });
      },
      nb::arg("type"), nb::arg("n_items"), nb::arg("n_points"), nb::arg("n_boxes"), nb::arg("a"),
      nb::arg("b"), nb::arg("values"), nb::arg("boxes_a"), nb::arg("boxes_b"), nb::arg("lengths"),
      nb::arg("median"), nb::arg("count"), nb::arg("device"), nb::arg("stream"));
}

}  // namespace wmb::cuda
