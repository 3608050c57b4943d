# SPDX-License-Identifier: Apache-2.0
"""OPIS's leaderboard, and the tables that its paper makes of the same records.

Every number is a mean over cases within a subcategory, over subcategories within a domain, and over domains; intervals
draw cases within their subcategory. A case without a subcategory or a domain that is known takes no part, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..record import Column, Score, Term
from .constants import DOMAINS, domain_of
from .diagnostics import ABLATIONS
from .hierarchy import CaseScores, Hierarchy, aggregate

Row = Mapping[str, float | None]


def _levels(score: Score) -> tuple[str, ...]:
    return str(score.part["subcategory"]), str(score.part["domain"])


def _is(metric: str, **part: str) -> Callable[[Score], bool]:
    """Records of a metric of the whole rollout, or of this part of it."""

    def concerns(score: Score) -> bool:
        told = {name: value for name, value in score.part.items() if name not in ("subcategory", "domain")}
        return score.metric == metric and told == part

    return concerns


def _column(name: str, metric: str, *, higher_is_better: bool = True, compat: bool = False, **part: str) -> Column:
    about = _is(metric, **part)

    def pick(score: Score) -> float | None:
        placed = "subcategory" in score.part and "domain" in score.part
        return score.value if placed and about(score) else None

    return Column(name, (Term(pick),), lambda means: means[0], higher_is_better, about, levels=_levels, compat=compat)


COLUMNS: tuple[Column, ...] = (
    _column("P", "presence"),
    _column("I", "identity"),
    _column("S", "structure"),
    _column("C_S", "structure_coverage"),
    _column("OPIS", "opis"),
    _column("Fail-I", "identity_failure", higher_is_better=False),
    _column("No-S", "no_structure", higher_is_better=False),
    # Of contract 3.11, the released code's.
    _column("P", "presence_score", compat=True),
    _column("I", "identity_score", compat=True),
    _column("core_2d", "core_2d_score", compat=True),
    _column("full_igm", "full_igm_score", compat=True),
)
ABLATION_COLUMNS = tuple(_column(name, "ablation", variant=name) for name in ABLATIONS)
COVERAGE_COLUMNS = tuple(
    _column(name, "coverage", of=of)
    for name, of in (
        ("C_P", "presence"),
        ("C_I", "identity"),
        ("Static", "static"),
        ("Dynamic", "dynamic"),
        ("Unknown", "unknown"),
    )
)


def leaderboard(records: Iterable[Score], columns: Sequence[Column] = COLUMNS) -> dict[str, dict[str, float]]:
    """Model to column to value, NaN where a column has no record; models sorted by name.

    ``columns`` may be ``COLUMNS`` (Table 2), ``ABLATION_COLUMNS`` (Table 5) or ``COVERAGE_COLUMNS`` (Table 10).
    """
    by_model: dict[str, list[Score]] = {}
    for record in records:
        if record.model is not None:
            by_model.setdefault(record.model, []).append(record)
    return {
        name: {c.name: c.value(of) for c in columns if c.compat in (None, of[0].compat)}
        for name, of in sorted(by_model.items())
    }


def cases_of(records: Iterable[Score], metrics: Mapping[str, Callable[[Score], bool]]) -> list[CaseScores]:
    """The records of one model as cases of the hierarchy.

    Args:
        records: Of one model.
        metrics: Name to which records it is about.
    """
    found: dict[str, tuple[Score, dict[str, float | None]]] = {}
    for score in records:
        if "subcategory" in score.part and "domain" in score.part:
            _, values = found.setdefault(score.rollout, (score, {}))
            values.update({name: score.value for name, about in metrics.items() if about(score)})
    return [
        CaseScores(rollout, str(first.part["subcategory"]), str(first.part["domain"]), values)
        for rollout, (first, values) in found.items()
    ]


def by_domain(records: Iterable[Score], metric: str = "opis") -> Hierarchy:
    """A metric of one model by subcategory and domain: Tables 6 to 9."""
    return aggregate(cases_of(records, {metric: _is(metric)}), [metric])


def by_interval(records: Sequence[Score]) -> dict[str, dict[str, float]]:
    """Presence, identity, structure and its coverage of one model in each interval of time: figure 5."""
    intervals = sorted({str(s.part["interval_s"]) for s in records if "interval_s" in s.part})
    names = {"P": "presence", "I": "identity", "S": "structure", "C_S": "structure_coverage"}
    return {
        interval: {short: _column(short, metric, interval_s=interval).value(records) for short, metric in names.items()}
        for interval in intervals
    }


def by_load(records: Sequence[Score]) -> dict[str, dict[str, float]]:
    """Presence, identity, structure, Fail-I and C_S of one model, by the number of reference objects: Table 4.

    Each load is aggregated over the cases it has, through the same hierarchy.
    """
    load = {s.rollout: str(s.detail["load"]) for s in records if "load" in s.detail}
    shown = [c for c in COLUMNS if c.name in ("P", "I", "S", "Fail-I", "C_S") and not c.compat]
    return {
        name: {column.name: column.value([s for s in records if load.get(s.rollout) == name]) for column in shown}
        for name in sorted(set(load.values()), key=lambda text: (text[0] == ">", text[0] != "<"))
    }


def missing_subcategories(records: Iterable[Score]) -> list[str]:
    """Which of the ten subcategories, by the words that tell them, no record belongs to.

    Example:
        >>> missing_subcategories([])[:3]
        ['home', 'public', 'natural']
    """
    there = {str(score.part.get("subcategory", "")).lower() for score in records}
    return [
        word
        for domain, words in DOMAINS.items()
        for word in words
        if not any(word in name and domain_of(name) == domain for name in there)
    ]
