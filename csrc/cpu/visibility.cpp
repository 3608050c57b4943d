// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "core/hull.h"
#include "cpu/parallel.h"
#include "cpu/reproject.h"

namespace wmb {
namespace {

constexpr std::int64_t kFewestPoints = 4;

// What one instance's points meet in one view.
struct Encounter {
  std::int64_t n = 0, usable = 0, occluded = 0;
  bool finite = true;
  std::vector<Point2> inside;
};

template <typename T>
Encounter encounter(const T* points, std::int64_t n, const T* depth, const T* confidence, std::int64_t height,
                    std::int64_t width, const Camera& camera, const Transform& to,
                    const VisibilityRule& rule) {
  Encounter met;
  met.n = n;
  for (std::int64_t i = 0; i < n; ++i) {
    Point3<double> p = transform(to, Point3<double>{points[3 * i], points[3 * i + 1], points[3 * i + 2]});
    Pixel<double> at = project(p, camera);
    met.finite = met.finite && is_finite(at.u) && is_finite(at.v) && is_finite(p.z);
    if (!(p.z > 0 && within(at.u, static_cast<double>(width)) && within(at.v, static_cast<double>(height))))
      continue;
    met.inside.push_back({at.u, at.v});
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

Visibility judge(Encounter& met, const VisibilityRule& rule) {
  if (met.n < kFewestPoints || !met.finite) return Visibility::unknown;
  double n = static_cast<double>(met.n), inside = static_cast<double>(met.inside.size());
  if (inside / n < rule.min_inside || met.inside.empty()) return Visibility::outside;
  std::sort(met.inside.begin(), met.inside.end(),
            [](const Point2& a, const Point2& b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  std::vector<Point2> chain(2 * met.inside.size() + 1);
  double area = hull_area(met.inside.data(), static_cast<std::int64_t>(met.inside.size()), chain.data());
  if (area < rule.min_area) return Visibility::too_small;
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
    state[chunk] = static_cast<std::uint8_t>(usable ? judge(met, rule) : Visibility::unknown);
  };
  for_chunks(static_cast<std::size_t>(n_items * n_instances), body);
}

template void visibility(const float*, std::int64_t, std::int64_t, const Maps<float>&, const float*,
                         std::int64_t, const Camera*, const Transform*, const VisibilityRule&, std::uint8_t*);
template void visibility(const double*, std::int64_t, std::int64_t, const Maps<double>&, const double*,
                         std::int64_t, const Camera*, const Transform*, const VisibilityRule&, std::uint8_t*);

}  // namespace wmb
