// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/items.h"
#include "cuda/stream.h"

namespace wmb::cuda {

template <typename T>
struct ChannelsOut {
  T* horizontal;
  T* radial;
  std::uint8_t* code;
  std::uint8_t* status;
};

// How many numbers of workspace flow_channels wants.
std::size_t flow_channels_workspace(std::size_t n_fields, std::size_t height);

// As csrc/cpu/flow.h: (n_fields, height, width, 2) of u, v to one number a field each, and a reason.
template <typename T>
int flow_channels(const T* flow, std::size_t n_fields, std::size_t height, std::size_t width,
                  ChannelsOut<T> out, double* workspace, cudaStream_t stream);

template <typename T>
struct ParallaxOut {
  T *translation, *rotation, *slope, *intercept;
  std::uint8_t* code;
  std::uint8_t* status;
};

// Items of u and of inverse depth, which lie alike.
template <typename T>
int parallax_split(const T* u, const T* inverse_depth, Items items, ParallaxOut<T> out, cudaStream_t stream);

}  // namespace wmb::cuda
