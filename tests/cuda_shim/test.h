// SPDX-License-Identifier: Apache-2.0
// What the tests of kernels share. They run every kernel on small odd sizes, under a sanitizer; what the
// answers must be is tested in Python (tests/kernels), here only that they do not depend on the order of
// threads and blocks.
#pragma once

#include <cuda_runtime.h>

#include "cpp/check.h"

namespace check {

// Whether `make`, which returns Bytes, gives the same with threads and blocks from front to back and from
// back to front.
template <typename Make>
bool same_both_ways(Make make) {
  cuda_shim::set_backwards(false);
  const std::string forwards = make().bytes();
  cuda_shim::set_backwards(true);
  const std::string backwards = make().bytes();
  cuda_shim::set_backwards(false);
  return forwards == backwards && !forwards.empty();
}

}  // namespace check
