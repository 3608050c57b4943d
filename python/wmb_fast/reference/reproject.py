# SPDX-License-Identifier: Apache-2.0
"""Points and depth maps through a pinhole camera.

``X = ((u - cx) / fx * z, (v - cy) / fy * z, z)``, ``X_dst = R X_src + t``,
``u = fx X / Z + cx``, ``v = fy Y / Z + cy``.
Integer coordinates are pixel centres; depth is z, not ray length; 0, negative, NaN and infinite depth is none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Projection(NamedTuple):
    pixels: Array
    depth: Array
    valid: Array


class Splat(NamedTuple):
    depth: Array
    source_index: Array
    valid: Array


def camera_of(intrinsics: Array) -> Array:
    """(..., 4) float64: fx, fy, cx, cy of (..., 3, 3) or (..., 4) intrinsics."""
    k = np.asarray(intrinsics, dtype=np.float64)
    return k if k.shape[-1] == 4 else np.stack([k[..., 0, 0], k[..., 1, 1], k[..., 0, 2], k[..., 1, 2]], axis=-1)


def is_depth(depth: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return (depth > 0) & (depth < np.inf)


def project(points: Array, intrinsics: Array, T_cam_world: Array) -> Projection:
    """Where points (..., N, 3) land in a camera; a pixel is valid where its point is in front of it."""
    p = transformed(np.asarray(points, dtype=np.float64), T_cam_world)
    pixels = pixels_of(p, camera_of(intrinsics))
    z = np.where(usable(intrinsics, T_cam_world)[..., None] & np.isfinite(p[..., 2]), p[..., 2], np.nan)
    valid = is_depth(z) & np.isfinite(pixels).all(axis=-1)
    return Projection(np.where(valid[..., None], pixels, np.nan), z, valid)


def unproject(depth: Array, intrinsics: Array) -> Array:
    """Points (..., H, W, 3) of a depth map in its camera's coordinates, NaN where there is no depth."""
    z = np.asarray(depth, dtype=np.float64)
    camera = camera_of(intrinsics)[..., None, None, :]
    v, u = np.mgrid[0.0 : z.shape[-2], 0.0 : z.shape[-1]]
    with np.errstate(all="ignore"):
        x = (u - camera[..., 2]) / camera[..., 0] * z
        y = (v - camera[..., 3]) / camera[..., 1] * z
    points = np.stack(np.broadcast_arrays(x, y, z), axis=-1)
    there = is_depth(z) & usable(intrinsics)[..., None, None]
    return np.where(there[..., None], points, np.nan)


def reproject_depth(
    depth: Array,
    intrinsics: Array,
    T_dst_src: Array,
    *,
    intrinsics_dst: Array | None = None,
    shape: tuple[int, int] | None = None,
) -> Projection:
    """Where the pixels of a depth map land in another view. Valid: in front of it and inside its image."""
    destination = camera_of(intrinsics if intrinsics_dst is None else intrinsics_dst)
    rows = project(unproject(depth, intrinsics), destination[..., None, :], T_dst_src[..., None, :, :])
    return Projection(rows.pixels, rows.depth, rows.valid & lands_in(rows.pixels, shape or depth.shape[-2:]))


def splat_depth(
    depth: Array,
    intrinsics: Array,
    T_dst_src: Array,
    shape: tuple[int, int],
    *,
    intrinsics_dst: Array | None = None,
) -> Splat:
    """The nearest point of a depth map in each pixel of another view; of equally near ones the first."""
    landed = reproject_depth(depth, intrinsics, T_dst_src, intrinsics_dst=intrinsics_dst, shape=shape)
    batch = landed.valid.shape[:-2]
    z = np.full((*batch, *shape), np.inf, dtype=depth.dtype)
    source = np.full((*batch, *shape), -1, dtype=np.int64)
    for item in np.ndindex(batch):
        there = landed.depth[item].astype(depth.dtype)
        for index in np.flatnonzero(landed.valid[item]):
            u, v = landed.pixels[item].reshape(-1, 2)[index]
            at = (*item, int(np.floor(v + 0.5)), int(np.floor(u + 0.5)))
            if 0 < there.flat[index] < z[at]:
                z[at], source[at] = there.flat[index], index
    valid = source >= 0
    return Splat(np.where(valid, z, np.nan).astype(np.float64), source, valid)


def usable(intrinsics: Array, transform: Array | None = None, other: Array | None = None) -> Array:
    """Whether cameras and transforms are finite, and no focal length is zero."""
    usable = np.array(True)
    for camera in (camera_of(k) for k in (intrinsics, other) if k is not None):
        usable = usable & np.isfinite(camera).all(axis=-1) & (camera[..., :2] != 0).all(axis=-1)
    return usable if transform is None else usable & np.isfinite(np.asarray(transform)).all(axis=(-2, -1))


def transformed(points: Array, transform: Array) -> Array:
    m = np.asarray(transform, dtype=np.float64)[..., None, :, :]
    with np.errstate(all="ignore"):
        return np.stack(
            [sum(m[..., r, c] * points[..., c] for c in range(3)) + m[..., r, 3] for r in range(3)], axis=-1
        )


def pixels_of(points: Array, camera: Array) -> Array:
    fx, fy, cx, cy = (camera[..., None, i] for i in range(4))
    x, y, z = (points[..., i] for i in range(3))
    with np.errstate(all="ignore"):
        return np.stack([fx * x / z + cx, fy * y / z + cy], axis=-1)


def lands_in(pixels: Array, shape: tuple[int, ...]) -> Array:
    """Whether a pixel's nearest centre is one of the image's."""
    with np.errstate(invalid="ignore"):
        at = np.floor(pixels + 0.5)
        return (at >= 0).all(axis=-1) & (at[..., 0] < shape[1]) & (at[..., 1] < shape[0])
