// SPDX-License-Identifier: Apache-2.0
// The loop over batches of masks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wmb {

// n_items pairs of masks of n_pixels bytes each. Writes intersection over union, or `empty` where both are
// empty.
void mask_iou(const std::uint8_t* a, const std::uint8_t* b, std::size_t n_items, std::size_t n_pixels,
              double empty, double* iou);

}  // namespace wmb
