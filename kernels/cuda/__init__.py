# SPDX-License-Identifier: Apache-2.0
"""Launches the kernels of `_cuda` on device tensors: one module an op family, one function an op."""
