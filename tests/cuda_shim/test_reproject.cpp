// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "cuda/boxes.h"
#include "cuda/reproject.h"
#include "cuda/reproject_pairs.h"
#include "cuda/visibility.h"
#include "test.h"

namespace {

using wmb::cuda::Batch;
using wmb::cuda::Maps;
using wmb::cuda::Steps;

constexpr int kItems = 2;

// Two items of which everything but the source's maps is one for both.
const Batch kBatch{kItems, 1, {kItems}};
const Steps kEach{{1}}, kShared{{0}};

template <typename T>
std::vector<T> wall(std::size_t n, std::uint64_t seed) {
  std::vector<T> depth = check::Numbers(seed).some<T>(n);
  for (std::size_t i = 0; i < n; ++i) depth[i] = i % 11 == 3 ? T(0) : T(2 + 0.1 * depth[i]);
  return depth;
}

template <typename T>
struct Scene {
  std::int64_t height, width;
  std::vector<T> source, destination, camera, matrix, to;

  Scene(std::int64_t h, std::int64_t w)
      : height(h),
        width(w),
        source(wall<T>(kItems * h * w, 1)),
        destination(wall<T>(h * w, 2)),
        camera{T(w), T(w), T(w / 2.0), T(h / 2.0)},
        matrix{T(w), 0, T(w / 2.0), 0, T(w), T(h / 2.0), 0, 0, 1},
        to{1, 0, T(0.02), T(0.1), 0, 1, 0, T(-0.1), T(-0.02), 0, 1, 0, 0, 0, 0, 1} {}

  Maps<T> from() const { return {source.data(), height, width, kEach}; }
  Maps<T> into() const { return {destination.data(), height, width, kShared}; }
  wmb::cuda::Passages<T> way() const {
    return {kBatch, {to.data(), kShared}, {camera.data(), 4, kShared}, {matrix.data(), 9, kShared}};
  }
};

template <typename T>
bool lands(std::int64_t height, std::int64_t width) {
  const Scene<T> scene(height, width);
  const std::size_t n = kItems * height * width;
  return check::same_both_ways([&] {
    std::vector<T> pixels(2 * n), z(n), nearest(kItems * 15), points(3 * n);
    std::vector<std::int64_t> index(kItems * 15);
    std::vector<std::uint8_t> valid(n), filled(kItems * 15), ahead(n);
    std::vector<T> landed(2 * n), ahead_depth(n);
    CHECK(wmb::cuda::reproject_depth<T>(scene.from(), scene.way(), height, width, pixels.data(), z.data(),
                                        valid.data(), nullptr) == 0);
    CHECK(wmb::cuda::splat_depth<T>(scene.from(), scene.way(), 3, 5, nearest.data(), index.data(),
                                    filled.data(), nullptr) == 0);
    CHECK(wmb::cuda::unproject_depth<T>(kBatch, scene.from(), {scene.matrix.data(), 9, kShared},
                                        points.data(), nullptr) == 0);
    CHECK(wmb::cuda::project_points<T>(kBatch, {points.data(), height * width, kEach},
                                       {scene.camera.data(), 4, kShared}, {scene.to.data(), kShared},
                                       landed.data(), ahead_depth.data(), ahead.data(), nullptr) == 0);
    return check::Bytes()
        .add(valid)
        .add(index)
        .add(filled)
        .add(ahead)
        .add(pixels)
        .add(z)
        .add(nearest)
        .add(points)
        .add(landed);
  });
}

template <typename T>
bool agrees(std::int64_t height, std::int64_t width, bool bilinear) {
  const Scene<T> scene(height, width);
  return check::same_both_ways([&] {
    std::vector<T> median(kItems), fraction(kItems);
    std::vector<std::int64_t> n(kItems);
    std::vector<std::uint8_t> code(kItems), status(kItems);
    std::vector<double> workspace(wmb::cuda::depth_agreement_workspace(kItems, height * width, sizeof(T)));
    CHECK(
        wmb::cuda::depth_agreement<T>(scene.from(), scene.into(), scene.way(), {T(0.7), T(1.4), bilinear},
                                      {median.data(), fraction.data(), n.data(), code.data(), status.data()},
                                      workspace.data(), nullptr) == 0);
    CHECK(height * width < 20 || (n[0] > 0 && median[1] > 0));
    return check::Bytes().add(median).add(fraction).add(n).add(code).add(status);
  });
}

template <typename T>
bool compares(std::int64_t frames, std::int64_t height, std::int64_t width, bool pixels, bool trusted) {
  const std::size_t n = kItems * frames;
  const std::vector<T> depth = wall<T>(n * height * width, 3), trust = wall<T>(n * height * width, 4);
  const Scene<T> scene(height, width);
  std::vector<T> poses;
  for (std::size_t i = 0; i < n; ++i) {
    poses.insert(poses.end(), scene.to.begin(), scene.to.end());
    poses[16 * i + 3] += T(0.05) * static_cast<T>(i);
  }
  return check::same_both_ways([&] {
    std::vector<T> median(kItems), mean(kItems), fraction(kItems), per_pair(n * frames);
    std::vector<std::int64_t> n_pairs(kItems);
    std::vector<std::uint8_t> code(kItems), status(kItems);
    std::vector<double> workspace(
        wmb::cuda::reprojection_error_workspace(kItems, frames, height, width, 2, sizeof(T)));
    const wmb::cuda::Clips<T> clips{kItems,
                                    frames,
                                    height,
                                    width,
                                    depth.data(),
                                    trusted ? trust.data() : nullptr,
                                    poses.data(),
                                    {n, 1, {static_cast<std::int64_t>(n)}},
                                    {scene.camera.data(), 4, kShared}};
    CHECK(wmb::cuda::reprojection_error<T>(clips, {2, 5, 0.7, 1.4, 0.3, pixels},
                                           {median.data(), mean.data(), per_pair.data(), fraction.data(),
                                            n_pairs.data(), code.data(), status.data()},
                                           workspace.data(), nullptr) == 0);
    CHECK(n_pairs[0] == frames * (frames - 1));
    return check::Bytes().add(median).add(mean).add(fraction).add(per_pair).add(n_pairs).add(code);
  });
}

template <typename T>
bool judges(std::int64_t instances, std::int64_t points, double least_area) {
  const Scene<T> scene(9, 13);
  const wmb::VisibilityRule rule{0.3, least_area, 0.95, 0.3, 0.7, 0.7, 0.65};
  const std::size_t n = kItems * instances;
  std::vector<T> cloud = check::Numbers(5).some<T>(n * points * 3);
  for (std::size_t i = 2; i < cloud.size(); i += 3) cloud[i] = T(2 + 0.2 * cloud[i]);
  std::vector<T> pixels = check::Numbers(6).some<T>(n * points * 2), seen = wall<T>(n * points, 7);
  for (T& x : pixels) x = T(5 + 6 * x);
  std::vector<double> sizes(2 * n, 10.0);
  std::vector<std::int64_t> lengths(n, points);
  return check::same_both_ways([&] {
    std::vector<std::uint8_t> state(n), sampled(n);
    std::vector<double> workspace(wmb::cuda::visibility_workspace(n, points));
    std::vector<double> inside(n), known(n), occluded(n), visible(n), area(n);
    const wmb::cuda::InstanceViews<T> views{kBatch,
                                            instances,
                                            points,
                                            cloud.data(),
                                            kEach,
                                            scene.into(),
                                            nullptr,
                                            {scene.camera.data(), 4, kShared},
                                            {scene.to.data(), kShared}};
    CHECK(wmb::cuda::visibility<T>(views, rule, state.data(), workspace.data(), nullptr) == 0);
    CHECK(wmb::cuda::sampled_visibility<T>(
              {n, points, pixels.data(), seen.data(), seen.data(), nullptr, lengths.data(), 10.0, 10.0,
               least_area > 1 ? sizes.data() : nullptr},
              rule, least_area > 1,
              {sampled.data(), inside.data(), known.data(), occluded.data(), visible.data(), area.data()},
              workspace.data(), nullptr) == 0);
    return check::Bytes().add(state).add(sampled).add(inside).add(occluded).add(visible).add(area);
  });
}

template <typename T>
bool boxes(std::int64_t points, std::int64_t pairs) {
  const std::vector<T> a = check::Numbers(8).some<T>(kItems * points * 2);
  const std::vector<T> values = check::Numbers(9).some<T>(kItems * points);
  std::vector<T> box = check::Numbers(10).some<T>(kItems * pairs * 4);
  for (std::size_t i = 0; i < box.size(); i += 2) box[i] += i % 4 == 0 ? T(-1) : T(1);
  return check::same_both_ways([&] {
    std::vector<double> median(kItems * pairs);
    std::vector<std::int64_t> count(kItems * pairs);
    CHECK(wmb::cuda::box_medians<T>(
              {kItems, points, pairs, a.data(), a.data(), values.data(), box.data(), box.data(), nullptr},
              median.data(), count.data(), nullptr) == 0);
    return check::Bytes().add(median).add(count);
  });
}

}  // namespace

TEST(pixels_and_points_land) {
  CHECK(lands<float>(1, 1));
  CHECK(lands<double>(7, 9));
  CHECK(lands<float>(17, 130));
}

TEST(depth_agreement_of_few_pixels_and_of_many) {
  CHECK(agrees<float>(1, 1, true));
  CHECK(agrees<double>(5, 7, true));
  CHECK(agrees<float>(17, 130, false));
  CHECK(agrees<float>(65, 127, false));
  CHECK(agrees<double>(63, 131, false));
}

TEST(reprojection_error_of_small_clips) {
  CHECK(compares<float>(3, 9, 11, false, true));
  CHECK(compares<double>(2, 9, 31, true, false));
}

TEST(instances_are_judged) {
  CHECK(judges<float>(3, 17, 16.0));
  CHECK(judges<double>(2, 65, 1e9));
  CHECK(judges<float>(1, 130, 0.5));
}

TEST(medians_in_boxes) {
  CHECK(boxes<float>(17, 3));
  CHECK(boxes<double>(130, 2));
}
