// SPDX-License-Identifier: Apache-2.0
#include "cuda/reproject.h"

#include "cuda/bind/views.h"

namespace wmb::cuda {
namespace {

using Numbers = std::vector<std::int64_t>;

void bind_points(nb::module_& m) {
  m.def(
      "project",
      [](int type, const Numbers& numbers, Address points, std::int64_t n, Address cameras,
         int camera_numbers, Address to_camera, Address pixels, Address depth, Address valid, int device,
         Address stream) {
        const Layout layout(numbers);
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            return project_points<T>(layout.batch(), {at<const T>(points), n, layout.steps(0)},
                                     {at<const T>(cameras), camera_numbers, layout.steps(1)},
                                     {at<const T>(to_camera), layout.steps(2)}, at<T>(pixels), at<T>(depth),
                                     at<std::uint8_t>(valid), on);
          });
        });
      },
      nb::arg("type"), nb::arg("layout"), nb::arg("points"), nb::arg("n"), nb::arg("cameras"),
      nb::arg("camera_numbers"), nb::arg("to_camera"), nb::arg("pixels"), nb::arg("depth"), nb::arg("valid"),
      nb::arg("device"), nb::arg("stream"));
  m.def(
      "unproject",
      [](int type, const Numbers& numbers, Address depth, std::int64_t height, std::int64_t width,
         Address cameras, int camera_numbers, Address points, int device, Address stream) {
        const Layout layout(numbers);
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            return unproject_depth<T>(layout.batch(), {at<const T>(depth), height, width, layout.steps(0)},
                                      {at<const T>(cameras), camera_numbers, layout.steps(1)}, at<T>(points),
                                      on);
          });
        });
      },
      nb::arg("type"), nb::arg("layout"), nb::arg("depth"), nb::arg("height"), nb::arg("width"),
      nb::arg("cameras"), nb::arg("camera_numbers"), nb::arg("points"), nb::arg("device"), nb::arg("stream"));
}

// The two ops from a depth map into another view differ in what they write.
template <typename Call>
void bind_into_view(nb::module_& m, const char* name, const char* first, const char* second, Call call) {
  m.def(
      name,
      [call](int type, const Numbers& numbers, Address to, Address source, int source_numbers,
             Address destination, int destination_numbers, Address depth, std::int64_t height,
             std::int64_t width, std::int64_t out_height, std::int64_t out_width, Address one, Address other,
             Address valid, int device, Address stream) {
        const Layout layout(numbers);
        const PassageAddresses way{to, source, destination, source_numbers, destination_numbers};
        queue(device, stream, [&](cudaStream_t on) {
          return with_float(type, [&](auto zero) {
            using T = decltype(zero);
            const Maps<T> maps{at<const T>(depth), height, width, layout.steps(3)};
            return call(zero, maps, way.laid<T>(layout), out_height, out_width, one, other,
                        at<std::uint8_t>(valid), on);
          });
        });
      },
      nb::arg("type"), nb::arg("layout"), nb::arg("to"), nb::arg("source"), nb::arg("source_numbers"),
      nb::arg("destination"), nb::arg("destination_numbers"), nb::arg("depth"), nb::arg("height"),
      nb::arg("width"), nb::arg("out_height"), nb::arg("out_width"), nb::arg(first), nb::arg(second),
      nb::arg("valid"), nb::arg("device"), nb::arg("stream"));
}

}  // namespace

void bind_reproject(nb::module_& m) {
  bind_points(m);
  bind_into_view(m, "reproject_depth", "pixels", "z",
                 [](auto zero, const auto& maps, const auto& way, std::int64_t height, std::int64_t width,
                    Address pixels, Address z, std::uint8_t* valid, cudaStream_t on) {
                   using T = decltype(zero);
                   return reproject_depth(maps, way, height, width, at<T>(pixels), at<T>(z), valid, on);
                 });
  bind_into_view(m, "splat_depth", "z", "source_index",
                 [](auto zero, const auto& maps, const auto& way, std::int64_t height, std::int64_t width,
                    Address z, Address index, std::uint8_t* valid, cudaStream_t on) {
                   using T = decltype(zero);
                   return splat_depth(maps, way, height, width, at<T>(z), at<std::int64_t>(index), valid, on);
                 });
}

}  // namespace wmb::cuda
