# SPDX-License-Identifier: Apache-2.0
"""Whether people separate what a metric separates, and whether columns move together.

A study shows annotators pairs that a metric sets apart by more than some points; each prefers one side or ties. The
agreement is, for each annotator, the share of the preferences that go the metric's way, and then the mean over
annotators; lenient, ties count as agreement.

Source: WorldMark (arXiv 2604.21686), section G.3 and table 11; section 4.2 for the columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from .._walls.checks import one_of
from .._walls.errors import bad_value
from ..ops.stats import pairwise_agreement, pearson, spearman

POINTS = 10.0  # a pair is shown where the metric's values are further apart
Rows = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class HumanAgreement:
    """How a metric and annotators agree, over the pairs that the metric separates.

    Attributes:
        agreement: Mean over annotators of agreed over expressed, in percent; ``None`` where nobody prefers anything.
        std: Over annotators, of the population.
        expressed: Trials with a preference.
        trials: Trials in all: votes on separated pairs.
        tie: Ties of all trials, in percent; ``None`` without trials.
        lenient: Agreed and tied of all trials, per annotator, then the mean.
        by_annotator: Each one's agreement, in percent; NaN who never prefers.
        pairs: Pairs that the metric separates, and so were counted.
    """

    agreement: float | None
    std: float | None
    expressed: int
    trials: int
    tie: float | None
    lenient: float | None
    by_annotator: tuple[float, ...]
    pairs: int


def human_agreement(
    a: npt.ArrayLike, b: npt.ArrayLike, votes: npt.ArrayLike, *, min_points: float = POINTS
) -> HumanAgreement:
    """A metric against annotators' votes on pairs.

    Args:
        a, b: (P,) the metric of either side, in points of 100, higher is better. Pairs that are not more than
            ``min_points`` apart, or lack a value, do not count.
        votes: (P, V): positive prefers A, negative B, zero is a tie, NaN no vote.
        min_points: The published threshold is 10.

    Raises:
        ArgumentError: Other shapes, a threshold below 0.

    Numerics:
        Counted by :func:`wmb_fast.pairwise_agreement`, one annotator an item.

    Example:
        >>> found = human_agreement([80, 30, 50], [20, 90, 45], [[1, 1], [-1, 0], [1, 1]])
        >>> found.pairs, found.agreement, found.tie, found.lenient
        (2, 100.0, 25.0, 100.0)
    """
    first, second = (np.asarray(side, dtype=np.float64) for side in (a, b))
    ballots = np.asarray(votes, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise bad_value("human_agreement", "a and b", "have one shape (P,)", f"{first.shape} and {second.shape}")
    if ballots.ndim != 2 or len(ballots) != len(first):
        raise bad_value("human_agreement", "votes", f"have shape ({len(first)}, V)", ballots.shape)
    if not min_points >= 0:
        raise bad_value("human_agreement", "min_points", "be at least 0", min_points)
    apart = np.abs(first - second) > min_points
    one_each = np.ascontiguousarray(ballots[apart].T)
    metric = np.ascontiguousarray(np.broadcast_to((first - second)[apart], one_each.shape))
    counted = pairwise_agreement(metric, one_each)
    agree, decisive, ties = (np.asarray(counts) for counts in (counted.agree, counted.decisive, counted.split))
    return agreement_of_counts(agree, decisive - agree, ties, pairs=int(apart.sum()))


def agreement_of_counts(
    agree: npt.ArrayLike, disagree: npt.ArrayLike, ties: npt.ArrayLike, *, pairs: int | None = None
) -> HumanAgreement:
    """The same from counts by annotator, as the published study records them.

    Args:
        agree, disagree, ties: (V,) whole numbers.
        pairs: How many pairs they are of; ``None``: the most trials of any annotator.

    Example:
        >>> found = agreement_of_counts([15, 10], [3, 6], [2, 4])
        >>> round(found.agreement, 2), found.expressed, found.tie, found.lenient
        (72.92, 34, 15.0, 77.5)
    """
    counts = [np.asarray(side, dtype=np.int64) for side in (agree, disagree, ties)]
    if any(side.ndim != 1 or side.shape != counts[0].shape or (side < 0).any() for side in counts):
        raise bad_value("agreement_of_counts", "counts", "have one shape (V,) and not be negative", "others")
    agreed, against, tied = counts
    expressed, trials = agreed + against, agreed + against + tied
    with np.errstate(invalid="ignore", divide="ignore"):
        each, lenient = 100 * agreed / expressed, 100 * (agreed + tied) / trials
    voiced, took_part = expressed > 0, trials > 0
    n = int(trials.sum())
    return HumanAgreement(
        agreement=float(each[voiced].mean()) if voiced.any() else None,
        std=float(each[voiced].std()) if voiced.any() else None,
        expressed=int(expressed.sum()),
        trials=n,
        tie=100 * int(tied.sum()) / n if n else None,
        lenient=float(lenient[took_part].mean()) if took_part.any() else None,
        by_annotator=tuple(each.tolist()),
        pairs=int(trials.max(initial=0)) if pairs is None else pairs,
    )


def column_correlations(
    rows: Rows, of: str, *, method: Literal["spearman", "pearson"] = "pearson", columns: Sequence[str] | None = None
) -> dict[str, float]:
    """How the other columns of a leaderboard move with one of them, over the models that have both.

    Args:
        rows: Model to column to value; NaN is left out.
        of: The one.
        method: Of ranks, or of values.
        columns: The others; ``None`` for all.

    Returns:
        Column to correlation; NaN for fewer than two models, or a column that does not vary.

    Raises:
        ArgumentError: A column that no model has.

    Example:
        >>> rows = {"a": {"x": 1.0, "y": 3.0}, "b": {"x": 2.0, "y": 2.0}, "c": {"x": 3.0, "y": 1.0}}
        >>> column_correlations(rows, "x", method="spearman")
        {'y': -1.0}
    """
    one_of("column_correlations", "method", method, ("spearman", "pearson"))
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    others = [name for name in names if name != of] if columns is None else list(columns)
    for name in (of, *others):
        if name not in names:
            raise bad_value("column_correlations", "columns", f"be among {', '.join(names) or 'none'}", repr(name))
    if not others:
        return {}
    values = np.array([[row.get(name, np.nan) for row in rows.values()] for name in others], dtype=np.float64)
    one = np.tile(np.array([row.get(of, np.nan) for row in rows.values()], dtype=np.float64), (len(others), 1))
    found = (spearman if method == "spearman" else pearson)(one, values, nan_policy="omit")
    return dict(zip(others, np.asarray(found.value).tolist(), strict=True))
