// SPDX-License-Identifier: Apache-2.0
#define WMB_IMAGE_TABLE kAvx2ImageKernels
#include "cpu/isa/image.inc.h"
