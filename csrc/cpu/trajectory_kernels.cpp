// SPDX-License-Identifier: Apache-2.0
#define WMB_TRAJECTORY_TABLE kBaseTrajectoryKernels
#include "cpu/isa/trajectory.inc.h"
#include "cpu/simd.h"

namespace wmb {

const TrajectoryKernels& trajectory_kernels() {
#if defined(WMB_X86_LEVELS)
  // Every level above the portable one has AVX2; more would gain nothing on four lanes.
  if (&simd() != &isa::portable) return kAvx2TrajectoryKernels;
#endif
  return kBaseTrajectoryKernels;
}

}  // namespace wmb
