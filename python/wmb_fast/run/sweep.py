# SPDX-License-Identifier: Apache-2.0
"""How far a leaderboard depends on its scoring constants: each moved alone, everything scored again from what is kept.

The leaderboard is the mean of the protocol's columns; of those, here, in which every model has a value. Beside it
stands what happens in the constant's own columns, which also shows where the leaderboard cannot have one of them.

Source: WorldMark (arXiv 2604.21686), section D.2 and table 9.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from .. import board
from .._walls.errors import bad_value
from ..board import Moves, moves
from ..protocols import worldmark
from ..protocols.record import Score
from . import curves, files
from .folder import read_scorecards

Values = Mapping[str, Mapping[str, float]]  # column to model to value; models without one are not there


@dataclass(frozen=True)
class Setting:
    """One constant at one value.

    Attributes:
        value: What it was moved to.
        board: What it does to the leaderboard; ``None`` where there is none.
        column: The worst that it does in its own columns.
        lost: The models that lose a column of the leaderboard by it, which then has no order.
    """

    value: float
    board: Moves | None
    column: Moves | None
    lost: Sequence[str]


@dataclass(frozen=True)
class Row:
    """One constant.

    Attributes:
        name, label: Ours, and the paper's.
        columns: Those it shows in.
        in_board: Whether one of them is in the leaderboard.
        default: Its published value.
        settings: What it was moved to.
    """

    name: str
    label: str
    columns: Sequence[str]
    in_board: bool
    default: float
    settings: Sequence[Setting]

    def worst(self, where: str) -> Moves | None:
        """The worst over the settings, of ``board`` or ``column``; ``None`` where there is nothing to move."""
        found = [m for m in (getattr(setting, where) for setting in self.settings) if m is not None]
        return _worst(found)


@dataclass(frozen=True)
class Sweep:
    """All constants.

    Attributes:
        compat: Whether the records are the published evaluator's.
        n_rollouts, n_records: That were scored again.
        columns: Of the leaderboard.
        left_out: Column to the models without a value in it, which keep it out of the leaderboard.
        leaderboard: Model to mean, at the published constants, best first.
        rows: By constant.
    """

    compat: bool
    n_rollouts: int
    n_records: int
    columns: Sequence[str]
    left_out: Mapping[str, Sequence[str]]
    leaderboard: Mapping[str, float]
    rows: Sequence[Row]


def sweep(folders: Sequence[Path], *, out: Path | None = None) -> Sweep:
    """Moves each of WorldMark's 17 scoring constants alone, and writes ``sweep.json`` and ``sweep.md``.

    Args:
        folders: Run folders, scored alike: all compat, or all default.
        out: Where to write; by default the first of them.

    Raises:
        ArgumentError: A folder without a scorecard or without what re-scoring needs, no WorldMark record, compat and
            default records together, records that re-scoring at the published constants does not give back.
        FileFormatError: Something in a folder is damaged.
    """
    scores = [s for s in read_scorecards(folders) if s.protocol == worldmark.NAME]
    if not scores:
        raise bad_value("sweep", "folders", "hold records of worldmark", "none")
    if len({s.compat for s in scores}) > 1:
        raise bad_value("sweep", "folders", "be all compat or all default", "both")
    rescorer = worldmark.Rescorer(scores, curves.kept(folders, scores))
    _check(scores, rescorer(worldmark.PUBLISHED))
    found = _swept(scores, rescorer)
    target = files.writable_folder("out", out or folders[0])
    files.write(target / "sweep.json", json.dumps(asdict(found), allow_nan=False, ensure_ascii=False, indent=1) + "\n")
    files.write(target / "sweep.md", markdown(found))
    return found


def _check(before: Sequence[Score], after: Sequence[Score]) -> None:
    """The sweep is about constants: at the published ones it must give every record back, to the bit."""
    for a, b in zip(before, after, strict=True):
        if (a.value, a.status, a.reason) != (b.value, b.status, b.reason):
            got = f"{a.metric} {b.value} for {a.value} of {a.rollout}"
            raise bad_value("sweep", "folders", "give their own scores back (score them again)", got)


def _swept(scores: Sequence[Score], rescorer: worldmark.Rescorer) -> Sweep:
    every = [column.name for column in worldmark.COLUMNS]
    base = _values(scores, worldmark.PUBLISHED, every)
    models = sorted({m for values in base.values() for m in values})
    columns = [name for name in every if models and len(base[name]) == len(models)]
    left_out = {name: [m for m in models if m not in base[name]] for name in every if name not in columns}
    standing = _means(base, columns, models)
    rows = []
    for name, swept in worldmark.SWEPT.items():
        own = worldmark.COLUMNS_OF[swept.metric]
        settings = []
        for value in swept.settings:
            thresholds = worldmark.moved(name, value)
            moved = {**base, **_values(rescorer(thresholds, (swept.metric,)), thresholds, own)}
            lost = [m for m in models if any(m not in moved[c] for c in columns)]
            on_board = None if lost or not columns else moves(standing, _means(moved, columns, models))
            in_column = _worst([_of_column(base[c], moved[c]) for c in own if base[c]])
            settings.append(Setting(value, on_board, in_column, lost))
        default = getattr(worldmark.PUBLISHED, name)
        rows.append(Row(name, swept.label, own, any(c in columns for c in own), default, settings))
    ordered = dict(sorted(standing.items(), key=lambda item: (-item[1], item[0])))
    n_rollouts = len({s.rollout for s in scores})
    return Sweep(scores[0].compat, n_rollouts, len(scores), columns, left_out, ordered, rows)


def _values(
    scores: Sequence[Score], thresholds: worldmark.Thresholds, names: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Column to model to value."""
    wanted = [column for column in worldmark.columns(thresholds) if column.name in names]
    rows = worldmark.leaderboard(scores, columns=wanted)
    return {
        column.name: {model: row[column.name] for model, row in rows.items() if not math.isnan(row[column.name])}
        for column in wanted
    }


def _means(values: Values, columns: Sequence[str], models: Sequence[str]) -> dict[str, float]:
    if not columns:
        return {}
    return {model: math.fsum(values[c][model] for c in columns) / len(columns) for model in models}


def _of_column(before: Mapping[str, float], after: Mapping[str, float]) -> Moves:
    """Over the models that have a value in both."""
    both = before.keys() & after.keys()
    return moves(*({m: side[m] for m in sorted(both)} for side in (before, after)))


def _worst(found: Sequence[Moves]) -> Moves | None:
    if not found:
        return None
    rhos = [m.rho for m in found if m.rho is not None]
    return Moves(min(rhos) if rhos else None, max(m.places for m in found), max(m.points for m in found))


HEADS = ("scoring constant", "columns", "default", "sweep", "rho", "places", "own column: rho", "places", "points")


def table(found: Sweep) -> list[list[str]]:
    """A line a constant, of the heads above: what it does to the leaderboard, then in its own columns."""
    lines = []
    for row in found.rows:
        span = f"{min(s.value for s in row.settings):g} to {max(s.value for s in row.settings):g}"
        cells = [row.label, ", ".join(row.columns), f"{row.default:g}", span]
        on_board, own = row.worst("board") if row.in_board else None, row.worst("column")
        cells += [_rho(on_board), board.MISSING if on_board is None else str(on_board.places)]
        cells += [_rho(own), *([board.MISSING] * 2 if own is None else [str(own.places), f"{own.points:.2f}"])]
        lines.append(cells)
    return lines


def _rho(moved: Moves | None) -> str:
    return board.MISSING if moved is None or moved.rho is None else f"{moved.rho:.3f}"


def notes(found: Sweep) -> list[str]:
    """What a reader must know of the table."""
    said = [
        f"{found.n_rollouts} rollouts of {len(found.leaderboard) or 'no'} models, each constant moved alone; "
        "rho, places and points are the worst over its settings.",
        f"The leaderboard is the mean of {len(found.columns)} of the {len(worldmark.COLUMNS)} columns"
        + (f": {', '.join(found.columns)}." if found.columns else ": there is none in which every model has a value."),
    ]
    if found.left_out and found.columns:
        said.append(f"Not in it, because a model has no value there: {', '.join(found.left_out)}.")
    silent = [row.label for row in found.rows if not row.in_board]
    if silent and found.columns:
        said.append(f"Constants that show in none of its columns have `{board.MISSING}` for it: {len(silent)} of 17.")
    for row in found.rows:
        lost = [f"{s.value:g} ({', '.join(s.lost)})" for s in row.settings if s.lost]
        if lost:
            said.append(f"{row.label}: models lose a column at {', '.join(lost)}: no order there.")
    return said


def markdown(found: Sweep) -> str:
    """The sweep as Markdown. Ends with a newline."""
    standing = [[str(i), model, f"{mean:.2f}"] for i, (model, mean) in enumerate(found.leaderboard.items(), start=1)]
    return "\n".join(
        [
            f"# worldmark{' (compat)' if found.compat else ''}: the scoring constants moved one at a time",
            "",
            *board.aligned(HEADS, table(found)),
            "",
            *(f"- {note}" for note in notes(found)),
            "",
            *(
                ["## At the published constants", "", *board.aligned(["place", "model", "mean"], standing), ""]
                if standing
                else []
            ),
        ]
    )
