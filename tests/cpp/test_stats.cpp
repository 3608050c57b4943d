// SPDX-License-Identifier: Apache-2.0
// Correlations, means and intervals with answers known by hand; flow, parallax and masks likewise.
#include <limits>
#include <numeric>

#include "check.h"
#include "core/reason.h"
#include "cpu/flow.h"
#include "cpu/mask.h"
#include "cpu/stats.h"

namespace {

using wmb::Reason;

TEST(correlations_of_lines_are_one) {
  const std::vector<std::int64_t> lengths = {0, 1, 2, 3, 7, 64, 65, 3001};
  std::vector<std::int64_t> starts;
  std::vector<double> a, b;
  for (std::int64_t n : lengths) {
    starts.push_back(static_cast<std::int64_t>(a.size()));
    for (std::int64_t i = 0; i < n; ++i) {
      const double x = static_cast<double>(i * 7919 % n);
      a.push_back(x), b.push_back(n % 2 ? -x : x * x * x);
    }
  }
  const std::size_t items = lengths.size();
  for (bool of_ranks : {true, false})
    CHECK(check::same_everywhere([&] {
      std::vector<double> value(items), p(items);
      std::vector<std::int64_t> n_used(items);
      std::vector<std::uint8_t> code(items);
      wmb::correlate(a.data(), b.data(), {items, starts.data(), lengths.data()}, of_ranks, true,
                     {value.data(), p.data(), n_used.data(), code.data()});
      CHECK(std::isnan(value[0]) && std::isnan(value[1]));
      for (std::size_t k = 2; k < items; ++k) {
        CHECK(n_used[k] == lengths[k]);
        if (of_ranks || lengths[k] % 2)
          CHECK_NEAR(value[k], lengths[k] % 2 ? -1.0 : 1.0, of_ranks ? 0 : 1e-15);
      }
      return check::Bytes().add(value).add(p).add(code);
    }));
}

TEST(means_and_votes) {
  const double rhos[] = {0.5, 0.9, std::nan(""), std::nan("")};
  double value[2];
  std::int64_t used[2];
  std::uint8_t code[2];
  wmb::fisher_mean(rhos, nullptr, 2, 2, {value, used, code});
  CHECK_NEAR(value[0], std::tanh((std::atanh(0.5) + std::atanh(0.9)) / 2), 1e-15);
  CHECK(std::isnan(value[1]) && used[1] == 0);
  const double metric[] = {1, -1, 0, 2, std::nan("")}, votes[] = {1, 1, -1, -1, 1, 1, 1, -1, 1, 1};
  std::int64_t counts[5];
  wmb::pairwise_agreement(metric, votes, 1, 5, 2, {value, counts, code});
  std::int64_t all = 0;
  for (int k = 1; k < 5; ++k) all += counts[k];
  CHECK(counts[0] == 2 && all == 5);
}

TEST(intervals_of_given_resamples) {
  const std::int64_t size = 3, group = 3, one = 1;
  const std::int64_t members[] = {0, 1, 2}, given[] = {0, 0, 0, 1, 1, 1, 2, 2, 2};
  const wmb::BootstrapPlan plan{3, 1, &size, members, 1, &group, 1, &one, nullptr};
  const double values[] = {1, 2, 4, 5, 5, 5, std::nan(""), std::nan(""), std::nan("")};
  double low[3], high[3], estimate[3];
  std::uint8_t code[3];
  wmb::bootstrap(values, 3, plan, {3, 0, given}, 0.5, {low, high, estimate, code});
  CHECK_NEAR(estimate[0], 7.0 / 3, 1e-15);
  CHECK_NEAR(low[0], 1.5, 1e-15);
  CHECK_NEAR(high[0], 3.0, 1e-15);
  CHECK(low[1] == 5 && high[1] == 5 && static_cast<Reason>(code[1]) == Reason::resamples_equal);
  CHECK(std::isnan(estimate[2]) && static_cast<Reason>(code[2]) == Reason::not_finite);
}

TEST(intervals_do_not_depend_on_threads_or_the_batch) {
  const std::size_t n_cases = 101, n_items = 13;
  const std::vector<std::int64_t> strata = {50, 1, 50}, groups = {33, 33, 35}, levels = {3, 2};
  const std::vector<std::int64_t> parent = {0, 1, 1};
  std::vector<std::int64_t> members(n_cases);
  std::iota(members.begin(), members.end(), 0);
  const wmb::BootstrapPlan plan{n_cases,       3, strata.data(), members.data(), 3,
                                groups.data(), 2, levels.data(), parent.data()};
  std::vector<double> values = check::Numbers(5).some(n_cases * n_items);
  for (std::size_t i = 0; i < values.size(); i += 17) values[i] = std::nan("");
  CHECK(check::same_everywhere([&] {
    std::vector<double> out(3 * n_items), alone(3);
    std::vector<std::uint8_t> code(n_items);
    double* o = out.data();
    wmb::bootstrap(values.data(), n_items, plan, {65, 7, nullptr}, 0.9,
                   {o, o + n_items, o + 2 * n_items, code.data()});
    wmb::bootstrap(values.data() + 3 * n_cases, 1, plan, {65, 7, nullptr}, 0.9,
                   {alone.data(), alone.data() + 1, alone.data() + 2, code.data()});
    for (std::size_t k = 0; k < 3; ++k) CHECK(alone[k] == out[k * n_items + 3]);
    return check::Bytes().add(out);
  }));
}

template <typename T>
void constant_flow() {
  for (std::size_t height : {1, 2, 5, 37})
    for (std::size_t width : {1, 2, 3, 4, 5, 67}) {
      std::vector<T> flow(3 * height * width * 2);
      for (std::size_t i = 0; i < flow.size(); i += 2) flow[i] = T(2.5), flow[i + 1] = T(-1);
      flow.back() = std::numeric_limits<T>::quiet_NaN();
      CHECK(check::same_everywhere([&] {
        std::vector<double> horizontal(3), radial(3);
        std::vector<std::uint8_t> code(3);
        wmb::flow_channels(flow.data(), 3, height, width, horizontal.data(), radial.data(), code.data());
        CHECK_NEAR(horizontal[0], 2.5, 1e-14);
        CHECK(std::isnan(radial[2]) && code[2] != 0);
        return check::Bytes().add(horizontal).add(radial).add(code);
      }));
    }
}

TEST(flow_of_one_velocity) {
  constant_flow<float>();
  constant_flow<double>();
}

TEST(parallax_of_a_line) {
  const std::vector<std::int64_t> counts = {0, 1, 2, 3, 9, 1001};
  std::vector<std::int64_t> starts;
  std::vector<float> u, inverse;
  check::Numbers numbers(8);
  for (std::int64_t n : counts) {
    starts.push_back(static_cast<std::int64_t>(u.size()));
    for (std::int64_t i = 0; i < n; ++i) {
      inverse.push_back(static_cast<float>(numbers.below(64)) / 8);
      u.push_back(3 * inverse.back() - 1);
    }
  }
  const std::size_t n = counts.size();
  CHECK(check::same_everywhere([&] {
    std::vector<double> slope(n), intercept(n), spread(n);
    std::vector<std::uint8_t> code(n);
    wmb::parallax_split(u.data(), inverse.data(), starts.data(), counts.data(), n,
                        {slope.data(), intercept.data(), spread.data(), code.data()});
    CHECK(code[0] != 0);
    for (std::size_t k = 4; k < n; ++k) {
      CHECK_NEAR(slope[k], 3.0, 1e-12);
      CHECK_NEAR(intercept[k], -1.0, 1e-12);
    }
    return check::Bytes().add(slope).add(intercept).add(spread).add(code);
  }));
}

TEST(masks_that_half_overlap) {
  for (std::size_t n : {0, 2, 16, 18, 5002}) {
    std::vector<std::uint8_t> a(3 * n, 0), b(3 * n, 0);
    for (std::size_t i = 0; i < n; ++i) a[i] = 1, b[i] = i < n / 2 ? 200 : 0;
    std::vector<double> iou(3);
    wmb::mask_iou(a.data(), b.data(), 3, n, -1.0, iou.data());
    CHECK(iou[0] == (n == 0 ? -1 : 0.5));
    CHECK(iou[1] == -1 && iou[2] == -1);
  }
}

}  // namespace
