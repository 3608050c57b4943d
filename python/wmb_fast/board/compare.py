# SPDX-License-Identifier: Apache-2.0
"""Two models against each other, on the cases that both have in a column, with what is left out beside every number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .._walls.errors import bad_value
from ..protocols.record import Column, Score
from .intervals import Interval, draws, nested_interval, percentile_interval, resampled
from .table import by_rollout, nested_values, point, sums_and_counts

Cases = Mapping[str, Sequence[Score]]


@dataclass(frozen=True)
class Difference:
    """A column's paired difference ``a - b`` over the cases that both models have in it.

    Attributes:
        column: The column's name.
        a, b: Each model's value over the common cases.
        difference: ``None`` where there is no common case.
        interval: Over cases, drawn together for both models.
        n_common: Cases with a value from both.
        n_only_a, n_only_b: Cases with a value from one alone: in no number above.
        all_a, all_b: Each model's value over all its own cases, those only it has included.
        proxy: Whether an estimator other than the paper's own had a hand in any of these.
        digits: Decimals worth reading.
    """

    column: str
    a: float | None
    b: float | None
    difference: float | None
    interval: Interval
    n_common: int
    n_only_a: int
    n_only_b: int
    all_a: float | None
    all_b: float | None
    proxy: bool
    digits: int


@dataclass(frozen=True)
class Comparison:
    """Two models in one protocol."""

    protocol: str
    compat: bool
    model_a: str
    model_b: str
    differences: Sequence[Difference]


def compare(scores: Iterable[Score], columns: Sequence[Column], model_a: str, model_b: str) -> Comparison:
    """Compares two models of one protocol, case by case.

    A case is the benchmark's case; where a record names none, the rollout's id stands for it.

    Args:
        scores: Records of one protocol, which :func:`~wmb_fast.board.tables` has accepted.
        columns: The protocol's columns.
        model_a, model_b: Two different models among the records.

    Raises:
        ArgumentError: A model that no record has, or the same one twice.
    """
    scores = list(scores)
    models = sorted({score.model for score in scores if score.model is not None})
    for model in (model_a, model_b):
        if model not in models:
            raise bad_value(
                "board", "--compare", f"name models of the board ({', '.join(models) or 'none'})", repr(model)
            )
    if model_a == model_b:
        raise bad_value("board", "compare", "name two different models", repr(model_a))
    a, b = (_by_case(s for s in scores if s.model == model) for model in (model_a, model_b))
    differences = tuple(_difference(column, a, b) for column in columns)
    return Comparison(scores[0].protocol, scores[0].compat, model_a, model_b, differences)


def _by_case(scores: Iterable[Score]) -> Cases:
    cases: dict[str, list[Score]] = {}
    for rollout, records in by_rollout(scores).items():
        cases.setdefault(records[0].case or rollout, []).extend(records)
    return dict(sorted(cases.items()))


def _used(column: Column, cases: Cases) -> Cases:
    return {name: r for name, r in cases.items() if any(t.pick(s) is not None for t in column.terms for s in r)}


def _difference(column: Column, a: Cases, b: Cases) -> Difference:
    a, b = _used(column, a), _used(column, b)
    common = sorted(a.keys() & b.keys())
    a_common, b_common = {c: a[c] for c in common}, {c: b[c] for c in common}
    value_a, value_b = (point(column, cases) if common else None for cases in (a_common, b_common))
    difference = value_a - value_b if value_a is not None and value_b is not None else None
    interval = Interval(None, None, "no common case" if not common else "one common case")
    if len(common) > 1 and column.levels:
        (mine, paths), (theirs, _) = (nested_values(column, cases) for cases in (a_common, b_common))
        interval = nested_interval(column, np.subtract(mine, theirs).tolist(), paths)
    elif len(common) > 1:
        picks = draws(len(common))
        ends = [resampled(*sums_and_counts(column, cases), column.combine, picks) for cases in (a_common, b_common)]
        interval = percentile_interval(np.subtract(*ends), len(common))
    used = [s for cases in (a, b) for records in cases.values() for s in records]
    return Difference(
        column=column.name,
        a=value_a,
        b=value_b,
        difference=difference,
        interval=interval,
        n_common=len(common),
        n_only_a=len(a) - len(common),
        n_only_b=len(b) - len(common),
        all_a=point(column, a),
        all_b=point(column, b),
        proxy=any(s.proxy for s in used if any(t.pick(s) is not None for t in column.terms)),
        digits=column.digits,
    )
