# SPDX-License-Identifier: Apache-2.0
"""From scorecard records to a leaderboard: one row a model, one cell a column of the protocol.

Every cell says how many rollouts it rests on and of how many, or why it is empty. Intervals resample rollouts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .._walls.errors import bad_value
from ..protocols.record import WHOLE_ROLLOUT, Column, Score
from .intervals import Interval, draws, nested_interval, percentile_interval, resampled


@dataclass(frozen=True)
class Cell:
    """One model in one column.

    Attributes:
        value: ``None`` where there is none; then ``reason`` says why.
        interval: Over rollouts.
        n_used, n_total: Rollouts that take part, of those the column is about (rollouts that failed included).
        n_records: Records that take part.
        proxy: Whether an estimator other than the paper's own had a hand in it.
        reason: Why the value, or a part of what it could rest on, is missing: each reason and how many records have it.
        place: 1 for the best model of the column, 2 for the second; else 0. Of one model nothing is said.
        digits: Decimals worth reading.
    """

    value: float | None
    interval: Interval
    n_used: int
    n_total: int
    n_records: int
    proxy: bool
    reason: str
    place: int = 0
    digits: int = 2


@dataclass(frozen=True)
class Row:
    """A model: how many rollouts it has, how many of them failed as a whole, and its cells by column name."""

    model: str | None
    n_rollouts: int
    n_failed: int
    cells: Mapping[str, Cell]


@dataclass(frozen=True)
class Table:
    """One protocol's leaderboard; ``notes`` are what a reader must know before comparing two rows."""

    protocol: str
    compat: bool
    columns: Sequence[Column]
    rows: Sequence[Row]
    notes: Sequence[str]


def tables(scores: Iterable[Score], columns: Mapping[str, Sequence[Column]]) -> tuple[Table, ...]:
    """The leaderboards of all protocols that the records come from.

    Args:
        scores: Records, in any order; the result does not depend on it.
        columns: Each protocol's columns, by the protocol's name.

    Returns:
        One table a protocol, sorted by name; its models sorted by name, those without a name last.

    Raises:
        ArgumentError: Records of a protocol without columns; compat and default records of one protocol together;
            one record twice.

    Numerics:
        Values are exactly rounded sums over counts, in float64; intervals as in :mod:`.intervals`. No result depends on
        the order of the records, on threads or on the machine.

    Source:
        Percentile bootstrap over rollouts: B. Efron, R. Tibshirani, An Introduction to the Bootstrap, section 13.3.

    Example:
        >>> from wmb_fast.protocols.record import Status, Term
        >>> column = Column("M", (Term(lambda score: score.value),), lambda means: means[0])
        >>> records = [
        ...     Score(f"x/{i}", "x", str(i), "toy", "m", {}, float(i), Status.OK, "", 1, 1, "toy.m/1", False)
        ...     for i in range(4)
        ... ]
        >>> [table] = tables(records, {"toy": [column]})
        >>> cell = table.rows[0].cells["M"]
        >>> cell.value, cell.n_used, cell.interval.low < 1.5 < cell.interval.high
        (1.5, 4, True)
    """
    by_protocol: dict[str, list[Score]] = {}
    for score in scores:
        by_protocol.setdefault(score.protocol, []).append(score)
    for protocol in by_protocol:
        if protocol not in columns:
            raise bad_value("board", "scores", "come from a protocol of this version", repr(protocol))
    return tuple(_table(name, by_protocol[name], columns[name]) for name in sorted(by_protocol))


def identity(score: Score) -> tuple[str, ...]:
    """What makes a record one of its kind: no two records of a board share it."""
    return (score.rollout, score.protocol, score.metric, repr(sorted(score.part.items())))


def by_rollout(scores: Iterable[Score]) -> dict[str, list[Score]]:
    """Records by rollout, both in an order that does not depend on the order given."""
    grouped: dict[str, list[Score]] = {}
    for score in sorted(scores, key=identity):
        grouped.setdefault(score.rollout, []).append(score)
    return grouped


def sums_and_counts(
    column: Column, rollouts: Mapping[str, Sequence[Score]]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """What each rollout adds to each term of a column: sums and numbers of records, both (R, T)."""
    shape = (len(rollouts), len(column.terms))
    sums, counts = np.zeros(shape), np.zeros(shape, dtype=np.int64)
    for r, records in enumerate(rollouts.values()):
        for t, term in enumerate(column.terms):
            picked = [x for x in map(term.pick, records) if x is not None]
            sums[r, t], counts[r, t] = math.fsum(picked), len(picked)
    return sums, counts


def nested_values(column: Column, rollouts: Mapping[str, Sequence[Score]]) -> tuple[list[float], list[tuple[str, ...]]]:
    """Of a column with levels: what each rollout adds, and the groups it belongs to, coarsest first."""
    [term] = column.terms
    picked = [(x, column.path(s)) for records in rollouts.values() for s in records if (x := term.pick(s)) is not None]
    return [value for value, _ in picked], [path for _, path in picked]


def point(column: Column, rollouts: Mapping[str, Sequence[Score]]) -> float | None:
    """A column's value over all records of these rollouts; ``None`` where it does not exist."""
    value = column.value(score for records in rollouts.values() for score in records)
    return value if math.isfinite(value) else None


def _table(protocol: str, scores: Sequence[Score], columns: Sequence[Column]) -> Table:
    if len({score.compat for score in scores}) > 1:
        raise bad_value("board", "scores", f"all be compat or all default for {protocol}", "both")
    twice = [key for key, n in Counter(map(identity, scores)).items() if n > 1]
    if twice:
        raise bad_value("board", "scores", "hold each record once", f"{' '.join(twice[0])} more than once")
    columns = [column for column in columns if column.compat in (None, scores[0].compat)]
    models = {score.model for score in scores}
    rows = [
        _row(model, by_rollout(s for s in scores if s.model == model), columns)
        for model in sorted(models, key=lambda name: (name is None, name or ""))
    ]
    return Table(protocol, scores[0].compat, tuple(columns), _placed(rows, columns), _notes(scores, rows))


def _row(model: str | None, rollouts: Mapping[str, Sequence[Score]], columns: Sequence[Column]) -> Row:
    failed = sum(any(s.metric == WHOLE_ROLLOUT for s in records) for records in rollouts.values())
    return Row(model, len(rollouts), failed, {column.name: cell_of(column, rollouts) for column in columns})


def cell_of(column: Column, rollouts: Mapping[str, Sequence[Score]]) -> Cell:
    """One model's cell."""
    sums, counts = sums_and_counts(column, rollouts)
    takes_part = counts.any(axis=1)
    n_used = int(takes_part.sum())
    value = point(column, rollouts) if n_used else None
    interval = Interval(None, None)
    if value is not None and column.levels:
        interval = nested_interval(column, *nested_values(column, rollouts))
    elif value is not None:
        picks = draws(n_used) if n_used > 1 else np.zeros((n_used, 1), dtype=np.int64)
        interval = percentile_interval(resampled(sums[takes_part], counts[takes_part], column.combine, picks), n_used)
    concerned = {name: [s for s in records if _concerns(column, s)] for name, records in rollouts.items()}
    n_total = sum(bool(records) for records in concerned.values())
    used = [s for records in rollouts.values() for s in records if _is_in(column, s)]
    reason = _reasons(
        [s for records in concerned.values() for s in records if s.value is None or not _is_in(column, s)]
    )
    if value is None and not reason:
        reason = "no record of this kind"
    proxy = any(s.proxy for s in used)
    return Cell(value, interval, n_used, n_total, len(used), proxy, reason, digits=column.digits)


def _is_in(column: Column, score: Score) -> bool:
    return any(term.pick(score) is not None for term in column.terms)


def _concerns(column: Column, score: Score) -> bool:
    if score.metric == WHOLE_ROLLOUT:
        return True
    return column.about(score) if column.about else _is_in(column, score)


def short(reason: str) -> str:
    """The token of a reason: what stands before its first ``: ``."""
    return reason.split(": ", 1)[0]


def _reasons(scores: Sequence[Score]) -> str:
    counted = Counter(
        "rollout failed" if s.metric == WHOLE_ROLLOUT else short(s.reason) or "value outside the column's range"
        for s in scores
    )
    return ", ".join(f"{reason} ({n})" for reason, n in sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def _placed(rows: Sequence[Row], columns: Sequence[Column]) -> tuple[Row, ...]:
    """The rows with the best and the second of each column marked; equal values share a place."""
    places: dict[tuple[int, str], int] = {}
    for column in columns:
        values = [row.cells[column.name].value for row in rows]
        there = sorted({v for v in values if v is not None}, reverse=column.higher_is_better)
        if sum(v is not None for v in values) > 1:
            places.update({(i, column.name): there.index(v) + 1 for i, v in enumerate(values) if v in there[:2]})
    placed = []
    for i, row in enumerate(rows):
        cells = {name: replace(cell, place=places.get((i, name), 0)) for name, cell in row.cells.items()}
        placed.append(replace(row, cells=cells))
    return tuple(placed)


def _notes(scores: Sequence[Score], rows: Sequence[Row]) -> tuple[str, ...]:
    notes = []
    if any(score.proxy for score in scores):
        notes.append("`~` marks a proxy: an estimator other than the paper's own had a hand in it.")
    notes += _differences(scores)
    cases = {row.model: {s.case or s.rollout for s in scores if s.model == row.model} for row in rows}
    if len({frozenset(c) for c in cases.values()}) > 1:
        notes.append("The models were not scored on the same cases: compare two with --compare, which pairs them.")
    failed = sum(row.n_failed for row in rows)
    if failed:
        notes.append(f"{failed} rollout{'s' if failed > 1 else ''} could not be scored at all; run.json says why.")
    return tuple(notes)


def _differences(scores: Sequence[Score]) -> list[str]:
    """What the records were not all made with. An estimator may be set otherwise for a model, not within one."""
    said = []
    ids: dict[str, set[str]] = {}
    settings: dict[tuple[str | None, str, str], set[str]] = {}
    for score in scores:
        for maker in score.estimators:
            ids.setdefault(maker["role"], set()).add(maker["id"])
            settings.setdefault((score.model, maker["role"], maker["id"]), set()).add(maker["fingerprint"])
    for role in sorted(role for role, names in ids.items() if len(names) > 1):
        said.append(f"Not all {role} was made by the same estimator: {', '.join(sorted(ids[role]))}.")
    for role in sorted({role for (_, role, _), prints in settings.items() if len(prints) > 1}):
        said.append(f"Within a model, {role} was made by more than one version or setting of its estimator.")
    for name, what in (("decoder", "decoded by"), ("wmb_fast", "scored by wmb-fast")):
        found = {str(score.provenance[name]) for score in scores if name in score.provenance}
        if len(found) > 1:
            said.append(f"Not all rollouts were {what} the same version: {', '.join(sorted(found))}.")
    return said
