# SPDX-License-Identifier: Apache-2.0
"""Points and depth maps through a pinhole camera: OpenCV axes (x right, y down, z forward), pixel centres at
integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._walls.arrays import Array, ArrayLike, Call, take
from .._walls.cameras import batch_of, camera_batch, cameras, flat, image, passage, size, spread, stacked, transforms
from .._walls.checks import trailing
from .._walls.dispatch import declare, pick
from .._walls.ext import core, kernels
from .._walls.lazy import reference

declare("project", "cpu", "cuda", "reference")
declare("unproject", "cpu", "cuda", "reference")
declare("reproject_depth", "cpu", "cuda", "reference")
declare("splat_depth", "cpu", "cuda", "reference")


@dataclass(frozen=True, eq=False)
class Projection:
    """What :func:`project` returns. ``pixels`` is (..., N, 2), ``depth`` and ``valid`` are (..., N)."""

    pixels: Any
    depth: Any
    valid: Any


@dataclass(frozen=True, eq=False)
class Reprojection:
    """What :func:`reproject_depth` returns. ``pixels`` is (..., H, W, 2), ``depth`` and ``valid`` are (..., H, W)."""

    pixels: Any
    depth: Any
    valid: Any


@dataclass(frozen=True, eq=False)
class Splat:
    """What :func:`splat_depth` returns; all fields are (..., height, width)."""

    depth: Any
    source_index: Any
    valid: Any


def project(points: ArrayLike, intrinsics: ArrayLike, T_cam_world: ArrayLike, *, backend: str = "auto") -> Projection:
    """Where points land in a camera.

    ``X = R p + t`` with ``T_cam_world = [R t; 0 1]``, then ``u = fx X/Z + cx``, ``v = fy Y/Z + cy``.

    Args:
        points: (..., N, 3), float32 or float64, world coordinates.
        intrinsics: (..., 3, 3) or (..., 4) = fx, fy, cx, cy in pixels; negative focal lengths mirror.
        T_cam_world: (..., 4, 4), maps world coordinates into the camera's. Batch dimensions broadcast.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        ``pixels`` (..., N, 2) = u, v; ``depth`` (..., N), the z of each point in the camera, negative behind it;
        ``valid`` (..., N) bool. A point on or behind the camera's plane, or not finite, has NaN pixels and is not
        valid; so has every point of a camera that is not finite or has a zero focal length. There is no image here: a
        valid pixel may lie anywhere.

    Raises:
        ArgumentError: Other shapes, intrinsics with skew, a transform whose last row is not 0, 0, 0, 1. On a device,
            whose values are not waited for, such a camera counts as one that is not finite.
        ArgumentTypeError: Something that is not a float array, or arrays of two kinds or dtypes.

    Numerics:
        In float64, in the order of the formula, rounded once to the dtype of the points: the same bits for any threads,
        and on a device.

    Source:
        The pinhole model: Hartley and Zisserman, Multiple View Geometry, equation 6.2.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> points = np.array([[0.5, 0.0, 2.0], [0.5, 0.0, -2.0]])
        >>> landed = wmb.project(points, np.array([100.0, 100.0, 32.0, 24.0]), np.eye(4))
        >>> landed.pixels.tolist(), landed.depth.tolist(), landed.valid.tolist()
        ([[57.0, 24.0], [nan, nan]], [2.0, -2.0], [True, False])
    """
    op = "project"
    call, views = take(op, {"points": points, "intrinsics": intrinsics, "T_cam_world": T_cam_world}, lists=False)
    p = views["points"]
    trailing(op, "points", p, ("N", 3))
    camera, to = cameras(op, "intrinsics", views["intrinsics"]), transforms(op, "T_cam_world", views["T_cam_world"])
    camera_shape = camera_batch(op, "intrinsics", views["intrinsics"])
    batch = batch_of(op, points=p.shape[:-2], intrinsics=camera_shape, T_cam_world=views["T_cam_world"].shape[:-2])
    chosen = pick(op, backend, call.device)
    if chosen == "cuda":
        return Projection(*kernels("reproject").project(p, camera, to, batch))
    if chosen == "reference":
        return Projection(*_as(call, p.dtype, *reference.project(p, camera, views["T_cam_world"])))
    n = p.shape[-2]
    pixels, depth = np.empty((*batch, n, 2), p.dtype), np.empty((*batch, n), p.dtype)
    valid = np.empty((*batch, n), bool)
    spread_points = np.ascontiguousarray(np.broadcast_to(p, (*batch, n, 3))).reshape(math.prod(batch), n, 3)
    core.project(spread_points, spread(camera, batch), spread(to, batch), *flat(pixels, depth, valid))
    return Projection(call.give(pixels), call.give(depth), call.give(valid))


def unproject(depth: ArrayLike, intrinsics: ArrayLike, *, backend: str = "auto") -> Any:
    """The points a depth map shows, in its camera's coordinates.

    ``X = ((u - cx)/fx z, (v - cy)/fy z, z)`` at integer pixel coordinates u, v.

    Args:
        depth: (..., H, W), float32 or float64: z, not ray length.
        intrinsics: (..., 3, 3) or (..., 4) = fx, fy, cx, cy in pixels. Batch dimensions broadcast.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        (..., H, W, 3) in the depth's dtype and unit; NaN where depth is 0, negative, NaN or infinite, and for a camera
        that is not finite or has a zero focal length.

    Raises:
        ArgumentError: Other shapes, maps without pixels, intrinsics with skew. On a device, whose values are not waited
            for, such a camera counts as one that is not finite.
        ArgumentTypeError: Something that is not a float array, or arrays of two kinds or dtypes.

    Numerics:
        In float64, in the order of the formula, rounded once: the same bits for any threads, and on a device.

    Source:
        The pinhole model: Hartley and Zisserman, Multiple View Geometry, section 6.2.2.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> wmb.unproject(np.array([[2.0, 0.0]]), np.array([1.0, 1.0, 0.5, 0.0])).tolist()
        [[[-1.0, 0.0, 2.0], [nan, nan, nan]]]
    """
    op = "unproject"
    call, views = take(op, {"depth": depth, "intrinsics": intrinsics}, lists=False)
    z = views["depth"]
    image(op, "depth", z)
    camera = cameras(op, "intrinsics", views["intrinsics"])
    batch = batch_of(op, depth=z.shape[:-2], intrinsics=camera_batch(op, "intrinsics", views["intrinsics"]))
    chosen = pick(op, backend, call.device)
    if chosen == "cuda":
        return kernels("reproject").unproject(z, camera, batch)
    if chosen == "reference":
        return call.give(reference.unproject(z, camera).astype(z.dtype))
    points = np.empty((*batch, *z.shape[-2:], 3), z.dtype)
    core.unproject(*stacked(z, batch), spread(camera, batch), *flat(points))
    return call.give(points)


def reproject_depth(
    depth: ArrayLike,
    intrinsics: ArrayLike,
    T_dst_src: ArrayLike,
    *,
    intrinsics_dst: ArrayLike | None = None,
    shape: tuple[int, int] | None = None,
    backend: str = "auto",
) -> Reprojection:
    """Where the pixels of a depth map land in another view.

    ``X_dst = R X_src + t`` with ``T_dst_src = [R t; 0 1]``.

    Args:
        depth: (..., H, W), float32 or float64: z, not ray length; 0, negative, NaN and infinite is none.
        intrinsics: (..., 3, 3) or (..., 4) = fx, fy, cx, cy in pixels.
        T_dst_src: (..., 4, 4), maps the source camera's coordinates into the destination's. Batch dimensions broadcast.
        intrinsics_dst: Of the destination; by default those of the source.
        shape: (height, width) of the destination's image; by default the source's.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        ``pixels`` (..., H, W, 2) = u, v in the destination, NaN without depth and behind the camera; ``depth``
        (..., H, W), z in the destination; ``valid`` bool: the pixel has depth, lies in front of the destination camera
        and inside its image, that is ``-0.5 <= u < width - 0.5`` and likewise v. Nothing is valid for an item whose
        cameras or transform are not finite, or have a zero focal length. Valid does not mean seen: another point may
        stand in front (see :func:`splat_depth`, :func:`depth_agreement`).

    Raises:
        ArgumentError: Other shapes, maps without pixels, intrinsics with skew, a last row that is not 0, 0, 0, 1. On a
            device, whose values are not waited for, such a camera or transform counts as one that is not finite.
        ArgumentTypeError: Something that is not a float array, or arrays of two kinds or dtypes.

    Numerics:
        In float64 as :func:`unproject` and :func:`project`, rounded once: the same bits for any threads, batch split
        and instruction set, and on a device.

    Source:
        The pinhole model: Hartley and Zisserman, Multiple View Geometry, chapter 6.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> right = np.eye(4)
        >>> right[0, 3] = 0.1
        >>> landed = wmb.reproject_depth(np.ones((1, 3)), np.array([10.0, 10.0, 1.0, 0.0]), right)
        >>> landed.pixels[0, :, 0].round(6).tolist(), landed.valid[0].tolist()
        ([1.0, 2.0, 3.0], [True, True, False])
    """
    op = "reproject_depth"
    way = passage(op, {"depth": depth}, intrinsics, T_dst_src, intrinsics_dst)
    z = way.maps["depth"]
    height, width = z.shape[-2:] if shape is None else size(op, "shape", shape)
    chosen = pick(op, backend, way.call.device)
    if chosen == "cuda":
        return Reprojection(*kernels("reproject").reproject_depth(z, way, height, width))
    if chosen == "reference":
        found = reference.reproject_depth(
            z, way.source, way.matrices, intrinsics_dst=way.destination, shape=(height, width)
        )
        return Reprojection(*_as(way.call, z.dtype, *found))
    landed = np.empty((*way.batch, *z.shape[-2:]), z.dtype)
    pixels, valid = np.empty((*landed.shape, 2), z.dtype), np.empty(landed.shape, bool)
    core.reproject_depth(*stacked(z, way.batch), *way.spread(), height, width, *flat(pixels, landed, valid))
    return Reprojection(*map(way.call.give, (pixels, landed, valid)))


def splat_depth(
    depth: ArrayLike,
    intrinsics: ArrayLike,
    T_dst_src: ArrayLike,
    shape: tuple[int, int],
    *,
    intrinsics_dst: ArrayLike | None = None,
    backend: str = "auto",
) -> Splat:
    """What another view sees of a depth map's points: a z-buffer.

    Each point falls into the pixel whose centre is nearest; the nearest point of a pixel stays, and of equally near
    ones (in the depth's dtype) the first in row order. ``X_dst = R X_src + t`` with ``T_dst_src = [R t; 0 1]``.

    Args:
        depth: (..., H, W), float32 or float64: z, not ray length; 0, negative, NaN and infinite is none.
        intrinsics: (..., 3, 3) or (..., 4) = fx, fy, cx, cy in pixels.
        T_dst_src: (..., 4, 4), maps the source camera's coordinates into the destination's. Batch dimensions broadcast.
        shape: (height, width) of the destination's image.
        intrinsics_dst: Of the destination; by default those of the source.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        ``depth`` (..., height, width), NaN where no point falls; ``source_index`` int64, the flat index row * W +
        column of the point in the source, -1 where there is none; ``valid`` bool. Nothing falls anywhere from an item
        whose cameras or transform are not finite, or have a zero focal length.

    Raises:
        ArgumentError: Other shapes, maps without pixels, intrinsics with skew, a last row that is not 0, 0, 0, 1. On a
            device, whose values are not waited for, such a camera or transform counts as one that is not finite.
        ArgumentTypeError: Something that is not a float array, or arrays of two kinds or dtypes.

    Numerics:
        As :func:`reproject_depth`. The minimum does not depend on the order of points, nor the bits on threads or on
        a device's blocks, which put depth and place into one key and take the least.

    Source:
        Catmull, A subdivision algorithm for computer display of curved surfaces, 1974, chapter 4 (the z-buffer).

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> near = np.eye(4)
        >>> near[2, 3] = -1.0
        >>> seen = wmb.splat_depth(np.array([[2.0, 3.0]]), np.array([1.0, 1.0, 0.0, 0.0]), near, (1, 3))
        >>> seen.depth.tolist(), seen.source_index.tolist()
        ([[1.0, nan, 2.0]], [[0, -1, 1]])
    """
    op = "splat_depth"
    way = passage(op, {"depth": depth}, intrinsics, T_dst_src, intrinsics_dst)
    z = way.maps["depth"]
    height, width = size(op, "shape", shape)
    chosen = pick(op, backend, way.call.device)
    if chosen == "cuda":
        return Splat(*kernels("reproject").splat_depth(z, way, height, width))
    if chosen == "reference":
        found = reference.splat_depth(z, way.source, way.matrices, (height, width), intrinsics_dst=way.destination)
        return Splat(*_as(way.call, z.dtype, *found))
    landed = np.empty((*way.batch, height, width), z.dtype)
    index, valid = np.empty(landed.shape, np.int64), np.empty(landed.shape, bool)
    core.splat_depth(*stacked(z, way.batch), *way.spread(), height, width, *flat(landed, index, valid))
    return Splat(*map(way.call.give, (landed, index, valid)))


def _as(call: Call, dtype: Any, *fields: Array) -> Sequence[Any]:
    """A reference's fields in the caller's kind and dtype."""
    return [call.give(x.astype(dtype) if x.dtype == np.float64 else x) for x in fields]
