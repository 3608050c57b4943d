# SPDX-License-Identifier: Apache-2.0
"""WorldMemBench's leaderboard and tables, from score records alone.

A column is the mean over videos, each counting the same (Eq. 1); a video without a score takes no part and is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ..record import Column, Score, Term
from .arrays import Values
from .constants import ASPECTS, STATIC
from .diagnostics import Decomposition, decompose
from .view import case_key

_TITLES = {
    "imaging_quality": "Imaging",
    "aesthetic_quality": "Aesthetic",
    "human_identity": "HumanID",
    "human_appearance": "HumanApp",
    "object_appearance": "ObjApp",
    "object_geometry": "ObjGeo",
    "environment_visible": "EnvVis",
    "environment_depth": "EnvDepth",
    "environment_reconstruction": "EnvRecon",
    "camera_translation_rpe": "Trans",
    "camera_rotation_rpe": "Rot",
    "event_started": "Start",
    **dict(zip((f"dynamic_{aspect}" for aspect in ASPECTS), ("Prog", "Persist", "Final", "Phys"), strict=True)),
    "dynamic_overall": "Dynamic",
}


def columns(trajectories: Sequence[str] | None = None) -> tuple[Column, ...]:
    """The leaderboard's columns.

    Args:
        trajectories: Which count for static memory; all by default. Whether the paper's table 2 includes the
            translation square cannot be told; ``ROTATIONS`` leaves it out.
    """
    made = []
    for metric, title in _TITLES.items():
        chosen = trajectories if metric in STATIC else None
        made.append(
            Column(title, (_of(metric, chosen),), _first, not metric.startswith("camera"), _about(metric, chosen), 3)
        )
    conditional = Term(lambda s: s.value if s.metric == "dynamic_overall" and s.detail.get("started") else None)
    made.append(Column("DynCond", (conditional,), _first, True, _about("dynamic_overall", None), 3))
    return tuple(made)


def _of(metric: str, trajectories: Sequence[str] | None) -> Term:
    about = _about(metric, trajectories)
    return Term(lambda score: score.value if about(score) else None)


def _about(metric: str, trajectories: Sequence[str] | None) -> Callable[[Score], bool]:
    def concerns(score: Score) -> bool:
        if score.metric != metric or "revisit" in score.part:
            return False
        return trajectories is None or score.part.get("trajectory") in trajectories

    return concerns


def _first(means: Sequence[float]) -> float:
    return means[0]


COLUMNS: tuple[Column, ...] = columns()


def leaderboard(records: Iterable[Score], *, trajectories: Sequence[str] | None = None) -> dict[str, dict[str, float]]:
    """Model to column to value (table 2; table 8 with one trajectory), NaN where a column has no record."""
    by_model: dict[str, list[Score]] = {}
    for record in records:
        if record.model is not None:
            by_model.setdefault(record.model, []).append(record)
    chosen = columns(trajectories)
    return {model: {column.name: column.value(by_model[model]) for column in chosen} for model in sorted(by_model)}


def revisit_scores(records: Iterable[Score], metric: str, trajectory: str) -> dict[str, tuple[list[str], Values]]:
    """Model to its cases and their revisits' scores (N, K), as the functions of :mod:`.diagnostics` take them.

    Cases are named without their trajectory, so that the same case of two trajectories can be paired; they are sorted.
    A revisit without a score is NaN.
    """
    found: dict[str, dict[str, dict[int, float]]] = {}
    for record in records:
        mine = record.metric == metric and record.part.get("trajectory") == trajectory
        if mine and "revisit" in record.part and record.model is not None:
            cases = found.setdefault(record.model, {})
            value = math.nan if record.value is None else record.value
            cases.setdefault(case_key(record.case or record.rollout), {})[int(record.part["revisit"])] = value
    return {model: _rows(cases) for model, cases in sorted(found.items())}


def _rows(cases: Mapping[str, Mapping[int, float]]) -> tuple[list[str], Values]:
    names = sorted(cases)
    most = max(max(cases[name]) for name in names)
    rows = [[cases[name].get(k, math.nan) for k in range(1, most + 1)] for name in names]
    return names, np.array(rows)


def dynamic_table(records: Iterable[Score]) -> dict[str, Decomposition]:
    """Model to table 5: events started, gated and conditional score. A video without an overall score takes no part."""
    rows: dict[str, list[tuple[bool, float]]] = {}
    for record in records:
        if record.metric == "dynamic_overall" and record.model is not None and record.value is not None:
            rows.setdefault(record.model, []).append((bool(record.detail.get("started")), record.value))
    return {model: decompose(*map(np.array, zip(*pairs, strict=True))) for model, pairs in sorted(rows.items())}
