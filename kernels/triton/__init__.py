# SPDX-License-Identifier: Apache-2.0
"""The tile-shaped ops in Triton: cosine, match, top-k, patch best match. Launchers have the names of csrc/bind.

They take torch tensors of one device and fill tensors that the caller made; they copy nothing to the host and wait for
nothing. Workspace comes from torch's allocator.
"""
