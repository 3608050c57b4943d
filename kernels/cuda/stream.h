// SPDX-License-Identifier: Apache-2.0
// The name of CUDA's queue of work, for files that are compiled without CUDA.
#pragma once

struct CUstream_st;
using cudaStream_t = CUstream_st*;
