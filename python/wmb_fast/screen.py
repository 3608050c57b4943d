# SPDX-License-Identifier: Apache-2.0
"""What the command line prints: bars and colours on a terminal, plain lines in a pipe; never a silent blank."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from . import run
from .board import MISSING, NOT_ABOUT, Cell, cell_of
from .board import Table as Board
from .protocols.record import WHOLE_ROLLOUT, Score, Status

if TYPE_CHECKING:
    from .demo import Shown, Verdict
    from .doctor import Check, Finding

PIPE_WIDTH = 240
COLOURS = {"scored": "green", "kept": "cyan", "failed": "red", "rendered": "blue"}
BEGINNINGS = {"rendering": ("world to render", "worlds to render"), "begun": ("rollout to score", "rollouts to score")}
KINDS = {
    "failed": Status.ERROR,
    "missing evidence": Status.MISSING,
    "not evaluable by the protocol's own rules": Status.NOT_EVALUABLE,
}
Row = tuple[Text, Sequence[Text]]


class Screen:
    """Results on stdout, progress on stderr."""

    def __init__(self) -> None:
        self.out = _console(stderr=False)
        self.err = _console(stderr=True)

    @contextlib.contextmanager
    def progress(self) -> Iterator[Callable[[run.Progress], None]]:
        """A function to call with each step of a run."""
        if not self.err.is_terminal:
            yield self._line
            return
        parts = (
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
        )
        with Progress(*parts, console=self.err, transient=True) as bar:
            task = bar.add_task("looking for rollouts", total=None)

            def step(p: run.Progress) -> None:
                bar.update(task, completed=p.done, total=p.total, description=f"{p.rollout} {p.how}")
                if p.how == "failed" or p.notes:
                    self._line(p)

            yield step

    def _line(self, p: run.Progress) -> None:
        if p.how in BEGINNINGS:
            self.err.print(f"{p.total} {BEGINNINGS[p.how][p.total != 1]}")
            return
        text = Text(f"[{p.done}/{p.total}] ")
        text.append(f"{p.how:6}", style=COLOURS.get(p.how, ""))
        text.append(f" {p.rollout}")
        self.err.print(text)
        for note in p.notes:
            self.err.print(Text(f"        {note}", style="yellow"), soft_wrap=True)

    def outcome(self, outcome: run.Outcome) -> None:
        """A table a protocol: rollouts by columns, then what is missing and why, then where everything lies."""
        if outcome.scores and not outcome.tables:
            self.out.print("The published board leaves all of these models out; their records are in the scorecard.")
        for board in outcome.tables:
            self._protocol(board, [s for s in outcome.scores if s.protocol == board.protocol])
        self._places(outcome.out)
        if not outcome.complete:
            self.out.print("Something could not be scored: see above, and run.json.", style="yellow")

    def _places(self, out: Path) -> None:
        self.out.print(f"scorecard    {out / 'scorecard.jsonl'}", soft_wrap=True)
        self.out.print(f"leaderboard  {out / 'board.md'}", soft_wrap=True)

    def _protocol(self, board: Board, scores: Sequence[Score]) -> None:
        rollouts: dict[str, list[Score]] = {}
        for score in scores:
            rollouts.setdefault(score.rollout, []).append(score)
        cells = {
            rollout: [cell_of(column, {rollout: records}) for column in board.columns]
            for rollout, records in rollouts.items()
        }
        kept = [i for i in range(len(board.columns)) if any(row[i].value is not None for row in cells.values())]
        rows = [(Text(rollout), [_shown(row[i]) for i in kept]) for rollout, row in cells.items()]
        title = f"{board.protocol}{' (compat)' if board.compat else ''}"
        self._table(title, "rollout", rows, [board.columns[i].name for i in kept])
        self.out.print(f"~ proxy estimator   {MISSING} no value, see below   {NOT_ABOUT} does not apply", style="dim")
        self._missing([s for s in scores if s.value is None], len(rollouts))

    def _table(self, title: str, head: str, rows: Sequence[Row], columns: Sequence[str]) -> None:
        """A table, in as many pieces one below the other as the width asks for."""
        widths = [max([len(c), *(cells[i].cell_len for _, cells in rows)]) + 3 for i, c in enumerate(columns)]
        names = max([len(head), *(name.cell_len for name, _ in rows)]) + 3
        room = self.out.width - min(names, self.out.width // 2) - 2
        stops = [0]
        while stops[-1] < len(columns) or len(stops) == 1:
            stop = stops[-1] + 1
            while stop < len(columns) and sum(widths[stops[-1] : stop + 1]) <= room:
                stop += 1
            stops.append(stop)
        for first, stop in itertools.pairwise(stops):
            table = Table(box=SIMPLE_HEAD, title=None if first else title, title_justify="left", padding=(0, 1))
            table.add_column(head, overflow="fold")
            for column in columns[first:stop]:
                table.add_column(column, justify="right", no_wrap=True)
            for name, cells in rows:
                table.add_row(name, *cells[first:stop])
            self.out.print(table)

    def _missing(self, empty: Sequence[Score], n_rollouts: int) -> None:
        for kind, status in KINDS.items():
            groups = _by_reason([s for s in empty if s.status is status])
            if groups:
                self.out.print(f"\n{kind}", style="bold")
            for (reason, where), metrics in groups.items():
                told = Text(f"  {', '.join('everything' if m == WHOLE_ROLLOUT else m for m in metrics)}: {reason}  ")
                told.append(f"[{_some(where, n_rollouts)}]", style="dim")
                self.out.print(told, soft_wrap=True)
        self.out.print()

    def sweep(self, found: run.Sweep, seconds: float, out: Path) -> None:
        """A line a constant, then what the numbers rest on."""
        rows = [(Text(name), [Text(cell) for cell in cells]) for name, *cells in run.sweep_table(found)]
        title = f"worldmark{' (compat)' if found.compat else ''}: the scoring constants moved one at a time"
        self._table(title, run.SWEEP_HEADS[0], rows, run.SWEEP_HEADS[1:])
        for note in run.sweep_notes(found):
            self.out.print(note, soft_wrap=True)
        n = sum(len(row.settings) for row in found.rows)
        self.out.print(f"{n} settings in {seconds:.1f} s.\n", style="dim")
        self.out.print(f"sweep        {out / 'sweep.md'}", soft_wrap=True)

    def doctor(self, findings: Sequence[Finding], checks: Sequence[Check]) -> None:
        """Facts, then questions with known answers."""
        width = max(len(finding.name) for finding in findings)
        for finding in findings:
            text = Text(f"{finding.name:{width}}  ", style="bold")
            text.append(finding.text, style="not bold red" if finding.wrong else "not bold")
            self.out.print(text, soft_wrap=True)
        for check in checks:
            text = Text("ok    " if check.passed else "WRONG ", style="green" if check.passed else "red")
            text.append(f"{check.name}: {check.text}", style="default")
            self.out.print(text, soft_wrap=True)

    def demo(self, shown: Shown) -> None:
        """Worlds by columns: every change that a fault must, or must not, make, with what it did."""
        verdicts = {(v.fault, v.column): v for v in shown.verdicts}
        rows = []
        for world, row in shown.cells.items():
            good = not any(fault == world for fault, _ in verdicts)
            name = Text(world if good else f"  {world}", style="bold" if good else "")
            rows.append((name, [_judged(row[column], verdicts.get((world, column))) for column in shown.columns]))
        title = "One room, walked and turned in as commanded, and with one fault at a time"
        self._table(title, "world", rows, shown.columns)
        self.out.print(
            "▼ must fall below the good world above   = must stay within 5 points of it\n"
            f"✓ it did   ✗ it did not   no mark: may move   {MISSING} not evaluable   {NOT_ABOUT} does not apply\n"
            "Values are proxies: builtin estimators made the evidence, but for depth and cameras, which are exact.\n"
            f"Without a value in the good worlds, the scorecard says why: {', '.join(shown.left_out)}.\n",
            style="dim",
        )
        for v in shown.verdicts:
            if v.must_fall or not v.passed:
                told = Text("✓ " if v.passed else "✗ ", style="green" if v.passed else "bold red")
                must = "" if v.must_fall else "must not move, "
                told.append(f"{v.fault:16} {v.column:6} {must}{_points(v.good)} → {_points(v.faulty)}", style="default")
                self.out.print(told)
        still = [v.passed for v in shown.verdicts if not v.must_fall]
        self.out.print(f"{sum(still)} of the {len(still)} values that must not move did not.\n")
        self._places(shown.out)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, emoji=False, markup=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def _shown(cell: Cell) -> Text:
    if cell.value is None:
        return Text(MISSING if cell.n_total else NOT_ABOUT, style="yellow" if cell.n_total else "dim")
    return Text(f"{'~' if cell.proxy else ''}{cell.value:.{cell.digits - 1}f}")


def _judged(cell: Cell, verdict: Verdict | None) -> Text:
    text = Text(_points(cell.value) if cell.n_total else NOT_ABOUT)
    if verdict is None:
        return text.append("   ")
    mark = f" {'▼' if verdict.must_fall else '='}{'✓' if verdict.passed else '✗'}"
    return text.append(mark, style="green" if verdict.passed else "bold red")


def _points(value: float | None) -> str:
    return MISSING if value is None else f"{value:.1f}"


def _by_reason(scores: Sequence[Score]) -> Mapping[tuple[str, tuple[str, ...]], Sequence[str]]:
    """Metrics by the reason they have no value and the rollouts they have none in."""
    rollouts: dict[tuple[str, str], dict[str, None]] = {}
    for score in scores:
        rollouts.setdefault((score.metric, score.reason), {})[score.rollout] = None
    metrics: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (metric, reason), where in rollouts.items():
        metrics.setdefault((reason, tuple(where)), []).append(metric)
    return metrics


def _some(rollouts: Sequence[str], n_rollouts: int, at_most: int = 4) -> str:
    if len(rollouts) == n_rollouts > 1:
        return f"all {n_rollouts} rollouts"
    more = f" and {len(rollouts) - at_most} more" if len(rollouts) > at_most else ""
    return f"{', '.join(rollouts[:at_most])}{more}"
