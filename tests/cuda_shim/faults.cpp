// SPDX-License-Identifier: Apache-2.0
// Kernels with the faults that the shim must find: the one that is named, or none.
#include <cstring>
#include <vector>

#include "cuda/launch.h"

namespace {

enum class Fault { none, beyond, race, left, lanes };

__global__ void reverse(Fault fault, int n, const int* in, int* out) {
  __shared__ int kept[64];
  const int t = static_cast<int>(threadIdx.x);
  kept[t] = in[fault == Fault::beyond ? t + 1 : t];
  if (fault == Fault::left && t == n - 1) return;
  if (fault != Fault::race) __syncthreads();
  int value = kept[n - 1 - t];
  if (fault != Fault::lanes || t % 2 == 0) value = __shfl_sync(0xffffffffu, value, t % 32);
  out[t] = value;
}

Fault named(const char* name) {
  if (std::strcmp(name, "beyond") == 0) return Fault::beyond;
  if (std::strcmp(name, "race") == 0) return Fault::race;
  if (std::strcmp(name, "left") == 0) return Fault::left;
  return std::strcmp(name, "lanes") == 0 ? Fault::lanes : Fault::none;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<int> in(64, 7);
  std::vector<int> out(64);
  const Fault fault = argc > 1 ? named(argv[1]) : Fault::none;
  const int error = wmb::cuda::launch(reverse, dim3(1), dim3(64), nullptr, fault, 64, in.data(), out.data());
  return error != 0 || out != in ? 1 : 0;
}
