# SPDX-License-Identifier: Apache-2.0
"""The run folder: the scorecard, the boards made from it, and what the run was made with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .. import board
from .._walls.errors import FileFormatError, bad_value
from ..protocols.record import Score
from . import curves, known


def scorecard(scores: Sequence[Score]) -> str:
    """The text of ``scorecard.jsonl``: one strict JSON record a line."""
    return "".join(score.to_json() + "\n" for score in scores)


def read_scorecards(folders: Sequence[Path]) -> list[Score]:
    """The records of run folders together; the same record in two of them counts once.

    What under ``compat`` depends on the whole set is scored over all of them.

    Raises:
        ArgumentError: A folder that holds no scorecard.
        FileFormatError: A line that is no record.
    """
    scores: list[Score] = []
    for folder in folders:
        path = folder / "scorecard.jsonl"
        if not path.is_file():
            raise bad_value("board", "folders", "hold a scorecard.jsonl", str(folder))
        for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
            if line:
                scores.append(_record(line, f"{path}, line {number}"))
    return list({score.to_json(): score for score in curves.over_set(scores, folders)}.values())


def _record(line: bytes, where: str) -> Score:
    try:
        return Score.from_json(line.decode("utf-8-sig"))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FileFormatError(f"board: the scorecard must hold one record a line, got {where}: {error}") from None


def scorers(scores: Sequence[Score]) -> tuple[known.Scorer, ...]:
    """The protocols among the records; all there are where there is no record."""
    return known.protocols([name for name in known.NAMES if any(s.protocol == name for s in scores)] or known.NAMES)


def displayed(scores: Sequence[Score]) -> list[Score]:
    """The records as boards show them: under the names, and without the models, of their protocols' own boards."""
    shown = list(scores)
    for scorer in scorers(scores):
        if isinstance(scorer, known.Displays):
            shown = scorer.displayed(shown)
    return shown


def boards(scores: Sequence[Score]) -> tuple[board.Table, ...]:
    """The leaderboards of all protocols among the records."""
    return board.tables(displayed(scores), {scorer.NAME: scorer.COLUMNS for scorer in scorers(scores)})


def grouped(scores: Sequence[Score], by: str) -> list[tuple[str, Sequence[str], dict[str, board.Table]]]:
    """For each protocol among the records that knows such groups: its name, their labels, their leaderboards.

    Raises:
        ArgumentError: No protocol among the records has such groups.
    """
    found = []
    names: set[str] = set()
    for scorer in scorers(scores):
        groups = scorer.GROUPS if isinstance(scorer, known.Groups) else {}
        names.update(groups)
        if by in groups:
            labels, label_of = groups[by]
            own = [s for s in displayed(scores) if s.protocol == scorer.NAME]
            found.append((scorer.NAME, labels, board.grouped(own, scorer.COLUMNS, labels, label_of)))
    if not found:
        raise bad_value("board", "--by", f"be one of {', '.join(sorted(names)) or 'nothing here'}", repr(by))
    return found
