# SPDX-License-Identifier: Apache-2.0
"""Reductions of optical flow fields, and the split of sideways flow."""

from __future__ import annotations

import math

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


def parallax_split(
    u: Tensor, inverse_depth: Tensor, each: int, start: Tensor | None, count: Tensor | None, batch: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Status, code, translation, rotation, slope and intercept, of the batch's shape, of flat samples.

    An item has the first ``count`` of ``each`` values, or those from ``start`` on.
    """
    status, code = empty(u, *batch, dtype="uint8"), empty(u, *batch, dtype="uint8")
    split = tuple(empty(u, *batch) for _ in range(4))
    items = math.prod(batch), each, start, count
    launch(compiled().parallax_split, u, type_of(u), u, inverse_depth, *items, *split, code, status)
    return status, code, *split
