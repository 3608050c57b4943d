// SPDX-License-Identifier: Apache-2.0
#define WMB_TRAJECTORY_TABLE kAvx2TrajectoryKernels
#include "cpu/isa/trajectory.inc.h"
