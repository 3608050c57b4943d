// SPDX-License-Identifier: Apache-2.0
#include "cuda/stats.h"

#include <limits>

#include "test.h"

namespace {

// Cases in two levels of groups, and as many strata as groups of the first.
struct Cases {
  std::vector<std::int64_t> member, stratum_begin, stratum_size, begin{0};
  std::vector<std::size_t> level_size;

  explicit Cases(const std::vector<std::int64_t>& group_size) : level_size{group_size.size(), 2} {
    for (std::int64_t size : group_size) {
      for (std::int64_t k = 0; k < size; ++k) {
        stratum_begin.push_back(begin.back());
        stratum_size.push_back(size);
        member.push_back(static_cast<std::int64_t>(member.size()));
      }
      begin.push_back(begin.back() + size);
    }
    const std::int64_t n = static_cast<std::int64_t>(group_size.size());
    for (std::int64_t at : {std::int64_t{0}, n / 2, n, std::int64_t{0}, std::int64_t{2}}) begin.push_back(at);
  }

  wmb::cuda::BootstrapPlan plan(std::size_t n_items) const {
    return {n_items,      member.size(), member.data(), stratum_begin.data(), stratum_size.data(),
            begin.data(), level_size};
  }
};

template <typename T>
bool intervals(const Cases& cases, std::size_t n_items, std::size_t n, const std::int64_t* given) {
  const wmb::cuda::BootstrapPlan plan = cases.plan(n_items);
  std::vector<double> values = check::Numbers(3).some<double>(n_items * plan.n_cases);
  values[values.size() / 2] = std::numeric_limits<double>::quiet_NaN();
  return check::same_both_ways([&] {
    std::vector<T> low(n_items), high(n_items), estimate(n_items);
    std::vector<std::int64_t> n_used(n_items);
    std::vector<std::uint8_t> code(n_items), status(n_items);
    std::vector<double> workspace(wmb::cuda::bootstrap_workspace(plan, n));
    CHECK(wmb::cuda::bootstrap<T>(
              values.data(), plan, {n, 7, given}, 0.9, false,
              {low.data(), high.data(), estimate.data(), n_used.data(), code.data(), status.data()},
              workspace.data(), nullptr) == 0);
    return check::Bytes().add(low).add(high).add(estimate).add(n_used).add(code).add(status);
  });
}

}  // namespace

TEST(intervals_of_odd_sizes) {
  CHECK(intervals<double>(Cases({1, 2}), 1, 1, nullptr));
  CHECK(intervals<float>(Cases({5, 17, 1, 3}), 5, 130, nullptr));
}

TEST(intervals_of_given_resamples_also_beyond_their_strata) {
  const std::vector<std::int64_t> inside(3 * 6, 1), beyond{0, 1, 2, 0, 3, 0};
  CHECK(intervals<double>(Cases({3, 3}), 2, 3, inside.data()));
  CHECK(intervals<double>(Cases({3, 3}), 2, 1, beyond.data()));
}
