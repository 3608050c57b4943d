// SPDX-License-Identifier: Apache-2.0
#include "cuda/flow.h"

#include "test.h"

namespace {

template <typename T>
bool channels(std::size_t n, std::size_t height, std::size_t width) {
  const std::vector<T> flow = check::Numbers(n + height * width).some<T>(n * height * width * 2);
  return check::same_both_ways([&] {
    std::vector<T> horizontal(n), radial(n);
    std::vector<std::uint8_t> code(n), status(n);
    std::vector<double> workspace(wmb::cuda::flow_channels_workspace(n, height));
    const int error = wmb::cuda::flow_channels<T>(
        flow.data(), n, height, width, {horizontal.data(), radial.data(), code.data(), status.data()},
        workspace.data(), nullptr);
    CHECK(error == 0);
    return check::Bytes().add(horizontal).add(radial).add(code).add(status);
  });
}

}  // namespace

TEST(flow_channels_on_odd_sizes) {
  CHECK(channels<float>(1, 1, 1));
  CHECK(channels<double>(2, 9, 3));
  CHECK(channels<float>(3, 17, 65));
}
