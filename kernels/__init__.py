# SPDX-License-Identifier: Apache-2.0
"""GPU kernels: `cuda/` launches the mathematics of csrc/core; `_cuda` is its module, where nvcc could build it."""
