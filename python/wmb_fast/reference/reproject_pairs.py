# SPDX-License-Identifier: Apache-2.0
"""What pairs of views agree on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .reproject import camera_of, is_depth, lands_in, pixels_of, reproject_depth, transformed, unproject, usable

Array = npt.NDArray[Any]

SNAP = 1e-6  # a coordinate this near to a pixel centre is that centre


class DepthAgreement(NamedTuple):
    median_relative_error: Array
    covisible_fraction: Array
    n: Array


class ReprojectionError(NamedTuple):
    median: Array
    per_pair: Array
    n_pairs: Array
    mean: Array
    covisible_fraction: Array


def depth_agreement(
    depth_src: Array,
    depth_dst: Array,
    intrinsics: Array,
    T_dst_src: Array,
    *,
    intrinsics_dst: Array | None = None,
    occlusion: tuple[float, float] = (0.7, 1.4),
    sampling: str = "nearest",
) -> DepthAgreement:
    """How far the depth z of the source's points, taken to the destination, is from the depth d seen there.

    Co-visible: ``lo < z / d < hi``, the ratio rounded to the depths' dtype. Error: ``|z - d| / d``.
    """
    landed = reproject_depth(
        depth_src, intrinsics, T_dst_src, intrinsics_dst=intrinsics_dst, shape=depth_dst.shape[-2:]
    )
    asked = usable(intrinsics, T_dst_src, intrinsics_dst)[..., None, None] & is_depth(depth_src)
    batch = np.broadcast_shapes(landed.depth.shape[:-2], depth_dst.shape[:-2])
    z = np.broadcast_to(landed.depth, (*batch, *depth_src.shape[-2:]))
    pixels = np.broadcast_to(landed.pixels, (*z.shape, 2))
    maps = np.broadcast_to(depth_dst, (*batch, *depth_dst.shape[-2:]))
    asked = np.broadcast_to(asked, z.shape)
    sample = {"nearest": _nearest, "bilinear": _bilinear}[sampling]
    median, fraction, n = np.full(batch, np.nan), np.full(batch, np.nan), np.zeros(batch, dtype=np.int64)
    for item in np.ndindex(batch):
        seen = sample(maps[item], pixels[item])
        seen_together = (z[item] > 0) & _covisible(z[item], seen, occlusion, depth_src.dtype)
        error = np.abs(z[item] - seen)[seen_together] / seen[seen_together]
        n[item] = error.size
        if asked[item].any():
            fraction[item] = error.size / asked[item].sum()
        if error.size:
            median[item] = np.median(error)
    return DepthAgreement(median, fraction, n)


def reprojection_error(
    depth: Array,
    poses: Array,
    intrinsics: Array,
    *,
    confidence: Array | None = None,
    grid: int = 16,
    occlusion: tuple[float, float] = (0.7, 1.4),
    confidence_quantile: float = 0.3,
    unit: str = "depth",
    min_points: int = 5,
) -> ReprojectionError:
    """How far the points of K frames (..., K, H, W) are from what the other frames see in the same place.

    Every ``grid``-th pixel of frame i is taken to frame j, over all ordered pairs; WorldMark's Global memory.
    """
    batch, k = depth.shape[:-3], depth.shape[-3]
    cameras = np.broadcast_to(camera_of(intrinsics), (*batch, k, 4))
    median, mean, fraction = (np.full(batch, np.nan) for _ in range(3))
    per_pair, n_pairs = np.full((*batch, k, k), np.nan), np.zeros(batch, dtype=np.int64)
    for item in np.ndindex(batch):
        trust = None if confidence is None else confidence[item]
        clip = _Clip(depth[item], poses[item], cameras[item], trust, grid, occlusion, confidence_quantile, unit)
        pooled, inside, covisible = [], 0, 0
        for i, j in np.ndindex(k, k):
            error, n_inside = clip.errors(i, j) if i != j else (np.empty(0), 0)
            if n_inside < min_points:
                continue
            inside, covisible = inside + n_inside, covisible + error.size
            if error.size >= min_points:
                per_pair[item][i, j] = np.median(error)
                pooled.append(error)
        n_pairs[item] = len(pooled)
        if pooled:
            median[item], mean[item] = np.median(np.concatenate(pooled)), np.concatenate(pooled).mean()
        if inside:
            fraction[item] = covisible / inside
    return ReprojectionError(median, per_pair, n_pairs, mean, fraction)


class _Clip:
    """K frames of one item, with their median depth and the confidence that counts."""

    def __init__(
        self, depth: Array, poses: Array, cameras: Array, confidence: Array | None, grid: int,
        occlusion: tuple[float, float], confidence_quantile: float, unit: str,
    ) -> None:  # fmt: skip
        self.depth, self.cameras, self.confidence = depth, cameras, confidence
        self.to_world = np.asarray(poses, dtype=np.float64)
        self.grid, self.occlusion, self.unit = grid, occlusion, unit
        self.usable = usable(cameras, poses) & (np.abs(_determinant(self.to_world)) > 0)
        there = is_depth(depth)
        self.scale = np.median(depth[there].astype(np.float64)) if there.any() and unit == "depth" else 1.0
        self.threshold = -np.inf
        if confidence is not None:
            finite = confidence[np.isfinite(confidence)].astype(np.float64)
            self.threshold = np.quantile(finite, confidence_quantile) if finite.size else np.inf

    def errors(self, i: int, j: int) -> tuple[Array, int]:
        """The errors of frame i's points in frame j, and how many of them fall into its image."""
        if not (self.usable[i] and self.usable[j]):
            return np.empty(0), 0
        to_j = np.linalg.inv(self.to_world[j]) @ self.to_world[i]
        points = unproject(self.depth[i], self.cameras[i])[:: self.grid, :: self.grid]
        keep = is_depth(points[..., 2]) & self._trusted(i)[:: self.grid, :: self.grid]
        v, u = np.nonzero(keep)
        p = transformed(points[keep], to_j)
        at = pixels_of(p, self.cameras[j])
        height, width = self.depth.shape[-2:]
        with np.errstate(invalid="ignore"):
            inside = (p[:, 2] > 0) & (at >= 0).all(axis=-1) & (at[:, 0] < width) & (at[:, 1] < height)
        p, at, start = p[inside], at[inside], np.stack([u, v], axis=-1)[inside] * self.grid
        corner = np.floor(at).astype(np.int64)
        index = (corner[:, 1], corner[:, 0])
        seen = self.depth[j][index].astype(np.float64)
        together = _covisible(p[:, 2], seen, self.occlusion, self.depth.dtype) & self._trusted(j)[index]
        if self.unit == "depth":
            error = np.linalg.norm(_on_ray(corner, seen, self.cameras[j]) - p, axis=-1) / self.scale
        else:
            back = transformed(_on_ray(at, seen, self.cameras[j]), np.linalg.inv(to_j))
            together &= back[:, 2] > 0
            error = np.linalg.norm(pixels_of(back, self.cameras[i]) - start, axis=-1)
        return error[together], int(inside.sum())

    def _trusted(self, i: int) -> Array:
        with np.errstate(invalid="ignore"):
            return (
                np.ones(self.depth.shape[1:], bool) if self.confidence is None else self.confidence[i] >= self.threshold
            )


def _determinant(transform: Array) -> Array:
    finite = np.where(np.isfinite(transform), transform, 0.0)
    return np.asarray(np.linalg.det(finite[..., :3, :3]))


def _on_ray(pixels: Array, depth: Array, camera: Array) -> Array:
    return np.stack([*((pixels - camera[2:]) / camera[:2] * depth[:, None]).T, depth], axis=-1)


def _covisible(z: Array, seen: Array, occlusion: tuple[float, float], dtype: npt.DTypeLike) -> Array:
    low, high = np.asarray(occlusion, dtype=dtype)
    with np.errstate(all="ignore"):
        ratio = (z / seen).astype(dtype)
        together: Array = is_depth(seen) & (ratio > low) & (ratio < high)
    return together


def _nearest(depth: Array, pixels: Array) -> Array:
    """Depth of the nearest pixel, NaN outside."""
    inside = lands_in(pixels, depth.shape)
    at = np.where(inside[..., None], np.floor(pixels + 0.5), 0).astype(np.int64)
    return np.where(inside, depth[at[..., 1], at[..., 0]].astype(np.float64), np.nan)


def _bilinear(depth: Array, pixels: Array) -> Array:
    """Depth between four pixels, NaN where one that has weight is no depth, and beyond the outermost centres."""
    last = np.array(depth.shape[::-1]) - 1.0
    with np.errstate(invalid="ignore"):
        inside = np.asarray(((pixels >= -SNAP) & (pixels <= last + SNAP)).all(axis=-1))
    at = np.clip(np.where(inside[..., None], pixels, 0.0), 0.0, None)
    first = np.minimum(np.floor(at), np.maximum(last - 1, 0))
    weight = at - first
    weight = np.where(weight > SNAP, weight, 0.0)
    weight = np.where(weight < 1 - SNAP, weight, 1.0)
    lower = np.where(weight < 1, first, first + 1).astype(np.int64)  # a neighbour without weight is not asked
    upper = np.where(weight > 0, first + 1, first).astype(np.int64)
    corners = [depth[y[..., 1], x[..., 0]].astype(np.float64) for y in (lower, upper) for x in (lower, upper)]
    tl, tr, bl, br = corners
    with np.errstate(invalid="ignore"):
        top = tl + (tr - tl) * weight[..., 0]
        bottom = bl + (br - bl) * weight[..., 0]
        value = top + (bottom - top) * weight[..., 1]
    there = inside & np.logical_and.reduce([is_depth(c) for c in corners])
    return np.where(there, value, np.nan)
