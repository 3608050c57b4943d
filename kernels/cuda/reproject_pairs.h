// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/stream.h"
#include "cuda/views.h"

namespace wmb::cuda {

// Of each item; n is the number of co-visible pixels.
template <typename T>
struct AgreementOut {
  T *median, *fraction;
  std::int64_t* n;
  std::uint8_t *code, *status;
};

template <typename T>
struct AgreementRule {
  T lo, hi;
  bool bilinear;
};

// How many numbers of eight bytes of workspace depth_agreement wants, for numbers of `size` bytes.
std::size_t depth_agreement_workspace(std::size_t n_items, std::int64_t pixels, std::size_t size);

// As csrc/cpu/reproject.h.
template <typename T>
int depth_agreement(const Maps<T>& source, const Maps<T>& destination, const Passages<T>& passages,
                    const AgreementRule<T>& rule, AgreementOut<T> out, void* workspace, cudaStream_t stream);

// Frames of some clips: maps and poses one after another, and cameras that may serve many of them.
template <typename T>
struct Clips {
  std::size_t n;
  std::int64_t frames, height, width;  // frames: of each clip
  const T *depth, *confidence;         // confidence may be null
  const T* to_world;
  Batch all_frames;
  Cameras<T> cameras;
};

struct ErrorRule {
  std::int64_t grid, min_points;
  double lo, hi, confidence_quantile;
  bool pixels;
};

template <typename T>
struct ErrorOut {
  T *median, *mean, *per_pair, *fraction;
  std::int64_t* n_pairs;
  std::uint8_t *code, *status;
};

// How many numbers of eight bytes of workspace reprojection_error wants, for numbers of `size` bytes.
std::size_t reprojection_error_workspace(std::size_t n, std::int64_t frames, std::int64_t height,
                                         std::int64_t width, std::int64_t grid, std::size_t size);

template <typename T>
int reprojection_error(const Clips<T>& clips, const ErrorRule& rule, ErrorOut<T> out, void* workspace,
                       cudaStream_t stream);

}  // namespace wmb::cuda
