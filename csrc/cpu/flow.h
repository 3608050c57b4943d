// SPDX-License-Identifier: Apache-2.0
// The loops over batches of flow fields and of parallax samples.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wmb {

// n_fields fields of (height, width, 2), each pixel (u, v). Writes one number a field to horizontal and
// radial, NaN where it is not finite, and the reason to code.
template <typename T>
void flow_channels(const T* flow, std::size_t n_fields, std::size_t height, std::size_t width,
                   double* horizontal, double* radial, std::uint8_t* code);

struct ParallaxOut {
  double* slope;
  double* intercept;
  double* spread;  // P95 - P5 of the inverse depths
  std::uint8_t* code;
};

// n_items samples; item i is count[i] points from start[i] on, in both arrays.
template <typename T>
void parallax_split(const T* u, const T* inverse_depth, const std::int64_t* start, const std::int64_t* count,
                    std::size_t n_items, ParallaxOut out);

}  // namespace wmb
