# SPDX-License-Identifier: Apache-2.0
"""Which poses of a trajectory are near which others: all at once, in blocks that stay in the cache."""

from __future__ import annotations

import numpy as np

from .trajectory import Ints, Real, Trajectory, lengths_of, wrapped

FEWEST_FRAMES_APART = 10
_GENEROUS = 1e-6  # above what rounding makes of a difference of places or headings
BLOCK = 1 << 15  # pairs that are looked at together


class Nearby:
    """Finds the poses within tolerances of others, and at least ten frames from them.

    Few pairs are: a cheap test, axis by axis and a little too generous, leaves those that are then measured.

    Args:
        trajectory: The poses.
        metres, degrees: How near: in place, in heading (and, unless ``compat``, in pitch).
        compat: The pitch does not count.
    """

    def __init__(self, trajectory: Trajectory, metres: float, degrees: float, compat: bool) -> None:
        self._trajectory, self._metres, self._degrees, self._compat = trajectory, metres, degrees, compat
        axes = [np.ascontiguousarray(values) for values in trajectory.place.T]
        self._axes = [values for values in axes if not _constant(values)]
        self._yaw = None if _constant(trajectory.yaw_deg) else trajectory.yaw_deg

    def between(self, a: slice, b: slice) -> tuple[Ints, Ints, Real, Real]:
        """Rows of ``a`` and of ``b`` that are near each other, sorted; their difference of yaw and their distance."""
        row, column = self._perhaps(a, b)
        trajectory = self._trajectory
        far = lengths_of(trajectory.place[row] - trajectory.place[column])
        turned = wrapped(trajectory.yaw_deg[row] - trajectory.yaw_deg[column])
        fits = (far <= self._metres) & (turned <= self._degrees)
        fits &= np.abs(trajectory.frames[row] - trajectory.frames[column]) >= FEWEST_FRAMES_APART
        if not self._compat:
            fits &= np.abs(trajectory.pitch_deg[row] - trajectory.pitch_deg[column]) <= self._degrees
        return row[fits], column[fits], turned[fits], far[fits]

    def _perhaps(self, a: slice, b: slice) -> tuple[Ints, Ints]:
        width = b.stop - b.start
        maybe = np.ones((a.stop - a.start, width), dtype=bool)
        reach = self._metres + _GENEROUS
        for values in self._axes:
            apart = values[a, None] - values[b]
            maybe &= np.abs(apart, out=apart) <= reach
        if self._yaw is not None:
            apart = self._yaw[a, None] - self._yaw[b]
            np.abs(apart, out=apart)
            reach = self._degrees + _GENEROUS
            maybe &= (apart <= reach) | (apart >= 360.0 - reach)
        found = np.flatnonzero(maybe)
        row = found // width
        return row + a.start, found - row * width + b.start


def _constant(values: Real) -> bool:
    return not values.size or bool((values == values[0]).all())


def nearest_by_segment(nearby: Nearby, owner: Ints, cost_of_metre: float) -> tuple[Ints, Ints]:
    """For each row and each earlier segment the nearest row of that segment, if one is near; the first of equals.

    Args:
        nearby: The search.
        owner: (N,) the segment of each row, rising from -1 (before the first).
        cost_of_metre: Degrees of heading that a metre counts for.

    Returns:
        Later and earlier rows, sorted by the later, then by the segment of the earlier.
    """
    n, begins = len(owner), np.flatnonzero(np.diff(owner)) + 1
    start = int(np.searchsorted(owner, 0))
    found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    lo = int(begins[begins > start][0]) if (begins > start).any() else n
    while lo < n:
        hi = min(lo + max(1, BLOCK // (lo - start)), n)
        wide = int(begins[begins < hi][-1])  # nothing in the last row's own segment is asked for
        later, earlier, turned, far = nearby.between(slice(lo, hi), slice(start, wide))
        fits = owner[earlier] < owner[later]
        found.append((later[fits], earlier[fits], (turned + cost_of_metre * far)[fits]))
        lo = hi
    later, earlier, cost = (np.concatenate(parts) for parts in zip(*found, strict=True))
    if not len(later):
        return later, earlier
    key = later * (int(owner[-1]) + 1) + owner[earlier]
    begins = _run_starts(key)
    least = np.repeat(np.minimum.reduceat(cost, begins), np.diff(np.append(begins, len(key))))
    at_least = np.flatnonzero(cost == least)
    best = at_least[_run_starts(key[at_least])]
    return later[best], earlier[best]


def _run_starts(key: Ints) -> Ints:
    """Where runs of equal values start."""
    return np.flatnonzero(np.concatenate((np.ones(1, bool), key[1:] != key[:-1])))


def all_near(nearby: Nearby, n: int) -> tuple[Ints, Ints]:
    """All earlier and later rows that are near each other, sorted by the earlier, then by the later."""
    lo, found = 0, [(np.empty(0, np.int64), np.empty(0, np.int64))]
    while lo < n:
        hi = min(lo + max(1, BLOCK // (n - lo)), n)
        earlier, later, _, _ = nearby.between(slice(lo, hi), slice(lo, n))
        after = later > earlier
        found.append((earlier[after], later[after]))
        lo = hi
    earlier, later = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return earlier, later
