# SPDX-License-Identifier: Apache-2.0
"""Leaderboards: a protocol's columns over scorecard records, with intervals, coverage and paired comparisons."""

from .compare import Comparison, Difference, compare
from .intervals import Interval
from .table import Cell, Row, Table, cell_of, short, tables
from .text import MISSING, NOT_ABOUT, comparison_json, comparison_markdown, to_json, to_markdown, value_text

__all__ = [
    "MISSING",
    "NOT_ABOUT",
    "Cell",
    "Comparison",
    "Difference",
    "Interval",
    "Row",
    "Table",
    "cell_of",
    "compare",
    "comparison_json",
    "comparison_markdown",
    "short",
    "tables",
    "to_json",
    "to_markdown",
    "value_text",
]
