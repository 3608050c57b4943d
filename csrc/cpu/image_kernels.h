// SPDX-License-Identifier: Apache-2.0
// The inner loops of the image ops, in as many compilations as there are instruction sets worth having. All
// give the same bits: whole numbers are exact, and what is not whole is summed in four fixed lanes, without
// fused multiply-add.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/image.h"

namespace wmb {

// Two images of one size, row-major; each pixel has `step` samples, worked on one by one. `a` and `b` begin
// with row `held` of the image, and have as many as the windows need. `zero` is taken off floats: a value
// that counts as black.
template <typename T>
struct ImagePair {
  const T *a, *b;
  std::size_t height, width, step, held;
  double zero;
};

// The windows whose middle lies in these rows and columns.
struct Windows {
  std::size_t first_row, last_row, first_column, last_column;
};

constexpr std::size_t kBandRows = 96;  // the most rows of windows at once

// Room that the kernels below need, in doubles.
constexpr std::size_t kSsimRoom = 32768;

struct Difference {
  double squares;    // the sum of (a - b)^2
  double low, high;  // the least and the largest value of a and b
};

template <typename T>
struct ImageKernels {
  // Over n samples. For bytes the extent is left at zero; n is at most 2^20, so that their sum is exact.
  Difference (*difference)(const T* a, const T* b, std::size_t n);
  // Grey of n pixels of three samples: sample c of pixel i is x[c * channel_step + i * pixel_step].
  // `Grey` is T for bytes and double for floats.
  void (*grey)(const T* x, std::size_t channel_step, std::size_t pixel_step, bool blue_first, std::size_t n,
               void* out);
  // Sums of the similarity over windows; beyond the image's border it is mirrored. `step` is 1 or 3.
  double (*uniform)(const ImagePair<T>& pair, const Windows& windows, const SsimRule& rule, double* room);
  double (*gaussian)(const ImagePair<T>& pair, const Windows& windows, const SsimRule& rule, double* room);
};

struct ImageTable {
  ImageKernels<std::uint8_t> u8;
  ImageKernels<float> f32;
  ImageKernels<double> f64;
};

// That of the SIMD level in force (cpu/simd.h).
template <typename T>
const ImageKernels<T>& image_kernels();

extern const ImageTable kBaseImageKernels;
extern const ImageTable kAvx2ImageKernels;  // x86-64 alone

}  // namespace wmb
