// SPDX-License-Identifier: Apache-2.0
#define WMB_TRAJECTORY_TABLE kBaseTrajectoryKernels
#include "cpu/isa/trajectory.inc.h"

namespace wmb {

const TrajectoryKernels& trajectory_kernels() {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx2) return kAvx2TrajectoryKernels;
#endif
  return kBaseTrajectoryKernels;
}

}  // namespace wmb
