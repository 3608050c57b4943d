// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/image.h"
#include "cuda/stream.h"

namespace wmb::cuda {

// What the results of images of a type are given in: single precision for single precision.
template <typename T>
struct ResultOf {
  using Type = double;
};
template <>
struct ResultOf<float> {
  using Type = float;
};
template <typename T>
using Result = typename ResultOf<T>::Type;

// How many numbers of workspace mse and psnr want, and ssim.
template <typename T>
std::size_t difference_workspace(std::size_t n_items, std::size_t n);
std::size_t ssim_workspace(const ImageShape& shape, SsimVariant variant);

// n_items pairs of n samples each to their mean squared differences, NaN where not finite.
template <typename T>
int mse(const T* a, const T* b, std::size_t n_items, std::size_t n, Result<T>* out, double* workspace,
        cudaStream_t stream);

// To 10 log10(extent^2 / mse), or `identical` where they do not differ.
template <typename T>
int psnr(const T* a, const T* b, std::size_t n_items, std::size_t n, double extent, double identical,
         Result<T>* out, double* workspace, cudaStream_t stream);

// As csrc/cpu/image.h.
template <typename T>
int ssim(const T* a, const T* b, const ImageShape& shape, SsimVariant variant, double low, double extent,
         bool blue_first, Result<T>* out, double* workspace, cudaStream_t stream);

}  // namespace wmb::cuda
