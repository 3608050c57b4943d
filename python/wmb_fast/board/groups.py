# SPDX-License-Identifier: Apache-2.0
"""Leaderboards of parts of a benchmark: one a split or a tier, and what changes from the first to the last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..protocols.record import Column, Score
from .table import Table, by_rollout, tables
from .text import MISSING, aligned, to_markdown

UNKNOWN = "not known"


@dataclass(frozen=True)
class Change:
    """How a column moves from the first group to the last, over the models that have it in both.

    Attributes:
        column: Its name.
        first, last: Means over these models; ``None`` where no model has both.
        percent: ``100 (last - first) / first``; ``None`` where the first is 0 too.
        n_worse, n_models: Models whose value gets worse, of those that have both.
    """

    column: str
    first: float | None
    last: float | None
    percent: float | None
    n_worse: int
    n_models: int


def grouped(
    scores: Sequence[Score],
    columns: Sequence[Column],
    labels: Sequence[str],
    label_of: Callable[[Sequence[Score]], str | None],
) -> dict[str, Table]:
    """Label to leaderboard of the rollouts that have it, in the order of the labels; last those without a label.

    Args:
        scores: Records of one protocol.
        columns: The protocol's.
        labels: In their order.
        label_of: Gives a rollout's label from its records.
    """
    groups: dict[str, list[Score]] = {label: [] for label in (*labels, UNKNOWN)}
    for records in by_rollout(scores).values():
        groups[label_of(records) or UNKNOWN].extend(records)
    return {label: tables(records, {records[0].protocol: columns})[0] for label, records in groups.items() if records}


def changes(parts: Mapping[str, Table], labels: Sequence[str]) -> list[Change]:
    """What changes from the first to the last of the labels that there are; nothing where there are fewer than two.

    Example:
        >>> changes({}, ("easy", "hard"))
        []
    """
    there = [parts[label] for label in labels if label in parts]
    if len(there) < 2:
        return []
    rows = [{row.model: row.cells for row in table.rows} for table in (there[0], there[-1])]
    found = []
    for column in there[0].columns:
        values = [{model: cells[column.name].value for model, cells in part.items()} for part in rows]
        pairs = [(values[0][m], values[1][m]) for m in values[0] if m in values[1]]
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        if not both:
            found.append(Change(column.name, None, None, None, 0, 0))
            continue
        first, last = (sum(side) / len(both) for side in zip(*both, strict=True))
        worse = sum((b < a) if column.higher_is_better else (b > a) for a, b in both)
        percent = 100 * (last - first) / first if first else None
        found.append(Change(column.name, first, last, percent, worse, len(both)))
    return found


def grouped_markdown(parts: Mapping[str, Table], labels: Sequence[str]) -> str:
    """The leaderboards one after another, each under its label, and the changes. Ends with a newline."""
    texts = [f"## {label}\n\n{to_markdown([table])}" for label, table in parts.items()]
    found = changes(parts, labels)
    if found:
        there = [label for label in labels if label in parts]

        def number(value: float | None, sign: str = "") -> str:
            return MISSING if value is None else f"{value:{sign}.2f}"

        rows = [
            [c.column, number(c.first), number(c.last), f"{number(c.percent, '+')} %", f"{c.n_worse}/{c.n_models}"]
            for c in found
            if c.n_models
        ]
        heads = ["column", there[0], there[-1], "change", "models that get worse"]
        lines = [*aligned(heads, rows), "", "Means over the models that have the column in both."]
        lines = lines if rows else ["No model has a column in both."]
        texts.append("\n".join([f"## {there[0]} to {there[-1]}", "", *lines, ""]))
    return "\n".join(texts)


def grouped_json(parts: Mapping[str, Table], labels: Sequence[str]) -> dict[str, object]:
    """Values by label, model and column, and the changes, as plain data for strict JSON."""
    values = {
        label: {row.model or "": {name: cell.value for name, cell in row.cells.items()} for row in table.rows}
        for label, table in parts.items()
    }
    return {"values": values, "changes": [vars(change) for change in changes(parts, labels)]}
