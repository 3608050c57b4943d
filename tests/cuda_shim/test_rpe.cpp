// SPDX-License-Identifier: Apache-2.0
#include "cuda/rpe.h"

#include "trajectories.h"

namespace {

using wmb::Align;
using wmb::Relation;

template <typename T>
bool relative(const std::vector<std::int64_t>& sizes, wmb::cuda::StepsOf steps, Align align, bool has_extra) {
  const check::Pairs<T> pairs(sizes, true);
  const std::size_t n = pairs.n();
  std::vector<std::int64_t> starts;
  std::size_t total = 0, most = 0;
  for (std::int64_t size : sizes) {
    const std::size_t count = steps.count(static_cast<std::size_t>(size));
    starts.push_back(static_cast<std::int64_t>(total));
    total += count;
    most = count > most ? count : most;
  }
  return check::same_both_ways([&] {
    check::Fits<T> fits(n);
    check::Statistics<T> statistics[3] = {check::Statistics<T>(n), check::Statistics<T>(n),
                                          check::Statistics<T>(n)};
    std::vector<std::int64_t> found(2 * total);
    std::vector<T> errors(3 * total), deviation(n);
    std::vector<double> workspace(wmb::cuda::rpe_workspace(n, most, total));
    const wmb::cuda::RpeOut<T> out{starts.data(),
                                   0,
                                   total,
                                   found.data(),
                                   errors.data(),
                                   deviation.data(),
                                   {statistics[0].out(), statistics[1].out(), statistics[2].out()},
                                   fits.out()};
    const wmb::cuda::RpeOptions options{{align, 30}, steps, align != Align::none, has_extra, Relation::full};
    CHECK(wmb::cuda::rpe(pairs.tracks(true, false), options, out, workspace.data(), nullptr) == 0);
    check::Bytes bytes;
    fits.add_to(bytes).add(found).add(errors).add(deviation);
    for (const check::Statistics<T>& each : statistics) each.add_to(bytes);
    return bytes;
  });
}

template <typename T>
bool angles(std::size_t n) {
  const std::vector<T> a = check::Numbers(1).some<T>(9 * n), b = check::Numbers(2).some<T>(9 * n);
  return check::same_both_ways([&] {
    std::vector<T> out(n);
    CHECK(wmb::cuda::rotation_angle_deg(a.data(), b.data(), n, out.data(), nullptr) == 0);
    return check::Bytes().add(out);
  });
}

}  // namespace

TEST(rpe_on_odd_sizes) {
  CHECK(relative<float>({3, 0, 130, 1, 40}, {1, true}, Align::none, false));
  CHECK(relative<double>({3, 0, 130, 1, 40}, {3, false}, Align::sim3, true));
  CHECK(relative<float>({700, 2}, {1, true}, Align::none, true));
}

TEST(angles_on_odd_sizes) {
  CHECK(angles<float>(1));
  CHECK(angles<double>(257));
}
