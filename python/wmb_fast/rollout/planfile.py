# SPDX-License-Identifier: Apache-2.0
"""Plans as small files, JSON or YAML.

    name: my-loop                 # optional; the file's name without its ending otherwise
    steps:                        # the actions in order, with their shares of the video (1 where none is given)
      - hold
      - {action: turn_left, share: 2}
      - {action: turn_right, share: 3/2}
    phases:                       # optional: steps first up to, not including, stop, counted from 0
      V: [0, 1]
      D1: [1, 2]
      R1: [2, 3]
    boundaries: [0, 40, 120, 180] # optional: the first frame of each step (and the end of the last)
    degrees_per_frame: 0.5        # optional: how far the camera is told to turn between two frames
    distance_per_frame: 0.02      # optional: how far it is told to walk, in any unit

Instead of ``steps``: ``keys: WSW`` (WorldMark's keys, held equally long) or ``like: lrlr`` (a named plan, whose phases
come with it). Actions: forward back strafe_left strafe_right turn_left turn_right look_up look_down hold.
"""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

from .._walls.errors import ArgumentError
from .._walls.ext import optional
from .plan import Action, Phase, Plan, Step
from .plans import named_plan, plan_of_keys
from .tables import load, only, text_of, whole_numbers, wrong

_RATES = ("degrees_per_frame", "distance_per_frame")
_KEYS = ("name", "steps", "keys", "like", "phases", "boundaries", *_RATES)


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Reads a plan file.

    Args:
        path: A ``.json``, ``.yaml`` or ``.yml`` file of the form that stands at the top of this module.

    Raises:
        FileFormatError: A file that cannot be read, an unknown key or action, a bad value: file and key are named.
        MissingExtraError: A YAML file, and PyYAML is not installed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "mine.json"
        ...     _ = file.write_text('{"steps": ["forward", {"action": "back", "share": "1/2"}]}')
        ...     plan = read_plan(file)
        >>> plan.name, plan.steps[1].share, plan.lay(90).steps[1].start
        ('mine', Fraction(1, 2), 60)
    """
    file = Path(path)
    data = only("read_plan", file, "a plan", load("read_plan", file), _KEYS)
    sources = [key for key in ("steps", "keys", "like") if key in data]
    if len(sources) != 1:
        raise wrong("read_plan", file, "a plan", "have one of steps, keys and like", " and ".join(sources) or "none")
    name = text_of("read_plan", file, "name", data.get("name", file.stem))
    try:
        return _plan(file, name, data)
    except ArgumentError as error:
        raise wrong("read_plan", file, "a plan", "be possible", str(error)) from error


def _plan(file: Path, name: str, data: dict[str, Any]) -> Plan:
    phases: tuple[Phase, ...] = ()
    if "like" in data:
        base = named_plan(text_of("read_plan", file, "like", data["like"]))
        steps, phases, name = base.steps, base.phases, data.get("name", base.name)
    elif "keys" in data:
        steps = plan_of_keys(name, text_of("read_plan", file, "keys", data["keys"])).steps
    else:
        steps = _steps(file, data["steps"])
    if "phases" in data:
        phases = _phases(file, data["phases"])
    turn, walk = (_rate(file, key, data[key]) if key in data else None for key in _RATES)
    plan = Plan(name, steps, phases, degrees_per_frame=turn, distance_per_frame=walk)
    if "boundaries" not in data:
        return plan
    return plan.realised(whole_numbers("read_plan", file, "boundaries", data["boundaries"]))


def _steps(file: Path, value: object) -> tuple[Step, ...]:
    if not isinstance(value, list):
        raise wrong("read_plan", file, "steps", "be a list", repr(value))
    steps = []
    for i, item in enumerate(value):
        at = f"steps[{i}]"
        row = {"action": item} if isinstance(item, str) else only("read_plan", file, at, item, ("action", "share"))
        action = row.get("action")
        if action not in list(Action):
            raise wrong("read_plan", file, f"{at}.action", f"be one of {', '.join(Action)}", repr(action))
        steps.append(Step(Action(action), _share(file, f"{at}.share", row.get("share", 1))))
    return tuple(steps)


def _share(file: Path, at: str, value: object) -> Fraction:
    try:
        if isinstance(value, str) and "e" in value.lower():
            value = float(value)  # as a fraction, 1e999999999 would be written out
        if isinstance(value, (int, str)) and not isinstance(value, bool):
            return Fraction(value)
        if isinstance(value, float):
            return Fraction(repr(value))
    except (ValueError, ZeroDivisionError):
        pass
    raise wrong("read_plan", file, at, "be a number or a fraction like 3/2", repr(value))


def _rate(file: Path, at: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong("read_plan", file, at, "be a number", repr(value))
    return float(value)


def _phases(file: Path, value: object) -> tuple[Phase, ...]:
    if not isinstance(value, dict):
        raise wrong("read_plan", file, "phases", "be a mapping of names to [first, stop]", repr(value))
    phases = []
    for name, span in value.items():
        at = f"phases.{name}"
        ends = whole_numbers("read_plan", file, at, span)
        if len(ends) != 2:
            raise wrong("read_plan", file, at, "be [first, stop]", repr(span))
        phases.append(Phase(text_of("read_plan", file, "phases", name), ends[0], ends[1]))
    return tuple(phases)


def write_plan(path: str | os.PathLike[str], plan: Plan) -> None:
    """Writes a plan file that :func:`read_plan` gives back as it was.

    Args:
        path: Ends in ``.json``, ``.yaml`` or ``.yml``.
        plan: Any plan.

    Raises:
        FileFormatError: Another ending.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "square.json"
        ...     write_plan(file, named_plan("translate_square"))
        ...     read_plan(file) == named_plan("translate_square")
        True
    """
    file = Path(path)
    data: dict[str, Any] = {"name": plan.name, "steps": [_written(step) for step in plan.steps]}
    if plan.phases:
        data["phases"] = {phase.name: [phase.first, phase.stop] for phase in plan.phases}
    if plan.boundaries is not None:
        data["boundaries"] = list(plan.boundaries)
    data |= {key: getattr(plan, key) for key in _RATES if getattr(plan, key) is not None}
    if file.suffix.lower() == ".json":
        text = json.dumps(data, indent=1) + "\n"
    elif file.suffix.lower() in (".yaml", ".yml"):
        text = optional("yaml", "score", "write_plan").safe_dump(data, sort_keys=False)
    else:
        raise wrong("write_plan", file, "file name", "end in .json, .yaml or .yml", repr(file.name))
    file.write_text(text, encoding="utf-8")


def _written(step: Step) -> str | dict[str, Any]:
    if step.share == 1:
        return step.action.value
    share = step.share.numerator if step.share.denominator == 1 else str(step.share)
    return {"action": step.action.value, "share": share}


def plan_of(text: str, folder: Path = Path()) -> Plan:
    """A plan by what a user writes for it: the name of a published one, or a plan file.

    Args:
        text: A name that :func:`.plans.named_plan` knows, or a path that ends in ``.json``, ``.yaml`` or ``.yml``.
        folder: What a relative path starts from.
    """
    return read_plan(folder / text) if text.lower().endswith((".json", ".yaml", ".yml")) else named_plan(text)
