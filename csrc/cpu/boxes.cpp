// SPDX-License-Identifier: Apache-2.0
#include "cpu/boxes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "cpu/parallel.h"

namespace wmb {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

double median_of(double* values, std::size_t n) {
  if (n == 0) return kNone;
  for (std::size_t k = 0; k < n; ++k)
    if (!std::isfinite(values[k])) return kInfinite;
  std::sort(values, values + n);
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

// The correspondences of one item in the order of their x in a, so that a box looks only at those between its
// sides.
template <typename T>
struct ByColumn {
  std::vector<T> x, y, x_b, y_b;
  std::vector<double> value;

  ByColumn(const T* a, const T* b, const T* values, std::int64_t n) {
    std::vector<std::pair<T, std::int64_t>> order;
    order.reserve(static_cast<std::size_t>(n));
    for (std::int64_t k = 0; k < n; ++k)
      if (!std::isnan(a[2 * k])) order.emplace_back(a[2 * k], k);
    std::sort(order.begin(), order.end());
    for (std::vector<T>* column : {&x, &y, &x_b, &y_b}) column->reserve(order.size());
    value.reserve(order.size());
    for (const auto& [column, k] : order) {
      x.push_back(column);
      y.push_back(a[2 * k + 1]);
      x_b.push_back(b[2 * k]);
      y_b.push_back(b[2 * k + 1]);
      value.push_back(values[k]);
    }
  }

  // Writes the values inside both boxes and returns their number. It does not branch on what is inside: that
  // cannot be foreseen.
  std::size_t inside(const T* box_a, const T* box_b, double* to) const {
    if (!(box_a[0] <= box_a[2] && box_a[1] <= box_a[3] && box_b[0] <= box_b[2] && box_b[1] <= box_b[3]))
      return 0;
    const T low_a = box_a[1], high_a = box_a[3], left_b = box_b[0], low_b = box_b[1], right_b = box_b[2],
            high_b = box_b[3];
    auto first = std::lower_bound(x.begin(), x.end(), box_a[0]);
    auto last = std::upper_bound(first, x.end(), box_a[2]);
    std::size_t found = 0;
    for (std::size_t k = static_cast<std::size_t>(first - x.begin()),
                     end = static_cast<std::size_t>(last - x.begin());
         k < end; ++k) {
      to[found] = value[k];
      found += (y[k] >= low_a) & (y[k] <= high_a) & (x_b[k] >= left_b) & (x_b[k] <= right_b) &
               (y_b[k] >= low_b) & (y_b[k] <= high_b);
    }
    return found;
  }
};

}  // namespace

template <typename T>
void box_medians(const BoxedValues<T>& in, double* median, std::int64_t* count) {
  auto body = [&](std::size_t chunk) {
    std::int64_t item = static_cast<std::int64_t>(chunk), start = item * in.n_points;
    ByColumn<T> points(in.a + 2 * start, in.b + 2 * start, in.values + start, in.lengths[item]);
    std::vector<double> inside(points.x.size() + 1);
    for (std::int64_t r = item * in.n_boxes; r < (item + 1) * in.n_boxes; ++r) {
      std::size_t n = points.inside(in.boxes_a + 4 * r, in.boxes_b + 4 * r, inside.data());
      count[r] = static_cast<std::int64_t>(n);
      median[r] = median_of(inside.data(), n);
    }
  };
  for_chunks(static_cast<std::size_t>(in.n_items), body);
}

template void box_medians(const BoxedValues<float>&, double*, std::int64_t*);
template void box_medians(const BoxedValues<double>&, double*, std::int64_t*);

}  // namespace wmb
