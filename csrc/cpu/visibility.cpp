// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "core/visibility.h"
#include "cpu/parallel.h"
#include "cpu/reproject.h"
#include "cpu/simd.h"

namespace wmb {
namespace {

constexpr std::int64_t kSparse = 8;  // a look at every eighth point mostly tells that an instance is large

// The same with the points inside, where they are gathered.
struct Met : Encounter {
  std::vector<Point2> inside;
};

template <typename T>
Met encounter(const T* points, std::int64_t n, const T* depth, const T* confidence, std::int64_t height,
              std::int64_t width, const Camera& camera, const Transform& to, const VisibilityRule& rule) {
  Met met;
  met.n = n;
  met.inside.reserve(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    Point3<double> p = transform(to, Point3<double>{points[3 * i], points[3 * i + 1], points[3 * i + 2]});
    Pixel<double> at = project(p, camera);
    met.finite = met.finite && is_finite(at.u) && is_finite(at.v) && is_finite(p.z);
    if (!is_inside(at, p.z, static_cast<double>(height), static_cast<double>(width))) continue;
    met.inside.push_back({at.u, at.v});
    met.n_inside += 1;
    std::int64_t pixel = pixel_inside(at, height, width);
    double seen = depth[pixel];
    if (!is_depth(seen) || (confidence && !(confidence[pixel] >= rule.min_confidence))) continue;
    met.usable += 1;
    met.occluded += hides(seen, p.z, rule);
  }
  return met;
}

// The same where pixels, their depth and the depth seen there are given; without the points inside, which
// each_inside() finds where they are needed.
template <typename T>
Met sampled(const Samples<T>& samples, std::int64_t item, const VisibilityRule& rule) {
  std::int64_t at = item * samples.n_points;
  isa::SampledTally tally = reproject_kernels<T>().sampled(
      {samples.lengths[item], samples.pixels + 2 * at, samples.depth + at, samples.seen + at,
       samples.confidence ? samples.confidence + at : nullptr, samples.sizes[2 * item],
       samples.sizes[2 * item + 1]},
      rule.occlusion, rule.min_confidence);
  Met met;
  met.n = samples.lengths[item];
  met.n_inside = tally.inside;
  met.usable = tally.usable;
  met.occluded = tally.occluded;
  met.finite = tally.finite == met.n;
  return met;
}

// Calls what() with every stride-th of an item's points, of those that are inside.
template <typename T, typename What>
void each_inside(const Samples<T>& samples, std::int64_t item, std::int64_t stride, What what) {
  std::int64_t at = item * samples.n_points;
  double width = samples.sizes[2 * item], height = samples.sizes[2 * item + 1];
  for (std::int64_t i = at; i < at + samples.lengths[item]; i += stride) {
    double u = samples.pixels[2 * i], v = samples.pixels[2 * i + 1];
    if ((samples.depth[i] > 0) & within(u, width) & within(v, height)) what(Point2{u, v});
  }
}

double hull_of(std::vector<Point2>& points) {
  std::sort(points.begin(), points.end(),
            [](const Point2& a, const Point2& b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  std::vector<Point2> chain(2 * points.size() + 1);
  return hull_area(points.data(), static_cast<std::int64_t>(points.size()), chain.data());
}

bool surely_large(const std::vector<Point2>& points, const VisibilityRule& rule) {
  Extremes extremes{};
  for (const Point2& p : points) extremes.add(p);
  return extremes.surely_large(rule);
}

}  // namespace

template <typename T>
void visibility(const T* points, std::int64_t n_instances, std::int64_t n_points, const Maps<T>& depth,
                const T* confidence, std::int64_t n_items, const Camera* cameras, const Transform* to_camera,
                const VisibilityRule& rule, std::uint8_t* state) {
  auto body = [&](std::size_t chunk) {
    std::int64_t item = static_cast<std::int64_t>(chunk) / n_instances;
    const T* trust = confidence ? confidence + depth.number[item] * depth.height * depth.width : nullptr;
    Met met = encounter(points + static_cast<std::int64_t>(chunk) * n_points * 3, n_points, depth.at(item),
                        trust, depth.height, depth.width, cameras[item], to_camera[item], rule);
    bool usable = is_usable(cameras[item]) && is_usable(to_camera[item]);
    auto is_too_small = [&] {
      return !surely_large(met.inside, rule) && hull_of(met.inside) < rule.min_area;
    };
    state[chunk] = static_cast<std::uint8_t>(usable ? judge(met, rule, is_too_small) : Visibility::unknown);
  };
  for_chunks(static_cast<std::size_t>(n_items * n_instances), body);
}

template void visibility(const float*, std::int64_t, std::int64_t, const Maps<float>&, const float*,
                         std::int64_t, const Camera*, const Transform*, const VisibilityRule&, std::uint8_t*);
template void visibility(const double*, std::int64_t, std::int64_t, const Maps<double>&, const double*,
                         std::int64_t, const Camera*, const Transform*, const VisibilityRule&, std::uint8_t*);

template <typename T>
void sampled_visibility(const Samples<T>& samples, const VisibilityRule& rule, bool with_area,
                        const SampledOut& out) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  auto body = [&](std::size_t chunk) {
    std::int64_t i = static_cast<std::int64_t>(chunk);
    Met met = sampled(samples, i, rule);
    double inside = static_cast<double>(met.n_inside);
    double all = met.finite && met.n ? static_cast<double>(met.n) : kNone;
    double area = kNone;
    auto gather = [&] {
      met.inside.reserve(static_cast<std::size_t>(met.n_inside));
      each_inside(samples, i, 1, [&](const Point2& p) { met.inside.push_back(p); });
    };
    if (with_area && met.finite && met.n) {
      gather();
      area = hull_of(met.inside);
    }
    auto is_too_small = [&] {
      if (with_area) return area < rule.min_area;
      Extremes some{};
      each_inside(samples, i, kSparse, [&](const Point2& p) { some.add(p); });
      if (some.surely_large(rule)) return false;
      gather();
      return !surely_large(met.inside, rule) && hull_of(met.inside) < rule.min_area;
    };
    out.state[i] = static_cast<std::uint8_t>(judge(met, rule, is_too_small));
    out.inside[i] = inside / all;
    out.known[i] = met.n_inside && met.finite ? static_cast<double>(met.usable) / inside : kNone;
    out.occluded[i] = static_cast<double>(met.occluded) / all;
    out.visible[i] = static_cast<double>(met.usable - met.occluded) / all;
    out.area[i] = area;
  };
  for_chunks(static_cast<std::size_t>(samples.n), body);
}

template void sampled_visibility(const Samples<float>&, const VisibilityRule&, bool, const SampledOut&);
template void sampled_visibility(const Samples<double>&, const VisibilityRule&, bool, const SampledOut&);

}  // namespace wmb
