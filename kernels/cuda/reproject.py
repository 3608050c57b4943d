# SPDX-License-Identifier: Apache-2.0
"""Points and depth maps through a pinhole camera."""

from __future__ import annotations

from typing import Any

from .launch import Tensor, compiled, empty, launch, type_of
from .views import camera_axes, camera_numbers, layout, passage


def project(
    points: Tensor, intrinsics: Tensor, to_camera: Tensor, batch: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor]:
    """Pixels (..., N, 2), depth and validity (..., N) of points (..., N, 3)."""
    n = points.shape[-2]
    laid = layout(batch, (points, 2), (intrinsics, camera_axes(intrinsics)), (to_camera, 2))
    pixels, depth, valid = empty(points, *batch, n, 2), empty(points, *batch, n), empty(points, *batch, n, dtype="bool")
    cameras = intrinsics, camera_numbers(intrinsics)
    launch(compiled().project, points, type_of(points), laid, points, n, *cameras, to_camera, pixels, depth, valid)
    return pixels, depth, valid


def unproject(depth: Tensor, intrinsics: Tensor, batch: tuple[int, ...]) -> Tensor:
    """Points (..., H, W, 3) of maps (..., H, W)."""
    height, width = depth.shape[-2:]
    laid = layout(batch, (depth, 2), (intrinsics, camera_axes(intrinsics)))
    points = empty(depth, *batch, height, width, 3)
    cameras = intrinsics, camera_numbers(intrinsics)
    launch(compiled().unproject, depth, type_of(depth), laid, depth, height, width, *cameras, points)
    return points


def reproject_depth(depth: Tensor, way: Any, height: int, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Pixels (..., H, W, 2) in an image of height x width, z there and validity (..., H, W)."""
    shape = (*way.batch, *depth.shape[-2:])
    pixels, z, valid = empty(depth, *shape, 2), empty(depth, *shape), empty(depth, *shape, dtype="bool")
    sizes = *depth.shape[-2:], height, width
    launch(compiled().reproject_depth, depth, type_of(depth), *passage(way, depth), depth, *sizes, pixels, z, valid)
    return pixels, z, valid


def splat_depth(depth: Tensor, way: Any, height: int, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Depth, flat index of its source and validity, (..., height, width) each."""
    shape = (*way.batch, height, width)
    z, index, valid = empty(depth, *shape), empty(depth, *shape, dtype="int64"), empty(depth, *shape, dtype="bool")
    sizes = *depth.shape[-2:], height, width
    launch(compiled().splat_depth, depth, type_of(depth), *passage(way, depth), depth, *sizes, z, index, valid)
    return z, index, valid
