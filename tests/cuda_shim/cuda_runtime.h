// SPDX-License-Identifier: Apache-2.0
// Runs CUDA kernels on the host, for tests: the same .cu is compiled by g++ with this header in the place of
// CUDA's.
//
// A CUDA thread is a fiber, with a stack of its own; a block's take turns at its barriers, and blocks run one
// after the other, all of it from front to back or, on request, from back to front: what depends on the order
// shows by comparing the two. A barrier that not all threads of the block reach, and a warp operation that
// not all lanes reach, stop the program with a sentence; what the threads share is real memory, so that
// AddressSanitizer sees an index out of bounds and ThreadSanitizer, to which each fiber is a thread, a
// missing barrier.
//
// What it can express is what kernels here may use: static __shared__ arrays, __syncthreads, __syncwarp,
// shuffles and votes of whole warps, atomics on integers.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__ __restrict
// One copy for all threads, as blocks never run side by side.
#define __shared__ static

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

using cudaStream_t = struct CUstream_st*;
using cudaError_t = int;
constexpr cudaError_t cudaSuccess = 0;
constexpr cudaError_t cudaErrorInsufficientDriver = 35;

inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaGetDeviceCount(int* count) { return *count = 0, cudaErrorInsufficientDriver; }
inline const char* cudaGetErrorString(cudaError_t) { return "this is the host shim"; }

namespace cuda_shim {

constexpr unsigned kWarp = 32;

struct Place {
  dim3 thread, block, block_size, grid_size;
  unsigned number;  // of the thread in its block
};

extern Place here;

// Whether threads and blocks take turns from back to front from now on.
void set_backwards(bool backwards);
void run(dim3 grid, dim3 block, const std::function<void()>& kernel);
void block_barrier();
void warp_barrier();
// Gives `value` to the other lanes of the warp, and returns that of lane `from`.
std::uint64_t exchange(std::uint64_t value, unsigned from);
unsigned votes(bool value);
[[noreturn]] void stop(const char* sentence);

inline unsigned lane() { return here.number % kWarp; }

template <typename T>
T shuffled(T value, unsigned from) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value, "a shuffle moves up to 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = exchange(bits, from);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

inline void whole(unsigned mask) {
  if (mask != 0xffffffffu) stop("a warp operation must name all lanes");
}

}  // namespace cuda_shim

#define threadIdx (::cuda_shim::here.thread)
#define blockIdx (::cuda_shim::here.block)
#define blockDim (::cuda_shim::here.block_size)
#define gridDim (::cuda_shim::here.grid_size)

inline void __syncthreads() { cuda_shim::block_barrier(); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { cuda_shim::whole(mask), cuda_shim::warp_barrier(); }

template <typename T>
T __shfl_sync(unsigned mask, T value, unsigned from) {
  cuda_shim::whole(mask);
  return cuda_shim::shuffled(value, from % cuda_shim::kWarp);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned by) {
  cuda_shim::whole(mask);
  unsigned from = cuda_shim::lane() + by;
  return cuda_shim::shuffled(value, from < cuda_shim::kWarp ? from : cuda_shim::lane());
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, unsigned with) {
  cuda_shim::whole(mask);
  return cuda_shim::shuffled(value, cuda_shim::lane() ^ with);
}
inline unsigned __ballot_sync(unsigned mask, int value) {
  cuda_shim::whole(mask);
  return cuda_shim::votes(value != 0);
}
inline int __any_sync(unsigned mask, int value) { return __ballot_sync(mask, value) != 0; }
inline int __all_sync(unsigned mask, int value) { return __ballot_sync(mask, value) == 0xffffffffu; }
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline int __clz(int value) { return value == 0 ? 32 : __builtin_clz(static_cast<unsigned>(value)); }

// c + the products of four bytes each.
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int k = 0; k < 32; k += 8) c += (a >> k & 255) * (b >> k & 255);
  return c;
}

// Integers alone: sums of floating-point numbers by atomics would come in another order every run.
template <typename T>
T atomicAdd(T* at, T value) {
  static_assert(std::is_integral<T>::value, "atomics are for integers");
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
template <typename T>
T atomicOr(T* at, T value) {
  static_assert(std::is_integral<T>::value, "atomics are for integers");
  return __atomic_fetch_or(at, value, __ATOMIC_RELAXED);
}
template <typename T>
T atomicMin(T* at, T value) {
  static_assert(std::is_integral<T>::value, "atomics are for integers");
  T seen = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (value < seen &&
         !__atomic_compare_exchange_n(at, &seen, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return seen;
}
template <typename T>
T atomicMax(T* at, T value) {
  static_assert(std::is_integral<T>::value, "atomics are for integers");
  T seen = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (value > seen &&
         !__atomic_compare_exchange_n(at, &seen, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return seen;
}
template <typename T>
T __ldg(const T* at) {
  return *at;
}

inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float __fdividef(float a, float b) { return a / b; }  // a device's is a last bit off
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline long long __double_as_longlong(double x) {
  long long bits;
  std::memcpy(&bits, &x, 8);
  return bits;
}
inline double __longlong_as_double(long long bits) {
  double x;
  std::memcpy(&x, &bits, 8);
  return x;
}
inline int __float_as_int(float x) {
  int bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
inline float __int_as_float(int bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}
