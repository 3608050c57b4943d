# SPDX-License-Identifier: Apache-2.0
"""What a rollout was told to do: commanded actions, and the phases of the protocol they make up.

A :class:`Plan` knows no video. :meth:`Plan.lay` puts it over one of a given length, and gives frame ranges.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from .._walls.errors import bad_value


class Action(StrEnum):
    """A commanded camera motion, in the camera's own axes."""

    FORWARD = "forward"
    BACK = "back"
    STRAFE_LEFT = "strafe_left"
    STRAFE_RIGHT = "strafe_right"
    TURN_LEFT = "turn_left"
    TURN_RIGHT = "turn_right"
    LOOK_UP = "look_up"
    LOOK_DOWN = "look_down"
    HOLD = "hold"


@dataclass(frozen=True)
class Step:
    """One commanded action and its share of the video; shares are relative to their sum."""

    action: Action
    share: Fraction = Fraction(1)


@dataclass(frozen=True)
class Phase:
    """A named stretch of a protocol (V, D1, R1, …, final): the steps ``first`` up to, not including, ``stop``."""

    name: str
    first: int
    stop: int


@dataclass(frozen=True)
class Span:
    """Frames ``start`` up to, not including, ``stop``."""

    start: int
    stop: int


@dataclass(frozen=True)
class Laid:
    """A plan over a video: one span a step, one a phase."""

    steps: tuple[Span, ...]
    phases: dict[str, Span]


@dataclass(frozen=True)
class Plan:
    """Commanded actions in order, and phases over them.

    Attributes:
        name: For example ``worldmark/06`` or ``lrlr``.
        steps: The actions and their shares.
        phases: May be empty (WorldMark has none).
        boundaries: The first frame of each step and the end of the last, where they are known (then shares do not
            count); ``None`` where they follow from the shares.
    """

    name: str
    steps: tuple[Step, ...]
    phases: tuple[Phase, ...] = ()
    boundaries: tuple[int, ...] | None = None

    @property
    def actions(self) -> tuple[Action, ...]:
        return tuple(step.action for step in self.steps)

    def lay(self, n_frames: int) -> Laid:
        """The frames of each step and phase in a video of ``n_frames``.

        Raises:
            ArgumentError: The plan's own boundaries end beyond the video.
        """
        bounds = self.boundaries or _shared_out([step.share for step in self.steps], n_frames)
        if bounds[-1] > n_frames:
            raise bad_value("lay", "plan", f"end within the video's {n_frames} frames", f"frame {bounds[-1]}")
        steps = tuple(Span(a, b) for a, b in itertools.pairwise(bounds))
        phases = {phase.name: Span(steps[phase.first].start, steps[phase.stop - 1].stop) for phase in self.phases}
        return Laid(steps, phases)


def _shared_out(shares: Sequence[Fraction], n_frames: int) -> tuple[int, ...]:
    total = sum(shares, Fraction(0))
    running = Fraction(0)
    bounds = [0]
    for share in shares:
        running += share
        bounds.append(int(running / total * n_frames))
    return tuple(bounds)


@dataclass(frozen=True)
class Facts:
    """What is known of a rollout apart from its pixels.

    Attributes:
        rollout: Its id, unique in a run: path-like, with ``/``.
        model: Whose rollout it is; ``None`` where it is not known.
        case: The benchmark's case; ``None`` where it is not known.
        plan: ``None`` where none is known.
        n_frames: Frames that decode.
        fps: The rate of presentation; ``None`` where the file gives none.
        width, height: Of the frames as shown, in pixels.
    """

    rollout: str
    model: str | None
    case: str | None
    plan: Plan | None
    n_frames: int
    fps: float | None
    width: int
    height: int
