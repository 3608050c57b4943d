# SPDX-License-Identifier: Apache-2.0
"""WorldMemBench's leaderboard and tables, from score records alone.

A column is the mean over videos, each counting the same (Eq. 1); a video without a score takes no part and is counted.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..record import Column, Score, Term
from .arrays import Flags, Values
from .constants import ASPECTS, HUMAN, OBJECT, RETURN_DEG, STATIC
from .diagnostics import Decomposition, decompose
from .qualify import Angles
from .view import case_key

_ANGLES = ("departure_deg", "return_deg")

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


def case_scores(records: Iterable[Score]) -> dict[str, dict[str, dict[str, float]]]:
    """Model to metric to case to the score of its video, as :func:`compare_policies` takes them (table 3).

    Where the models are policies of one model. A case keeps its trajectory; videos without a score are left out.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    for record in records:
        if record.model is not None and record.value is not None and "revisit" not in record.part:
            cases = found.setdefault(record.model, {}).setdefault(record.metric, {})
            cases[f"{record.case or record.rollout} {record.part.get('trajectory')}"] = record.value
    return found


def revisit_scores(records: Iterable[Score], metric: str, trajectory: str) -> dict[str, tuple[list[str], Values]]:
    """Model to its cases and their revisits' scores (N, K), as the functions of :mod:`.diagnostics` take them.

    Cases are named without their trajectory, so that the same case of two trajectories can be paired; they are sorted.
    A revisit without a score is NaN.
    """
    return {
        model: (list(cases), np.array([[_value(record) for record in revisits] for revisits in cases.values()]))
        for model, cases in _by_case(records, metric, trajectory).items()
    }


def qualified_cases(
    records: Iterable[Score], metric: str, trajectory: str, *, tolerance: float = RETURN_DEG
) -> dict[str, Flags]:
    """Model to (N,) whether each case of :func:`revisit_scores` qualifies at every revisit (appendix G.1).

    Args:
        records: With the ``detail`` that scoring puts there: the tracker's support for targets, departure and return
            angles for views. A case without it does not qualify.
        metric: A static one.
        trajectory: For example ``lrlrlr``.
        tolerance: Of the return, in degrees, for views.
    """
    rule = _supported if metric in (*HUMAN, *OBJECT) else functools.partial(_posed, tolerance=tolerance)
    return {
        model: np.array([all(map(rule, revisits)) for revisits in cases.values()], dtype=bool)
        for model, cases in _by_case(records, metric, trajectory).items()
    }


def case_angles(records: Iterable[Score], trajectory: str) -> dict[str, list[Angles]]:
    """Model to its environment cases' departure and return angles, NaN where there are none (tables 11, 13)."""
    found = {}
    for model, cases in _by_case(records, "environment_visible", trajectory).items():
        pairs = [[[_angle(r, name) for r in revisits] for name in _ANGLES] for revisits in cases.values()]
        found[model] = [Angles(*map(np.array, pair)) for pair in pairs]
    return found


def case_supports(records: Iterable[Score], metric: str, trajectory: str) -> dict[str, list[Flags]]:
    """Model to its cases' (K, T) support by the tracker, of the evaluated targets (table 11)."""
    return {
        model: [np.array([r.detail.get("target_support", []) for r in revisits], bool) for revisits in cases.values()]
        for model, cases in _by_case(records, metric, trajectory).items()
    }


def _by_case(records: Iterable[Score], metric: str, trajectory: str) -> dict[str, dict[str, list[Score]]]:
    """Model to case to the records of its revisits, in order; models and cases sorted."""
    found: dict[str, dict[str, list[Score]]] = {}
    for record in records:
        mine = record.metric == metric and record.part.get("trajectory") == trajectory
        if mine and "revisit" in record.part and record.model is not None:
            cases = found.setdefault(record.model, {})
            cases.setdefault(case_key(record.case or record.rollout), []).append(record)
    for cases in found.values():
        for revisits in cases.values():
            revisits.sort(key=lambda record: int(record.part["revisit"]))
    return {model: dict(sorted(cases.items())) for model, cases in sorted(found.items())}


def _value(record: Score) -> float:
    return math.nan if record.value is None else record.value


def _angle(record: Score, name: str) -> float:
    value = record.detail.get(name)
    return math.nan if value is None else float(value)


def _supported(record: Score) -> bool:
    return bool(record.detail.get("supported"))


def _posed(record: Score, tolerance: float) -> bool:
    angles = Angles(*(np.array([_angle(record, name)]) for name in _ANGLES))
    return bool(angles.qualified(tolerance=tolerance)[0])


def dynamic_table(records: Iterable[Score]) -> dict[str, Decomposition]:
    """Model to table 5: events started, gated and conditional score. A video without an overall score takes no part."""
    rows: dict[str, list[tuple[bool, float]]] = {}
    for record in records:
        if record.metric == "dynamic_overall" and record.model is not None and record.value is not None:
            rows.setdefault(record.model, []).append((bool(record.detail.get("started")), record.value))
    return {model: decompose(*map(np.array, zip(*pairs, strict=True))) for model, pairs in sorted(rows.items())}
