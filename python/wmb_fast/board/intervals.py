# SPDX-License-Identifier: Apache-2.0
"""Bootstrap intervals over rollouts: a percentile interval from resampled sums and counts.

The draws come from the raw words of a counter-based generator (Philox4x64-10), whose stream NumPy promises to keep, and
a multiply-shift, so an interval is the same on every machine, NumPy version and number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..ops.bootstrap import bootstrap_ci
from ..protocols.record import Column

RESAMPLES = 2000
LEVEL = 0.95
SEED = 0


@dataclass(frozen=True)
class Interval:
    """A percentile interval, or why there is none.

    Attributes:
        low, high: The ends; ``None`` where there is no interval.
        note: ``one rollout``, ``no rollout``, or ``degenerate`` where every resample gave the same value.
    """

    low: float | None
    high: float | None
    note: str = ""


def draws(n_items: int, n_resamples: int = RESAMPLES, seed: int = SEED) -> npt.NDArray[np.int64]:
    """Resampled item indices (n_items, n_resamples): each column draws ``n_items`` items with replacement.

    Args:
        n_items: At least 1.
        n_resamples: The number of columns.
        seed: The generator's key.

    Returns:
        int64 indices in [0, n_items). The same for the same arguments, everywhere.

    Example:
        >>> draws(3, 2, seed=0).shape
        (3, 2)
    """
    raw = np.asarray(np.random.Philox(key=seed).random_raw(n_items * n_resamples), dtype=np.uint64)
    # The high word times n, its high word again: uniform to within n / 2^32.
    scaled = ((raw >> np.uint64(32)) * np.uint64(n_items)) >> np.uint64(32)
    return scaled.astype(np.int64).reshape(n_items, n_resamples)


def resampled(
    sums: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int64],
    combine: Callable[[Sequence[float]], float],
    picks: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """The statistic in every resample.

    Args:
        sums: (R, T) per rollout and term, the sum of what its records add.
        counts: (R, T) how many records that were.
        combine: The statistic from the T means; a term without a record is NaN.
        picks: (R, B) rollout indices, as :func:`draws` gives them.

    Returns:
        (B,) values; NaN where the statistic does not exist in a resample.

    Numerics:
        Sums run over the rows of ``picks`` in order, in float64.
    """
    total = sums[picks].sum(axis=0)  # (B, T); axis 0 is added row after row
    number = counts[picks].sum(axis=0)
    means = np.full(total.shape, np.nan)
    np.divide(total, number, out=means, where=number > 0)
    return np.array([combine(row) for row in means.tolist()], dtype=np.float64)


def percentile_interval(values: npt.NDArray[np.float64], n_items: int, level: float = LEVEL) -> Interval:
    """The percentile interval of resampled values; those that do not exist are left out.

    Args:
        values: (B,) as :func:`resampled` gives them.
        n_items: How many rollouts were resampled; fewer than two give no interval.
        level: The coverage asked for.

    Example:
        >>> percentile_interval(np.array([1.0, 2.0, 3.0]), n_items=1)
        Interval(low=None, high=None, note='one rollout')
    """
    if n_items < 2:
        return Interval(None, None, "one rollout" if n_items else "no rollout")
    there = values[np.isfinite(values)]
    if there.size == 0:
        return Interval(None, None, "no resample has a value")
    tail = 100.0 * (1.0 - level) / 2.0
    low, high = (float(end) for end in np.percentile(there, [tail, 100.0 - tail]))
    return Interval(low, high, "degenerate" if math.isclose(low, high, rel_tol=1e-12, abs_tol=0.0) else "")


def nested_interval(column: Column, values: Sequence[float], paths: Sequence[tuple[str, ...]]) -> Interval:
    """The percentile interval of a mean of means: rollouts are drawn within their finest group.

    Args:
        column: Its ``combine`` is applied to both ends.
        values: (R,) one a rollout.
        paths: (R,) the groups of each, coarsest first.

    Numerics:
        As :func:`~wmb_fast.bootstrap_ci`.
    """
    if len(values) < 2:
        return Interval(None, None, "one rollout" if values else "no rollout")
    finest = ["\x1f".join(path) for path in paths]
    levels = [["\x1f".join(path[: depth + 1]) for path in paths] for depth in reversed(range(len(paths[0])))]
    found = bootstrap_ci(
        np.array(values, dtype=np.float64), hierarchy=levels, strata=finest, n=RESAMPLES, level=LEVEL, seed=SEED
    )
    low, high = (column.combine([float(end)]) for end in (found.low, found.high))
    if not (math.isfinite(low) and math.isfinite(high)):
        return Interval(None, None, "no resample has a value")
    return Interval(low, high, "degenerate" if math.isclose(low, high, rel_tol=1e-12, abs_tol=0.0) else "")
