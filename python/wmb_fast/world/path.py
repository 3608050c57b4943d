# SPDX-License-Identifier: Apache-2.0
"""From a plan to camera poses, through a drive: how far the camera is moved between each frame and the next.

A drive counts in whole units, (N - 1, 4) int64: forward, right, turn right, look up. Poses are made from its running
sums, so a way back passes through the very poses of the way out, to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._walls.errors import bad_value
from ..rollout.plan import DIRECTIONS, Plan, Span
from .exact import cos_sin
from .scene import EYE_HEIGHT

Drive = npt.NDArray[np.int64]
Poses = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pace:
    """How fast the camera moves where it has room.

    Attributes:
        metres_per_second: Of walking; less where the walk would leave the walkable part of the room.
        degrees_per_second: Of turning; of looking up and down, unless that would pass ``max_pitch_deg``.
        ease_seconds: How long it takes to come to full speed, and to rest, in each step; 0 is a sudden start.
        max_pitch_deg: How far it looks up or down.
    """

    metres_per_second: float = 0.15
    degrees_per_second: float = 6.0
    ease_seconds: float = 0.0
    max_pitch_deg: float = 30.0


@dataclass(frozen=True)
class Units:
    """What one unit of a drive is worth."""

    metres: float
    turn_deg: float
    look_deg: float


def frame_count(plan: Plan, seconds_per_step: float, fps: float) -> int:
    """The frames of a plan: its own, or one more than ``seconds_per_step * fps`` a share."""
    bounds, steps = plan.boundaries, plan.steps
    if bounds is not None and len(bounds) > len(steps):
        return bounds[-1]
    if bounds is not None:
        return bounds[-1] + round(float(steps[-1].share) * seconds_per_step * fps) + 1
    return round(float(sum(step.share for step in plan.steps)) * seconds_per_step * fps) + 1


def command(plan: Plan, spans: Sequence[Span], n_frames: int, pace: Pace, fps: float) -> Drive:
    """The drive that does what the plan says: each step's motion in each of its intervals."""
    ramp = ramp_length(pace, fps)
    drive = np.zeros((n_frames - 1, 4), dtype=np.int64)
    for step, span in zip(plan.steps, spans, strict=True):
        stop = min(span.stop, n_frames - 1)
        from_start = np.arange(1, stop - span.start + 1)
        speed = np.minimum(np.minimum(from_start, from_start[::-1]), ramp)
        drive[span.start : stop] = speed[:, None] * np.array(DIRECTIONS[step.action])
    return drive


def ramp_length(pace: Pace, fps: float) -> int:
    """How many units a drive at full speed counts in an interval."""
    return round(pace.ease_seconds * fps) + 1


def units_for(drives: Sequence[Drive], walkable: tuple[float, float], pace: Pace, fps: float) -> Units:
    """The largest units, up to the pace's, with which all the drives stay where the camera may be."""
    ramp = ramp_length(pace, fps)
    turn = pace.degrees_per_second / fps / ramp
    metres, look = pace.metres_per_second / fps / ramp, turn
    for drive in drives:
        highest = int(np.abs(np.cumsum(drive[:, 3])).max())
        if highest:
            look = min(look, pace.max_pitch_deg / highest)
        reach = np.abs(_places(drive, Units(1.0, turn, 0.0))).max(axis=0)
        for limit, far in zip(walkable, reach, strict=True):
            if far > 0:
                metres = min(metres, limit / far)
    return Units(metres, turn, look)


def _places(drive: Drive, units: Units) -> npt.NDArray[np.float64]:
    """Where the camera stands, (N, 2) x and z: for each heading it ever had, how far it went on it in all."""
    headings = np.concatenate(([0], np.cumsum(drive[:, 2])))
    went: dict[int, npt.NDArray[np.int64]] = {}
    ways: dict[int, tuple[float, float]] = {}
    places = np.zeros((len(drive) + 1, 2))
    for i, move in enumerate(drive[:, :2]):
        places[i + 1] = places[i]
        if not move.any():
            continue
        heading = int(headings[i])
        if heading not in went:
            went[heading] = np.zeros(2, dtype=np.int64)
            ways[heading] = cos_sin(heading * units.turn_deg)
        went[heading] += move
        x = z = 0.0
        for at, (forward, right) in went.items():
            cosine, sine = ways[at]
            x += units.metres * (float(forward) * sine + float(right) * cosine)
            z += units.metres * (float(forward) * cosine - float(right) * sine)
        places[i + 1] = x, z
    return places


def poses_along(drive: Drive, units: Units) -> Poses:
    """Camera-to-world poses (N, 4, 4) from the middle of the room, looking along +z.

    Equal running sums give equal bits: a camera that turned left and back right is where it was.

    Example:
        >>> there_and_back = np.array([[0, 0, -1, 0], [0, 0, -1, 0], [0, 0, 1, 0], [0, 0, 1, 0]])
        >>> poses = poses_along(there_and_back, Units(0.01, 0.375, 0.375))
        >>> bool((poses[0] == poses[4]).all()), bool((poses[1] == poses[3]).all())
        (True, True)
    """
    poses = np.zeros((len(drive) + 1, 4, 4))
    sums = np.concatenate((np.zeros((1, 4), dtype=np.int64), np.cumsum(drive, axis=0)))
    places = _places(drive, units)
    for pose, (x, z), total in zip(poses, places, sums, strict=True):
        c, s = cos_sin(int(total[2]) * units.turn_deg)
        up, lift = cos_sin(int(total[3]) * units.look_deg)
        pose[:3, 0] = c, 0, -s
        pose[:3, 1] = lift * s, up, lift * c
        pose[:3, 2] = s * up, -lift, c * up
        pose[:3, 3] = x, -EYE_HEIGHT, z
        pose[3, 3] = 1
    return poses


def first_return(plan: Plan) -> int | None:
    """The first step that undoes an earlier one; ``None`` where none does."""
    for j, step in enumerate(plan.steps):
        way = np.array(DIRECTIONS[step.action])
        if any((way == -np.array(DIRECTIONS[before.action])).all() and way.any() for before in plan.steps[:j]):
            return j
    return None


def check_plan(op: str, plan: Plan, n_frames: int) -> tuple[Span, ...]:
    """The spans of a plan's steps over ``n_frames``, each of which must have a frame."""
    spans = plan.lay(n_frames).steps
    for j, span in enumerate(spans):
        if span.stop <= span.start:
            raise bad_value(op, "plan", "give each step at least one frame", f"step {j} without any")
    return spans
