# SPDX-License-Identifier: Apache-2.0
"""Reductions of optical flow fields."""

from __future__ import annotations

from .launch import Tensor, compiled, empty, launch, type_of


def flow_channels(flow: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Status, code, mean horizontal and mean radial flow, (n,) each, of fields (n, H, W, 2)."""
    cuda = compiled()
    n, height, width, _ = flow.shape
    horizontal, radial = empty(flow, n), empty(flow, n)
    status, code = empty(flow, n, dtype="uint8"), empty(flow, n, dtype="uint8")
    workspace = empty(flow, cuda.flow_channels_workspace(n, height), dtype="float64")
    sizes = n, height, width
    launch(cuda.flow_channels, flow, type_of(flow), flow, *sizes, horizontal, radial, code, status, workspace)
    return status, code, horizontal, radial
