# SPDX-License-Identifier: Apache-2.0
"""Reductions of an optical flow field, and the split of sideways flow into translation and rotation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
RADIAL_EPSILON = 1e-6
SPREAD_PERCENTILES = (5, 95)


class FlowChannels(NamedTuple):
    """See :func:`flow_channels`."""

    horizontal: Array
    radial: Array


class Parallax(NamedTuple):
    """See :func:`parallax_split`."""

    translation: Array
    rotation: Array
    slope: Array
    intercept: Array


def flow_channels(flow: npt.ArrayLike) -> FlowChannels:
    """Mean horizontal and mean radial flow of fields (..., H, W, 2), NaN where a field holds what is not finite.

    ``horizontal = mean u``; ``radial = mean(u rx + v ry)`` with ``(rx, ry)`` the direction away from ``(W/2, H/2)``.
    """
    field = np.asarray(flow, dtype=np.float64)
    height, width = field.shape[-3:-1]
    dx = np.arange(width) - width / 2
    dy = (np.arange(height) - height / 2)[:, None]
    norm = np.sqrt(dx**2 + dy**2) + RADIAL_EPSILON
    u, v = field[..., 0], field[..., 1]
    with np.errstate(invalid="ignore"):
        horizontal = u.mean(axis=(-2, -1))
        radial = (u * (dx / norm) + v * (dy / norm)).mean(axis=(-2, -1))
    return FlowChannels(*(np.where(np.isfinite(mean), mean, np.nan) for mean in (horizontal, radial)))


def parallax_split(u: npt.ArrayLike, inverse_depth: npt.ArrayLike) -> Parallax:
    """Least squares ``u = slope * inverse_depth + intercept`` over the last axis; amplitudes of its two parts.

    ``translation = |slope| (P95 - P5 of inverse_depth)``; ``rotation = |intercept|``. The solution of least norm where
    the inverse depths are all equal; NaN where there is no point, or one that is not finite.
    """
    flows, depths = np.asarray(u, dtype=np.float64), np.asarray(inverse_depth, dtype=np.float64)
    batch = flows.shape[:-1]
    rows: list[tuple[Any, ...]] = []
    for index in np.ndindex(batch):
        x, y = depths[index], flows[index]
        if x.size == 0 or not (np.isfinite(x).all() and np.isfinite(y).all()):
            rows.append((np.nan,) * 4)
            continue
        matrix = np.stack([x, np.ones_like(x)], axis=1)
        slope, intercept = np.linalg.lstsq(matrix, y, rcond=None)[0]
        low, high = np.percentile(x, SPREAD_PERCENTILES)
        rows.append((abs(slope) * (high - low), abs(intercept), slope, intercept))
    return Parallax(*np.array(rows, dtype=np.float64).reshape(-1, 4).T.reshape(4, *batch))
