# SPDX-License-Identifier: Apache-2.0
"""The length of a path, and positions between stamps, NumPy float64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .align import Array


def path_length(trajectory: npt.ArrayLike) -> float:
    """The sum of the steps of one trajectory; positions that are not finite are passed over."""
    points = np.asarray(trajectory, np.float64)
    if points.ndim == 3:
        points = points[:, :3, 3]
    points = points[np.isfinite(points).all(1)]
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum()) if len(points) else float("nan")


def interpolate_positions(stamps: npt.ArrayLike, positions: npt.ArrayLike, at: npt.ArrayLike) -> Array:
    """Linear between neighbouring stamps, the first or last position beyond them."""
    t, p = np.asarray(stamps, np.float64), np.asarray(positions, np.float64)
    return np.stack([np.interp(np.asarray(at, np.float64), t, p[:, axis]) for axis in range(3)], axis=1)
