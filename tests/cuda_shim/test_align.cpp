// SPDX-License-Identifier: Apache-2.0
#include "cuda/align.h"

#include "trajectories.h"

namespace {

using wmb::Align;

const std::vector<std::int64_t> kSizes{3, 0, 129, 1, 40};

template <typename T>
bool fitted(bool masked, bool weighted) {
  const check::Pairs<T> pairs(kSizes, false);
  return check::same_both_ways([&] {
    check::Fits<T> fits(pairs.n());
    CHECK(wmb::cuda::umeyama(pairs.tracks(masked, weighted), true, fits.out(), nullptr) == 0);
    check::Bytes bytes;
    return fits.add_to(bytes);
  });
}

template <typename T>
bool aligned(bool poses, Align align) {
  const check::Pairs<T> pairs(kSizes, poses);
  return check::same_both_ways([&] {
    check::Fits<T> fits(pairs.n());
    std::vector<T> moved(pairs.est.size());
    CHECK(wmb::cuda::align_trajectory(pairs.tracks(true, false), poses, {align, 20}, moved.data(), fits.out(),
                                      nullptr) == 0);
    check::Bytes bytes;
    return fits.add_to(bytes).add(moved);
  });
}

template <typename T>
bool errors(const check::Pairs<T>& pairs, bool poses, Align align, wmb::Relation relation) {
  return check::same_both_ways([&] {
    const std::size_t n = pairs.n();
    check::Fits<T> fits(n);
    check::Statistics<T> statistics(n);
    std::vector<T> off(pairs.total()), deviation(n);
    std::vector<double> workspace(pairs.total());
    CHECK(wmb::cuda::ape(pairs.tracks(false, false), poses, {align, std::size_t{1} << 60}, relation,
                         {off.data(), deviation.data(), statistics.out(), fits.out()}, workspace.data(),
                         nullptr) == 0);
    check::Bytes bytes;
    return statistics.add_to(fits.add_to(bytes)).add(off).add(deviation);
  });
}

}  // namespace

TEST(umeyama_on_odd_sizes) {
  CHECK(fitted<float>(false, false));
  CHECK(fitted<double>(true, false));
  CHECK(fitted<float>(true, true));
}

TEST(align_trajectory_on_odd_sizes) {
  CHECK(aligned<float>(false, Align::sim3));
  CHECK(aligned<double>(true, Align::se3));
  CHECK(aligned<float>(true, Align::origin));
}

TEST(ape_on_odd_sizes) {
  CHECK(errors(check::Pairs<float>(kSizes, false), false, Align::sim3, wmb::Relation::translation));
  CHECK(errors(check::Pairs<double>(kSizes, true), true, Align::none, wmb::Relation::full));
  const std::int64_t beyond = wmb::cuda::kHeld + 1;
  CHECK(errors(check::Pairs<float>({beyond}, false), false, Align::scale, wmb::Relation::translation));
}
