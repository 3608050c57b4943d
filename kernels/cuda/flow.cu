// SPDX-License-Identifier: Apache-2.0
// Two passes: a block sums a band of rows of one field, then a block adds the bands of a field in order.
#include "cuda/flow.h"

#include <cmath>

#include "core/flow.h"
#include "core/reason.h"
#include "cuda/launch.h"
#include "cuda/reduce.h"

namespace wmb::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::size_t kRows = 8;  // of a band

inline std::size_t bands_of(std::size_t height) { return (height + kRows - 1) / kRows; }

template <typename T>
__global__ void __launch_bounds__(kThreads)
    sum_bands(const T* flow, std::size_t height, std::size_t width, double* partial) {
  __shared__ double shared[2 * kThreads];
  const std::size_t field = blockIdx.y, first = blockIdx.x * kRows;
  const std::size_t rows = height - first < kRows ? height - first : kRows;
  double sums[2] = {0.0, 0.0};
  const T* band = flow + (field * height + first) * 2 * width;
  for (std::size_t k = threadIdx.x; k < rows * width; k += kThreads) {
    const double x = static_cast<double>(k % width) - static_cast<double>(width) / 2;
    const double y = static_cast<double>(first + k / width) - static_cast<double>(height) / 2;
    const double norm = std::sqrt(x * x + y * y) + kRadialEpsilon;
    const double u = static_cast<double>(band[2 * k]), v = static_cast<double>(band[2 * k + 1]);
    sums[0] += u;
    sums[1] += u * (x / norm) + v * (y / norm);
  }
  block_sums<kThreads, 2>(sums, shared);
  if (threadIdx.x != 0) return;
  double* out = partial + 2 * (field * gridDim.x + blockIdx.x);
  out[0] = sums[0];
  out[1] = sums[1];
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    add_bands(const double* partial, std::size_t bands, double pixels, ChannelsOut<T> out) {
  __shared__ double shared[2 * kThreads];
  const std::size_t field = blockIdx.x;
  double sums[2] = {0.0, 0.0};
  for (std::size_t band = threadIdx.x; band < bands; band += kThreads)
    for (int k = 0; k < 2; ++k) sums[k] += partial[2 * (field * bands + band) + k];
  block_sums<kThreads, 2>(sums, shared);
  if (threadIdx.x != 0) return;
  const bool has_horizontal = std::isfinite(sums[0]), has_radial = std::isfinite(sums[1]);
  const double missing = std::nan("");
  out.horizontal[field] = static_cast<T>(has_horizontal ? sums[0] / pixels : missing);
  out.radial[field] = static_cast<T>(has_radial ? sums[1] / pixels : missing);
  write_reason(has_horizontal && has_radial ? Reason::ok : Reason::value_not_finite, field, out.code,
               out.status);
}

}  // namespace

std::size_t flow_channels_workspace(std::size_t n_fields, std::size_t height) {
  return 2 * n_fields * bands_of(height);
}

template <typename T>
int flow_channels(const T* flow, std::size_t n_fields, std::size_t height, std::size_t width,
                  ChannelsOut<T> out, double* workspace, cudaStream_t stream) {
  const std::size_t bands = bands_of(height);
  const double pixels = static_cast<double>(height) * static_cast<double>(width);
  return in_batches(n_fields, [&](std::size_t first, unsigned n) {
    const dim3 grid(static_cast<unsigned>(bands), n);
    const T* fields = flow + first * height * width * 2;
    const ChannelsOut<T> to{out.horizontal + first, out.radial + first, out.code + first, out.status + first};
    const int error = launch(sum_bands<T>, grid, dim3(kThreads), stream, fields, height, width, workspace);
    return error != 0 ? error
                      : launch(add_bands<T>, dim3(n), dim3(kThreads), stream, workspace, bands, pixels, to);
  });
}

template int flow_channels(const float*, std::size_t, std::size_t, std::size_t, ChannelsOut<float>, double*,
                           cudaStream_t);
template int flow_channels(const double*, std::size_t, std::size_t, std::size_t, ChannelsOut<double>, double*,
                           cudaStream_t);

}  // namespace wmb::cuda
