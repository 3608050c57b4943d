# SPDX-License-Identifier: Apache-2.0
"""Leaderboards: a protocol's columns over scorecard records, with intervals, coverage and paired comparisons."""

from .compare import Comparison, Difference, compare
from .groups import Change, changes, grouped, grouped_json, grouped_markdown
from .human import HumanAgreement, agreement_of_counts, column_correlations, human_agreement
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
    "HumanAgreement",
    "Interval",
    "Moves",
    "Row",
    "Table",
    "agreement_of_counts",
    "aligned",
    "cell_of",
    "changes",
    "column_correlations",
    "compare",
    "comparison_json",
    "comparison_markdown",
    "grouped",
    "grouped_json",
    "grouped_markdown",
    "human_agreement",
    "moves",
    "places",
    "short",
    "tables",
    "to_json",
    "to_markdown",
    "value_text",
]
