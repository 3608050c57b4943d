// SPDX-License-Identifier: Apache-2.0
// The batch of a call as kernels/cuda/views.py lays it out: how many axes, their sizes, and then for each
// argument the steps along them.
#pragma once

#include <nanobind/stl/vector.h>

#include <vector>

#include "cuda/bind/bind.h"
#include "cuda/views.h"

namespace wmb::cuda {

class Layout {
 public:
  explicit Layout(const std::vector<std::int64_t>& numbers) : numbers_(numbers) {
    axes_ = numbers.empty() ? -1 : numbers[0];
    if (axes_ < 0 || axes_ > kMostAxes || (numbers.size() - 1) % (axes_ > 0 ? axes_ : 1) != 0)
      throw std::invalid_argument("a layout must have up to 8 axes, and steps along all of them");
  }

  Batch batch() const {
    Batch out{1, static_cast<int>(axes_), {}};
    for (int axis = 0; axis < axes_; ++axis) {
      out.size[axis] = numbers_[1 + axis];
      out.n *= static_cast<std::size_t>(out.size[axis]);
    }
    return out;
  }

  // Of argument k, in the order in which they were laid out.
  Steps steps(int k) const {
    Steps out{};
    for (int axis = 0; axis < axes_; ++axis) out.along[axis] = numbers_.at(1 + (1 + k) * axes_ + axis);
    return out;
  }

 private:
  const std::vector<std::int64_t>& numbers_;
  std::int64_t axes_;
};

// A passage's transform and cameras, as kernels/cuda/views.py passes them: they are the layout's first three.
struct PassageAddresses {
  Address to, source, destination;
  int source_numbers, destination_numbers;

  template <typename T>
  Passages<T> laid(const Layout& layout) const {
    return {layout.batch(),
            {at<const T>(to), layout.steps(0)},
            {at<const T>(source), source_numbers, layout.steps(1)},
            {at<const T>(destination), destination_numbers, layout.steps(2)}};
  }
};

}  // namespace wmb::cuda
