# SPDX-License-Identifier: Apache-2.0
"""From cases to one number: case, subcategory, domain, overall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._walls.errors import bad_value
from ...ops.bootstrap import Interval, bootstrap_ci

Values = Mapping[str, float | None]


@dataclass(frozen=True)
class CaseScores:
    """The metrics of one case, and where it belongs; ``None`` is a missing value."""

    case: str
    subcategory: str
    domain: str
    metrics: Values


@dataclass(frozen=True)
class Group:
    """A node of the hierarchy.

    Attributes:
        name: ``(domain, subcategory)``, ``(domain,)`` or ``()`` for overall.
        metrics: The mean of each over the children that have it; ``None`` where none has.
        n_valid: Of each metric: the cases below that have it.
        n_cases, n_children: How many there are.
    """

    name: tuple[str, ...]
    metrics: Values
    n_valid: Mapping[str, int]
    n_cases: int
    n_children: int


@dataclass(frozen=True)
class Hierarchy:
    """All nodes: subcategories and domains sorted by name, and the whole."""

    subcategories: Sequence[Group]
    domains: Sequence[Group]
    overall: Group


def aggregate(cases: Sequence[CaseScores], names: Iterable[str]) -> Hierarchy:
    """Unweighted means: of cases in a subcategory, of subcategories in a domain, of domains: section 4.4.

    A missing value takes no part; a node without any value is missing itself, and takes no part above.

    Args:
        cases: Each once.
        names: The metrics.

    Raises:
        ArgumentError: A case twice, a value that is NaN or infinite.

    Example:
        >>> cases = [CaseScores("1", "home", "real", {"P": 1.0}), CaseScores("2", "home", "real", {"P": None})]
        >>> found = aggregate([*cases, CaseScores("3", "lab", "robots", {"P": 0.0})], ["P"])
        >>> found.overall.metrics, found.overall.n_valid, found.overall.n_children
        ({'P': 0.5}, {'P': 2}, 2)
    """
    names = list(names)
    seen: set[str] = set()
    for case in cases:
        if case.case in seen:
            raise bad_value("aggregate", "cases", "stand once each", f"{case.case!r} twice")
        seen.add(case.case)
        for name in names:
            value = case.metrics.get(name)
            if value is not None and not np.isfinite(value):
                raise bad_value("aggregate", f"{name} of {case.case}", "be finite, or None where it is missing", value)
    tree: dict[str, dict[str, list[CaseScores]]] = {}
    for case in cases:
        tree.setdefault(case.domain, {}).setdefault(case.subcategory, []).append(case)
    subcategories, domains = [], []
    for domain in sorted(tree):
        below = [
            _group((domain, name), names, [c.metrics for c in tree[domain][name]], tree[domain][name])
            for name in sorted(tree[domain])
        ]
        inside = [case for name in tree[domain] for case in tree[domain][name]]
        subcategories += below
        domains.append(_group((domain,), names, [group.metrics for group in below], inside))
    return Hierarchy(subcategories, domains, _group((), names, [group.metrics for group in domains], cases))


def _group(
    name: tuple[str, ...], names: Sequence[str], children: Sequence[Values], cases: Sequence[CaseScores]
) -> Group:
    values: dict[str, float | None] = {}
    for metric in names:
        there = [value for value in (child.get(metric) for child in children) if value is not None]
        values[metric] = sum(there) / len(there) if there else None
    valid = {metric: sum(case.metrics.get(metric) is not None for case in cases) for metric in names}
    return Group(name, values, valid, len(cases), len(children))


def interval(cases: Sequence[CaseScores], metric: str, *, n: int = 2000, seed: int = 0) -> Interval:
    """The 95 % bootstrap interval of a metric over the hierarchy: section D.

    Cases are drawn with replacement within their subcategory, and means of means of means are taken again.

    Args:
        cases: Each once.
        metric: One of their metrics.
        n: Resamples.
        seed: Of the draws.

    Returns:
        What :func:`~wmb_fast.bootstrap_ci` returns: low, high, estimate, status.

    Example:
        >>> cases = [CaseScores(str(i), "home", "real", {"P": i / 9}) for i in range(10)]
        >>> found = interval(cases, "P")
        >>> bool(0 < found.low < found.estimate < found.high < 1)
        True
    """
    values = np.array([np.nan if (v := case.metrics.get(metric)) is None else v for case in cases], dtype=np.float64)
    subcategory = [f"{case.domain}/{case.subcategory}" for case in cases]
    levels: list[Any] = [subcategory, [case.domain for case in cases]]
    return bootstrap_ci(values, hierarchy=levels, strata=subcategory, n=n, seed=seed)
