# SPDX-License-Identifier: Apache-2.0
"""The length of a path, and positions between stamps. Small enough for NumPy: no backend but the readable statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._walls.arrays import ArrayLike, take
from .._walls.checks import finite, shape_text
from .._walls.errors import bad_value
from .._walls.lazy import reference as readable
from ._trajectory import POINTS, POSES, Trajectories, batch_of


def path_length(
    trajectory: Trajectories,
    *,
    mask: Trajectories | None = None,
    lengths: ArrayLike | Sequence[int] | None = None,
) -> Any:
    """The length of a path: the sum of the distances from each position to the next.

    Args:
        trajectory: (..., N, 3) positions or (..., N, 4, 4) poses, camera to world; or a list. float32 or float64.
        mask: (..., N) bool, True = use. The path goes straight over positions that are masked or not finite.
        lengths: (...) poses of each item of a padded array.

    Returns:
        (...) in the positions' unit and dtype; 0 for one position, NaN for none.

    Raises:
        ArgumentError: Another shape, N = 0.
        ArgumentTypeError: Something that is not an array, or of another dtype.

    Numerics:
        float64, rounded once.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> float(wmb.path_length(np.array([[0.0, 0, 0], [3, 4, 0], [3, 4, 1]])))
        6.0
    """
    pair = {"trajectory": trajectory, "itself": trajectory}
    batch = batch_of("path_length", pair, (POSES, POINTS), mask, lengths)
    sums = np.empty(batch.n)
    for i in range(batch.n):
        (points, _), use = batch.item(i)
        sums[i] = readable.path_length(points if use is None else points[use])
    return batch.floats(sums)


def interpolate_positions(stamps: ArrayLike, positions: ArrayLike, at: ArrayLike) -> Any:
    """Positions of a trajectory between its time stamps, linearly.

    Args:
        stamps: (N,) ascending, float32 or float64.
        positions: (N, 3), the same dtype.
        at: (M,) times in the unit and dtype of the stamps.

    Returns:
        (M, 3): before the first stamp the first position, after the last the last. Among equal stamps either may count.

    Raises:
        ArgumentError: Other shapes, N = 0, stamps that fall or are not finite.
        ArgumentTypeError: Something that is not an array, or of another dtype.

    Numerics:
        float64, rounded once.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> line = np.array([[0.0, 0, 0], [2, 0, 4]])
        >>> wmb.interpolate_positions(np.array([0.0, 1.0]), line, np.array([0.25, 7.0])).tolist()
        [[0.5, 0.0, 1.0], [2.0, 0.0, 4.0]]
    """
    op = "interpolate_positions"
    call, taken = take(op, {"stamps": stamps, "positions": positions, "at": at}, lists=False)
    t, p, wanted = taken["stamps"], taken["positions"], taken["at"]
    for name, array in (("stamps", t), ("at", wanted)):
        if array.ndim != 1 or (name == "stamps" and not len(array)):
            raise bad_value(op, name, "have shape (N,), N at least 1", shape_text(array))
    if p.shape != (len(t), 3):
        raise bad_value(op, "positions", f"have shape ({len(t)}, 3)", shape_text(p))
    finite(op, "stamps", t)
    falls = np.flatnonzero(np.diff(t) < 0)
    if falls.size:
        raise bad_value(op, "stamps", "ascend", f"{t[falls[0] + 1]} in row {falls[0] + 1} after {t[falls[0]]}")
    return call.give(readable.interpolate_positions(t, p, wanted).astype(p.dtype))
