// SPDX-License-Identifier: Apache-2.0
#include "cuda/visibility.h"

#include "cuda/bind/views.h"

namespace wmb::cuda {
namespace {

using Numbers = std::vector<std::int64_t>;

// The thresholds, in the order of wmb_fast.ops.visibility.
VisibilityRule rule_of(const std::vector<double>& limits) {
  if (limits.size() != 7) throw std::invalid_argument("there are seven thresholds");
  return {limits[0], limits[1], limits[2], limits[3], limits[4], limits[5], limits[6]};
}

}  // namespace

void bind_visibility(nb::module_& m) {
  m.def("visibility_workspace", &visibility_workspace, nb::arg("n_instances"), nb::arg("n_points"));
  m.def(
      "visibility",
      [](int type, const Numbers& numbers, Address points, std::int64_t n_instances, std::int64_t n_points,
         Address depth, std::int64_t height, std::int64_t width, Address confidence, Address cameras,
         int camera_numbers, Address to_camera, const std::vector<double>& limits, Address state,
         Address workspace, int device, Address stream) {
        const Layout layout(numbers);
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            const InstanceViews<T> views{layout.batch(),
                                         n_instances,
                                         n_points,
                                         at<const T>(points),
                                         layout.steps(0),
                                         {at<const T>(depth), height, width, layout.steps(1)},
                                         at<const T>(confidence),
                                         {at<const T>(cameras), camera_numbers, layout.steps(2)},
                                         {at<const T>(to_camera), layout.steps(3)}};
            return visibility(views, rule_of(limits), at<std::uint8_t>(state), at<void>(workspace), on);
          });
        });
      },
      nb::arg("type"), nb::arg("layout"), nb::arg("points"), nb::arg("n_instances"), nb::arg("n_points"),
      nb::arg("depth"), nb::arg("height"), nb::arg("width"), nb::arg("confidence"), nb::arg("cameras"),
      nb::arg("camera_numbers"), nb::arg("to_camera"), nb::arg("limits"), nb::arg("state"),
      nb::arg("workspace"), nb::arg("device"), nb::arg("stream"));
  m.def(
      "sampled_visibility",
      [](int type, std::size_t n, std::int64_t n_points, Address pixels, Address depth, Address seen,
         Address confidence, Address lengths, double width, double height, Address sizes,
         const std::vector<double>& limits, bool with_area, Address state, Address inside, Address known,
         Address occluded, Address visible, Address area, Address workspace, int device, Address stream) {
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            const Samples<T> samples{n,
                                     n_points,
                                     at<const T>(pixels),
                                     at<const T>(depth),
                                     at<const T>(seen),
                                     at<const T>(confidence),
                                     at<const std::int64_t>(lengths),
                                     width,
                                     height,
                                     at<const double>(sizes)};
            const SampledOut out{at<std::uint8_t>(state), at<double>(inside),  at<double>(known),
                                 at<double>(occluded),    at<double>(visible), at<double>(area)};
            return sampled_visibility(samples, rule_of(limits), with_area, out, at<void>(workspace), on);
          });
        });
      },
      nb::arg("type"), nb::arg("n"), nb::arg("n_points"), nb::arg("pixels"), nb::arg("depth"),
      nb::arg("seen"), nb::arg("confidence"), nb::arg("lengths"), nb::arg("width"), nb::arg("height"),
      nb::arg("sizes"), nb::arg("limits"), nb::arg("with_area"), nb::arg("state"), nb::arg("inside"),
      nb::arg("known"), nb::arg("occluded"), nb::arg("visible"), nb::arg("area"), nb::arg("workspace"),
      nb::arg("device"), nb::arg("stream"));
}

}  // namespace wmb::cuda
