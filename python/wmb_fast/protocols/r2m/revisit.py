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

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from ...ops.rpe import rotation_angle_deg

Real = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

STILL_METRES, STILL_DEG = 0.01, 0.5  # a step below both is no motion
METRES = (0.1, 1.0)  # the adaptive tolerance of the place stays within
DEGREES = (1.0, 5.0)  # and that of the heading
DEGREES_OF_ONE_POSE = 2.0
FEWEST_PAIRS = 3  # fewer, and all frames are compared
FEWEST_FRAMES_APART = 10
METRE_IN_DEGREES = 10.0  # what a metre counts beside a degree when the nearest frame is chosen
_BLOCK = 1 << 13  # pairs that are looked at together: they stay in the cache


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Commanded poses of frames, and what revisits are decided by.

    Attributes:
        frames: (N,) int64, rising.
        place: (N, 3) float64, in metres.
        yaw_deg: (N,) heading about the vertical axis, in (-180, 180]; to the right is positive.
        pitch_deg: (N,) how far the camera looks up.
        rotation: (N, 3, 3) camera to world.
    """

    frames: Ints
    place: Real
    yaw_deg: Real
    pitch_deg: Real
    rotation: Real

    def __len__(self) -> int:
        return len(self.frames)

    def first(self, n: int) -> Trajectory:
        """The first ``n`` poses."""
        return Trajectory(*(getattr(self, name)[:n] for name in self.__dataclass_fields__))

    def where(self, kept: npt.NDArray[np.bool_]) -> Trajectory:
        """The poses that are kept."""
        return Trajectory(*(getattr(self, name)[kept] for name in self.__dataclass_fields__))

    @property
    def finite(self) -> npt.NDArray[np.bool_]:
        """Which poses are finite."""
        return np.asarray(np.isfinite(self.place).all(axis=1) & np.isfinite(self.rotation).all(axis=(1, 2)))


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


def trajectory_of(poses: npt.ArrayLike, frames: npt.ArrayLike | None = None) -> Trajectory:
    """A trajectory of camera-to-world poses.

    Args:
        poses: (N, 4, 4), x_world = pose x_cam, OpenCV camera axes, metres. Rotations may be slightly off (released ones
            are, having been interpolated as matrices); poses may be NaN.
        frames: (N,) rising frame numbers; ``None`` for 0 to N - 1.

    Raises:
        ArgumentError: Another shape, frames that do not rise.

    Numerics:
        yaw = atan2(R02, R00) * 180 / pi with the C library's scalar atan2: vectorised ones differ in the last bit from
        machine to machine, and a pair may hang on it.

    Example:
        >>> import numpy as np
        >>> trajectory_of(np.tile(np.eye(4), (3, 1, 1))).yaw_deg.tolist()
        [0.0, 0.0, 0.0]
    """
    given = np.asarray(poses, dtype=np.float64)
    if given.ndim != 3 or given.shape[1:] != (4, 4):
        raise bad_value("trajectory_of", "poses", "have shape (N, 4, 4)", given.shape)
    numbers = np.arange(len(given)) if frames is None else np.asarray(frames)
    if numbers.shape != (len(given),) or (np.diff(numbers) <= 0).any():
        raise bad_value("trajectory_of", "frames", f"be {len(given)} rising numbers", numbers.tolist()[:8])
    rotation = given[:, :3, :3]
    rows = zip(rotation[:, 0, 2].tolist(), rotation[:, 0, 0].tolist(), strict=True)
    yaw = np.array([math.atan2(x, z) * 180.0 / math.pi for x, z in rows], dtype=np.float64)
    forward = rotation[:, :, 2]
    pitch = np.degrees(np.arctan2(-forward[:, 1], np.hypot(forward[:, 0], forward[:, 2])))
    return Trajectory(numbers.astype(np.int64), given[:, :3, 3].copy(), yaw, pitch, rotation)


def wrapped(degrees: Any) -> Any:
    """An angle's distance from zero round the circle, in degrees: [0, 180]."""
    return np.abs((degrees + 180.0) % 360.0 - 180.0)


def static_tail(trajectory: Trajectory, *, compat: bool = False) -> int:
    """How many poses at the end do not move; 0 where none ever does.

    A step is still when it is at most 1 cm and half a degree.

    Example:
        >>> import numpy as np
        >>> poses = np.tile(np.eye(4), (5, 1, 1)); poses[1:, 2, 3] = 1
        >>> static_tail(trajectory_of(poses))
        3
    """
    if len(trajectory) < 2:
        return 0
    turned = (_trace_angles if compat else _angles)(trajectory.rotation)
    still = (_steps(trajectory)[1] <= STILL_METRES) & (turned <= STILL_DEG)
    moving = np.flatnonzero(~still)
    return int(len(still) - 1 - moving[-1]) if len(moving) else 0


def _steps(trajectory: Trajectory) -> tuple[Real, Real]:
    """From each pose to the next: the move, (N - 1, 3), and its length."""
    moves = np.diff(trajectory.place, axis=0)
    return moves, _lengths(moves)


def _lengths(moves: Real) -> Real:
    """Euclidean lengths, summed as x² + y² + z² in that order, without fused operations."""
    x, y, z = (moves[..., k] for k in range(3))
    return np.asarray(np.sqrt(x * x + y * y + z * z))


def _trace_angles(rotation: Real) -> Real:
    """Angles between neighbours out of the trace of R_a^T R_b, in degrees: as published."""
    trace = np.einsum("nij,nij->n", rotation[:-1], rotation[1:])
    return np.asarray(np.degrees(np.arccos(np.clip((trace - 1.0) / 2.0, -1.0, 1.0))))


def _angles(rotation: Real) -> Real:
    angles = np.full(len(rotation) - 1, np.nan)
    there = np.isfinite(rotation[:-1] + rotation[1:]).all(axis=(1, 2))
    angles[there] = rotation_angle_deg(rotation[:-1][there], rotation[1:][there])
    return angles


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
        found = [_twice_p95(turns, DEGREES, compat), _twice_p95(_steps(trajectory)[1], METRES, compat)]
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
    moves, lengths = _steps(trajectory)
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
    groups = _by_segments(kept, segments, tolerances, compat)
    if sum(map(len, groups.values())) < FEWEST_PAIRS and (compat or _moves(kept)):
        everything = _all_within(kept, tolerances, compat)
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
    away = _lengths(trajectory.place[kept] - trajectory.place[kept][0]) > STILL_METRES
    turned = wrapped(trajectory.yaw_deg[kept] - trajectory.yaw_deg[kept][0]) > STILL_DEG
    return bool((away | turned).any())


def _why_none(trajectory: Trajectory, kept: Trajectory) -> str:
    if len(trajectory) <= FEWEST_FRAMES_APART:
        return f"too_short: {len(trajectory)} poses, and a revisit is at least {FEWEST_FRAMES_APART} frames away"
    if not _moves(kept):
        return "no_motion: the commanded camera neither moves nor turns"
    return "no_revisit: the commanded camera never comes back to where it was"


def _by_segments(
    trajectory: Trajectory, segments: tuple[Segment, ...], within: Tolerances, compat: bool
) -> dict[str, Ints]:
    """The nearest frame of each earlier segment for each frame of a later one, by segment pair."""
    if len(segments) < 2:
        return {}
    starts = np.searchsorted(trajectory.frames, [segment.first for segment in segments])
    owner = np.searchsorted(starts, np.arange(len(trajectory)), side="right") - 1  # -1 before the first segment
    later, earlier, cost = _candidates(trajectory, within, compat, int(starts[0]), owner)
    if not len(later):
        return {}
    key = later * len(segments) + owner[earlier]
    begins = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    least = np.repeat(np.minimum.reduceat(cost, begins), np.diff(np.append(begins, len(key))))
    at_least = np.flatnonzero(cost == least)
    best = at_least[np.unique(key[at_least], return_index=True)[1]]  # the first of equals
    pairs = np.stack([trajectory.frames[later[best]], trajectory.frames[earlier[best]]], axis=1)
    of = np.stack([owner[later[best]], owner[earlier[best]]], axis=1)
    groups = {}
    for a, b in np.unique(of, axis=0).tolist():
        name = f"Seg{a}({segments[a].letter})↔Seg{b}({segments[b].letter})"
        groups[name] = pairs[(of == (a, b)).all(axis=1)]
    return groups


def _candidates(
    trajectory: Trajectory, within: Tolerances, compat: bool, start: int, owner: Ints
) -> tuple[Ints, Ints, Real]:
    """Rows (later, earlier) of poses in different segments that are within the tolerances, and what each costs.

    They come sorted by the later row, then by the earlier.
    """
    n = len(trajectory)
    begins = np.flatnonzero(np.diff(owner)) + 1  # of every segment; nothing in a row's own segment is asked for
    found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    lo = int(begins[begins > start][0])
    while lo < n:
        hi = min(lo + max(1, _BLOCK // (lo - start)), n)
        wide = int(begins[begins < hi][-1])
        later, earlier, yaw, far = _near(trajectory, slice(lo, hi), slice(start, wide), within, compat)
        fits = owner[earlier] < owner[later]
        found.append((later[fits], earlier[fits], (yaw + METRE_IN_DEGREES * far)[fits]))
        lo = hi
    later, earlier, cost = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return later, earlier, cost


def _near(
    trajectory: Trajectory, a: slice, b: slice, within: Tolerances, compat: bool
) -> tuple[Ints, Ints, Real, Real]:
    """Which poses of ``a`` are near which of ``b`` and ten frames apart: rows in both, difference of yaw, distance."""
    far = np.zeros((a.stop - a.start, b.stop - b.start))
    for k in range(3):
        move = trajectory.place[a, k, None] - trajectory.place[b, k]
        move *= move
        far += move
    np.sqrt(far, out=far)
    yaw = trajectory.yaw_deg[a, None] - trajectory.yaw_deg[b]
    # wrapped(), without its slow modulus: the sum is in (-180, 540), where one turn more or less is as exact.
    yaw += 180.0
    yaw -= 360.0 * (yaw >= 360.0)
    yaw += 360.0 * (yaw < 0.0)
    yaw -= 180.0
    np.abs(yaw, out=yaw)
    row, column = np.nonzero((far <= within.metres) & (yaw <= within.degrees))
    one, other = row + a.start, column + b.start
    fits = np.abs(trajectory.frames[one] - trajectory.frames[other]) >= FEWEST_FRAMES_APART
    if not compat:
        fits &= np.abs(trajectory.pitch_deg[one] - trajectory.pitch_deg[other]) <= within.degrees
    return one[fits], other[fits], yaw[row, column][fits], far[row, column][fits]


def _all_within(trajectory: Trajectory, within: Tolerances, compat: bool) -> Ints:
    """All (later, earlier) frames within the tolerances, sorted by the earlier, then by the later."""
    n, lo = len(trajectory), 0
    found = [np.empty((0, 2), np.int64)]
    while lo < n:
        hi = min(lo + max(1, _BLOCK // (n - lo)), n)
        one, other, _, _ = _near(trajectory, slice(lo, hi), slice(lo, n), within, compat)
        frames = np.stack([trajectory.frames[other], trajectory.frames[one]], axis=1)
        found.append(frames[frames[:, 0] > frames[:, 1]])
        lo = hi
    return np.concatenate(found)
