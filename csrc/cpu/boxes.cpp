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

double median_of(double* values, std::size_t n) {
  if (n == 0) return kNone;
  for (std::size_t k = 0; k < n; ++k)
    if (!std::isfinite(values[k])) return kInfinite;
  std::sort(values, values + n);
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

constexpr int kColumns = 64;

// The correspondences of one item, dealt out to columns by their x in a, so that a box looks only at those of
// the columns between its sides.
template <typename T>
struct ByColumn {
  double least = kInfinite, scale = 0;
  std::int64_t start[kColumns + 1] = {};
  std::vector<T> x, y, x_b, y_b;
  std::vector<double> value;

  // Never less for a larger x; those beyond the finite ones belong to the outer columns.
  int column_of(T at) const {
    const double k = (static_cast<double>(at) - least) * scale;
    return !(k > 0) ? 0 : k < kColumns - 1 ? static_cast<int>(k) : kColumns - 1;
  }

  ByColumn(const T* a, const T* b, const T* values, std::int64_t n) {
    double most = -kInfinite;
    for (std::int64_t k = 0; k < n; ++k) {
      const double at = a[2 * k];
      if (!std::isfinite(at)) continue;
      least = std::min(least, at);
      most = std::max(most, at);
    }
    if (most > least) scale = kColumns / (most - least);
    std::vector<int> column(static_cast<std::size_t>(n), -1);  // none where x is NaN
    for (std::int64_t k = 0; k < n; ++k) {
      if (std::isnan(a[2 * k])) continue;
      column[k] = column_of(a[2 * k]);
      start[column[k] + 1] += 1;
    }
    for (int c = 0; c < kColumns; ++c) start[c + 1] += start[c];
    for (std::vector<T>* part : {&x, &y, &x_b, &y_b}) part->resize(static_cast<std::size_t>(start[kColumns]));
    value.resize(x.size());
    std::int64_t next[kColumns];
    std::copy_n(start, kColumns, next);
    for (std::int64_t k = 0; k < n; ++k) {
      if (column[k] < 0) continue;
      const std::int64_t to = next[column[k]]++;
      x[to] = a[2 * k];
      y[to] = a[2 * k + 1];
      x_b[to] = b[2 * k];
      y_b[to] = b[2 * k + 1];
      value[to] = values[k];
    }
  }

  // Writes the values inside both boxes and returns their number. It does not branch on what is inside: that
  // cannot be foreseen.
  std::size_t inside(const T* box_a, const T* box_b, double* to) const {
    if (!(box_a[0] <= box_a[2] && box_a[1] <= box_a[3] && box_b[0] <= box_b[2] && box_b[1] <= box_b[3]))
      return 0;
    const T left = box_a[0], low = box_a[1], right = box_a[2], high = box_a[3];
    const T left_b = box_b[0], low_b = box_b[1], right_b = box_b[2], high_b = box_b[3];
    std::size_t found = 0;
    for (std::int64_t k = start[column_of(left)]; k < start[column_of(right) + 1]; ++k) {
      to[found] = value[k];
      found += (x[k] >= left) & (x[k] <= right) & (y[k] >= low) & (y[k] <= high) & (x_b[k] >= left_b) &
               (x_b[k] <= right_b) & (y_b[k] >= low_b) & (y_b[k] <= high_b);
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
