// SPDX-License-Identifier: Apache-2.0
#include "cpu/boxes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cpu/parallel.h"

namespace wmb {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

template <typename T>
bool holds(const T* box, const T* point) {
  return point[0] >= box[0] && point[0] <= box[2] && point[1] >= box[1] && point[1] <= box[3];
}

double median_of(std::vector<double>& values) {
  if (values.empty()) return kNone;
  for (double value : values)
    if (!std::isfinite(value)) return kInfinite;
  std::sort(values.begin(), values.end());
  std::size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

// The points of one item in the order of their x, so that a box looks only at those between its sides.
template <typename T>
struct ByColumn {
  std::vector<std::int64_t> order;
  std::vector<T> x;

  ByColumn(const T* points, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k)
      if (!std::isnan(points[2 * k])) order.push_back(k);
    std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
      return points[2 * i] < points[2 * j] || (points[2 * i] == points[2 * j] && i < j);
    });
    for (std::int64_t k : order) x.push_back(points[2 * k]);
  }
};

}  // namespace

template <typename T>
void box_medians(const BoxedValues<T>& in, double* median, std::int64_t* count) {
  auto body = [&](std::size_t chunk) {
    std::int64_t item = static_cast<std::int64_t>(chunk);
    const T *a = in.a + 2 * item * in.n_points, *b = in.b + 2 * item * in.n_points;
    const T* values = in.values + item * in.n_points;
    ByColumn<T> points(a, in.lengths[item]);
    std::vector<double> inside;
    for (std::int64_t r = item * in.n_boxes; r < (item + 1) * in.n_boxes; ++r) {
      const T *box_a = in.boxes_a + 4 * r, *box_b = in.boxes_b + 4 * r;
      auto first = std::lower_bound(points.x.begin(), points.x.end(), box_a[0]);
      inside.clear();
      for (auto k = points.order.begin() + (first - points.x.begin()); k != points.order.end(); ++k) {
        if (!(a[2 * *k] <= box_a[2])) break;
        if (holds(box_a, a + 2 * *k) && holds(box_b, b + 2 * *k)) inside.push_back(values[*k]);
      }
      count[r] = static_cast<std::int64_t>(inside.size());
      median[r] = median_of(inside);
    }
  };
  for_chunks(static_cast<std::size_t>(in.n_items), body);
}

template void box_medians(const BoxedValues<float>&, double*, std::int64_t*);
template void box_medians(const BoxedValues<double>&, double*, std::int64_t*);

}  // namespace wmb
