# SPDX-License-Identifier: Apache-2.0
"""The trajectory that a rollout was told to follow: handed-in poses, or a plan's actions at a nominal pace.

Revisits follow from commands, not from what the model did with them. R2M-Bench commands poses. A plan of actions has
none; it gets R2M-Bench's own steps, a sixtieth of a metre and two thirds of a degree a frame, slower turns where the
plan would otherwise come round in a circle by pace alone. A way back then passes through the poses of the way out,
whatever the rate of frames. How long the model's own steps are is nobody's guess: whether the plan comes back matters,
not how far it went.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ...rollout.plan import DIRECTIONS, Plan
from .trajectory import Trajectory, wrapped

Poses = npt.NDArray[np.float64]

METRES_PER_FRAME, DEGREES_PER_FRAME = 1 / 60, 2 / 3
WIDEST_TURN_DEG, STEEPEST_DEG = 179.0, 80.0
STRAIGHT_METRES, TURN_DEG = 0.1, 1.0  # below these a trajectory is straight, or does not turn


def poses_of_plan(plan: Plan, n_frames: int) -> Poses:
    """Camera-to-world poses (N, 4, 4) that do what a plan says, at the nominal pace; OpenCV axes, from the origin.

    Args:
        plan: Laid over the frames by its own boundaries, or by its shares.
        n_frames: At least as many as the plan has steps.

    Raises:
        ArgumentError: A plan with more steps than frames, or boundaries beyond them.

    Numerics:
        Counted in whole steps, with the C library's scalar sin and cos: a camera that comes back is where it was.

    Example:
        >>> from wmb_fast.rollout.plan import Plan, Step
        >>> plan = Plan("there and back", (Step(Action.TURN_LEFT), Step(Action.TURN_RIGHT)))
        >>> poses = poses_of_plan(plan, 11)
        >>> bool((poses[0] == poses[10]).all()), bool((poses[4] == poses[6]).all())
        (True, True)
    """
    moves = np.zeros((max(n_frames - 1, 0), 4), dtype=np.int64)
    for step, span in zip(plan.steps, plan.lay(n_frames).steps, strict=True):
        moves[span.start : span.stop] = DIRECTIONS[step.action]
    counts = np.concatenate((np.zeros((1, 4), np.int64), np.cumsum(moves, axis=0)))[:n_frames]
    turn = _limited(DEGREES_PER_FRAME, WIDEST_TURN_DEG, int(np.ptp(counts[:, 2], axis=0)))
    look = _limited(DEGREES_PER_FRAME, STEEPEST_DEG, int(np.abs(counts[:, 3]).max()))
    headings = [_cos_sin(int(c) * turn) for c in counts[:, 2]]
    poses = np.zeros((n_frames, 4, 4))
    went: dict[int, tuple[int, int]] = {}
    for i, (c, s) in enumerate(headings):
        up, lift = _cos_sin(int(counts[i, 3]) * look)
        if i:
            heading, (ahead, right) = int(counts[i - 1, 2]), moves[i - 1, :2].tolist()
            before = went.get(heading, (0, 0))
            went[heading] = (before[0] + ahead, before[1] + right)
            poses[i, :3, 3] = _place(went, turn) if ahead or right else poses[i - 1, :3, 3]
        poses[i, :3, 0] = c, 0, -s
        poses[i, :3, 1] = lift * s, up, lift * c
        poses[i, :3, 2] = s * up, -lift, c * up
        poses[i, 3, 3] = 1
    return poses


def _limited(pace: float, widest: float, count: int) -> float:
    return min(pace, widest / count) if count else pace


def _cos_sin(degrees: float) -> tuple[float, float]:
    return math.cos(math.radians(degrees)), math.sin(math.radians(degrees))


def _place(went: dict[int, tuple[int, int]], turn: float) -> tuple[float, float, float]:
    """Where the steps taken on each heading lead: equal counts, equal bits."""
    x = z = 0.0
    for heading in sorted(went):
        ahead, right = went[heading]
        c, s = _cos_sin(heading * turn)
        x += METRES_PER_FRAME * (ahead * s + right * c)
        z += METRES_PER_FRAME * (ahead * c - right * s)
    return x, 0.0, z


def template_of(trajectory: Trajectory) -> str:
    """Which of the paper's three kinds of trajectory this is.

    ``translation_rotation`` where the heading (or the pitch) ever changes by more than a degree; else ``out_and_back``
    where all places lie within 0.1 m of one line; else ``closed_loop``.

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols.r2m import trajectory_of
        >>> poses = np.tile(np.eye(4), (5, 1, 1))
        >>> poses[:, 0, 3] = 0, 1, 2, 1, 0
        >>> template_of(trajectory_of(poses))
        'out_and_back'
    """
    kept = trajectory.finite
    yaw, pitch, place = trajectory.yaw_deg[kept], trajectory.pitch_deg[kept], trajectory.place[kept]
    if len(place) and max(wrapped(yaw - yaw[0]).max(), np.abs(pitch - pitch[0]).max()) > TURN_DEG:
        return "translation_rotation"
    if len(place) < 3:
        return "out_and_back"
    away = place - place[0]
    farthest = away[np.einsum("nk,nk->n", away, away).argmax()]
    length = math.sqrt(float(farthest @ farthest))
    across = away - np.outer(away @ farthest, farthest) / (length * length) if length else away
    wide = math.sqrt(float(np.einsum("nk,nk->n", across, across).max()))
    return "out_and_back" if wide <= STRAIGHT_METRES else "closed_loop"
