# SPDX-License-Identifier: Apache-2.0
"""What pairs of views agree on."""

from __future__ import annotations

import math
from typing import Any

from .launch import Tensor, compiled, empty, launch, type_of
from .views import camera_axes, camera_numbers, layout, passage


def depth_agreement(
    source: Tensor, destination: Tensor, way: Any, bounds: tuple[float, float], bilinear: bool
) -> tuple[Tensor, ...]:
    """Status, code, median relative error, co-visible fraction and n, of the batch's shape each."""
    cuda, batch = compiled(), way.batch
    median, fraction, n = empty(source, *batch), empty(source, *batch), empty(source, *batch, dtype="int64")
    status, code = empty(source, *batch, dtype="uint8"), empty(source, *batch, dtype="uint8")
    sizes = source.shape[-2:], destination.shape[-2:]
    words = cuda.depth_agreement_workspace(math.prod(batch), math.prod(sizes[0]), source.element_size())
    workspace = empty(source, words, dtype="float64")
    launch(
        cuda.depth_agreement, source, type_of(source), *passage(way, source, destination), source, *sizes[0],
        destination, *sizes[1], *bounds, bilinear, median, fraction, n, code, status, workspace,
    )  # fmt: skip
    return status, code, median, fraction, n


def reprojection_error(
    depth: Tensor,
    poses: Tensor,
    intrinsics: Tensor,
    confidence: Tensor | None,
    *,
    grid: int,
    min_points: int,
    bounds: tuple[float, float],
    quantile: float,
    pixels: bool,
) -> tuple[Tensor, ...]:
    """Status, code, median, per_pair, n_pairs, mean and co-visible fraction of clips (..., K, H, W)."""
    cuda, frames = compiled(), tuple(depth.shape[:-2])
    batch, k = frames[:-1], frames[-1]
    sizes = math.prod(batch), k, *depth.shape[-2:]
    laid = layout(frames, (intrinsics, camera_axes(intrinsics)))
    median, mean, fraction = (empty(depth, *batch) for _ in range(3))
    per_pair, n_pairs = empty(depth, *batch, k, k), empty(depth, *batch, dtype="int64")
    status, code = empty(depth, *batch, dtype="uint8"), empty(depth, *batch, dtype="uint8")
    words = cuda.reprojection_error_workspace(*sizes, grid, depth.element_size())
    launch(
        cuda.reprojection_error, depth, type_of(depth), laid, intrinsics, camera_numbers(intrinsics), poses, depth,
        confidence, *sizes, grid, min_points, *bounds, quantile, pixels, median, mean, per_pair, fraction, n_pairs,
        code, status, empty(depth, words, dtype="float64"),
    )  # fmt: skip
    return status, code, median, per_pair, n_pairs, mean, fraction
