# SPDX-License-Identifier: Apache-2.0
"""What the command line prints: bars and colours on a terminal, plain lines in a pipe; never a silent blank."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from . import run
from .board import MISSING, NOT_ABOUT, Cell, cell_of, value_text
from .board import Table as Board
from .protocols.record import WHOLE_ROLLOUT, Score, Status

PIPE_WIDTH = 240
if TYPE_CHECKING:
    from .demo import Shown, Verdict
    from .doctor import Check, Finding

HOW = {"scored": "green", "kept": "cyan", "failed": "red", "rendered": "blue"}


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
        columns = (BarColumn(bar_width=30), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=self.err, transient=True) as bar:
            task = bar.add_task("looking for rollouts", total=None)

            def step(p: run.Progress) -> None:
                bar.update(task, completed=p.done, total=p.total, description=p.rollout or "scoring")
                if p.how == "failed" or p.notes:
                    self._line(p)

            yield step

    def _line(self, p: run.Progress) -> None:
        if not p.rollout:
            what = "worlds to render" if p.how == "rendering" else f"rollout{'s' if p.total != 1 else ''} to score"
            self.err.print(f"{p.total} {what}")
            return
        text = Text(f"[{p.done}/{p.total}] ")
        text.append(f"{p.how:6}", style=HOW.get(p.how, ""))
        text.append(f" {p.rollout}")
        self.err.print(text)
        for note in p.notes:
            self.err.print(Text(f"        {note}"), style="yellow")

    def outcome(self, outcome: run.Outcome) -> None:
        """A table a protocol: rollouts by columns, then what is missing and why, then where everything lies."""
        for table in outcome.tables:
            self._protocol(table, [s for s in outcome.scores if s.protocol == table.protocol])
        self._places(outcome.out)
        if not outcome.complete:
            self.out.print("Something could not be scored; see above and run.json.", style="yellow")

    def _places(self, out: Path) -> None:
        self.out.print(f"scorecard    {out / 'scorecard.jsonl'}", soft_wrap=True)
        self.out.print(f"leaderboard  {out / 'board.md'}", soft_wrap=True)

    def _protocol(self, board: Board, scores: Sequence[Score]) -> None:
        rollouts = _grouped(scores)
        cells = {
            name: {c.name: cell_of(c, {name: records}) for c in board.columns} for name, records in rollouts.items()
        }
        shown = [c.name for c in board.columns if any(row[c.name].value is not None for row in cells.values())]
        table = Table(
            box=SIMPLE_HEAD, title=f"{board.protocol}{' (compat)' if board.compat else ''}", title_justify="left"
        )
        table.add_column("rollout", overflow="fold")
        for name in shown:
            table.add_column(name, justify="right", no_wrap=True)
        for rollout, row in cells.items():
            table.add_row(rollout, *(_shown(row[name]) for name in shown))
        self.out.print(table)
        self.out.print(f"~ proxy estimator   {MISSING} missing, see below   {NOT_ABOUT} does not apply", style="dim")
        self._missing(scores, len(rollouts))

    def _missing(self, scores: Sequence[Score], n_rollouts: int) -> None:
        empty = [s for s in scores if s.value is None]
        for title, statuses in (
            ("failed", (Status.ERROR,)),
            ("missing evidence", (Status.MISSING,)),
            ("not evaluable by the protocol's own rules", (Status.NOT_EVALUABLE,)),
        ):
            groups = _by_reason([s for s in empty if s.status in statuses])
            if groups:
                self.out.print(f"\n{title}", style="bold")
            for (reason, where), metrics in groups.items():
                told = Text(f"  {', '.join('everything' if m == WHOLE_ROLLOUT else m for m in metrics)}: {reason}  ")
                told.append(f"[{_some(where, n_rollouts)}]", style="dim")
                self.out.print(told, soft_wrap=True)
        self.out.print()

    def doctor(self, findings: Sequence[Finding], checks: Sequence[Check]) -> None:
        """Facts, then questions with known answers."""
        width = max(len(f.name) for f in findings)
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
        title = "One room, walked and turned in as commanded, and with one fault at a time"
        table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
        table.add_column("world")
        for name in shown.columns:
            table.add_column(name, justify="right", no_wrap=True)
        for world, row in shown.cells.items():
            cells = [_judged(row[name], verdicts.get((world, name))) for name in shown.columns]
            good = not any(fault == world for fault, _ in verdicts)
            table.add_row(Text(world if good else f"  {world}", style="bold" if good else ""), *cells)
        self.out.print(table)
        self.out.print(
            "▼ must fall below the good world above   = must stay within 5 points of it   ✓ it did   ✗ it did not\n"
            f"A value without a mark may move.   {MISSING} not evaluable there   {NOT_ABOUT} does not apply\n"
            "All values are proxies: builtin estimators made the evidence. "
            f"Without a value in any good world, for reasons the scorecard tells: {', '.join(shown.left_out)}.\n",
            style="dim",
        )
        for v in shown.verdicts:
            if v.must_fall or not v.passed:
                told = Text("✓ " if v.passed else "✗ ", style="green" if v.passed else "bold red")
                must = "" if v.must_fall else "must not move, "
                told.append(f"{v.fault:16} {v.column:6} {must}{_points(v.good)} → {_points(v.faulty)}", style="default")
                self.out.print(told)
        still = [v for v in shown.verdicts if not v.must_fall]
        kept = sum(v.passed for v in still)
        self.out.print(f"{kept} of the {len(still)} values that must not move did not.\n")
        self._places(shown.out)


def _judged(cell: Cell, verdict: Verdict | None) -> Text:
    text = Text(_points(cell.value) if cell.n_total else NOT_ABOUT)
    if verdict is None:
        return Text.assemble(text, "   ")
    mark = f" {'▼' if verdict.must_fall else '='}{'✓' if verdict.passed else '✗'}"
    return text.append(mark, style="green" if verdict.passed else "bold red")


def _points(value: float | None) -> str:
    return MISSING if value is None else f"{value:.1f}"


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, emoji=False, markup=False)
    if not console.is_terminal:
        console = Console(stderr=stderr, highlight=False, emoji=False, markup=False, width=PIPE_WIDTH)
    return console


def _grouped(scores: Sequence[Score]) -> dict[str, list[Score]]:
    grouped: dict[str, list[Score]] = {}
    for score in scores:
        grouped.setdefault(score.rollout, []).append(score)
    return grouped


def _shown(cell: Cell) -> Text:
    if cell.value is not None:
        return Text(value_text(cell), style="" if cell.n_total == cell.n_used else "yellow")
    return Text(value_text(cell), style="yellow" if cell.n_total else "dim")


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
