# SPDX-License-Identifier: Apache-2.0
"""How well the metrics agree with people (tables 6 and 7, EXACT)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from ...ops.stats import pairwise_agreement, pearson, spearman
from .arrays import Flags, Values, numbers


@dataclass(frozen=True)
class StaticAlignment:
    """A row of table 6.

    Attributes:
        agreement: ``agree / decisive``, NaN without a decisive pair.
        agree, decisive, tie, split, missing: Pairs. A tie is one the metric does not tell apart, a split one that the
            people do not.
        spearman: Over the models' win rates by people and by the metric; NaN where it is not defined.
        win_rates: Model to its rates, by people and by the metric.
    """

    agreement: float
    agree: int
    decisive: int
    tie: int
    split: int
    missing: int
    spearman: float
    win_rates: dict[str, tuple[float, float]]


def static_alignment(
    models_a: Sequence[str],
    models_b: Sequence[str],
    scores_a: npt.ArrayLike,
    scores_b: npt.ArrayLike,
    votes: npt.ArrayLike,
) -> StaticAlignment:
    """Blinded A/B preferences against a metric.

    Args:
        models_a, models_b: (N,) whose videos were compared.
        scores_a, scores_b: (N,) the metric of each; more is better.
        votes: (N, V) of V people: 1 prefers A, -1 prefers B, 0 neither, NaN no vote.

    Returns:
        Agreement over pairs, and Spearman's correlation over models of the win rates: the share of the decisive pairs
        that a model is in and wins (RECONSTRUCTED: the paper does not say how ties count).

    Source:
        WorldMemBench, table 6.

    Example:
        >>> found = static_alignment("xxy", "yzz", [0.9, 0.8, 0.2], [0.1, 0.3, 0.4], [[1, 1, -1], [1, 1, 1], [1, 1, 1]])
        >>> found.agree, found.decisive, found.win_rates["x"]
        (2, 3, (1.0, 1.0))
    """
    op = "static_alignment"
    first, second = numbers(op, "scores_a", scores_a, "(N,)"), numbers(op, "scores_b", scores_b, "(N,)")
    ballots = numbers(op, "votes", votes, "(N, V)")
    if not len(models_a) == len(models_b) == len(first) == len(second) == len(ballots):
        raise bad_value(op, "models, scores and votes", "be of the same pairs", f"{len(models_a)} and {len(ballots)}")
    if not np.isin(ballots[~np.isnan(ballots)], (-1, 0, 1)).all():
        raise bad_value(op, "votes", "hold -1, 0, 1 and NaN", "other numbers")
    margin = first - second
    found = pairwise_agreement(margin, ballots)
    majority = np.sign(np.nansum(np.sign(ballots), axis=1))
    decisive = np.isfinite(margin) & (margin != 0) & (majority != 0)
    rates = _win_rates(models_a, models_b, majority, np.sign(margin), decisive)
    rho = math.nan
    if len(rates) > 1:
        rho = float(spearman(*(np.array(side) for side in zip(*rates.values(), strict=True))).value)
    return StaticAlignment(
        float(found),
        int(found.agree),
        int(found.decisive),
        int(found.tie),
        int(found.split),
        int(found.missing),
        rho,
        rates,
    )


def _win_rates(
    a: Sequence[str],
    b: Sequence[str],
    people: Values,
    metric: Values,
    used: Flags,
) -> dict[str, tuple[float, float]]:
    rates = {}
    for model in dict.fromkeys([*a, *b]):
        sides = [1.0 if x == model else -1.0 if y == model else 0.0 for x, y in zip(a, b, strict=True)]
        side = np.array(sides)
        mine = used & (side != 0)
        if mine.any():
            by_people, by_metric = (float((who[mine] == side[mine]).mean()) for who in (people, metric))
            rates[model] = (by_people, by_metric)
    return rates


@dataclass(frozen=True)
class ChecklistAlignment:
    """A row of table 7: Spearman's and Pearson's correlation over instances, and how much they rest on."""

    spearman: float
    plcc: float
    instances: int
    items: int
    judgements: int


def checklist_alignment(votes: npt.ArrayLike, judged: npt.ArrayLike) -> ChecklistAlignment:
    """The judge's checklist scores against people's.

    Args:
        votes: (N, Q, V) of V people on Q items of N instances: 1 satisfied, 0 not, NaN no vote.
        judged: (N, Q) of the judge: 1, 0, NaN where there is no answer.

    Returns:
        Correlations of the share of satisfied items; an item counts for people by their majority. Items without a
        majority or an answer are left out on both sides.

    Source:
        WorldMemBench, table 7: majority of three annotators, correlations over 50 instances (EXACT).

    Example:
        >>> people = [[[1, 1, 0], [1, 1, 1]], [[0, 0, 1], [1, 1, 0]], [[0, 0, 0], [0, 1, 0]]]
        >>> found = checklist_alignment(people, [[1, 1], [1, 0], [0, 0]])
        >>> round(found.spearman, 6), found.items, found.judgements
        (1.0, 6, 18)
    """
    op = "checklist_alignment"
    ballots, answers = numbers(op, "votes", votes, "(N, Q, V)"), numbers(op, "judged", judged, "(N, Q)")
    if ballots.shape[:2] != answers.shape:
        raise bad_value(op, "judged", f"have shape {ballots.shape[:2]}", answers.shape)
    for name, rows in (("votes", ballots), ("judged", answers)):
        if not np.isin(rows[~np.isnan(rows)], (0, 1)).all():
            raise bad_value(op, name, "hold 0, 1 and NaN", "other numbers")
    given = np.isfinite(ballots)
    balance = np.sign(np.where(given, 2 * ballots - 1, 0).sum(axis=2))
    used = (balance != 0) & np.isfinite(answers)
    kept = used.any(axis=1)
    people, judge = (_shares(rows, used)[kept] for rows in ((balance > 0).astype(float), answers))
    if len(people) < 2:
        return ChecklistAlignment(math.nan, math.nan, len(people), int(used.sum()), int(given.sum()))
    correlations = float(spearman(people, judge).value), float(pearson(people, judge).value)
    return ChecklistAlignment(*correlations, len(people), int(used.sum()), int(given.sum()))


def _shares(rows: Values, used: Flags) -> Values:
    counts = used.sum(axis=1)
    sums = np.where(used, rows, 0).sum(axis=1)
    shares: Values = np.divide(sums, counts, out=np.full(len(rows), np.nan), where=counts > 0)
    return shares
