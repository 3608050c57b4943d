# SPDX-License-Identifier: Apache-2.0
"""Whether a view shows an instance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .reproject import camera_of, is_depth, pixels_of, transformed, usable

Array = npt.NDArray[Any]

FEWEST_POINTS = 4  # that say anything about an instance
VISIBLE, OCCLUDED, OUTSIDE, TOO_SMALL, UNKNOWN = range(5)


def visibility(
    points: Array,
    depth: Array,
    intrinsics: Array,
    T_cam_world: Array,
    *,
    min_inside: float = 0.3,
    min_area: float = 16,
    occlusion: float = 0.95,
    min_visible: float = 0.3,
    min_occluded: float = 0.7,
    min_coverage: float = 0.7,
    confidence: Array | None = None,
    min_confidence: float = 0.65,
) -> Array:
    """Whether a view shows the instances whose points (..., I, Q, 3) are given: OPIS, section on observability."""
    batch = np.broadcast_shapes(
        points.shape[:-3], depth.shape[:-2], camera_of(intrinsics).shape[:-1], T_cam_world.shape[:-2]
    )
    points = np.broadcast_to(points, (*batch, *points.shape[-3:])).astype(np.float64)
    depth = np.broadcast_to(depth, (*batch, *depth.shape[-2:]))
    trust = np.ones_like(depth) if confidence is None else np.broadcast_to(confidence, depth.shape)
    cameras = np.broadcast_to(camera_of(intrinsics), (*batch, 4))
    to_camera = np.broadcast_to(T_cam_world, (*batch, 4, 4))
    state = np.full(points.shape[:-2], UNKNOWN, dtype=np.uint8)
    for item in np.ndindex(state.shape):
        view = item[:-1]
        if not usable(cameras[view], to_camera[view]):
            continue
        p = transformed(points[item], to_camera[view])
        at = pixels_of(p, cameras[view])
        n, (height, width) = len(p), depth.shape[-2:]
        if n < FEWEST_POINTS or not (np.isfinite(at).all() and np.isfinite(p).all()):
            continue
        inside = (at >= 0).all(axis=-1) & (at[:, 0] < width) & (at[:, 1] < height) & (p[:, 2] > 0)
        p, at = p[inside], at[inside]
        nearest = np.minimum(np.floor(at + 0.5).astype(np.int64), [width - 1, height - 1])
        index = (nearest[:, 1], nearest[:, 0])
        seen = depth[view][index].astype(np.float64)
        with np.errstate(invalid="ignore"):
            known = is_depth(seen) & (trust[view][index] >= min_confidence)
            hidden = known & (seen < occlusion * p[:, 2])
        if len(p) == 0 or len(p) / n < min_inside:
            state[item] = OUTSIDE
        elif _hull_area(at) < min_area:
            state[item] = TOO_SMALL
        elif known.sum() / len(p) < min_coverage:
            state[item] = UNKNOWN
        elif (known.sum() - hidden.sum()) / n >= min_visible:
            state[item] = VISIBLE
        elif hidden.sum() / n >= min_occluded:
            state[item] = OCCLUDED
    return state


class SampledVisibility(NamedTuple):
    """All of the batch's shape; see :func:`wmb_fast.sampled_visibility`."""

    state: Array
    inside: Array
    known: Array
    occluded: Array
    visible: Array
    area: Array


def sampled_visibility(
    pixels: Array,
    depth: Array,
    seen_depth: Array,
    size: npt.ArrayLike,
    *,
    confidence: Array | None = None,
    lengths: npt.ArrayLike | None = None,
    with_area: bool = False,
    min_inside: float = 0.3,
    min_area: float = 16,
    occlusion: float = 0.95,
    min_visible: float = 0.3,
    min_occluded: float = 0.7,
    min_coverage: float = 0.7,
    min_confidence: float = 0.65,
) -> SampledVisibility:
    """The same for instances whose points are projected already: pixels (..., Q, 2), depths (..., Q), size (..., 2)."""
    batch, most = pixels.shape[:-2], pixels.shape[-2]
    sizes = np.broadcast_to(np.asarray(size, dtype=np.float64), (*batch, 2))
    counts = np.broadcast_to(most if lengths is None else np.asarray(lengths), batch)
    found = SampledVisibility(np.full(batch, UNKNOWN, dtype=np.uint8), *(np.full(batch, np.nan) for _ in range(5)))
    for i in np.ndindex(batch):
        n = int(counts[i])
        at, z, seen = (x[i][:n].astype(np.float64) for x in (pixels, depth, seen_depth))
        if n == 0 or not (np.isfinite(at).all() and np.isfinite(z).all()):
            continue
        inside = (at >= 0).all(axis=-1) & (at < sizes[i]).all(axis=-1) & (z > 0)
        trusted = np.ones(n, dtype=bool) if confidence is None else confidence[i][:n] >= min_confidence
        with np.errstate(invalid="ignore"):
            known = inside & is_depth(seen) & trusted
            hidden = known & (seen < occlusion * z)
        found.inside[i], found.occluded[i] = inside.sum() / n, hidden.sum() / n
        found.visible[i] = (known.sum() - hidden.sum()) / n
        found.known[i] = known.sum() / inside.sum() if inside.any() else np.nan
        area = _hull_area(at[inside])
        found.area[i] = area if with_area else np.nan
        if n < FEWEST_POINTS:
            continue
        if not inside.any() or found.inside[i] < min_inside:
            found.state[i] = OUTSIDE
        elif area < min_area:
            found.state[i] = TOO_SMALL
        elif found.known[i] < min_coverage:
            found.state[i] = UNKNOWN
        elif found.visible[i] >= min_visible:
            found.state[i] = VISIBLE
        elif found.occluded[i] >= min_occluded:
            found.state[i] = OCCLUDED
    return found


def _hull_area(points: Array) -> float:
    """The area of the convex hull (Andrew's monotone chain)."""
    ordered = sorted(map(tuple, points.tolist()))

    def half(sequence: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
        chain: list[tuple[float, ...]] = []
        for x, y in sequence:
            while len(chain) >= 2:
                (ax, ay), (bx, by) = chain[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                chain.pop()
            chain.append((x, y))
        return chain[:-1]

    hull = half(ordered) + half(ordered[::-1])
    x, y = (np.array(hull) - hull[0]).T if hull else (np.zeros(0), np.zeros(0))
    return float(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])) / 2
