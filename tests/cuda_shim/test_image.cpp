// SPDX-License-Identifier: Apache-2.0
#include "cuda/image.h"

#include <type_traits>

#include "test.h"

namespace {

using wmb::SsimVariant;

// Samples that begin `off` samples into their memory: packets of 16 bytes are not aligned there.
template <typename T>
std::vector<T> samples(std::size_t n, std::uint64_t seed) {
  check::Numbers numbers(seed);
  std::vector<T> out(n);
  for (T& x : out) x = static_cast<T>(std::is_same_v<T, std::uint8_t> ? numbers.below(256) : numbers.next());
  return out;
}

template <typename T>
bool differences(std::size_t n_items, std::size_t n, std::size_t off) {
  const std::vector<T> a = samples<T>(off + n_items * n, 1), b = samples<T>(off + n_items * n, 2);
  return check::same_both_ways([&] {
    std::vector<wmb::cuda::Result<T>> error(n_items), ratio(n_items);
    std::vector<double> workspace(wmb::cuda::difference_workspace<T>(n_items, n));
    CHECK(wmb::cuda::mse(a.data() + off, b.data() + off, n_items, n, error.data(), workspace.data(),
                         nullptr) == 0);
    CHECK(wmb::cuda::psnr(a.data() + off, b.data() + off, n_items, n, 2.0, 99.0, ratio.data(),
                          workspace.data(), nullptr) == 0);
    return check::Bytes().add(error).add(ratio);
  });
}

template <typename T>
bool similarity(const wmb::ImageShape& shape, SsimVariant variant) {
  const std::size_t n = shape.n_items * shape.height * shape.width * shape.channels;
  const std::vector<T> a = samples<T>(n, 1), b = samples<T>(n, 2);
  return check::same_both_ways([&] {
    std::vector<wmb::cuda::Result<T>> out(shape.n_items);
    std::vector<double> workspace(wmb::cuda::ssim_workspace(shape, variant));
    const int error = wmb::cuda::ssim(a.data(), b.data(), shape, variant, -1, 2, true, out.data(),
                                      workspace.data(), nullptr);
    CHECK(error == 0);
    return check::Bytes().add(out);
  });
}

}  // namespace

TEST(squared_differences_on_odd_sizes) {
  CHECK(differences<std::uint8_t>(2, 0, 0));
  CHECK(differences<std::uint8_t>(3, 17, 0));
  CHECK(differences<std::uint8_t>(1, 32769, 0));
  CHECK(differences<std::uint8_t>(1, 32769, 1));
  CHECK(differences<float>(2, 63, 0));
  CHECK(differences<float>(2, 8193, 0));
  CHECK(differences<double>(2, 4097, 1));
}

TEST(similarity_on_odd_sizes) {
  CHECK(similarity<std::uint8_t>({1, 7, 7, 1, false}, SsimVariant::uniform7));
  CHECK(similarity<std::uint8_t>({2, 17, 130, 3, false}, SsimVariant::uniform7));
  CHECK(similarity<std::uint8_t>({1, 6, 119, 3, true}, SsimVariant::gaussian11));
  CHECK(similarity<std::uint8_t>({1, 1, 1, 3, false}, SsimVariant::gaussian11_gray));
  CHECK(similarity<float>({1, 104, 8, 1, true}, SsimVariant::uniform7));
  CHECK(similarity<float>({2, 17, 11, 3, false}, SsimVariant::gaussian11_valid));
  CHECK(similarity<float>({1, 11, 13, 3, true}, SsimVariant::gaussian11_gray));
  CHECK(similarity<double>({1, 98, 6, 1, false}, SsimVariant::gaussian11));
  CHECK(similarity<double>({1, 11, 129, 1, true}, SsimVariant::gaussian11_valid));
  CHECK(similarity<double>({1, 2, 3, 3, true}, SsimVariant::gaussian11_gray));
}
