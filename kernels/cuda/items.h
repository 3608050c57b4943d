// SPDX-License-Identifier: Apache-2.0
// Where the items of a batch lie in one flat array: as csrc/cpu/trajectories.h has it, on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/hd.h"

namespace wmb::cuda {

// Without `starts` every item has room for `each`, and `lengths`, which the host may not have seen, are held
// within that. With them the items are a list, laid end to end by the host.
struct Items {
  std::size_t n, each;
  const std::int64_t* starts;
  const std::int64_t* lengths;

  WMB_HD std::size_t begin(std::size_t i) const {
    return starts == nullptr ? i * each : static_cast<std::size_t>(starts[i]);
  }
  WMB_HD std::size_t size(std::size_t i) const {
    if (lengths == nullptr) return each;
    const std::int64_t length = lengths[i] < 0 ? 0 : lengths[i];
    const std::size_t size = static_cast<std::size_t>(length);
    return starts == nullptr && size > each ? each : size;
  }
  // How many places of the flat array are an item's, those beyond its size included.
  WMB_HD std::size_t room(std::size_t i) const { return starts == nullptr ? each : size(i); }
};

}  // namespace wmb::cuda
