# SPDX-License-Identifier: Apache-2.0
"""Whether an order of models holds: rank correlation with another order, and how many places any model moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .._walls.errors import bad_value
from ..ops.stats import spearman


@dataclass(frozen=True)
class Moves:
    """Two orders of the same models.

    Attributes:
        rho: Spearman's; ``None`` for fewer than two models, or where all models tie.
        places: The most that any model moves; models that tie share the best place.
        points: The largest change of any model's value.
    """

    rho: float | None
    places: int
    points: float


def moves(before: Mapping[str, float], after: Mapping[str, float]) -> Moves:
    """What happens to the order of models.

    Args:
        before, after: Model to value, higher is better; the same models.

    Raises:
        ArgumentError: Other models, or a value that is not finite.

    Example:
        >>> moves({"a": 3.0, "b": 2.0, "c": 1.0}, {"a": 3.0, "b": 0.5, "c": 1.0})
        Moves(rho=0.5, places=1, points=1.5)
    """
    if before.keys() != after.keys():
        raise bad_value("moves", "after", f"have the models {', '.join(before)}", ", ".join(after))
    a, b = (np.array([side[model] for model in before], dtype=np.float64) for side in (before, after))
    for name, values in (("before", a), ("after", b)):
        if not np.isfinite(values).all():
            raise bad_value("moves", name, "be finite", values[~np.isfinite(values)][0])
    if not a.size:
        return Moves(None, 0, 0.0)
    rho = spearman(a, b)
    value = float(rho.value) if a.size > 1 and np.isfinite(rho.value) else None
    return Moves(value, int(np.abs(places(a) - places(b)).max()), float(np.abs(a - b).max()))


def places(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """The place of each value, 1 for the highest; equal values share the best.

    Example:
        >>> places([5.0, 7.0, 5.0, 1.0]).tolist()
        [2, 1, 2, 4]
    """
    found = np.asarray(values)
    higher: np.ndarray = (found[None, :] > found[:, None]).sum(axis=1) + 1
    return higher
