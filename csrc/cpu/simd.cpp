// SPDX-License-Identifier: Apache-2.0
#include "cpu/simd.h"

#include <atomic>
#include <cstring>

namespace wmb {
namespace {

int find_levels(const isa::Level* found[3]) {
  int n = 0;
  found[n++] = &isa::portable;
#if defined(WMB_X86_LEVELS)
  __builtin_cpu_init();  // these ask the operating system, too, whether it saves the wide registers
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt")) {
    found[n++] = &isa::avx2;
    if (__builtin_cpu_supports("avx512f")) found[n++] = &isa::avx512;
  }
#endif
  return n;
}

const isa::Level* widest() {
  const isa::Level* found[3];
  return found[find_levels(found) - 1];
}

std::atomic<const isa::Level*>& in_force() {
  static std::atomic<const isa::Level*> level{widest()};
  return level;
}

}  // namespace

int simd_levels(const char* names[3]) {
  const isa::Level* found[3];
  int n = find_levels(found);
  for (int i = 0; i < n; ++i) names[i] = found[i]->name;
  return n;
}

bool set_simd_level(const char* name) {
  const isa::Level* found[3];
  int n = find_levels(found);
  for (int i = 0; i < n; ++i)
    if (std::strcmp(found[i]->name, name) == 0) {
      in_force().store(found[i]);
      return true;
    }
  return false;
}

const isa::Level& simd() { return *in_force().load(); }

}  // namespace wmb
