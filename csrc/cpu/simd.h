// SPDX-License-Identifier: Apache-2.0
// Which SIMD level the kernels of csrc/cpu/isa run at. The widest this CPU has, unless a test asks for a narrower one.
// Results do not depend on it.
#pragma once

#include "cpu/isa/isa.h"

namespace wmb {

// The names of the levels this CPU can run, narrowest first; returns their number.
int simd_levels(const char* names[3]);

// Makes every later call run at this level; false where there is no such level or the CPU lacks it.
bool set_simd_level(const char* name);

const isa::Level& simd();

template <typename T>
const isa::Kernels<T>& kernels();
template <>
inline const isa::Kernels<float>& kernels<float>() {
  return simd().f32;
}
template <>
inline const isa::Kernels<double>& kernels<double>() {
  return simd().f64;
}

}  // namespace wmb
