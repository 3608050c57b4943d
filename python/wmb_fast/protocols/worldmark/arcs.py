# SPDX-License-Identifier: Apache-2.0
"""Which frames of the way out and of the way back show the same place: those at equal path from the turning point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .constants import (
    ARC_TOLERANCE_DEG,
    ARC_TOLERANCE_PX,
    DEPTHS_TRIED,
    FEWEST_SECONDS_BETWEEN,
    FIELD_OF_VIEW_DEG,
    LOWEST_TURN_DEG,
    PAIRS_PER_REVERSAL,
    RETURN_WINDOW_S,
    SMALLEST_TURN_DEG,
)
from .measure import Signal, samples


@dataclass(frozen=True)
class ArcPairs:
    """Pairs of samples (way out, way back) at equal path from the turning point.

    Attributes:
        pairs: (i, j) each.
        residuals: Difference of path, pixels of flow.
        path_out, path_back: Whole path of either side, pixels of flow.
    """

    pairs: list[tuple[int, int]]
    residuals: list[float]
    path_out: float
    path_back: float


@dataclass(frozen=True)
class Rules:
    """Tolerances in samples and pixels of flow."""

    tolerance: float
    lowest: float
    smallest: float
    fewest_between: int
    return_window: int

    @staticmethod
    def of(family: str, fps: float, width: float) -> Rules:
        degree = width / FIELD_OF_VIEW_DEG
        between = samples(FEWEST_SECONDS_BETWEEN, fps)
        window = max(1, int(RETURN_WINDOW_S * fps + 0.5))
        if family == "yaw":
            return Rules(
                ARC_TOLERANCE_DEG * degree, LOWEST_TURN_DEG * degree, SMALLEST_TURN_DEG * degree, between, window
            )
        return Rules(ARC_TOLERANCE_PX, 0.0, 0.0, between, window)


def arc_pairs(arc: Signal, start: int, turn: int, stop: int, return_start: int, rules: Rules) -> ArcPairs:
    """Up to ten pairs at equal path from the turning point, at depths evenly spread.

    Args:
        arc: (N,) length of path of each sample, pixels of flow.
        start, turn, stop: Of the way out, of the way back, and the end.
        return_start: The first sample that moves back: nothing nearer to the turning point is paired.
        rules: Tolerances.
    """
    out = np.cumsum(arc[start:turn][::-1])[::-1]
    back = np.cumsum(arc[turn:stop])
    path_out, path_back = (float(side[at]) if side.size else 0.0 for side, at in ((out, 0), (back, -1)))
    found = ArcPairs([], [], path_out, path_back)
    if not (out.size and back.size):
        return found
    deepest = min(path_out, path_back)
    nearest = max(rules.lowest, float(back[return_start - turn]))
    if deepest <= nearest:
        return found

    def at(depth: float) -> tuple[int, int]:
        return start + int(np.argmin(np.abs(out - depth))), turn + int(np.argmin(np.abs(back - depth)))

    for depth in np.linspace(nearest, deepest, DEPTHS_TRIED):
        i, j = at(depth)
        if j - i >= rules.fewest_between:
            nearest = float(depth)
            break
    else:
        return found
    for depth in np.linspace(nearest, deepest, PAIRS_PER_REVERSAL):
        i, j = at(depth)
        residual = float(abs(out[i - start] - back[j - turn]))
        if residual > rules.tolerance or j <= i + 1 or (i, j) in found.pairs:
            continue
        found.pairs.append((i, j))
        found.residuals.append(residual)
    return found
