# SPDX-License-Identifier: Apache-2.0
"""Which frames of a commanded trajectory see again what earlier frames saw.

A trajectory is cut into segments of one kind of motion; a frame of a later segment revisits the frame of an earlier one
that is nearest in place and heading, within tolerances that follow from the trajectory's own speed. Everything is
decided for all frames at once; no loop runs over pairs.

``compat`` keeps what the published detector does where it is wrong: the change of heading between two frames is not
wrapped at 180 degrees when motion is named, a rotation's angle is taken from a trace (so a matrix that is not quite
orthonormal turns away from itself, and a static tail may stay), a trajectory that never moves is all revisits, and a
pose that is not finite silently lowers the tolerances. By default these are mended, and the pitch must agree too.

Source: R2M-Bench (arXiv 2608.27328), section 3; eval_revisit.py of AMAP-ML/R2MBench at 88e0cd91.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .nearby import FEWEST_FRAMES_APART, Nearby, all_near, nearest_by_segment
from .trajectory import STILL_DEG, STILL_METRES, Ints, Real, Trajectory, lengths_of, static_tail, steps_of, wrapped

METRES = (0.1, 1.0)  # the adaptive tolerance of the place stays within
DEGREES = (1.0, 5.0)  # and that of the heading
DEGREES_OF_ONE_POSE = 2.0
FEWEST_PAIRS = 3  # fewer, and all frames are compared
METRE_IN_DEGREES = 10.0  # what a metre counts beside a degree when the nearest frame is chosen


@dataclass(frozen=True)
class Segment:
    """Frames ``first`` to ``last``, both included, of one motion: W, S (along the axis that changes most), R or L."""

    first: int
    last: int
    letter: str


@dataclass(frozen=True)
class Tolerances:
    """How near a revisit must come; ``mode`` is adaptive, fixed or mixed (one of the two was given)."""

    mode: str
    degrees: float
    metres: float


@dataclass(frozen=True, eq=False)
class Revisits:
    """What :func:`detect_revisits` found.

    Attributes:
        pairs: (P, 2) int64 frames (earlier, later), unique, sorted by the later, then by the earlier.
        groups: Segment pairs by name, with their (later, earlier) frames in the order found.
        segments: In the order of time.
        tolerances: What was asked of a revisit.
        n_poses: Poses left after the static tail.
        n_trimmed: Poses of the static tail.
        reason: Empty, or why there is no pair.
    """

    pairs: Ints
    groups: dict[str, Ints]
    segments: tuple[Segment, ...]
    tolerances: Tolerances
    n_poses: int
    n_trimmed: int
    reason: str = ""


def tolerances_of(
    trajectory: Trajectory,
    *,
    degrees: float | None = None,
    metres: float | None = None,
    compat: bool = False,
) -> Tolerances:
    """Twice the 95th percentile of the steps, in place within 0.1 to 1 m, in heading within 1 to 5 degrees.

    Args:
        trajectory: Without its static tail.
        degrees, metres: Replace their half.
        compat: A step that is not finite takes the tolerance to its lowest; by default such steps are left out.

    Returns:
        The tolerances. Of fewer than two poses: 2 degrees and 0.1 m.
    """
    given = (degrees is not None) + (metres is not None)
    mode = ("adaptive", "mixed", "fixed")[given]
    found = [DEGREES_OF_ONE_POSE, METRES[0]]
    if len(trajectory) > 1:
        turns = wrapped(np.diff(trajectory.yaw_deg))
        found = [_twice_p95(turns, DEGREES, compat), _twice_p95(steps_of(trajectory)[1], METRES, compat)]
    return Tolerances(
        mode,
        found[0] if degrees is None else float(degrees),
        found[1] if metres is None else float(metres),
    )


def _twice_p95(steps: Real, within: tuple[float, float], compat: bool) -> float:
    lowest, highest = within
    used = steps if compat else steps[np.isfinite(steps)]
    if not used.size:
        return lowest
    return float(max(lowest, min(2.0 * float(np.percentile(used, 95)), highest)))


def motion_segments(trajectory: Trajectory, *, compat: bool = False) -> tuple[Segment, ...]:
    """Stretches of one kind of motion.

    The letter of a frame is that of the step to it: W or S where it moves more than 1 cm and turns less than half a
    degree (W where the world coordinate that changes most grows), R or L where it turns more than half a degree, else
    none; a frame without a letter stays in the segment it is in, and before the first letter in none.
    """
    if len(trajectory) < 2:
        return ()
    moves, lengths = steps_of(trajectory)
    turns = np.diff(trajectory.yaw_deg)
    if not compat:
        turns = (turns + 180.0) % 360.0 - 180.0
    axis = np.abs(np.nan_to_num(moves)).argmax(axis=1)
    ahead = np.take_along_axis(moves, axis[:, None], axis=1)[:, 0] > 0
    walks = (lengths > STILL_METRES) & (np.abs(turns) < STILL_DEG)
    rotates = np.abs(turns) > STILL_DEG
    letters = np.where(walks, np.where(ahead, "W", "S"), np.where(rotates, np.where(turns > 0, "R", "L"), "."))
    named = np.flatnonzero(letters != ".")
    if not len(named):
        return ()
    starts = named[np.concatenate(([True], letters[named][1:] != letters[named][:-1]))]
    stops = np.append(starts[1:], len(letters))
    frames = trajectory.frames
    return tuple(
        Segment(int(frames[a + 1]), int(frames[b]), str(letters[a])) for a, b in zip(starts, stops, strict=True)
    )


def detect_revisits(
    trajectory: Trajectory,
    *,
    degrees: float | None = None,
    metres: float | None = None,
    compat: bool = False,
) -> Revisits:
    """The pairs of frames that see the same place.

    Each frame of a later segment is paired, for every earlier segment, with that segment's frame at least ten frames
    before it that is within the tolerances and least in ``yaw difference in degrees + 10 x distance in metres`` (the
    first of equals). Where that gives fewer than three pairs, all pairs of frames at least ten apart and within the
    tolerances are taken instead, if they are more.

    Args:
        trajectory: Commanded poses, see :func:`trajectory_of`.
        degrees, metres: Fixed tolerances; by default they follow from the speed, see :func:`tolerances_of`.
        compat: As published, see the module.

    Returns:
        The pairs; without any, the reason. By default a trajectory that does not move has none.

    Numerics:
        float64, differences and squares in a fixed order; the same on every machine.

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols.r2m import trajectory_of
        >>> poses = np.tile(np.eye(4), (41, 1, 1))
        >>> poses[:, 2, 3] = 0.05 * np.minimum(np.arange(41), 40 - np.arange(41))  # out and back
        >>> found = detect_revisits(trajectory_of(poses))
        >>> found.pairs[-1].tolist(), [segment.letter for segment in found.segments]
        ([1, 40], ['W', 'S'])
    """
    n_trimmed = static_tail(trajectory, compat=compat)
    kept = trajectory.first(len(trajectory) - n_trimmed)
    tolerances = tolerances_of(kept, degrees=degrees, metres=metres, compat=compat)
    segments = motion_segments(kept, compat=compat)
    nearby = Nearby(kept, tolerances.metres, tolerances.degrees, compat)
    groups = _by_segments(kept, segments, nearby)
    if sum(map(len, groups.values())) < FEWEST_PAIRS and (compat or _moves(kept)):
        everything = _all(kept, nearby)
        if len(everything) > sum(map(len, groups.values())):
            groups = {"3D_position_match": everything}
    found = np.concatenate([np.empty((0, 2), np.int64), *groups.values()])[:, ::-1]
    order = np.lexsort((found[:, 0], found[:, 1]))
    found = found[order]
    fresh = np.concatenate((np.ones(min(1, len(found)), bool), (np.diff(found, axis=0) != 0).any(axis=1)))
    reason = "" if len(found) else _why_none(trajectory, kept)
    return Revisits(found[fresh], groups, segments, tolerances, len(kept), n_trimmed, reason)


def _moves(trajectory: Trajectory) -> bool:
    """Whether anything ever leaves the first finite pose by more than a still step."""
    kept = trajectory.finite
    if kept.sum() < 2:
        return False
    away = lengths_of(trajectory.place[kept] - trajectory.place[kept][0]) > STILL_METRES
    turned = wrapped(trajectory.yaw_deg[kept] - trajectory.yaw_deg[kept][0]) > STILL_DEG
    return bool((away | turned).any())


def _why_none(trajectory: Trajectory, kept: Trajectory) -> str:
    if len(trajectory) <= FEWEST_FRAMES_APART:
        return f"too_short: {len(trajectory)} poses, and a revisit is at least {FEWEST_FRAMES_APART} frames away"
    if not _moves(kept):
        return "no_motion: the commanded camera neither moves nor turns"
    return "no_revisit: the commanded camera never comes back to where it was"


def _by_segments(trajectory: Trajectory, segments: tuple[Segment, ...], nearby: Nearby) -> dict[str, Ints]:
    """The nearest frame of each earlier segment for each frame of a later one: (later, earlier), by segment pair."""
    if len(segments) < 2:
        return {}
    starts = np.searchsorted(trajectory.frames, [segment.first for segment in segments])
    owner = np.searchsorted(starts, np.arange(len(trajectory)), side="right") - 1
    later, earlier = nearest_by_segment(nearby, owner, METRE_IN_DEGREES)
    pairs = np.stack([trajectory.frames[later], trajectory.frames[earlier]], axis=1)
    of = owner[later] * len(segments) + owner[earlier]
    groups = {}
    for one in np.unique(of).tolist():
        a, b = divmod(one, len(segments))
        groups[f"Seg{a}({segments[a].letter})↔Seg{b}({segments[b].letter})"] = pairs[of == one]
    return groups


def _all(trajectory: Trajectory, nearby: Nearby) -> Ints:
    """All frames that are near each other: (later, earlier)."""
    earlier, later = all_near(nearby, len(trajectory))
    return np.stack([trajectory.frames[later], trajectory.frames[earlier]], axis=1)
