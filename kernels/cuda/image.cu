// SPDX-License-Identifier: Apache-2.0
// Squared differences, bound by the reading of the images: in packets of 16 bytes where they are aligned, and
// several asked for before the first is worked on. Which thread adds what, and in which order, depends on the
// number of samples alone, and not on how they lie in memory.
#include "cuda/image.h"

#include <cmath>
#include <cstring>

#include "cuda/launch.h"
#include "cuda/parts.h"
#include "cuda/reduce.h"

namespace wmb::cuda {
namespace {

constexpr int kThreads = 256, kPackets = 8;  // a thread

// 16 bytes of samples.
template <typename T>
struct alignas(16) Packet {
  static constexpr int kSamples = 16 / sizeof(T);
  T sample[kSamples];
};
// Bytes stay together in words.
template <>
struct alignas(16) Packet<std::uint8_t> {
  static constexpr int kSamples = 16;
  std::uint32_t word[4];
};

template <typename T>
constexpr std::size_t kSamplesABlock = std::size_t{kThreads} * kPackets * Packet<T>::kSamples;

template <typename T>
inline std::size_t blocks_of(std::size_t n) {
  const std::size_t blocks = (n + kSamplesABlock<T> - 1) / kSamplesABlock<T>;
  return blocks > 0 ? blocks : 1;
}

// The first n samples, where they lie, and zeros for the rest.
template <typename T>
__device__ inline Packet<T> some_of(const T* from, std::size_t n) {
  Packet<T> out;
  for (int i = 0; i < Packet<T>::kSamples; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    out.sample[i] = at < n ? from[at] : T{0};
  }
  return out;
}
__device__ inline Packet<std::uint8_t> some_of(const std::uint8_t* from, std::size_t n) {
  Packet<std::uint8_t> out{};
  for (int i = 0; i < 16; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    if (at < n) out.word[i / 4] |= static_cast<std::uint32_t>(from[at]) << (8 * (i % 4));
  }
  return out;
}

// What a thread adds up, in order.
template <typename T>
struct Squares {
  double sum = 0;

  __device__ void add(const Packet<T>& a, const Packet<T>& b) {
    for (int i = 0; i < Packet<T>::kSamples; ++i) {
      const double d = static_cast<double>(a.sample[i]) - static_cast<double>(b.sample[i]);
      sum += d * d;
    }
  }
  __device__ double total() const { return sum; }
};
// (a - b)^2 = a^2 + b^2 - 2 a b, four bytes at a time, and exact: a thread's sum has 24 bits, and what runs
// over 32 on the way comes back.
template <>
struct Squares<std::uint8_t> {
  std::uint32_t squares = 0, products = 0;

  __device__ void add(const Packet<std::uint8_t>& a, const Packet<std::uint8_t>& b) {
    for (int i = 0; i < 4; ++i) {
      squares = __dp4a(b.word[i], b.word[i], __dp4a(a.word[i], a.word[i], squares));
      products = __dp4a(a.word[i], b.word[i], products);
    }
  }
  __device__ double total() const { return static_cast<double>(squares - 2 * products); }
};

__device__ inline bool is_aligned(const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; }

template <typename T>
__device__ inline Packet<T> aligned_at(const T* from) {
  Packet<T> out;
  std::memcpy(&out, __builtin_assume_aligned(from, 16), 16);
  return out;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    sum_squares(const T* a, const T* b, std::size_t n, double* parts) {
  __shared__ double shared[kThreads];
  constexpr std::size_t kStep = Packet<T>::kSamples;
  const std::size_t first = blockIdx.x * kSamplesABlock<T>;
  a += blockIdx.y * n;
  b += blockIdx.y * n;
  const bool aligned = is_aligned(a) && is_aligned(b);
  Squares<T> sum;
  auto place = [=](int k) { return first + (static_cast<std::size_t>(k) * kThreads + threadIdx.x) * kStep; };
  if (aligned && first + kSamplesABlock<T> <= n) {
#pragma unroll
    for (int k = 0; k < kPackets; ++k) sum.add(aligned_at(a + place(k)), aligned_at(b + place(k)));
  } else {
    for (int k = 0; k < kPackets; ++k) {
      const std::size_t at = place(k);
      if (aligned && at + kStep <= n)
        sum.add(aligned_at(a + at), aligned_at(b + at));
      else if (at < n)
        sum.add(some_of(a + at, n - at), some_of(b + at, n - at));
    }
  }
  const double total = block_sum<kThreads>(sum.total(), shared);
  if (threadIdx.x == 0) parts[std::size_t{blockIdx.y} * gridDim.x + blockIdx.x] = total;
}

struct Mean {
  double n;

  __device__ double operator()(double squares) const {
    const double mean = squares / n;  // NaN without samples
    return std::isfinite(mean) ? mean : std::nan("");
  }
};

struct Ratio {
  Mean mean;
  double extent, identical;

  __device__ double operator()(double squares) const {
    const double error = mean(squares);
    return error == 0 ? identical : 10 * std::log10(extent * extent / error);
  }
};

template <typename T, typename Finish>
int difference(const T* a, const T* b, std::size_t n_items, std::size_t n, Finish finish, Result<T>* out,
               double* workspace, cudaStream_t stream) {
  const std::size_t blocks = blocks_of<T>(n);
  return in_batches(n_items, [&](std::size_t first, unsigned items) {
    const int error = launch(sum_squares<T>, dim3(static_cast<unsigned>(blocks), items), dim3(kThreads),
                             stream, a + first * n, b + first * n, n, workspace);
    return error != 0 ? error
                      : launch(add_parts<Result<T>, Finish>, dim3(items), dim3(kPartsThreads), stream,
                               workspace, blocks, finish, out + first);
  });
}

}  // namespace

template <typename T>
std::size_t difference_workspace(std::size_t n_items, std::size_t n) {
  return n_items * blocks_of<T>(n);
}

template <typename T>
int mse(const T* a, const T* b, std::size_t n_items, std::size_t n, Result<T>* out, double* workspace,
        cudaStream_t stream) {
  return difference(a, b, n_items, n, Mean{static_cast<double>(n)}, out, workspace, stream);
}

template <typename T>
int psnr(const T* a, const T* b, std::size_t n_items, std::size_t n, double extent, double identical,
         Result<T>* out, double* workspace, cudaStream_t stream) {
  return difference(a, b, n_items, n, Ratio{{static_cast<double>(n)}, extent, identical}, out, workspace,
                    stream);
}

#define WMB_DIFFERENCE_OF(T)                                                                           \
  template std::size_t difference_workspace<T>(std::size_t, std::size_t);                              \
  template int mse(const T*, const T*, std::size_t, std::size_t, Result<T>*, double*, cudaStream_t);   \
  template int psnr(const T*, const T*, std::size_t, std::size_t, double, double, Result<T>*, double*, \
                    cudaStream_t);
WMB_DIFFERENCE_OF(std::uint8_t)
WMB_DIFFERENCE_OF(float)
WMB_DIFFERENCE_OF(double)
#undef WMB_DIFFERENCE_OF

}  // namespace wmb::cuda
