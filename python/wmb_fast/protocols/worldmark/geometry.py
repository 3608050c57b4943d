# SPDX-License-Identifier: Apache-2.0
"""Global memory (C3): whether the geometry that a rollout shows fits together from one end to the other.

A multi-view network sees a frame a second and gives cameras and depth; every frame's points are taken into every other
frame and compared with what stands there. The default is :func:`wmb_fast.reprojection_error`. The published evaluator
differs where depth or confidence are not there: zero depth is a point in the camera's centre, one NaN among the
confidences leaves no pair; and it goes through the world's coordinates, which decides points that land on the border of
a pixel. ``compat`` does its operations, in their order.

Source: WorldMark (arXiv 2604.21686), section 3.1.2; vggt_omega_global_c3.py of its evaluator, operation order inferred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from ..._walls.records import SENTENCES
from ...ops.reproject_pairs import reprojection_error
from .constants import (
    COMPAT_FPS,
    GLOBAL_CONFIDENCE_QUANTILE,
    GLOBAL_FEWEST_FRAMES,
    GLOBAL_FEWEST_POINTS,
    GLOBAL_GRID,
    GLOBAL_MOST_FRAMES,
    GLOBAL_NEAREST,
    GLOBAL_OCCLUSION,
    PUBLISHED,
)
from .measure import Measure, rounded, without

Array = npt.NDArray[Any]
NO_COVISIBILITY = "no_covis"
EMPTY_VIDEO = "empty_video"


@dataclass(frozen=True)
class Residual:
    """What the pairs of frames of one rollout disagree by, in median depths.

    Attributes:
        median, mean: Of the errors of all pairs that count; NaN where none does.
        covisible: Share of the points inside another frame that are seen there.
        n_pairs: Ordered pairs that count.
        reason: Why there is none.
    """

    median: float
    mean: float
    covisible: float
    n_pairs: int
    reason: str = ""


def global_frames(n_frames: int, fps: float | None = COMPAT_FPS) -> list[int]:
    """The frames that Global reconstructs: one a second, at most 64, at least 6 where the video has them.

    Args:
        n_frames: Of the video.
        fps: Frames a second; unknown or zero counts as 16. Half a frame rounds to even.

    Example:
        >>> from wmb_fast.protocols import worldmark
        >>> worldmark.global_frames(481, 24.0)[:3], worldmark.global_frames(80, 16.0)
        ([0, 24, 48], [0, 15, 31, 47, 63, 79])
    """
    if n_frames < 1:
        return []
    rate = round(fps) if fps is not None and np.isfinite(fps) and fps > 0 else COMPAT_FPS
    chosen = list(range(0, n_frames, max(1, rate)))
    if len(chosen) > GLOBAL_MOST_FRAMES:
        return [chosen[int(at)] for at in np.linspace(0, len(chosen) - 1, GLOBAL_MOST_FRAMES)]
    if len(chosen) < GLOBAL_FEWEST_FRAMES:
        return [int(at) for at in np.linspace(0, n_frames - 1, min(GLOBAL_FEWEST_FRAMES, n_frames))]
    return chosen


def global_residual(
    depth: Array, cam_from_world: Array, intrinsics: Array, confidence: Array | None = None, *, compat: bool = False
) -> Residual:
    """How far the geometry of K frames is from fitting together.

    Args:
        depth: (K, H, W) float32 or float64: z of each pixel, in any unit; 0, negative and not finite is none.
        cam_from_world: (K, 3, 4) or (K, 4, 4): ``X_cam = R X_world + t``; OpenCV axes.
        intrinsics: (K, 3, 3) or (3, 3), in pixels; integer coordinates are pixel centres.
        confidence: (K, H, W): the lowest 30 % of all frames together are left out; ``None`` keeps all.
        compat: As published, to the bit; else missing depth and confidence are left out.

    Returns:
        The residual. Without a pair of frames that share five points ``reason`` is ``no_covis``; where there is no
        depth, no confidence or no usable camera, what the op says.

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols import worldmark
        >>> poses = np.tile(np.eye(4)[:3], (2, 1, 1))
        >>> camera = np.array([[50.0, 0, 32], [0, 50, 24], [0, 0, 1]])
        >>> depth = np.stack([np.full((48, 64), 2.0), np.full((48, 64), 2.1)])
        >>> found = worldmark.global_residual(depth, poses, camera)
        >>> found.n_pairs, found.covisible, 0.04 < found.median < 0.06
        (2, 1.0, True)
    """
    depth = np.asarray(depth)
    if depth.ndim != 3 or depth.dtype.kind not in "fiu":
        raise bad_value("global_residual", "depth", "have shape (K, H, W)", f"{depth.dtype} {depth.shape}")
    depth = depth if depth.dtype in (np.float32, np.float64) else depth.astype(np.float64)
    k = len(depth)
    poses = _square(np.asarray(cam_from_world), k)
    cameras = np.asarray(intrinsics)
    if cameras.shape[-2:] != (3, 3) or cameras.shape[:-2] not in ((), (k,)):
        raise bad_value("global_residual", "intrinsics", f"have shape ({k}, 3, 3) or (3, 3)", cameras.shape)
    cameras = np.broadcast_to(cameras, (k, 3, 3)).astype(np.float64)
    trust = None if confidence is None else np.asarray(confidence, dtype=depth.dtype)
    if trust is not None and trust.shape != depth.shape:
        raise bad_value("global_residual", "confidence", f"have shape {depth.shape}", trust.shape)
    if compat:
        return _published(depth, poses[:, :3], cameras, trust)
    to_world = _inverse(poses).astype(depth.dtype)
    found = reprojection_error(
        depth,
        to_world,
        cameras.astype(depth.dtype),
        confidence=trust,
        grid=GLOBAL_GRID,
        occlusion=GLOBAL_OCCLUSION,
        confidence_quantile=GLOBAL_CONFIDENCE_QUANTILE,
        min_points=GLOBAL_FEWEST_POINTS,
    )
    reason = found.reason()
    reason = NO_COVISIBILITY if reason == SENTENCES["no_covisibility"] else reason and f"geometry: {reason}"
    numbers = float(found.median), float(found.mean), float(found.covisible_fraction)
    return Residual(*numbers, int(found.n_pairs), reason)


def global_memory(
    depth: Array, cam_from_world: Array, intrinsics: Array, confidence: Array | None = None, *, compat: bool = False
) -> Measure:
    """C3 of one rollout: ``100 / (1 + e / 0.05)`` with e the median residual of :func:`global_residual`.

    The leaderboard takes the mean of the residuals of a model first, and then this map.

    Args:
        depth, cam_from_world, intrinsics, confidence: As in :func:`global_residual`, of :func:`global_frames`.
        compat: As published: residuals are rounded to five decimals.

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols import worldmark
        >>> poses = np.tile(np.eye(4)[:3], (6, 1, 1))
        >>> camera = np.array([[50.0, 0, 32], [0, 50, 24], [0, 0, 1]])
        >>> found = worldmark.global_memory(np.full((6, 48, 64), 2.0), poses, camera)
        >>> found.value, found.n_used, found.detail["covisible_fraction"]
        (100.0, 30, 1.0)
    """
    k = len(np.asarray(depth))
    if not k:
        return without(EMPTY_VIDEO)
    found = global_residual(depth, cam_from_world, intrinsics, confidence, compat=compat)
    n_total = k * (k - 1)
    if found.reason:
        return without(found.reason, n_total)
    residual = rounded(found.median, 5, compat)
    detail = {
        "residual": residual,
        "mean_residual": rounded(found.mean, 5, compat),
        "covisible_fraction": rounded(found.covisible, 3, compat),
        "frames": k,
    }
    return Measure(global_score(residual), "", found.n_pairs, n_total, detail)


def global_score(residual: float, scale: float = PUBLISHED.global_scale) -> float:
    """``100 / (1 + e / scale)``."""
    return 100.0 / (1.0 + residual / scale)


def _square(cam_from_world: Array, k: int) -> Array:
    """Transforms (K, 4, 4) in float64."""
    if cam_from_world.shape not in ((k, 3, 4), (k, 4, 4)):
        wanted = f"have shape ({k}, 3, 4) or ({k}, 4, 4)"
        raise bad_value("global_residual", "cam_from_world", wanted, cam_from_world.shape)
    square = np.tile(np.eye(4), (k, 1, 1))
    square[:, : cam_from_world.shape[1]] = cam_from_world
    return square


def _inverse(poses: Array) -> Array:
    """The inverse of each; NaN where there is none, which the op leaves out."""
    usable = np.isfinite(poses).all(axis=(1, 2)) & (np.abs(np.linalg.det(np.nan_to_num(poses))) > 0)
    inverse = np.where(usable[:, None, None], 0.0, np.nan) + np.zeros_like(poses)
    inverse[:, 3] = (0.0, 0.0, 0.0, 1.0)
    inverse[usable] = np.linalg.inv(poses[usable])
    inverse[:, 3] = (0.0, 0.0, 0.0, 1.0)
    return inverse


def _published(depth: Array, extrinsics: Array, cameras: Array, confidence: Array | None) -> Residual:
    """The evaluator's operations, with all destinations of a frame side by side."""
    nothing = Residual(np.nan, np.nan, np.nan, 0, NO_COVISIBILITY)
    if confidence is None:
        confidence = np.ones_like(depth)
    k, height, width = depth.shape
    there = depth[depth > GLOBAL_NEAREST]
    if not there.size:
        return nothing
    scale, threshold = np.median(there), np.quantile(confidence, GLOBAL_CONFIDENCE_QUANTILE)
    rows, columns = (a.ravel() for a in np.mgrid[0:height:GLOBAL_GRID, 0:width:GLOBAL_GRID])
    low, high = (np.float32(bound) for bound in GLOBAL_OCCLUSION)
    pooled, inside_all, seen_all, n_pairs = [], 0, 0, 0
    own = np.arange(k)[:, None]
    with np.errstate(all="ignore"):
        for i in range(k):
            kept = confidence[i][rows, columns] >= threshold
            y, x = rows[kept], columns[kept]
            world = _to_world(np.array(i), x, y, depth[i][y, x], extrinsics, cameras)
            p, q, z = _to_camera(world, extrinsics)
            u = cameras[:, 0, 0, None] * p / z + cameras[:, 0, 2, None]
            v = cameras[:, 1, 1, None] * q / z + cameras[:, 1, 2, None]
            inside = (z > 0) & (u >= 0) & (u < width) & (v >= 0) & (v < height) & (own != i)
            n_inside = inside.sum(axis=1)
            j, point = np.nonzero(inside & (n_inside >= GLOBAL_FEWEST_POINTS)[:, None])
            at_y, at_x = (np.floor(side[j, point]).astype(np.int64) for side in (v, u))
            seen = depth[j, at_y, at_x]
            ratio = z[j, point].astype(np.float32) / seen
            together = (ratio > low) & (ratio < high) & (confidence[j, at_y, at_x] >= threshold)
            counts = np.bincount(j[together], minlength=k)
            inside_all += int(n_inside[n_inside >= GLOBAL_FEWEST_POINTS].sum())
            seen_all += int(counts.sum())
            n_pairs += int((counts >= GLOBAL_FEWEST_POINTS).sum())
            together &= counts[j] >= GLOBAL_FEWEST_POINTS
            j, point, at_y, at_x, seen = (side[together] for side in (j, point, at_y, at_x, seen))
            shown = _to_world(j, at_x, at_y, seen, extrinsics, cameras)
            gaps = [a[point] - b for a, b in zip(world, shown, strict=True)]
            pooled.append(np.sqrt(gaps[0] * gaps[0] + gaps[1] * gaps[1] + gaps[2] * gaps[2]) / scale)
    errors = np.concatenate(pooled)
    if not errors.size:
        return nothing
    return Residual(float(np.median(errors)), float(errors.mean()), seen_all / inside_all, n_pairs)


# Products in a fixed order: a matrix product's bits depend on the machine.


def _to_world(j: Array, x: Array, y: Array, z: Array, extrinsics: Array, cameras: Array) -> list[Array]:
    """The three coordinates (M,) in the world of pixels (x, y) of depth z, of frame j or of frames j (M,)."""
    depth = z.astype(np.float64)
    across = (x - cameras[:, 0, 2][j]) / cameras[:, 0, 0][j] * depth - extrinsics[:, 0, 3][j]
    down = (y - cameras[:, 1, 2][j]) / cameras[:, 1, 1][j] * depth - extrinsics[:, 1, 3][j]
    ahead = depth - extrinsics[:, 2, 3][j]
    columns = ([extrinsics[:, row, axis][j] for row in range(3)] for axis in range(3))
    return [r[0] * across + r[1] * down + r[2] * ahead for r in columns]


def _to_camera(world: list[Array], extrinsics: Array) -> list[Array]:
    """The three coordinates (K, M) of points of the world in every camera."""
    rows = (extrinsics[:, axis, :, None] for axis in range(3))
    return [r[:, 0] * world[0] + r[:, 1] * world[1] + r[:, 2] * world[2] + r[:, 3] for r in rows]
