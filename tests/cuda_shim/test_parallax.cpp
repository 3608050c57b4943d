// SPDX-License-Identifier: Apache-2.0
#include "cuda/flow.h"
#include "test.h"

namespace {

template <typename T>
bool parallax(std::size_t n_items, std::size_t each, const std::int64_t* starts, const std::int64_t* lengths,
              std::size_t n_values) {
  const std::vector<T> u = check::Numbers(1).some<T>(n_values), depth = check::Numbers(2).some<T>(n_values);
  return check::same_both_ways([&] {
    std::vector<T> out(4 * n_items);
    std::vector<std::uint8_t> code(n_items), status(n_items);
    T* to = out.data();
    CHECK(wmb::cuda::parallax_split<T>(
              u.data(), depth.data(), {n_items, each, starts, lengths},
              {to, to + n_items, to + 2 * n_items, to + 3 * n_items, code.data(), status.data()},
              nullptr) == 0);
    return check::Bytes().add(out).add(code).add(status);
  });
}

}  // namespace

TEST(parallax_of_padded_and_ragged_items) {
  CHECK(parallax<float>(3, 65, nullptr, nullptr, 195));
  const std::vector<std::int64_t> lengths{0, 300, -1};
  CHECK(parallax<double>(3, 130, nullptr, lengths.data(), 390));
  const std::vector<std::int64_t> starts{0, 1, 1}, sizes{1, 0, 257};
  CHECK(parallax<double>(3, 0, starts.data(), sizes.data(), 258));
}
