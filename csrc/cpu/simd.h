// SPDX-License-Identifier: Apache-2.0
// Which SIMD level the kernels of csrc/cpu/isa run at. The widest this CPU has, unless a test asks for a
// narrower one. Results do not depend on it.
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

template <typename T>
const isa::Reproject<T>& reproject_kernels();
template <>
inline const isa::Reproject<float>& reproject_kernels<float>() {
  return simd().unfused->reproject_f32;
}
template <>
inline const isa::Reproject<double>& reproject_kernels<double>() {
  return simd().unfused->reproject_f64;
}

template <typename T>
const isa::Select<T>& select_kernels();
template <>
inline const isa::Select<float>& select_kernels<float>() {
  return simd().unfused->select_f32;
}
template <>
inline const isa::Select<double>& select_kernels<double>() {
  return simd().unfused->select_f64;
}

template <typename T>
isa::PlainScores<T> plain_scores_kernel();
template <>
inline isa::PlainScores<float> plain_scores_kernel<float>() {
  return simd().unfused->plain_scores_f32;
}
template <>
inline isa::PlainScores<double> plain_scores_kernel<double>() {
  return simd().unfused->plain_scores_f64;
}

}  // namespace wmb
