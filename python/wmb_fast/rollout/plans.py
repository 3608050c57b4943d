# SPDX-License-Identifier: Apache-2.0
"""The plans that published benchmarks command, by name, and what their file names say.

WorldMark: 15 sequences of the keys W, S, A, D (walk, strafe) and L, R (turn), each key held equally long (about 20 s).
WorldMemBench: a square walked with the camera's orientation fixed, and turns on the spot (definitions: paper, section
3.2). That paper gives the order of the phases V, D_i, R_i and final, not their lengths: the equal shares here are a
reconstruction, for rollouts that come without boundaries of their own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .._walls.errors import bad_value
from .plan import Action, Phase, Plan, Step

KEYS = {
    "W": Action.FORWARD,
    "S": Action.BACK,
    "A": Action.STRAFE_LEFT,
    "D": Action.STRAFE_RIGHT,
    "L": Action.TURN_LEFT,
    "R": Action.TURN_RIGHT,
}
WORLDMARK = ("W", "S", "A", "D", "R", "WS", "LR", "AD", "WR", "SL", "WSW", "LRL", "WRW", "ADA", "WRS")
PATTERNS = (
    "<model>/<image>_<action>.mp4 with three digits each (WorldMark)",
    "<category>/<model>/<trajectory>/<case>/video.mp4 (WorldMemBench)",
)

_TRAJECTORY = re.compile(r"(translate_square|lrlrlr|lrlr|lrud|lr_hold)(?:_sym)?(?:_(\d+(?:p\d+)?)dpf)?")


def plan_of_keys(name: str, keys: str) -> Plan:
    """The plan of a sequence of keys, all held equally long.

    Example:
        >>> [action.value for action in plan_of_keys("mine", "WRW").actions]
        ['forward', 'turn_right', 'forward']
    """
    wrong = [key for key in keys if key not in KEYS]
    if wrong or not keys:
        raise bad_value("plan_of_keys", "keys", f"be some of {', '.join(KEYS)}", repr(keys))
    return Plan(name, tuple(Step(KEYS[key]) for key in keys))


def _cycles(name: str, turns: Sequence[Action], *, departure: int = 1, final: bool = False) -> Plan:
    """V, then for each cycle ``departure`` steps away (D_i) and one back (R_i), then perhaps a final hold."""
    actions = [Action.HOLD, *turns, *([Action.HOLD] if final else [])]
    phases = [Phase("V", 0, 1)]
    cycle = departure + 1
    for i in range(len(turns) // cycle):
        first = 1 + i * cycle
        phases += [Phase(f"D{i + 1}", first, first + departure), Phase(f"R{i + 1}", first + departure, first + cycle)]
    if final:
        phases.append(Phase("final", len(actions) - 1, len(actions)))
    return Plan(name, tuple(Step(action) for action in actions), tuple(phases))


_LR = (Action.TURN_LEFT, Action.TURN_RIGHT)
_UD = (Action.LOOK_UP, Action.LOOK_DOWN)
_SQUARE = (Action.FORWARD, Action.STRAFE_RIGHT, Action.BACK, Action.STRAFE_LEFT)

_PLANS: dict[str, Plan] = {
    **{f"worldmark/{i}": plan_of_keys(f"worldmark/{i}", keys) for i, keys in enumerate(WORLDMARK, start=1)},
    "worldmembench/translate_square": _cycles("worldmembench/translate_square", _SQUARE, departure=3),
    "worldmembench/lrlr": _cycles("worldmembench/lrlr", _LR * 2),
    "worldmembench/lrlrlr": _cycles("worldmembench/lrlrlr", _LR * 3),
    "worldmembench/lrud": _cycles("worldmembench/lrud", _LR + _UD),
    "worldmembench/lr_hold": _cycles("worldmembench/lr_hold", _LR, final=True),
}
_ALIASES: dict[str, str] = {
    **{keys.lower(): f"worldmark/{i}" for i, keys in enumerate(WORLDMARK, start=1)},
    **{name.split("/")[1]: name for name in _PLANS if name.startswith("worldmembench/")},
}


def plan_names() -> tuple[str, ...]:
    """The full names of all plans.

    Example:
        >>> plan_names()[0], plan_names()[-1], len(plan_names())
        ('worldmark/1', 'worldmembench/lr_hold', 20)
    """
    return tuple(_PLANS)


def named_plan(name: str) -> Plan:
    """A plan by its name.

    Args:
        name: ``worldmark/1`` to ``worldmark/15`` (``worldmark/06`` too) or its keys (``WS``, ``LRL``);
            ``worldmembench/translate_square``, ``…/lrlr``, ``…/lrlrlr``, ``…/lrud``, ``…/lr_hold``, or these without
            ``worldmembench/`` in front. Capitals, hyphens and blanks do not matter (``LR-hold``).

    Returns:
        The plan. Its phases are V, D1, R1, D2, … (and ``final``) for WorldMemBench, and none for WorldMark. A phase
        D_i is the way out, R_i the last step back, whose end is the prescribed return.

    Raises:
        ArgumentError: No plan has that name.

    Source:
        WorldMark, section 4 and its action protocol; WorldMemBench, section 3.2. Shares of WorldMemBench: equal, a
        reconstruction.

    Example:
        >>> plan = named_plan("lrud")
        >>> [action.value for action in plan.actions]
        ['hold', 'turn_left', 'turn_right', 'look_up', 'look_down']
        >>> [phase.name for phase in plan.phases]
        ['V', 'D1', 'R1', 'D2', 'R2']
        >>> named_plan("WS") == named_plan("worldmark/06")
        True
    """
    full = re.sub(r"^(worldmark/)0+(?=\d)", r"\1", re.sub("[- ]", "_", name.lower()))
    full = _ALIASES.get(full, full)
    if full not in _PLANS:
        known = ", ".join(["worldmark/1 to worldmark/15", *WORLDMARK, *list(_PLANS)[len(WORLDMARK) :]])
        raise bad_value("named_plan", "name", f"be one of {known}", repr(name))
    return _PLANS[full]


@dataclass(frozen=True)
class Named:
    """What the name of a video file says of it."""

    model: str
    case: str
    plan: Plan


def plan_from_filename(path: str | os.PathLike[str]) -> Named | None:
    """Model, case and plan out of a benchmark's own file layout; ``None`` where it is not one.

    WorldMemBench's folders say how fast the camera turns: ``1dpf`` is 1 degree a frame, ``0p5dpf`` half a degree.

    Args:
        path: ``<model>/<image>_<action>.mp4``, three digits each, the action from 001 to 015 (WorldMark), or
            ``<category>/<model>/<trajectory>/<case>/video.mp4`` (WorldMemBench). Other folders may stand before.

    Example:
        >>> found = plan_from_filename("videos/lyra-2/016_014.mp4")
        >>> found.model, found.case, found.plan.name
        ('lyra-2', '016_014', 'worldmark/14')
        >>> found = plan_from_filename("data/human/sana/lrlrlr_sym_1dpf/case_007/video.mp4")
        >>> found.model, found.case, found.plan.name
        ('sana', 'human/lrlrlr_sym_1dpf/case_007', 'worldmembench/lrlrlr')
        >>> found.plan.degrees_per_frame
        1.0
        >>> plan_from_filename("m1_good.mp4")
    """
    parts = Path(path).parts
    stem = Path(path).stem
    numbers = re.fullmatch(r"\d{3}_(\d{3})", stem)
    if numbers and len(parts) >= 2 and 1 <= int(numbers[1]) <= len(WORLDMARK):
        return Named(parts[-2], stem, named_plan(f"worldmark/{int(numbers[1])}"))
    if stem == "video" and len(parts) >= 5:
        category, model, trajectory, case = parts[-5:-1]
        known = _TRAJECTORY.fullmatch(trajectory)
        if known:
            rate = float(known[2].replace("p", ".")) if known[2] else 0.0
            plan = replace(named_plan(known[1]), degrees_per_frame=rate or None)
            return Named(model, f"{category}/{trajectory}/{case}", plan)
    return None
