// SPDX-License-Identifier: Apache-2.0
// Marks what the host and the device share.
#pragma once

#if defined(__CUDACC__)
#define WMB_HD __host__ __device__
#else
#define WMB_HD
#endif
