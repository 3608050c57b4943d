# SPDX-License-Identifier: Apache-2.0
"""The phases of a rollout: what is seen first (V), each way out (D_i) and each prescribed return (R_i), as frames.

The phases are EXACT (section 3.3); which frames of them count is RECONSTRUCTED, because the paper gives no frame
numbers. A camera told to move in a step moves between every frame of the step and the next one. So it is back at the
first frame after the last moving step of R_i, and stays there as long as the plan holds: these frames are the return
window. The reference is what the first frames show, up to the first motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..._walls.checks import integer
from ..._walls.errors import bad_value
from ...rollout.plan import Action, Phase, Plan, Span, Step

_AXES: dict[Action, tuple[str, int]] = {
    Action.FORWARD: ("forward", 1),
    Action.BACK: ("forward", -1),
    Action.STRAFE_RIGHT: ("right", 1),
    Action.STRAFE_LEFT: ("right", -1),
    Action.TURN_RIGHT: ("yaw", 1),
    Action.TURN_LEFT: ("yaw", -1),
    Action.LOOK_UP: ("pitch", 1),
    Action.LOOK_DOWN: ("pitch", -1),
}
_TURNS = ("yaw", "pitch")


@dataclass(frozen=True)
class Revisit:
    """One departure and its prescribed return.

    Attributes:
        number: From 1.
        departure: D_i; its end, too, is a frame at which the camera is away.
        back: R_i.
        motion: D_i and R_i together, the frame of arrival included: over which the camera is followed.
        window: The frames at which the camera should be back.
        turns: Whether the way out turns the camera; if not, its orientation says nothing of a departure.
    """

    number: int
    departure: Span
    back: Span
    motion: Span
    window: Span
    turns: bool


@dataclass(frozen=True)
class Course:
    """The phases of one rollout.

    Attributes:
        trajectory: The plan's name without its benchmark: ``lrlr``, …
        reference: The frames of V.
        revisits: In order.
        final: The last hold, where the plan has one.
        inferred: Whether the phases were worked out from the actions, for a plan that names none.
    """

    trajectory: str
    reference: Span
    revisits: tuple[Revisit, ...]
    final: Span | None
    inferred: bool


def course_of(plan: Plan, n_frames: int, *, approach: int = 0) -> Course | None:
    """The phases of a plan over a video.

    Args:
        plan: With phases V, D1, R1, …; a plan without any gets them from its actions, wherever they lead back to where
            they began: forward then back is D1 and R1, and so is a square.
        n_frames: Of the video.
        approach: How many frames before the arrival count as returned, too.

    Returns:
        ``None`` where the plan never comes back.

    Raises:
        ArgumentError: A plan that does not fit the video; phases of which V, a departure or a return is missing.

    Source:
        WorldMemBench, section 3.3 (EXACT); frames RECONSTRUCTED.

    Example:
        >>> from wmb_fast.rollout.plans import named_plan
        >>> course = course_of(named_plan("lrlr"), 101)
        >>> course.reference, [revisit.window for revisit in course.revisits]
        (Span(start=0, stop=20), [Span(start=60, stop=61), Span(start=100, stop=101)])
        >>> course_of(named_plan("WS"), 101).revisits[0].window
        Span(start=100, stop=101)
        >>> course_of(named_plan("W"), 101) is None
        True
    """
    integer("course_of", "n_frames", n_frames, at_least=1)
    integer("course_of", "approach", approach, at_least=0)
    inferred = not plan.phases
    phases = {phase.name: phase for phase in (inferred_phases(plan.steps) if inferred else plan.phases)}
    count = sum(name[:1] == "R" and name[1:].isdecimal() for name in phases)
    if inferred and not count:
        return None
    wanted = ["V", *(f"{kind}{i + 1}" for i in range(max(count, 1)) for kind in "DR")]
    absent = [name for name in wanted if name not in phases and not (inferred and name == "V")]
    if absent:
        raise bad_value("course_of", "plan", f"have the phases {', '.join(wanted)}", f"no {absent[0]}: {plan.name}")
    spans = plan.lay(n_frames).steps
    last = n_frames - 1
    reference = _reference(plan.steps, spans, phases.get("V"))
    revisits = tuple(
        _revisit(i + 1, plan.steps, spans, phases[f"D{i + 1}"], phases[f"R{i + 1}"], last, approach)
        for i in range(count)
    )
    final = phases.get("final")
    tail = None if final is None else Span(spans[final.first].start, spans[final.stop - 1].stop)
    return Course(plan.name.rsplit("/", 1)[-1], reference, revisits, tail, inferred)


def _reference(steps: Sequence[Step], spans: Sequence[Span], phase: Phase | None) -> Span:
    """V up to its first motion; of a plan that begins with motion its first frame."""
    first, stop = (0, len(steps)) if phase is None else (phase.first, phase.stop)
    moving = next((j for j in range(first, stop) if steps[j].action is not Action.HOLD), stop)
    end = spans[moving].start if moving < len(spans) else spans[-1].stop
    return Span(spans[first].start, max(end, spans[first].start + 1))


def _revisit(
    number: int, steps: Sequence[Step], spans: Sequence[Span], out: Phase, back: Phase, last: int, approach: int
) -> Revisit:
    moving = [j for j in range(back.first, back.stop) if steps[j].action is not Action.HOLD]
    arrival = min(spans[moving[-1]].stop, last) if moving else spans[back.first].start
    start = max(arrival - approach, spans[back.first].start)
    window = Span(start, max(spans[back.stop - 1].stop, arrival + 1))
    departure = Span(spans[out.first].start, spans[out.stop - 1].stop)
    turns = any(step.action in _AXES and _AXES[step.action][0] in _TURNS for step in steps[out.first : out.stop])
    home = Span(spans[back.first].start, spans[back.stop - 1].stop)
    return Revisit(number, departure, home, Span(departure.start, arrival + 1), window, turns)


def inferred_phases(steps: Sequence[Step]) -> tuple[Phase, ...]:
    """The phases of actions that lead back to where they began: V, and D_i, R_i for each loop.

    A loop is closed when its walking, or its turning, cancels out; one that mixes both is not taken for closed, for the
    camera walks in another direction once it has turned.
    """
    phases: list[Phase] = []
    net: dict[str, Fraction] = {}
    first = 0
    while first < len(steps) and steps[first].action is Action.HOLD:
        first += 1
    if first:
        phases.append(Phase("V", 0, first))
    start = first
    for j in range(first, len(steps)):
        if steps[j].action is Action.HOLD:
            continue
        if not net:
            start = j
        axis, sign = _AXES[steps[j].action]
        net[axis] = net.get(axis, Fraction(0)) + sign * steps[j].share
        mixed = any(name in _TURNS for name in net) and any(name not in _TURNS for name in net)
        if not mixed and not any(net.values()):
            number = sum(phase.name[0] == "R" for phase in phases) + 1
            phases += [Phase(f"D{number}", start, j), Phase(f"R{number}", j, j + 1)]
            net = {}
    return tuple(phases)
