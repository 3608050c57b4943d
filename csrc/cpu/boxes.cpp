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
  double* upper = values + n / 2;
  std::nth_element(values, upper, values + n);
  const double lower = n % 2 ? *upper : *std::max_element(values, upper);
  return (lower + *upper) / 2;
}

constexpr int kCells = 16;  // along either side

// One side of a grid of cells over some numbers.
struct Side {
  double least = kInfinite, most = -kInfinite, scale = 0;

  void add(double at) {
    const bool finite = at - at == 0;
    least = finite && at < least ? at : least;
    most = finite && at > most ? at : most;
  }
  void divide() {
    if (most > least) scale = kCells / (most - least);
  }
  // Never less for a larger number; those beyond the finite ones belong to the outer cells.
  int cell_of(double at) const {
    const double k = (at - least) * scale;
    return !(k > 0) ? 0 : k < kCells - 1 ? static_cast<int>(k) : kCells - 1;
  }
};

// The correspondences of one item, dealt out to cells by their place in a, so that a box looks only at those
// of the cells it touches.
template <typename T>
class ByCell {
 public:
  ByCell(const T* a, const T* b, const T* values, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) {
      column_.add(a[2 * k]);
      row_.add(a[2 * k + 1]);
    }
    column_.divide();
    row_.divide();
    std::vector<int> cell(static_cast<std::size_t>(n));
    for (std::int64_t k = 0; k < n; ++k) {
      cell[k] = row_.cell_of(a[2 * k + 1]) * kCells + column_.cell_of(a[2 * k]);
      start_[cell[k] + 1] += 1;
    }
    for (int c = 0; c < kCells * kCells; ++c) start_[c + 1] += start_[c];
    std::int64_t next[kCells * kCells];
    std::copy_n(start_, kCells * kCells, next);
    found_.resize(static_cast<std::size_t>(n));
    for (std::int64_t k = 0; k < n; ++k)
      found_[next[cell[k]]++] = {a[2 * k], a[2 * k + 1], b[2 * k], b[2 * k + 1], values[k]};
  }

  // Writes the values inside both boxes and returns their number. It does not branch on what is inside: that
  // cannot be foreseen.
  std::size_t inside(const T* box_a, const T* box_b, double* to) const {
    if (!(box_a[0] <= box_a[2] && box_a[1] <= box_a[3] && box_b[0] <= box_b[2] && box_b[1] <= box_b[3]))
      return 0;
    const T left = box_a[0], low = box_a[1], right = box_a[2], high = box_a[3];
    const T left_b = box_b[0], low_b = box_b[1], right_b = box_b[2], high_b = box_b[3];
    const int first = column_.cell_of(left), last = column_.cell_of(right), end = row_.cell_of(high);
    std::size_t n = 0;
    for (int r = row_.cell_of(low); r <= end; ++r)
      for (std::int64_t k = start_[r * kCells + first]; k < start_[r * kCells + last + 1]; ++k) {
        const Match& m = found_[k];
        to[n] = m.value;
        n += (m.x >= left) & (m.x <= right) & (m.y >= low) & (m.y <= high) & (m.x_b >= left_b) &
             (m.x_b <= right_b) & (m.y_b >= low_b) & (m.y_b <= high_b);
      }
    return n;
  }

 private:
  struct Match {
    T x, y, x_b, y_b, value;
  };

  Side column_, row_;
  std::int64_t start_[kCells * kCells + 1] = {};
  std::vector<Match> found_;
};

}  // namespace

template <typename T>
void box_medians(const BoxedValues<T>& in, double* median, std::int64_t* count) {
  auto body = [&](std::size_t chunk) {
    std::int64_t item = static_cast<std::int64_t>(chunk), start = item * in.n_points;
    ByCell<T> points(in.a + 2 * start, in.b + 2 * start, in.values + start, in.lengths[item]);
    std::vector<double> inside(static_cast<std::size_t>(in.lengths[item]) + 1);
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
