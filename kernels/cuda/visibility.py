# SPDX - License - Identifier : Apache - 2.0
"""Whether views show instances."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .launch import Tensor, compiled, empty, launch, type_of
from .views import camera_axes, camera_numbers, layout


def visibility(
    points: Tensor,
    depth: Tensor,
    confidence: Tensor | None,
    intrinsics: Tensor,
    to_camera: Tensor,
    batch: tuple[int, ...],
    limits: Sequence[float],
) -> Tensor:
    """States (..., I) of points (..., I, Q, 3)."""
    n_instances, n_points = points.shape[-3:-1]
    laid = layout(batch, (points, 3), (depth, 2), (intrinsics, camera_axes(intrinsics)), (to_camera, 2))
    state = empty(points, *batch, n_instances, dtype="uint8")
    workspace = _workspace(points, math.prod(batch) * n_instances, n_points)
    launch(
        compiled().visibility, points, type_of(points), laid, points, n_instances, n_points, depth, *depth.shape[-2:],
        confidence, intrinsics, camera_numbers(intrinsics), to_camera, list(limits), state, workspace,
    )  # fmt: skip
    return state


def sampled_visibility(
    pixels: Tensor,
    depth: Tensor,
    seen: Tensor,
    confidence: Tensor | None,
    lengths: Tensor | None,
    size: tuple[float, float],
    sizes: Tensor | None,
    limits: Sequence[float],
    with_area: bool,
) -> tuple[Tensor, ...]:
    """State, inside, known, occluded, visible and area, (n,) each, of pixels (n, Q, 2).

    ``size`` is width and height of all views, unless ``sizes`` (n, 2) has those of each.
    """
    n, n_points = depth.shape
    state = empty(depth, n, dtype="uint8")
    found = [empty(depth, n, dtype="float64") for _ in range(5)]
    launch(
        compiled().sampled_visibility, depth, type_of(depth), n, n_points, pixels, depth, seen, confidence, lengths,
        *size, sizes, list(limits), with_area, state, *found, _workspace(depth, n, n_points),
    )  # fmt: skip
    return state, *found


def _workspace(like: Tensor, n_instances: int, n_points: int) -> Tensor:
    return empty(like, compiled().visibility_workspace(n_instances, n_points), dtype="float64")
