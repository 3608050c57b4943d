# SPDX-License-Identifier: Apache-2.0
"""Good and faulty worlds, rendered and scored: does each fault lower its own metric, and leave the others alone?

All worlds are one room. Two are as commanded, a walk and a turn; each of the others is the twin of one of them with one
thing wrong, and :data:`wmb_fast.world.FAULTS` says which metrics must fall for it and which must not move.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import run
from .board import Cell, cell_of
from .protocols.record import Column, Score
from .rollout.plans import named_plan
from .run.files import writable_folder, write
from .world import FAULTS, Pace, render_world, save_world

PROTOCOL = "worldmark"
WALK, TURN = "good walk", "good turn"
PLANS = {WALK: "worldmark/06", TURN: "worldmark/07"}  # forward and back; left and right
UNSEEN = ("repainted_wall",)  # faults that happen out of view: only a turn has a time when the wall is not seen
SECONDS, FPS, SIZE = 6.0, 16.0, (320, 192)
PACE = Pace(degrees_per_second=20.0)  # fast enough to lose sight of the wall in front
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
        columns: The names of the columns in which a good world has a value.
        left_out: Those of the others.
        cells: World to column to cell.
        verdicts: By fault and column.
        passed: Whether every fault lowered its own metrics.
    """

    out: Path
    columns: Sequence[str]
    left_out: Sequence[str]
    cells: Mapping[str, Mapping[str, Cell]]
    verdicts: Sequence[Verdict]
    passed: bool


def shown_faults() -> tuple[str, ...]:
    """The faults that this protocol must notice."""
    return tuple(name for name, fault in FAULTS.items() if any(m.startswith(f"{PROTOCOL}.") for m in fault.must_lower))


def twin_of(fault: str) -> str:
    """The good world that a fault is compared with."""
    return TURN if fault in UNSEEN else WALK


def worlds() -> dict[str, str]:
    """World to its good twin, each twin before its faulty ones."""
    return {name: twin for twin in PLANS for name in (twin, *(f for f in shown_faults() if twin_of(f) == twin))}


def run_demo(out: Path, watch: Callable[[run.Progress], None] = lambda progress: None) -> Shown:
    """Renders the worlds below ``out``, scores them into ``out/scores``, and compares each fault with its good twin.

    Raises:
        WmbError: The folder cannot be written, or an extra is missing.
    """
    manifest = _render(writable_folder("out", out) / "worlds", watch)
    outcome = run.score([manifest], [PROTOCOL], out=out / "scores", cache=out / "cache", watch=watch)
    return compare(outcome)


def _render(folder: Path, watch: Callable[[run.Progress], None]) -> Path:
    rows = []
    watch(run.Progress("", "rendering", (), 0, len(worlds())))
    for done, (name, twin) in enumerate(worlds().items(), start=1):
        faults = {} if name == twin else {name: FAULTS[name].default}
        plan = named_plan(PLANS[twin])
        world = render_world(plan, faults=faults, seconds_per_step=SECONDS, fps=FPS, size=SIZE, pace=PACE)
        place = name.replace(" ", "_")
        save_world(world, folder / place)
        run.hand_in(world, folder / place / "video.mp4")
        rows.append({"id": name, "model": name, "case": twin, "video": f"{place}/video.mp4", "plan": PLANS[twin]})
        watch(run.Progress(name, "rendered", (), done, len(worlds())))
    write(folder / "manifest.json", json.dumps(rows, indent=1) + "\n")
    return folder / "manifest.json"


def compare(outcome: run.Outcome) -> Shown:
    """The verdicts of a scored demo, from its numbers."""
    (table,) = outcome.tables
    by_world: dict[str, list[Score]] = {name: [] for name in worlds()}
    for score in outcome.scores:
        by_world[score.rollout].append(score)
    cells = {
        world: {column.name: cell_of(column, {world: scores}) for column in table.columns}
        for world, scores in by_world.items()
    }
    verdicts = [
        _verdict(fault.name, column.name, must_fall, cells)
        for fault in map(FAULTS.__getitem__, shown_faults())
        for must_fall, metrics in ((True, fault.must_lower), (False, fault.must_not_move))
        for column in _columns_of(metrics, table.columns, by_world[twin_of(fault.name)])
    ]
    lowered = {name: [v.passed for v in verdicts if v.fault == name and v.must_fall] for name in shown_faults()}
    passed = all(results and all(results) for results in lowered.values())
    shown = [c.name for c in table.columns if any(cells[twin][c.name].value is not None for twin in PLANS)]
    left_out = [c.name for c in table.columns if c.name not in shown]
    return Shown(outcome.out, shown, left_out, cells, verdicts, passed)


def _columns_of(metrics: Sequence[str], columns: Sequence[Column], good: Sequence[Score]) -> list[Column]:
    """The columns that have a value from these metrics (``protocol.metric``) in the good twin."""
    names = {metric.removeprefix(f"{PROTOCOL}.") for metric in metrics}
    return [c for c in columns if any(s.metric in names and t.pick(s) is not None for s in good for t in c.terms)]


def _verdict(fault: str, column: str, must_fall: bool, cells: Mapping[str, Mapping[str, Cell]]) -> Verdict:
    good, faulty = cells[twin_of(fault)][column].value, cells[fault][column].value
    assert good is not None  # _columns_of has seen to it
    fell = None if faulty is None else good - faulty
    passed = fell is not None and (fell > MOVED if must_fall else abs(fell) <= MOVED)
    return Verdict(fault, column, must_fall, good, faulty, passed)
