// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace wmb {

// N correspondences an item, of which the first lengths[i] count; R pairs of boxes x0, y0, x1, y1 an item.
template <typename T>
struct BoxedValues {
  std::int64_t n_items, n_points, n_boxes;
  const T *a, *b, *values;     // (n_items, n_points, 2) twice, (n_items, n_points)
  const T *boxes_a, *boxes_b;  // (n_items, n_boxes, 4)
  const std::int64_t* lengths;
};

// The median of the values whose points lie in both boxes of a pair, edges included: infinite where one of
// them is not finite, NaN where there are none.
template <typename T>
void box_medians(const BoxedValues<T>& in, double* median, std::int64_t* count);

}  // namespace wmb
