# SPDX-License-Identifier: Apache-2.0
"""Leaderboards: a protocol's columns over scorecard records, with intervals, coverage and paired comparisons."""

from .compare import Comparison, Difference, compare
from .groups import Change, changes, grouped, grouped_json, grouped_markdown
from .intervals import Interval
from .stability import Moves, moves, places
from .table import Cell, Row, Table, cell_of, short, tables
from .text import MISSING, NOT_ABOUT, aligned, comparison_json, comparison_markdown, to_json, to_markdown, value_text

__all__ = [
    "MISSING",
    "NOT_ABOUT",
    "Cell",
    "Change",
    "Comparison",
    "Difference",
    "Interval",
    "Moves",
    "Row",
    "Table",
    "aligned",
    "cell_of",
    "changes",
    "compare",
    "comparison_json",
    "comparison_markdown",
    "grouped",
    "grouped_json",
    "grouped_markdown",
    "moves",
    "places",
    "short",
    "tables",
    "to_json",
    "to_markdown",
    "value_text",
]
