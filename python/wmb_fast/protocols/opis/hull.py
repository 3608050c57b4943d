# SPDX-License-Identifier: Apache-2.0
"""The area of a convex hull."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def hull_area(points: npt.ArrayLike) -> float:
    """The area of the convex hull of points (N, 2), by Andrew's monotone chain; 0 for fewer than three.

    Example:
        >>> hull_area([[0, 0], [2, 0], [2, 2], [0, 2], [1, 1]])
        4.0
    """
    ordered = np.unique(np.asarray(points, dtype=np.float64).reshape(-1, 2), axis=0).tolist()
    if len(ordered) < 3:
        return 0.0
    ring = np.array(_half(ordered) + _half(ordered[::-1]))
    x, y = (ring - ring[0]).T
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2


def _half(ordered: list[list[float]]) -> list[list[float]]:
    chain: list[list[float]] = []
    for x, y in ordered:
        while len(chain) >= 2:
            (ax, ay), (bx, by) = chain[-2:]
            if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                break
            chain.pop()
        chain.append([x, y])
    return chain[:-1]
