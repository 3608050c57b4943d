# SPDX-License-Identifier: Apache-2.0
"""Leaderboards and comparisons as strict JSON and as Markdown."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from typing import Any

from .compare import Comparison, Difference
from .intervals import LEVEL, RESAMPLES, SEED, Interval
from .table import Cell, Table

NO_MODEL = "(no model)"
MISSING, NOT_ABOUT = "-", "·"


def to_json(tables: Sequence[Table]) -> str:
    """The boards as strict JSON: a missing value is ``null`` beside its reason. Ends with a newline."""
    document = {
        "format": 1,
        "bootstrap": {"unit": "rollout", "resamples": RESAMPLES, "level": LEVEL, "seed": SEED, "kind": "percentile"},
        "boards": [_table_json(table) for table in tables],
    }
    return json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1) + "\n"


def _table_json(table: Table) -> dict[str, Any]:
    return {
        "protocol": table.protocol,
        "compat": table.compat,
        "notes": list(table.notes),
        "columns": [{"name": c.name, "higher_is_better": c.higher_is_better} for c in table.columns],
        "models": [
            {
                "model": row.model,
                "rollouts": row.n_rollouts,
                "failed": row.n_failed,
                "cells": {name: _cell_json(cell) for name, cell in row.cells.items()},
            }
            for row in table.rows
        ],
    }


def _cell_json(cell: Cell) -> dict[str, Any]:
    return {
        "value": cell.value,
        "low": cell.interval.low,
        "high": cell.interval.high,
        "interval_note": cell.interval.note,
        "n_used": cell.n_used,
        "n_total": cell.n_total,
        "records": cell.n_records,
        "proxy": cell.proxy,
        "place": cell.place or None,
        "reason": cell.reason,
    }


def to_markdown(tables: Sequence[Table]) -> str:
    """The boards as readable Markdown: the values, then what each rests on. Ends with a newline."""
    return "\n".join(_table_markdown(table) for table in tables)


def _table_markdown(table: Table) -> str:
    names = [column.name for column in table.columns]
    marked = [
        [row.model or NO_MODEL, str(row.n_rollouts), *(marked_value(row.cells[name]) for name in names)]
        for row in table.rows
    ]
    rests = [
        [row.model or NO_MODEL, name, *_rests_on(cell)]
        for row in table.rows
        for name, cell in row.cells.items()
        if cell.n_total
    ]
    heads = [f"{column.name}{'' if column.higher_is_better else ' ↓'}" for column in table.columns]
    legend = f"`{MISSING}` missing, the reason stands below; `{NOT_ABOUT}` no rollout of the model is about it"
    best = "; **bold** best, *italic* second" if len(table.rows) > 1 else ""
    lines = [
        f"# {table.protocol}{' (compat)' if table.compat else ''}",
        "",
        *aligned(["model", "rollouts", *heads], marked),
        "",
        *(f"- {note}" for note in (legend + best, *table.notes)),
        "",
        "## What each value rests on",
        "",
        *aligned(["model", "column", "value", f"{LEVEL:.0%} interval", "rollouts", "missing"], rests),
        "",
    ]
    return "\n".join(lines)


def _rests_on(cell: Cell) -> tuple[str, str, str, str]:
    return value_text(cell), interval_text(cell.interval, cell.digits), coverage_text(cell), cell.reason


def comparison_markdown(comparison: Comparison) -> str:
    """A comparison as Markdown; cases that only one model has are counted beside every difference."""
    a, b = comparison.model_a, comparison.model_b
    heads = ["column", a, b, "difference", f"{LEVEL:.0%} interval", "common cases", f"only {a}", f"only {b}"]
    lines = [
        f"# {comparison.protocol}{' (compat)' if comparison.compat else ''}: {a} against {b}, on the cases both have",
        "",
        *aligned([*heads, f"all of {a}", f"all of {b}"], [_difference_row(d) for d in comparison.differences]),
        "",
    ]
    gaps = sum(d.n_only_a + d.n_only_b for d in comparison.differences)
    if gaps:
        lines += ["Cases that only one model has are in none of the differences; the last two columns hold them.", ""]
    return "\n".join(lines)


def _difference_row(d: Difference) -> list[str]:
    def number(value: float | None, sign: str = "") -> str:
        return MISSING if value is None else f"{'~' if d.proxy else ''}{value:{sign}.{d.digits}f}"

    counts = [str(n) for n in (d.n_common, d.n_only_a, d.n_only_b)]
    paired = [number(d.a), number(d.b), number(d.difference, "+"), interval_text(d.interval, d.digits)]
    return [d.column, *paired, *counts, number(d.all_a), number(d.all_b)]


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """A comparison as plain data for strict JSON."""
    rows = [{**vars(d), "interval": vars(d.interval)} for d in comparison.differences]
    return {
        "protocol": comparison.protocol,
        "compat": comparison.compat,
        "a": comparison.model_a,
        "b": comparison.model_b,
        "columns": rows,
    }


def value_text(cell: Cell) -> str:
    """A cell's value, ``~`` before a proxy; a mark where there is none: missing, or nothing there to score."""
    if cell.value is None:
        return MISSING if cell.n_total else NOT_ABOUT
    return f"{'~' if cell.proxy else ''}{cell.value:.{cell.digits}f}"


def marked_value(cell: Cell) -> str:
    """The value, bold for the best model and italic for the second."""
    mark = {1: "**", 2: "*"}.get(cell.place, "")
    return f"{mark}{value_text(cell)}{mark}"


def interval_text(interval: Interval, digits: int) -> str:
    """An interval, or why there is none."""
    if interval.low is None or interval.high is None:
        return f"{MISSING} ({interval.note})" if interval.note else MISSING
    ends = f"{interval.low:.{digits}f} … {interval.high:.{digits}f}"
    return f"{ends} ({interval.note})" if interval.note else ends


def coverage_text(cell: Cell) -> str:
    """How many rollouts take part, of how many."""
    return f"{cell.n_used}/{cell.n_total}"


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table whose source is aligned too."""
    cells = [[text.replace("|", "\\|") for text in line] for line in (heads, *rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    lines = [
        "| " + " | ".join(t + " " * (w - _width(t)) for t, w in zip(line, widths, strict=True)) + " |" for line in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return lines


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text if not unicodedata.combining(c))
