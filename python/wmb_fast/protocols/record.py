# SPDX-License-Identifier: Apache-2.0
"""The scorecard record, and how a protocol says what its leaderboard columns are."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

PROXIES = ("builtin", "packaged", "stand-in")  # the tiers of estimators other than the paper's own
WHOLE_ROLLOUT = "*"  # the metric of a record that says a rollout as a whole could not be scored


class Status(StrEnum):
    """Why a record has, or has not, a value."""

    OK = "ok"
    NOT_EVALUABLE = "not_evaluable"  # the protocol's own rule: frozen, not a round trip, …
    MISSING = "missing"  # evidence the metric needs is not there
    ERROR = "error"  # the rollout could not be read or an estimator failed


@dataclass(frozen=True)
class Score:
    """One number about one rollout, or the reason there is none.

    Attributes:
        rollout, model, case: Whose it is.
        protocol: ``worldmark``, …
        metric: The metric's name in its protocol.
        part: Which segment, revisit or axis: for example ``{"segment": 1, "key": "S", "axis": "translation"}``.
        value: A finite number, or ``None`` with a reason.
        status: See :class:`Status`.
        reason: A short token, optionally followed by ``: `` and a sentence; empty when all is well.
        n_used, n_total: How many of the items it could have used it did use.
        definition: Names formula and version, for example ``worldmark.direction_accuracy/1``.
        compat: Whether the published evaluator's numbers were asked for.
        estimators: What made the evidence: role, id, tier, fingerprint.
        detail: What the protocol reports beside the value.
        provenance: The library's version and the rollout's content hash and decoder.
    """

    rollout: str
    model: str | None
    case: str | None
    protocol: str
    metric: str
    part: Mapping[str, Any]
    value: float | None
    status: Status
    reason: str
    n_used: int
    n_total: int
    definition: str
    compat: bool
    estimators: Sequence[Mapping[str, str]] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("rollout", "protocol", "metric", "reason", "definition"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"Score: {name} must be text, got {getattr(self, name)!r}")
        if not all(isinstance(maker, Mapping) for maker in self.estimators):
            raise TypeError(f"Score: estimators must be mappings, got {self.estimators!r}")
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"Score: value must be finite or None, got {self.value}")
        if (self.value is None) == (self.status is Status.OK):
            raise ValueError(
                f"Score: status must be ok exactly when there is a value, got {self.status} and {self.value}"
            )

    @property
    def proxy(self) -> bool:
        """Whether an estimator other than the paper's own had a hand in it."""
        return any(maker["tier"] in PROXIES for maker in self.estimators)

    def to_json(self) -> str:
        """One line of strict JSON."""
        return json.dumps(asdict(self), allow_nan=False, ensure_ascii=False)

    @staticmethod
    def from_json(line: str) -> Score:
        """The record of one line."""
        record = json.loads(line)
        return Score(**{**record, "status": Status(record["status"])})


@dataclass(frozen=True)
class Term:
    """A mean over records: ``pick`` says what a record adds to it, or ``None`` where it does not take part."""

    pick: Callable[[Score], float | None]


@dataclass(frozen=True)
class Column:
    """A leaderboard column: the means of its terms over a model's records, put together by ``combine``.

    Means are over records (all segments pooled), or, where there are ``levels``, means of means over groups of them; a
    term without any record is NaN. Intervals resample rollouts; those of ``levels`` within the finest group.

    Attributes:
        name: The column's heading.
        terms: What is averaged.
        combine: The column's value from its terms' means, in their order.
        higher_is_better: Which end is the best.
        about: Whether a record, with a value or without, belongs to the column: coverage and the reasons for what is
            missing come from these. ``None`` means the records that a term picks, which leaves no reasons to tell.
        digits: Decimals that a reader is shown.
        levels: The groups that a record belongs to, finest first, for example subcategory and domain; every rollout has
            one record. Such a column has one term, and a ``combine`` that rises with its mean.
        compat: Of which boards it is a column: those of compat records, or of default ones; ``None``: of both.
    """

    name: str
    terms: tuple[Term, ...]
    combine: Callable[[Sequence[float]], float]
    higher_is_better: bool = True
    about: Callable[[Score], bool] | None = None
    digits: int = 2
    levels: Callable[[Score], tuple[str, ...]] | None = None
    compat: bool | None = None

    def value(self, records: Iterable[Score]) -> float:
        """The column's value over records (of one model); NaN where a term has none."""
        pool = tuple(records)
        means = []
        for term in self.terms:
            picked = [(self.path(score), value) for score in pool if (value := term.pick(score)) is not None]
            means.append(_mean_of_means(picked) if picked else math.nan)
        return self.combine(means)

    def path(self, score: Score) -> tuple[str, ...]:
        """The groups that a record belongs to, coarsest first."""
        return self.levels(score)[::-1] if self.levels else ()


def _mean_of_means(picked: Sequence[tuple[tuple[str, ...], float]]) -> float:
    """The mean over the coarsest groups of the means over theirs, and so on."""
    if not picked[0][0]:
        return math.fsum(value for _, value in picked) / len(picked)
    groups: dict[str, list[tuple[tuple[str, ...], float]]] = {}
    for path, value in picked:
        groups.setdefault(path[0], []).append((path[1:], value))
    means = [_mean_of_means(group) for _, group in sorted(groups.items())]
    return math.fsum(means) / len(means)
