# SPDX-License-Identifier: Apache-2.0
"""What a rollout was told to do: commanded actions, and the phases of the protocol they make up.

A :class:`Plan` knows no video. :meth:`Plan.lay` puts it over one of a given length, and gives frame ranges.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from .._walls.checks import real
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


# Forward, right, turn right, look up.
DIRECTIONS: dict[Action, tuple[int, int, int, int]] = {
    Action.FORWARD: (1, 0, 0, 0),
    Action.BACK: (-1, 0, 0, 0),
    Action.STRAFE_LEFT: (0, -1, 0, 0),
    Action.STRAFE_RIGHT: (0, 1, 0, 0),
    Action.TURN_LEFT: (0, 0, -1, 0),
    Action.TURN_RIGHT: (0, 0, 1, 0),
    Action.LOOK_UP: (0, 0, 0, 1),
    Action.LOOK_DOWN: (0, 0, 0, -1),
    Action.HOLD: (0, 0, 0, 0),
}


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
        name: For example ``worldmark/6`` or ``worldmembench/lrlr``.
        steps: The actions and their shares; at least one.
        phases: May be empty (WorldMark has none); names are unique.
        boundaries: The first frame of each step and, where it is known, the end of the last: as the rollout really
            had them (then shares do not count). ``None`` where they follow from the shares.
        degrees_per_frame: How far the camera is told to turn, or look, from a frame to the next; ``None``: not said.
        distance_per_frame: How far it is told to walk, in any unit; ``None``: not said.

    Raises:
        ArgumentError: No step, a share that is not above 0, a phase that is empty, beyond the steps or named twice,
            boundaries that are too few, too many or do not increase, a rate that is not above 0.

    Example:
        >>> plan = Plan("there and back", (Step(Action.FORWARD), Step(Action.BACK)))
        >>> plan.lay(10).steps
        (Span(start=0, stop=5), Span(start=5, stop=10))
        >>> plan.realised([0, 6]).lay(10).steps
        (Span(start=0, stop=6), Span(start=6, stop=10))
    """

    name: str
    steps: tuple[Step, ...]
    phases: tuple[Phase, ...] = ()
    boundaries: tuple[int, ...] | None = None
    degrees_per_frame: float | None = None
    distance_per_frame: float | None = None

    def __post_init__(self) -> None:
        if not self.steps:
            raise bad_value("Plan", "steps", "hold at least one step", "none")
        for i, step in enumerate(self.steps):
            if step.share <= 0:
                raise bad_value("Plan", f"steps[{i}]", "have a share above 0", step.share)
        names = [phase.name for phase in self.phases]
        for phase in self.phases:
            if names.count(phase.name) > 1:
                raise bad_value("Plan", "phases", "have names of their own", f"{phase.name!r} twice")
            if not 0 <= phase.first < phase.stop <= len(self.steps):
                got = f"[{phase.first}, {phase.stop})"
                raise bad_value("Plan", f"phase {phase.name}", f"cover some of the {len(self.steps)} steps", got)
        if self.boundaries is not None:
            _check_boundaries(self.boundaries, len(self.steps))
        for name in ("degrees_per_frame", "distance_per_frame"):
            if getattr(self, name) is not None:
                real("Plan", name, getattr(self, name), above=0)

    @property
    def actions(self) -> tuple[Action, ...]:
        return tuple(step.action for step in self.steps)

    def realised(self, boundaries: Sequence[int]) -> Plan:
        """The same plan with the frames at which its steps really began (and the last one ended, if that is known)."""
        return replace(self, boundaries=tuple(int(frame) for frame in boundaries))

    def lay(self, n_frames: int) -> Laid:
        """The frames of each step and phase in a video of ``n_frames``.

        Without boundaries of its own a step ends at ``floor(n_frames * (sum of shares so far) / (sum of all))``, in
        exact fractions.

        Raises:
            ArgumentError: The plan's own boundaries reach beyond the video, or the video has fewer frames than steps.
        """
        if self.boundaries is None:
            bounds = _shared_out([step.share for step in self.steps], n_frames)
            if n_frames < len(self.steps):
                raise bad_value(
                    "lay", "plan", f"have no more steps than the video's {n_frames} frames", len(self.steps)
                )
        else:
            whole = len(self.boundaries) > len(self.steps)
            last = self.boundaries[-1] if whole else self.boundaries[-1] + 1
            if last > n_frames:
                raise bad_value("lay", "plan", f"end within the video's {n_frames} frames", f"frame {last}")
            bounds = self.boundaries if whole else (*self.boundaries, n_frames)
        steps = tuple(Span(a, b) for a, b in itertools.pairwise(bounds))
        phases = {phase.name: Span(steps[phase.first].start, steps[phase.stop - 1].stop) for phase in self.phases}
        return Laid(steps, phases)


def _check_boundaries(boundaries: Sequence[int], n_steps: int) -> None:
    if len(boundaries) not in (n_steps, n_steps + 1):
        wanted = f"be {n_steps} first frames of steps, or these and the end: {n_steps + 1}"
        raise bad_value("Plan", "boundaries", wanted, f"{len(boundaries)} numbers")
    if boundaries[0] < 0 or any(b <= a for a, b in itertools.pairwise(boundaries)):
        raise bad_value("Plan", "boundaries", "increase from 0 or above", list(boundaries))


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
