# SPDX-License-Identifier: Apache-2.0
"""Whether a camera, or a target, really went away and came back: filters for diagnostics, never for the main scores.

EXACT (appendix G.1): targets qualify by the tracker's evidence of departure and by valid observations after return, of
every target at every revisit compared; views by an orientation that departs by at least 30 degrees from the first and
returns within 30 (15, 5). RECONSTRUCTED: the departure is the largest angle in D_k, the return error that of the
return window's ``reduce`` (least by default).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.checks import one_of, real
from ..._walls.errors import bad_value
from ...ops.rpe import rotation_angle_deg
from .arrays import Flags, Values, flags, numbers
from .constants import DEPARTURE_DEG, RETURN_DEG, SLACK_DEG
from .course import Course

REDUCTIONS = ("min", "median", "first")


@dataclass(frozen=True, eq=False)
class Angles:
    """How far each revisit's camera turned away from the first view, and how far off it came back.

    Attributes:
        departure_deg, return_deg: (K,); NaN where no frame of the phase has a pose.
    """

    departure_deg: Values
    return_deg: Values

    def departed(self, least: float = DEPARTURE_DEG) -> Flags:
        """(K,) whether each revisit departs by at least so much; NaN does not."""
        far: Flags = self.departure_deg >= real("departed", "least", least) - SLACK_DEG
        return far

    def returned(self, tolerance: float = RETURN_DEG) -> Flags:
        """(K,) whether each revisit comes back within so much; NaN does not."""
        near: Flags = self.return_deg <= real("returned", "tolerance", tolerance) + SLACK_DEG
        return near

    def qualified(self, least: float = DEPARTURE_DEG, tolerance: float = RETURN_DEG) -> Flags:
        """(K,) whether each revisit does both."""
        return self.departed(least) & self.returned(tolerance)


def departure_and_return(poses: npt.ArrayLike, frames: npt.ArrayLike, course: Course, *, reduce: str = "min") -> Angles:
    """The angles between the first view and what follows.

    Args:
        poses: (M, 4, 4) camera to world, of some frames; NaN where there is none.
        frames: (M,) their numbers, rising. The reference is the first of V that has a pose.
        course: The rollout's phases.
        reduce: Over the frames of a return: ``min``, ``median`` or ``first``.

    Source:
        WorldMemBench, appendix G.1 (EXACT: angle to the initial orientation; RECONSTRUCTED: which frames).

    Example:
        >>> from wmb_fast.protocols.worldmembench import course_of, target_poses
        >>> from wmb_fast.rollout.plans import named_plan
        >>> plan = named_plan("lrlr")
        >>> poses = target_poses(plan, 201, degrees_per_frame=1.0)
        >>> angles = departure_and_return(poses, range(201), course_of(plan, 201))
        >>> angles.departure_deg.round(6).tolist(), angles.return_deg.tolist(), angles.qualified().tolist()
        ([40.0, 40.0], [0.0, 0.0], [True, True])
    """
    op = "departure_and_return"
    one_of(op, "reduce", reduce, REDUCTIONS)
    given = numbers(op, "poses", poses, "(M, 4, 4)")
    at = np.asarray(frames)
    if given.shape[1:] != (4, 4) or at.shape != given.shape[:1] or (np.diff(at) <= 0).any():
        raise bad_value(op, "poses and frames", "have shapes (M, 4, 4) and (M,), rising", f"{given.shape}, {at.shape}")
    there = np.isfinite(given[:, :3, :3]).all(axis=(1, 2))
    first = np.flatnonzero(there & (at >= course.reference.start) & (at < course.reference.stop))
    angles = np.full(len(at), np.nan)
    if first.size:
        start = np.broadcast_to(given[first[0], :3, :3], (int(there.sum()), 3, 3))
        angles[there] = rotation_angle_deg(np.ascontiguousarray(start), np.ascontiguousarray(given[there, :3, :3]))
    out, back = [], []
    for revisit in course.revisits:
        away = angles[(at >= revisit.departure.start) & (at <= revisit.departure.stop)]
        home = angles[(at >= revisit.window.start) & (at < revisit.window.stop)]
        out.append(_reduced(away, "max"))
        back.append(_reduced(home, reduce))
    return Angles(np.array(out), np.array(back))


def _reduced(values: Values, how: str) -> float:
    usable = values[np.isfinite(values)]
    if not usable.size:
        return float("nan")
    return float(usable[0]) if how == "first" else float(getattr(np, how)(usable))


def tracking_support(departed: npt.ArrayLike, observed: npt.ArrayLike, evaluated: npt.ArrayLike | None = None) -> Flags:
    """Whether the tracker saw each target leave and come back.

    Args:
        departed: (K, T) bool: whether some frame of D_k lacks the target. One that is in view throughout does not
            qualify.
        observed: (K, T) bool: whether there is a valid observation after the return.
        evaluated: (T,) bool: whether the first view shows the target; by default all.

    Returns:
        (K, T) bool; False of a target that is not evaluated.

    Source:
        WorldMemBench, appendix G.1 (EXACT).
    """
    left, seen = np.asarray(departed), np.asarray(observed)
    left, seen = (
        flags("tracking_support", "departed", left, seen.shape),
        flags("tracking_support", "observed", seen, left.shape),
    )
    chosen = flags("tracking_support", "evaluated", evaluated, seen.shape[1:])
    return left & seen & chosen


def whole(support: npt.ArrayLike, evaluated: npt.ArrayLike | None = None, revisits: Any = None) -> bool:
    """Whether a video qualifies: every evaluated target at every compared revisit. Of no target none does.

    Args:
        support: (K, T) bool, from :func:`tracking_support`; (K,) for views.
        evaluated: (T,) bool.
        revisits: Which rows are compared; by default all.

    Example:
        >>> whole([[True, False], [True, True]]), whole([[True, False]], evaluated=[True, False])
        (False, True)
    """
    rows = np.asarray(support)
    rows = rows[:, None] if rows.ndim == 1 else rows
    rows = flags("whole", "support", rows, rows.shape)
    chosen = rows[:, flags("whole", "evaluated", None if evaluated is None else np.asarray(evaluated), rows.shape[1:])]
    compared = chosen if revisits is None else chosen[np.asarray(revisits)]
    return bool(compared.size and compared.all())
