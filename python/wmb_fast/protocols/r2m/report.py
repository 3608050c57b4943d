# SPDX-License-Identifier: Apache-2.0
"""R2M-Bench's leaderboard from score records alone: Overall, and NMR and MemoryGain of every metric.

A metric's NMR is the mean over templates of mean(MG) / (mean(DR) + 1e-8) over the rollouts of a template with a dynamic
range above 1e-8; its MG the mean over the same templates of mean(MG). Rollouts that run none of the three published
templates go with the one of their kind. Overall is the mean over families of the mean NMR of a family's metrics; by
default it needs a value in all five, under ``compat`` families without one are left out.

Source: R2M-Bench (arXiv 2608.27328), Table 2; compute_nmr_summary.py of its evaluator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from ..record import Column, Score, Term
from .constants import EPS, METRICS, PLACE, TEMPLATES
from .gain import Means, Summary, Video, family_means, nan_mean, summarise
from .scoring import OVERALL, PUBLISHED_NAN

_DIGITS = 4
_KINDS_OF_TRAJECTORY = tuple(TEMPLATES.values())


def _takes_part(score: Score, metric: str) -> bool:
    span = score.detail.get("dynamic_range")
    if score.metric != metric or span is None or not span > EPS:
        return False
    return score.value is not None or bool(score.detail.get(PUBLISHED_NAN))


def _term(metric: str, template: str, what: str) -> Term:
    def pick(score: Score) -> float | None:
        if not _takes_part(score, metric) or score.part.get("template") != template:
            return None
        value = score.detail[what]
        return math.nan if value is None else float(value)

    return Term(pick)


def _terms(metric: str) -> tuple[Term, ...]:
    parts = ("memory_gain", "dynamic_range")
    return tuple(_term(metric, template, what) for template in _KINDS_OF_TRAJECTORY for what in parts)


def _nmr(means: Sequence[float]) -> float:
    return nan_mean(mg / (dr + EPS) for mg, dr in zip(means[::2], means[1::2], strict=True))


def _mg(means: Sequence[float]) -> float:
    return nan_mean(means[::2])


def _published(score: Score) -> float | None:
    """1 for records under ``compat``, which Overall takes as they come."""
    used = score.metric in METRICS and _takes_part(score, score.metric)
    return float(score.compat) if used else None


def _overall(means: Sequence[float]) -> float:
    per = 2 * len(_KINDS_OF_TRAJECTORY)
    nmr = {name: _nmr(means[i * per : (i + 1) * per]) for i, name in enumerate(METRICS)}
    families = family_means(nmr)
    whole = not any(map(math.isnan, families.values()))
    return nan_mean(families.values()) if whole or means[-1] == 1 else math.nan


def _about(metric: str) -> Callable[[Score], bool]:
    return lambda score: score.metric == metric


def _columns() -> tuple[Column, ...]:
    every = [*METRICS.values(), PLACE]
    terms = {metric.name: _terms(metric.name) for metric in every}
    whole = (*(term for name in METRICS for term in terms[name]), Term(_published))
    return (
        Column("Overall", whole, _overall, about=_about(OVERALL), digits=_DIGITS),
        *(Column(f"NMR {m.title}", terms[m.name], _nmr, about=_about(m.name), digits=_DIGITS) for m in every),
        *(Column(f"MG {m.title}", terms[m.name], _mg, about=_about(m.name), digits=_DIGITS) for m in every),
    )


COLUMNS: tuple[Column, ...] = _columns()


def videos_of(records: Iterable[Score]) -> list[Video]:
    """The rollouts of some records, for :func:`.gain.summarise` and for rankings; those without a model are left out.

    Example:
        >>> videos_of([])
        []
    """
    found: dict[tuple[str, str], tuple[str, dict[str, Means]]] = {}
    for record in records:
        if record.model is None or record.metric == OVERALL or "template" not in record.part:
            continue
        means = Means(*(record.detail.get(kind) for kind in ("revisit", "baseline", "short")))
        _, metrics = found.setdefault((record.model, record.rollout), (record.part["template"], {}))
        metrics[record.metric] = means
    return [Video(model, template, means) for (model, _), (template, means) in found.items()]


def leaderboard(records: Iterable[Score]) -> Summary:
    """The published summary of some records: by model and template, template-balanced, and Overall."""
    given = list(records)
    return summarise(videos_of(given), compat=any(record.compat for record in given))
