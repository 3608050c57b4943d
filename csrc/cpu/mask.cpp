// SPDX-License-Identifier: Apache-2.0
#include "cpu/mask.h"

#include "core/mask.h"

#include "cpu/parallel.h"

namespace wmb {

void mask_iou(const std::uint8_t* a, const std::uint8_t* b, std::size_t n_items, std::size_t n_pixels,
              double empty, double* iou) {
  auto item = [&](std::size_t k) {
    const Overlap found = overlap(a + k * n_pixels, b + k * n_pixels, n_pixels);
    iou[k] = found.either == 0 ? empty : static_cast<double>(found.both) / static_cast<double>(found.either);
  };
  for_chunks(n_items, item);
}

}  // namespace wmb
