# SPDX-License-Identifier: Apache-2.0
"""Association of time stamps."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._walls.arrays import Array, ArrayLike, take
from .._walls.checks import flag, real, shape_text
from .._walls.dispatch import declare, pick
from .._walls.errors import bad_value
from .._walls.ext import core
from .._walls.lazy import reference as readable


def associate(
    stamps_a: ArrayLike,
    stamps_b: ArrayLike,
    *,
    max_difference: float = 0.01,
    offset: float = 0.0,
    sort: bool = False,
    one_to_one: bool = True,
    backend: str = "auto",
) -> Any:
    """Pairs two rows of time stamps by the least difference.

    ``|stamps_a[i] - (stamps_b[j] + offset)| <= max_difference`` for every pair (i, j).

    Args:
        stamps_a, stamps_b: (N,) and (M,) float32 or float64, ascending, in any one unit. A stamp that is not finite
            pairs with nothing.
        max_difference: The largest difference that may pair, itself included, in the stamps' unit.
        offset: Added to ``stamps_b``.
        sort: Take unsorted stamps, too; the indices are those of the rows as given.
        one_to_one: True pairs the closest two stamps of all first and uses each once; ties go to the earlier a, then
            the earlier b. False takes for every a its closest b, the earlier of two, and may use a b twice: evo's rule,
            when the shorter row is a.
        backend: ``auto``, ``cpu`` or ``reference``.

    Returns:
        (K, 2) int64: index pairs, ascending in the stamps of a. Empty where no two stamps come near.

    Raises:
        ArgumentError: Unsorted stamps without ``sort``, naming the row; a negative ``max_difference``; clocks whose
            ranges lie further apart than ``max_difference``, because then the two are most likely not one clock.
        ArgumentTypeError: Something that is not an array, or of another dtype.

    Numerics:
        Differences in float64. With ``one_to_one=False``, beyond the ends of b, ``max_difference`` is added to the end
        instead: evo's rounding, which tells where a difference is the limit to the last digit. O((N + M) log(N + M)).

    Source:
        The greedy rule of the TUM RGB-D benchmark's tools (Sturm et al., IROS 2012, section V).

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> wmb.associate(np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.4, 1.0, 2.0]), max_difference=0.5).tolist()
        [[0, 0], [1, 2], [2, 3]]
    """
    call, taken = take("associate", {"stamps_a": stamps_a, "stamps_b": stamps_b}, lists=False)
    limit = real("associate", "max_difference", max_difference, at_least=0)
    shift = real("associate", "offset", offset)
    sort, one_to_one = flag("associate", "sort", sort), flag("associate", "one_to_one", one_to_one)
    rows, at = [], []
    for name in ("stamps_a", "stamps_b"):
        stamps, index = _ordered(name, taken[name], sort)
        rows.append(stamps)
        at.append(index)
    a, b = rows[0], rows[1] + shift if shift else rows[1]
    _same_clock(a, b, limit)
    if pick("associate", backend, call.device) == "reference":
        room = pairs = readable.associate(a, b, max_difference=limit, one_to_one=one_to_one)
    else:
        room = np.empty((min(len(a), len(b)) if one_to_one else len(a), 2), dtype=np.int64)
        pairs = room[: core.associate(a, b, limit, one_to_one, room.reshape(-1))]
    if at[0] is at[1] is None:
        return call.give(pairs if 2 * len(pairs) >= len(room) else pairs.copy())
    columns = [pairs[:, k] if index is None else index[pairs[:, k]] for k, index in enumerate(at)]
    return call.give(np.stack(columns, axis=1))


def _ordered(name: str, stamps: Array, sort: bool) -> tuple[Array, Array | None]:
    """The finite stamps in ascending order, and where each stood; ``None`` where that is where it stands."""
    if stamps.ndim != 1:
        raise bad_value("associate", name, "have shape (N,)", shape_text(stamps))
    kept, index = stamps.astype(np.float64, copy=False), None
    if not np.isfinite(kept).all():
        index = np.flatnonzero(np.isfinite(kept))
        kept = kept[index]
    falls = kept[1:] < kept[:-1]
    if not falls.any():
        return kept, index
    if sort:
        order = np.argsort(kept, kind="stable")
        return kept[order], order if index is None else index[order]
    k = int(falls.argmax()) + 1
    row = k if index is None else int(index[k])
    got = f"{kept[k]:.17g} in row {row} after {kept[k - 1]:.17g}"
    raise bad_value("associate", name, "ascend (or be called with sort=True)", got)


def _same_clock(a: Array, b: Array, limit: float) -> None:
    if not len(a) or not len(b):
        return
    if a[-1] < b[0] - limit or a[0] > b[-1] + limit:
        gap = max(b[0] - a[-1], a[0] - b[-1])
        got = f"{a[0]:.17g} to {a[-1]:.17g} and {b[0]:.17g} to {b[-1]:.17g}, {gap:.6g} apart: 0 pairs"
        raise bad_value("associate", "stamps_b + offset", "overlap stamps_a in time", got)


declare("associate", "cpu", "reference")
