// SPDX-License-Identifier: Apache-2.0
// The loops over batches of pairs of images.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/image.h"

namespace wmb {

// n_items pairs of n samples each. Writes the sums of squared differences, exact for bytes, and the least and
// the largest value of each pair, zero for bytes.
template <typename T>
void squared_difference(const T* a, const T* b, std::size_t n_items, std::size_t n, double* squares,
                        double* low, double* high);

// One similarity a pair of images with values from low to low + extent, NaN where it is not finite. channels
// is 1 or 3, and a window must fit the image.
template <typename T>
void ssim(const T* a, const T* b, const ImageShape& shape, SsimVariant variant, double low, double extent,
          bool blue_first, double* result);

}  // namespace wmb
