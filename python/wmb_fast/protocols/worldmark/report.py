# SPDX-License-Identifier: Apache-2.0
"""WorldMark's leaderboard: thirteen columns, from score records alone.

Direction accuracy, purity, stability and latency are means over all segments of an axis: translation pools forward and
sideways motion, rotation is turning; a latency belongs to the axis of the command that was switched to. Local is
``100 (1 - hard cut rate) (1 - mean mutation rate)``, both over the rollouts that are not frozen; a rollout all of whose
pairs lie near cuts counts in the first alone. There is no overall score.

Records without a value take no part, except that under ``compat`` a direction or purity that is NaN makes its column
NaN, as published.

Source: final_master.py of WorldMark's evaluator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ..record import Column, Score, Status, Term
from .constants import DISPLAY_NAMES, EXCLUDED_MODELS, PUBLISHED, RATING_LEVELS, Thresholds
from .geometry import global_score
from .local import NEAR_CUT
from .records import PUBLISHED_NAN

Row = Mapping[str, float]


def _segments(metric: str, axis: str, unit_interval: bool = False) -> Term:
    def pick(score: Score) -> float | None:
        if score.metric != metric or score.part.get("axis") != axis:
            return None
        value = math.nan if score.detail.get(PUBLISHED_NAN) else score.value
        if value is None or (unit_interval and not 0 <= value <= 1):
            return None
        return value

    return Term(pick)


def _about(metric: str, axis: str | None = None) -> Callable[[Score], bool]:
    """Records of a metric; of an axis, those without any (their plan is not known) included."""
    return lambda score: score.metric == metric and (axis is None or score.part.get("axis", axis) == axis)


def _rollouts(metric: str) -> Term:
    return Term(lambda score: score.value if score.metric == metric else None)


def _hard_cut(score: Score) -> float | None:
    counts = score.status is Status.OK or score.reason.startswith(NEAR_CUT)
    return float(bool(score.detail.get("hard_cut"))) if score.metric == "local_memory" and counts else None


def _mutation_rate(score: Score) -> float | None:
    ok = score.metric == "local_memory" and score.status is Status.OK
    return float(score.detail["mutation_rate"]) if ok else None


def _residual(score: Score) -> float | None:
    ok = score.metric == "global_memory" and score.status is Status.OK
    return float(score.detail["residual"]) if ok else None


def _percent(means: Sequence[float]) -> float:
    return 100.0 * means[0]


def _percent_not_negative(means: Sequence[float]) -> float:
    return 0.0 if means[0] < 0 else 100.0 * means[0]


def _local(means: Sequence[float]) -> float:
    return 100.0 * (1 - means[0]) * (1 - means[1])


def _rating(means: Sequence[float]) -> float:
    return 100.0 * (means[0] - 1) / (RATING_LEVELS - 1)


def _by_axis(
    name: str, metric: str, combine: Callable[[Sequence[float]], float], unit_interval: bool = False
) -> tuple[Column, ...]:
    axes = (("t", "translation"), ("r", "rotation"))
    return tuple(
        Column(f"{name}_{short}", (_segments(metric, axis, unit_interval),), combine, about=_about(metric, axis))
        for short, axis in axes
    )


def columns(thresholds: Thresholds = PUBLISHED) -> tuple[Column, ...]:
    """The thirteen columns. Of the scoring constants only Global's scale is theirs; the others are in the records."""
    return (
        *_by_axis("DA", "direction_accuracy", _percent_not_negative),
        *_by_axis("MP", "direction_purity", _percent),
        *_by_axis("MS", "motion_stability", _percent, unit_interval=True),
        *_by_axis("RL", "response_latency", _percent, unit_interval=True),
        Column("Local", (Term(_hard_cut), Term(_mutation_rate)), _local, about=_about("local_memory")),
        Column(
            "Global",
            (Term(_residual),),
            lambda means: global_score(means[0], thresholds.global_scale),
            about=_about("global_memory"),
        ),
        Column("Rev", (_rollouts("revisit_memory"),), lambda means: means[0], about=_about("revisit_memory")),
        Column("QA_q", (_rollouts("perceptual_quality"),), _rating, about=_about("perceptual_quality")),
        Column("QA_a", (_rollouts("aesthetic_quality"),), _rating, about=_about("aesthetic_quality")),
    )


COLUMNS = columns()


def displayed(records: Iterable[Score]) -> list[Score]:
    """Records as a board shows them: those under ``compat`` get the published display names, and those of the models
    that the published report leaves out are left out."""
    shown = []
    for record in records:
        if not record.compat or record.protocol != "worldmark":
            shown.append(record)
        elif record.model not in EXCLUDED_MODELS:
            name = DISPLAY_NAMES.get(record.model or "", record.model)
            shown.append(record if name == record.model else replace(record, model=name))
    return shown


def leaderboard(records: Iterable[Score], *, columns: Sequence[Column] = COLUMNS) -> dict[str, dict[str, float]]:
    """Model to column to value, NaN where a column has no record; models sorted by name.

    Names and models are those of :func:`displayed`. Records without a model take no part.
    """
    by_model: dict[str, list[Score]] = {}
    for record in displayed(records):
        if record.model is not None:
            by_model.setdefault(record.model, []).append(record)
    return {name: {column.name: column.value(by_model[name]) for column in columns} for name in sorted(by_model)}


def best_and_worst(rows: Mapping[str, Row]) -> tuple[dict[str, str], dict[str, str]]:
    """The first model with the highest, and with the lowest, value of each column that any model has."""
    best, worst = {}, {}
    for column in COLUMNS:
        values = {name: row[column.name] for name, row in rows.items() if not math.isnan(row[column.name])}
        if values:
            best[column.name] = max(values, key=values.__getitem__)
            worst[column.name] = min(values, key=values.__getitem__)
    return best, worst


def csv_lines(rows: Mapping[str, Row]) -> list[str]:
    """The published table: four decimals, nothing where there is no value."""
    lines = [",".join(["model", *(column.name for column in COLUMNS)])]
    for name, row in rows.items():
        cells = ["" if math.isnan(row[column.name]) else f"{row[column.name]:.4f}" for column in COLUMNS]
        lines.append(",".join([name, *cells]))
    return lines
