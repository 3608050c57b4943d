# SPDX-License-Identifier: Apache-2.0
"""Good and faulty worlds, rendered and scored: does each fault lower its own metric, and leave the others alone?

Every world is the same room and the same walk. One is as commanded; in each of the others one thing is wrong, and
:data:`wmb_fast.world.FAULTS` says which metrics must fall for it and which must not move.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import run
from .board import cell_of
from .protocols.record import Column, Score
from .run.files import write
from .world import FAULTS, build

PROTOCOL = "worldmark"
PLAN = "worldmark/06"  # forward, then back: every metric of the action and memory families has something to see
GOOD = "good"
SECONDS, FPS, SIZE = 8.0, 16.0, (320, 192)
MOVED = 5.0  # points of 100: a metric that changes by less has not moved


@dataclass(frozen=True)
class Verdict:
    """One fault and one metric.

    Attributes:
        fault, column: Which.
        must_fall: Whether it must fall, else it must stay.
        good, faulty: The column's value without the fault and with it; ``None`` where it cannot be evaluated.
        passed: Whether it did as it must.
    """

    fault: str
    column: str
    must_fall: bool
    good: float
    faulty: float | None
    passed: bool


@dataclass(frozen=True)
class Shown:
    """What the demo found.

    Attributes:
        out: The run folder.
        columns: The names of the columns shown.
        values: World to column to value; ``None`` where a metric says it cannot be evaluated there.
        verdicts: By fault and column.
        passed: Whether every fault lowered its own metrics.
    """

    out: Path
    columns: Sequence[str]
    values: Mapping[str, Mapping[str, float | None]]
    verdicts: Sequence[Verdict]
    passed: bool


def run_demo(out: Path, watch: Callable[[run.Progress], None] = lambda progress: None) -> Shown:
    """Renders the worlds below ``out``, scores them into ``out/scores``, and compares each fault with the good twin.

    Raises:
        WmbError: The folder cannot be written, or an extra is missing.
    """
    manifest = _render(out / "worlds", watch)
    outcome = run.score([manifest], [PROTOCOL], out=out / "scores", cache=out / "cache", watch=watch)
    return compare(outcome)


def _render(folder: Path, watch: Callable[[run.Progress], None]) -> Path:
    worlds: dict[str, dict[str, float]] = {GOOD: {}, **{name: {name: fault.default} for name, fault in FAULTS.items()}}
    rows = []
    for done, (name, faults) in enumerate(worlds.items(), start=1):
        build(PLAN, faults, folder / name, seconds=SECONDS, fps=FPS, size=SIZE)
        rows.append({"id": name, "model": name, "case": "room", "video": f"{name}/video.mp4", "plan": PLAN})
        watch(run.Progress(name, "rendered", (), done, len(worlds)))
    write(folder / "manifest.json", json.dumps(rows, indent=1) + "\n")
    return folder / "manifest.json"


def compare(outcome: run.Outcome) -> Shown:
    """The verdicts of a scored demo, from its numbers."""
    (table,) = outcome.tables
    by_world: dict[str, list[Score]] = {}
    for score in outcome.scores:
        by_world.setdefault(score.rollout, []).append(score)
    values = {
        world: {column.name: cell_of(column, {world: scores}).value for column in table.columns}
        for world, scores in by_world.items()
    }
    shown = [column for column in table.columns if values[GOOD][column.name] is not None]
    verdicts = [
        _verdict(fault.name, column.name, must_fall, values)
        for fault in FAULTS.values()
        for must_fall, metrics in ((True, fault.must_lower), (False, fault.must_not_move))
        for column in _columns_of(metrics, shown, by_world[GOOD])
    ]
    passed = all(any(v.fault == name and v.must_fall for v in verdicts) for name in FAULTS) and all(
        v.passed for v in verdicts if v.must_fall
    )
    order = [GOOD, *FAULTS]
    return Shown(outcome.out, [c.name for c in shown], {w: values[w] for w in order}, verdicts, passed)


def _columns_of(metrics: Sequence[str], columns: Sequence[Column], good: Sequence[Score]) -> list[Column]:
    """The columns that rest on these metrics (``protocol.metric``) in the good world."""
    names = {metric.removeprefix(f"{PROTOCOL}.") for metric in metrics}
    return [c for c in columns if any(s.metric in names and t.pick(s) is not None for s in good for t in c.terms)]


def _verdict(fault: str, column: str, must_fall: bool, values: Mapping[str, Mapping[str, float | None]]) -> Verdict:
    good, faulty = values[GOOD][column], values[fault][column]
    assert good is not None  # only such columns are shown
    fell = None if faulty is None else good - faulty
    passed = fell is not None and (fell > MOVED if must_fall else abs(fell) <= MOVED)
    return Verdict(fault, column, must_fall, good, faulty, passed)
