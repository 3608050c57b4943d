// SPDX-License-Identifier: Apache-2.0
// Depth maps between views: known geometry, maps of every odd size, and pixels that have no depth or no
// place.
#include <algorithm>
#include <limits>

#include "check.h"
#include "core/reason.h"
#include "cpu/reproject.h"
#include "cpu/select.h"

namespace {

using wmb::Camera;
using wmb::Transform;

constexpr std::int64_t kSizes[][2] = {{1, 1}, {1, 7}, {7, 1}, {3, 5}, {8, 8}, {13, 17}, {33, 67}};
constexpr Transform kStill{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {0, 0, 0}};

Transform aside(double x, double z) { return {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {x, 0, z}}; }

// A wall at depth 2 with holes of every kind, and depths at the ends of the numbers.
template <typename T>
std::vector<T> wall(std::size_t n) {
  const T tiny = sizeof(T) == 4 ? std::numeric_limits<T>::denorm_min() : T(1e-300);
  const T holes[] = {0,
                     -1,
                     std::numeric_limits<T>::quiet_NaN(),
                     std::numeric_limits<T>::infinity(),
                     tiny,
                     std::numeric_limits<T>::max()};
  std::vector<T> depth(n, T(2));
  for (std::size_t i = 0; i < n; ++i)
    if (i % 5 == 3) depth[i] = holes[i / 5 % 6];
  return depth;
}

template <typename T>
void reproject_all(std::int64_t height, std::int64_t width) {
  const std::size_t n = static_cast<std::size_t>(height * width);
  const std::vector<T> depth = wall<T>(n);
  const Camera camera{50, -40, static_cast<double>(width - 1) / 2, static_cast<double>(height - 1) / 2};
  const std::vector<std::int64_t> number = {0, 0, 0, 0, 0};
  const std::vector<Transform> to = {kStill, aside(0.04, 0), aside(0, -2), aside(1e300, 1e-300),
                                     aside(std::nan(""), 0)};
  const std::vector<Camera> cameras(to.size(), camera);
  const wmb::Maps<T> maps{depth.data(), height, width, number.data()};
  const wmb::Passages passages{static_cast<std::int64_t>(to.size()), to.data(), cameras.data(),
                               cameras.data()};
  CHECK(check::same_everywhere([&] {
    const std::size_t all = n * to.size();
    std::vector<T> points(3 * all), pixels(2 * all), z(all), nearest(all), seen(2 * all), near(all);
    std::vector<std::uint8_t> valid(all), filled(all), there(all);
    std::vector<std::int64_t> source(all);
    wmb::unproject_depth(maps, passages.n, cameras.data(), points.data());
    wmb::project_points(points.data(), passages.n, static_cast<std::int64_t>(n), cameras.data(), to.data(),
                        seen.data(), near.data(), there.data());
    wmb::reproject_depth(maps, passages, height, width, pixels.data(), z.data(), valid.data());
    wmb::splat_depth(maps, passages, height, width, nearest.data(), source.data(), filled.data());
    for (std::size_t i = 0; i < n; ++i) {
      if (depth[i] != T(2)) continue;
      CHECK(valid[i] == 1 && filled[i] == 1);
      CHECK(source[i] == static_cast<std::int64_t>(i) && nearest[i] == T(2));
      CHECK_NEAR(pixels[2 * i], static_cast<double>(i % static_cast<std::size_t>(width)), 1e-4);
      CHECK(valid[2 * n + i] == 0);  // in the plane of the camera
      CHECK(valid[4 * n + i] == 0);
    }
    return check::Bytes().add(points).add(pixels).add(z).add(valid).add(nearest).add(source).add(filled).add(
        seen);
  }));
}

TEST(depth_maps_land_where_they_should) {
  for (auto& size : kSizes) {
    reproject_all<float>(size[0], size[1]);
    reproject_all<double>(size[0], size[1]);
  }
}

template <typename T>
void agree_all(std::int64_t height, std::int64_t width) {
  const std::size_t n = static_cast<std::size_t>(height * width);
  const std::vector<T> source = wall<T>(n);
  std::vector<T> destination(source);
  for (T& d : destination) d *= T(1.25);
  const Camera camera{50, 40, static_cast<double>(width - 1) / 2, static_cast<double>(height - 1) / 2};
  const std::vector<std::int64_t> number = {0, 0};
  const std::vector<Transform> to = {kStill, aside(0.1, 1e10)};
  const std::vector<Camera> cameras(2, camera);
  CHECK(check::same_everywhere([&] {
    check::Bytes bytes;
    for (bool bilinear : {false, true}) {
      std::vector<double> median(2);
      std::vector<std::int64_t> asked(2), covisible(2);
      std::vector<std::uint8_t> code(2);
      wmb::depth_agreement<T>({source.data(), height, width, number.data()},
                              {destination.data(), height, width, number.data()},
                              {2, to.data(), cameras.data(), cameras.data()}, T(0.7), T(1.4), bilinear,
                              {median.data(), asked.data(), covisible.data(), code.data()});
      CHECK_NEAR(median[0], 0.2, 1e-6);
      CHECK(covisible[0] > 0 && covisible[0] <= asked[0]);
      CHECK(std::isnan(median[1]) && covisible[1] == 0);
      bytes.add(median).add(asked).add(covisible).add(code);
    }
    return bytes;
  }));
}

TEST(depths_agree_as_far_as_they_do) {
  for (auto& size : kSizes) {
    agree_all<float>(size[0], size[1]);
    agree_all<double>(size[0], size[1]);
  }
}

TEST(clips_of_one_wall_have_no_error) {
  const std::int64_t height = 21, width = 37, frames = 3;
  const std::size_t n = static_cast<std::size_t>(height * width * frames);
  const std::vector<float> depth(n, 2.0f), confidence = check::Numbers(1).some<float>(n);
  const std::vector<Transform> to_world = {kStill, aside(0.03, 0), aside(-0.05, 0)};
  const std::vector<Camera> cameras(3, Camera{60, 60, 18, 10});
  for (bool pixels : {false, true})
    for (const float* trust : {static_cast<const float*>(nullptr), confidence.data()}) {
      CHECK(check::same_everywhere([&] {
        double median = 0, mean = 0;
        std::vector<double> per_pair(9);
        std::int64_t pairs = 0, inside = 0, covisible = 0;
        std::uint8_t code = 0;
        wmb::reprojection_error<float>(
            {1, frames, height, width, depth.data(), trust, to_world.data(), cameras.data()},
            {2, 5, 0.7, 1.4, 0.3, pixels},
            {&median, &mean, per_pair.data(), &pairs, &inside, &covisible, &code});
        CHECK(pairs == 6 && code == 0);
        // A point lands within half a pixel of the one it is compared with, and a pixel is 2 / 60 wide.
        CHECK(median >= 0 && median < (pixels ? 1.5 : 2.0 / 60));
        return check::Bytes().add(per_pair).add(std::vector<double>{median, mean});
      }));
    }
}

TEST(instances_are_seen_hidden_or_elsewhere) {
  const std::int64_t height = 48, width = 64;
  std::vector<double> depth(static_cast<std::size_t>(2 * height * width), 4.0);
  for (std::size_t i = 0; i < depth.size() / 2; ++i) depth[i] = 2.0;
  std::vector<double> points;
  for (double x : {0.0, 1000.0, std::nan("")})
    for (int corner = 0; corner < 4; ++corner)
      points.insert(points.end(), {x + (corner & 1), static_cast<double>(corner >> 1), 4.0});
  points.insert(points.end(), points.begin(), points.end());
  const std::vector<std::int64_t> number = {0, 1};
  const std::vector<Camera> cameras(2, Camera{40, 40, 32, 24});
  const std::vector<Transform> to(2, kStill);
  std::vector<std::uint8_t> state(6);
  for (int threads : {1, 2, 7}) {
    wmb::set_num_threads(threads);
    wmb::visibility<double>(points.data(), 3, 4, {depth.data(), height, width, number.data()}, nullptr, 2,
                            cameras.data(), to.data(), {0.3, 16, 0.95, 0.3, 0.7, 0.7, 0.65}, state.data());
    CHECK((state == std::vector<std::uint8_t>{1, 2, 4, 0, 2, 4}));
  }
}

TEST(order_statistics_are_those_of_a_sorted_list) {
  for (std::size_t n : {0, 1, 2, 3, 31, 32, 33, 4095, 4097, 20011}) {
    check::Numbers numbers(n + 1);
    std::vector<float> values = numbers.some<float>(n), sorted;
    for (std::size_t i = 0; i < n; ++i) {
      if (i % 7 == 0) values[i] = 0.25f;  // ties
      if (i % 11 == 1) values[i] = std::nanf("");
      if (i % 13 == 1) values[i] = std::numeric_limits<float>::infinity();
      if (values[i] > -2 && values[i] < 2) sorted.push_back(values[i]);
    }
    std::sort(sorted.begin(), sorted.end());
    for (double q : {0.0, 0.3, 0.5, 0.9, 1.0})
      CHECK(check::same_everywhere([&] {
        const std::int64_t half = static_cast<std::int64_t>(n / 2),
                           rest = static_cast<std::int64_t>(n) - half;
        const wmb::Quantile found =
            wmb::quantile<float>({{values.data(), half}, {values.data() + half, rest}}, -2.0f, q, true);
        CHECK(found.n == static_cast<std::int64_t>(sorted.size()));
        if (!sorted.empty()) {
          const double at = q * static_cast<double>(sorted.size() - 1);
          CHECK(found.low == sorted[static_cast<std::size_t>(at)]);
          CHECK(found.high == sorted[static_cast<std::size_t>(std::ceil(at))]);
        }
        return check::Bytes().add(std::vector<double>{found.low, found.high, found.fraction});
      }));
  }
}

}  // namespace
