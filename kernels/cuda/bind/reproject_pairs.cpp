// SPDX-License-Identifier: Apache-2.0
#include "cuda/reproject_pairs.h"

#include "cuda/bind/views.h"

namespace wmb::cuda {
namespace {

using Numbers = std::vector<std::int64_t>;

void bind_agreement(nb::module_& m) {
  m.def("depth_agreement_workspace", &depth_agreement_workspace, nb::arg("n_items"), nb::arg("pixels"),
        nb::arg("size"));
  m.def(
      "depth_agreement",
      [](int type, const Numbers& numbers, Address to, Address camera, int camera_numbers,
         Address other_camera, int other_numbers, Address source, std::int64_t height, std::int64_t width,
         Address destination, std::int64_t other_height, std::int64_t other_width, double lo, double hi,
         bool bilinear, Address median, Address fraction, Address n, Address code, Address status,
         Address workspace, int device, Address stream) {
        const Layout layout(numbers);
        const PassageAddresses way{to, camera, other_camera, camera_numbers, other_numbers};
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            return depth_agreement<T>({at<const T>(source), height, width, layout.steps(3)},
                                      {at<const T>(destination), other_height, other_width, layout.steps(4)},
                                      way.laid<T>(layout), {static_cast<T>(lo), static_cast<T>(hi), bilinear},
                                      {at<T>(median), at<T>(fraction), at<std::int64_t>(n),
                                       at<std::uint8_t>(code), at<std::uint8_t>(status)},
                                      at<void>(workspace), on);
          });
        });
      },
      nb::arg("type"), nb::arg("layout"), nb::arg("to"), nb::arg("camera"), nb::arg("camera_numbers"),
      nb::arg("other_camera"), nb::arg("other_numbers"), nb::arg("source"), nb::arg("height"),
      nb::arg("width"), nb::arg("destination"), nb::arg("other_height"), nb::arg("other_width"),
      nb::arg("lo"), nb::arg("hi"), nb::arg("bilinear"), nb::arg("median"), nb::arg("fraction"), nb::arg("n"),
      nb::arg("code"), nb::arg("status"), nb::arg("workspace"), nb::arg("device"), nb::arg("stream"));
}

void bind_error(nb::module_& m) {
  m.def("reprojection_error_workspace", &reprojection_error_workspace, nb::arg("n"), nb::arg("frames"),
        nb::arg("height"), nb::arg("width"), nb::arg("grid"), nb::arg("size"));
  m.def(
      "reprojection_error",
      [](int type, const Numbers& numbers, Address cameras, int camera_numbers, Address poses, Address depth,
         Address confidence, std::size_t n, std::int64_t frames, std::int64_t height, std::int64_t width,
         std::int64_t grid, std::int64_t min_points, double lo, double hi, double confidence_quantile,
         bool pixels, Address median, Address mean, Address per_pair, Address fraction, Address n_pairs,
         Address code, Address status, Address workspace, int device, Address stream) {
        const Layout layout(numbers);
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            const Clips<T> clips{n,
                                 frames,
                                 height,
                                 width,
                                 at<const T>(depth),
                                 at<const T>(confidence),
                                 at<const T>(poses),
                                 layout.batch(),
                                 {at<const T>(cameras), camera_numbers, layout.steps(0)}};
            return reprojection_error<T>(
                clips, {grid, min_points, lo, hi, confidence_quantile, pixels},
                {at<T>(median), at<T>(mean), at<T>(per_pair), at<T>(fraction), at<std::int64_t>(n_pairs),
                 at<std::uint8_t>(code), at<std::uint8_t>(status)},
                at<void>(workspace), on);
          });
        });
      },
      nb::arg("type"), nb::arg("layout"), nb::arg("cameras"), nb::arg("camera_numbers"), nb::arg("poses"),
      nb::arg("depth"), nb::arg("confidence"), nb::arg("n"), nb::arg("frames"), nb::arg("height"),
      nb::arg("width"), nb::arg("grid"), nb::arg("min_points"), nb::arg("lo"), nb::arg("hi"),
      nb::arg("confidence_quantile"), nb::arg("pixels"), nb::arg("median"), nb::arg("mean"),
      nb::arg("per_pair"), nb::arg("fraction"), nb::arg("n_pairs"), nb::arg("code"), nb::arg("status"),
      nb::arg("workspace"), nb::arg("device"), nb::arg("stream"));
}

}  // namespace

void bind_reproject_pairs(nb::module_& m) {
  bind_agreement(m);
  bind_error(m);
}

}  // namespace wmb::cuda
