// SPDX-License-Identifier: Apache-2.0
#define WMB_IMAGE_TABLE kBaseImageKernels
#include "cpu/isa/image.inc.h"
#include "cpu/simd.h"

namespace wmb {
namespace {

const ImageTable& image_table() {
#if defined(WMB_X86_LEVELS)
  // Every level above the portable one has AVX2; more would gain little on four lanes.
  if (&simd() != &isa::portable) return kAvx2ImageKernels;
#endif
  return kBaseImageKernels;
}

}  // namespace

template <>
const ImageKernels<std::uint8_t>& image_kernels() {
  return image_table().u8;
}
template <>
const ImageKernels<float>& image_kernels() {
  return image_table().f32;
}
template <>
const ImageKernels<double>& image_kernels() {
  return image_table().f64;
}

}  // namespace wmb
