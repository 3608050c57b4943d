# SPDX-License-Identifier: Apache-2.0
"""From the weight files of packages to ONNX graphs, by our own definitions of the networks. No donor package runs."""
