// SPDX-License-Identifier: Apache-2.0
#include "cuda/image.h"

#include "cuda/bind/bind.h"

namespace wmb::cuda {
namespace {

// Calls run(a value of the type) for the type of images.
template <typename Run>
auto with_samples(int type, Run run) {
  return type == static_cast<int>(Type::uint8) ? run(std::uint8_t{}) : with_float(type, run);
}

ImageShape shape_of(std::size_t n_items, std::size_t height, std::size_t width, std::size_t channels,
                    bool planar) {
  return {n_items, height, width, channels, planar};
}

void bind_difference(nb::module_& m) {
  m.def(
      "mse",
      [](int type, Address a, Address b, std::size_t n_items, std::size_t n, Address out, Address workspace,
         int device, Address stream) {
        queue(device, stream, [&](cudaStream_t on) {
          return with_samples(type, [&](auto zero) {
            using T = decltype(zero);
            return mse(at<const T>(a), at<const T>(b), n_items, n, at<Result<T>>(out), at<double>(workspace),
                       on);
          });
        });
      },
      nb::arg("type"), nb::arg("a"), nb::arg("b"), nb::arg("n_items"), nb::arg("n"), nb::arg("out"),
      nb::arg("workspace"), nb::arg("device"), nb::arg("stream"));
  m.def(
      "psnr",
      [](int type, Address a, Address b, std::size_t n_items, std::size_t n, double extent, double identical,
         Address out, Address workspace, int device, Address stream) {
        queue(device, stream, [&](cudaStream_t on) {
          return with_samples(type, [&](auto zero) {
            using T = decltype(zero);
            return psnr(at<const T>(a), at<const T>(b), n_items, n, extent, identical, at<Result<T>>(out),
                        at<double>(workspace), on);
          });
        });
      },
      nb::arg("type"), nb::arg("a"), nb::arg("b"), nb::arg("n_items"), nb::arg("n"), nb::arg("extent"),
      nb::arg("identical"), nb::arg("out"), nb::arg("workspace"), nb::arg("device"), nb::arg("stream"));
}

void bind_ssim(nb::module_& m) {
  m.def(
      "ssim",
      [](int type, Address a, Address b, std::size_t n_items, std::size_t height, std::size_t width,
         std::size_t channels, bool planar, int variant, double low, double extent, bool blue_first,
         Address out, Address workspace, int device, Address stream) {
        queue(device, stream, [&](cudaStream_t on) {
          return with_samples(type, [&](auto zero) {
            using T = decltype(zero);
            return ssim(at<const T>(a), at<const T>(b), shape_of(n_items, height, width, channels, planar),
                        static_cast<SsimVariant>(variant), low, extent, blue_first, at<Result<T>>(out),
                        at<double>(workspace), on);
          });
        });
      },
      nb::arg("type"), nb::arg("a"), nb::arg("b"), nb::arg("n_items"), nb::arg("height"), nb::arg("width"),
      nb::arg("channels"), nb::arg("planar"), nb::arg("variant"), nb::arg("low"), nb::arg("extent"),
      nb::arg("blue_first"), nb::arg("out"), nb::arg("workspace"), nb::arg("device"), nb::arg("stream"));
}

}  // namespace

void bind_image(nb::module_& m) {
  m.def(
      "difference_workspace",
      [](int type, std::size_t n_items, std::size_t n) {
        return with_samples(type,
                            [&](auto zero) { return difference_workspace<decltype(zero)>(n_items, n); });
      },
      nb::arg("type"), nb::arg("n_items"), nb::arg("n"));
  m.def(
      "ssim_workspace",
      [](std::size_t n_items, std::size_t height, std::size_t width, std::size_t channels, bool planar,
         int variant) {
        return ssim_workspace(shape_of(n_items, height, width, channels, planar),
                              static_cast<SsimVariant>(variant));
      },
      nb::arg("n_items"), nb::arg("height"), nb::arg("width"), nb::arg("channels"), nb::arg("planar"),
      nb::arg("variant"));
  bind_difference(m);
  bind_ssim(m);
}

}  // namespace wmb::cuda
