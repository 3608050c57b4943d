# SPDX-License-Identifier: Apache-2.0
"""WorldMark's keys, and where in the flow of a rollout the segment of each lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..._walls.errors import bad_value
from ...rollout.plan import Action, Plan
from .constants import COMPAT_FPS, FLOW_STRIDE, TRIM_AFTER_SWITCH_S, TRIM_BEFORE_SWITCH_S
from .measure import Signal


@dataclass(frozen=True)
class Key:
    """A commanded key: its family (fwd, lat, yaw), and the sign of its channel when it is followed."""

    name: str
    family: str
    sign: float

    @property
    def axis(self) -> str:
        """The report pools forward and sideways motion as translation."""
        return "rotation" if self.family == "yaw" else "translation"

    def signed(self, horizontal: Signal, radial: Signal) -> Signal:
        """The channel this key moves, positive when it moves as commanded."""
        return self.sign * (radial if self.family == "fwd" else horizontal)


KEYS = {
    "W": Key("W", "fwd", 1.0),
    "S": Key("S", "fwd", -1.0),
    "A": Key("A", "lat", 1.0),
    "D": Key("D", "lat", -1.0),
    "L": Key("L", "yaw", 1.0),
    "R": Key("R", "yaw", -1.0),
}

_OF_ACTION = {
    Action.FORWARD: "W",
    Action.BACK: "S",
    Action.STRAFE_LEFT: "A",
    Action.STRAFE_RIGHT: "D",
    Action.TURN_LEFT: "L",
    Action.TURN_RIGHT: "R",
}


def key_of(action: Action) -> str | None:
    """WorldMark's key for a commanded action; ``None`` for one it does not have (hold, look up, look down)."""
    return _OF_ACTION.get(action)


def check_keys(op: str, keys: Sequence[str | None]) -> None:
    """Requires WorldMark's keys, ``None`` standing for an action it does not have."""
    for key in keys:
        if key is not None and key not in KEYS:
            raise bad_value(op, "keys", "be out of W, S, A, D, L, R and None", repr(key))


@dataclass(frozen=True)
class Timeline:
    """When the samples of a rollout's flow and its segments are.

    Attributes:
        times: Of each sample, in seconds.
        bounds: Where each segment begins, and the last one ends, in seconds.
        fps: Samples a second, for the lengths of filters.
    """

    times: Signal
    bounds: tuple[float, ...]
    fps: float

    @staticmethod
    def published(times: Signal, n_segments: int) -> Timeline:
        """Equal shares of the time of the last sample, filters for 16 samples a second."""
        length = float(times[-1]) if times.size else 0.0
        bounds = tuple(j * length / n_segments for j in range(n_segments + 1))
        return Timeline(times, bounds, COMPAT_FPS)

    @staticmethod
    def of_frames(n_samples: int, fps: float, first_frames: Sequence[int], stride: int = FLOW_STRIDE) -> Timeline:
        """The rollout's own rate and segment boundaries (the first frame of each segment, and the end of the last).

        Sample i is the flow from frame i to i + stride, about frame i + stride/2: a command that begins with frame b
        acts on all the flow of the samples from b - stride/2 on.
        """
        samples = first_samples(n_samples, first_frames, stride, last=max(n_samples - 1, 0))
        return Timeline(np.arange(n_samples) / fps, tuple(s / fps for s in samples), fps)

    def stable(self, j: int) -> np.ndarray:
        """The samples of segment j, away from the switches at its ends."""
        start = self.bounds[j] + (TRIM_AFTER_SWITCH_S if j > 0 else 0.0)
        stop = self.bounds[j + 1] - (TRIM_BEFORE_SWITCH_S if j < len(self.bounds) - 2 else 0.0)
        return (self.times >= start) & (self.times <= stop)

    def switch(self, j: int, *, compat: bool = False) -> tuple[float, float]:
        """When the command of segment j is given, and how long the segment lasts, in seconds."""
        onset, stop = self.bounds[j], self.bounds[j + 1]
        return onset, self.bounds[-1] / (len(self.bounds) - 1) if compat else stop - onset


def first_samples(n_samples: int, first_frames: Sequence[int], stride: int, last: int) -> tuple[int, ...]:
    """The first sample of each segment from the first frame of each, within 0 and ``last``."""
    return tuple(min(max(frame - stride // 2, 0), last) for frame in first_frames)


def first_frames(plan: Plan, n_frames: int) -> tuple[int, ...]:
    """The first frame of each step of a plan over a video, and the end of the last."""
    spans = plan.lay(n_frames).steps
    return (*(span.start for span in spans), spans[-1].stop)


def is_round_trip(keys: Sequence[str | None]) -> bool:
    """Whether every segment undoes the one before: of WorldMark's sequences WS, LR, AD, WSW, LRL and ADA."""
    found = [KEYS[key] for key in keys if key is not None]
    if len(found) < 2 or len(found) != len(keys):
        return False
    return all(a.family == b.family and a.sign == -b.sign for a, b in pairwise(found))
