// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/hull.h"
#include "cpu/parallel.h"
#include "cpu/reproject.h"

namespace wmb {
namespace {

constexpr std::int64_t kFewestPoints = 4;
constexpr std::int64_t kSparse = 8;  // a look at every eighth point mostly tells that an instance is large

// What one instance's points meet in one view.
struct Encounter {
  std::int64_t n = 0, n_inside = 0, usable = 0, occluded = 0;
  bool finite = true;
  std::vector<Point2> inside;
};

template <typename T>
Encounter encounter(const T* points, std::int64_t n, const T* depth, const T* confidence, std::int64_t height,
                    std::int64_t width, const Camera& camera, const Transform& to,
                    const VisibilityRule& rule) {
  Encounter met;
  met.n = n;
  met.inside.reserve(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    Point3<double> p = transform(to, Point3<double>{points[3 * i], points[3 * i + 1], points[3 * i + 2]});
    Pixel<double> at = project(p, camera);
    met.finite = met.finite && is_finite(at.u) && is_finite(at.v) && is_finite(p.z);
    if (!(p.z > 0 && within(at.u, static_cast<double>(width)) && within(at.v, static_cast<double>(height))))
      continue;
    met.inside.push_back({at.u, at.v});
    met.n_inside += 1;
    std::int64_t column = std::min(static_cast<std::int64_t>(at.u + 0.5), width - 1);
    std::int64_t row = std::min(static_cast<std::int64_t>(at.v + 0.5), height - 1);
    std::int64_t pixel = row * width + column;
    double seen = depth[pixel];
    if (!is_depth(seen) || (confidence && !(confidence[pixel] >= rule.min_confidence))) continue;
    met.usable += 1;
    met.occluded += seen < rule.occlusion * p.z;
  }
  return met;
}

// The same where pixels, their depth and the depth seen there are given; without the points inside, which
// inside_of() gathers where they are needed. Counting does not branch, so that it fills the vector lanes.
template <typename T>
Encounter sampled(const Samples<T>& samples, std::int64_t item, const VisibilityRule& rule) {
  std::int64_t at = item * samples.n_points, n = samples.lengths[item];
  const T *pixels = samples.pixels + 2 * at, *z = samples.depth + at, *seen = samples.seen + at;
  const T* confidence = samples.confidence ? samples.confidence + at : nullptr;
  double width = samples.sizes[2 * item], height = samples.sizes[2 * item + 1];
  Encounter met;
  met.n = n;
  std::int64_t finite = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double u = pixels[2 * i], v = pixels[2 * i + 1], depth = z[i], current = seen[i];
    finite += is_finite(u) & is_finite(v) & is_finite(depth);
    std::int64_t inside = (depth > 0) & within(u, width) & within(v, height);
    std::int64_t trusted = confidence ? confidence[i] >= rule.min_confidence : true;
    std::int64_t usable = inside & is_depth(current) & trusted;
    met.n_inside += inside;
    met.usable += usable;
    met.occluded += usable & (current < rule.occlusion * depth);
  }
  met.finite = finite == n;
  return met;
}

// Every stride-th of an item's points inside.
template <typename T>
std::vector<Point2> inside_of(const Samples<T>& samples, std::int64_t item, std::int64_t stride) {
  std::int64_t at = item * samples.n_points;
  std::vector<Point2> points;
  points.reserve(static_cast<std::size_t>(samples.lengths[item] / stride + 1));
  for (std::int64_t i = 0; i < samples.lengths[item]; i += stride) {
    double u = samples.pixels[2 * (at + i)], v = samples.pixels[2 * (at + i) + 1];
    if (samples.depth[at + i] > 0 && within(u, samples.sizes[2 * item]) &&
        within(v, samples.sizes[2 * item + 1]))
      points.push_back({u, v});
  }
  return points;
}

// The area of the quadrilateral of the leftmost, lowest, rightmost and highest point: the hull's is no less.
double area_of_extremes(const std::vector<Point2>& points) {
  if (points.empty()) return 0;
  Point2 left = points[0], right = left, low = left, high = left;
  for (const Point2& p : points) {
    if (p.x < left.x) left = p;
    if (p.x > right.x) right = p;
    if (p.y < low.y) low = p;
    if (p.y > high.y) high = p;
  }
  return 0.5 * std::abs((right.x - left.x) * (high.y - low.y) - (right.y - left.y) * (high.x - low.x));
}

double hull_of(std::vector<Point2>& points) {
  std::sort(points.begin(), points.end(),
            [](const Point2& a, const Point2& b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  std::vector<Point2> chain(2 * points.size() + 1);
  return hull_area(points.data(), static_cast<std::int64_t>(points.size()), chain.data());
}

constexpr double kMargin = 1 + 1e-9;  // beyond which rounding cannot have made the extremes' area the larger

bool surely_large(const std::vector<Point2>& points, const VisibilityRule& rule) {
  return area_of_extremes(points) >= kMargin * rule.min_area;
}

// is_too_small() says whether the points inside cover too little.
template <typename Small>
Visibility judge(const Encounter& met, const VisibilityRule& rule, Small is_too_small) {
  if (met.n < kFewestPoints || !met.finite) return Visibility::unknown;
  double n = static_cast<double>(met.n), inside = static_cast<double>(met.n_inside);
  if (inside / n < rule.min_inside || met.n_inside == 0) return Visibility::outside;
  if (is_too_small()) return Visibility::too_small;
  if (static_cast<double>(met.usable) / inside < rule.min_coverage) return Visibility::unknown;
  double occluded = static_cast<double>(met.occluded) / n;
  double visible = static_cast<double>(met.usable - met.occluded) / n;
  if (visible >= rule.min_visible) return Visibility::visible;
  return occluded >= rule.min_occluded ? Visibility::occluded : Visibility::unknown;
}

}  // namespace

template <typename T>
void visibility(const T* points, std::int64_t n_instances, std::int64_t n_points, const Maps<T>& depth,
                const T* confidence, std::int64_t n_items, const Camera* cameras, const Transform* to_camera,
                const VisibilityRule& rule, std::uint8_t* state) {
  auto body = [&](std::size_t chunk) {
    std::int64_t item = static_cast<std::int64_t>(chunk) / n_instances;
    const T* trust = confidence ? confidence + depth.number[item] * depth.height * depth.width : nullptr;
    Encounter met =
        encounter(points + static_cast<std::int64_t>(chunk) * n_points * 3, n_points, depth.at(item), trust,
                  depth.height, depth.width, cameras[item], to_camera[item], rule);
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
    Encounter met = sampled(samples, i, rule);
    double inside = static_cast<double>(met.n_inside);
    double all = met.finite && met.n ? static_cast<double>(met.n) : kNone;
    double area = kNone;
    if (with_area && met.finite && met.n) {
      std::vector<Point2> points = inside_of(samples, i, 1);
      area = hull_of(points);
    }
    auto is_too_small = [&] {
      if (with_area) return area < rule.min_area;
      if (surely_large(inside_of(samples, i, kSparse), rule)) return false;
      std::vector<Point2> points = inside_of(samples, i, 1);
      return !surely_large(points, rule) && hull_of(points) < rule.min_area;
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
