# SPDX-License-Identifier: Apache-2.0
"""What the paper's statistics share: a table of rollouts, correlations by family, intervals over clusters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from ...ops.stats import fisher_mean, pearson, spearman
from ..record import Score
from .constants import FAMILIES, METRICS
from .scoring import OVERALL

Real = npt.NDArray[np.float64]
Labels = Sequence[str]
SCORES = ("raw", "baseline", "mg", "nmr")


@dataclass(frozen=True, eq=False)
class Table:
    """Rollouts and their scores, all oriented so that more is better; NaN where there is none.

    Attributes:
        rollouts, models, templates, cases: (N,) labels.
        scores: ``raw``, ``baseline``, ``mg``, ``nmr``: metric: (N,).
        overall: (N,) the rollouts' own family-first scores.
    """

    rollouts: Labels
    models: Labels
    templates: Labels
    cases: Labels
    scores: Mapping[str, Mapping[str, Real]]
    overall: Real

    @property
    def clusters(self) -> Labels:
        """(N,) trajectory and scene: rollouts of one share their input."""
        return [f"{template}/{case}" for template, case in zip(self.templates, self.cases, strict=True)]


def table_of(records: Iterable[Score]) -> Table:
    """The table of some score records, a row a rollout in the order of their ids; raw LPIPS with its sign turned."""
    by_rollout: dict[str, dict[str, Score]] = {}
    for record in records:
        if record.metric in METRICS or record.metric == OVERALL:
            by_rollout.setdefault(record.rollout, {})[record.metric] = record
    rows = [by_rollout[name] for name in sorted(by_rollout)]
    first = [next(iter(row.values())) for row in rows]
    names = {"raw": "revisit", "baseline": "baseline", "mg": "memory_gain"}
    scores: dict[str, dict[str, Real]] = {score: {} for score in SCORES}
    for name, metric in METRICS.items():
        for score, key in names.items():
            sign = -1.0 if metric.lower_is_better and score != "mg" else 1.0
            scores[score][name] = sign * np.array([_number(row, name, key) for row in rows])
        scores["nmr"][name] = np.array([_number(row, name, None) for row in rows])
    return Table(
        sorted(by_rollout),
        [record.model or "" for record in first],
        [str(record.part.get("template", "")) for record in first],
        [record.case or record.rollout for record in first],
        scores,
        np.array([_number(row, OVERALL, None) for row in rows]),
    )


def _number(row: Mapping[str, Score], metric: str, key: str | None) -> float:
    if metric not in row:
        return math.nan
    value = row[metric].value if key is None else row[metric].detail.get(key)
    return math.nan if value is None else float(value)


@dataclass(frozen=True)
class Correlation:
    """A correlation and its percentile interval; NaN where there is none.

    Attributes:
        value: Of all rollouts.
        low, high: Of the resampled clusters.
    """

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of zero."""
        return self.low > 0 or self.high < 0


def correlations(scores: Mapping[str, Real], target: Real) -> dict[str, float]:
    """Spearman's correlation of each metric with a target, over the rollouts that have both."""
    if not scores:
        return {}
    stacked = np.stack([np.asarray(values, dtype=np.float64) for values in scores.values()])
    against = np.tile(np.asarray(target, dtype=np.float64), (len(stacked), 1))
    found = spearman(stacked, against, nan_policy="omit")
    return dict(zip(scores, found.value.tolist(), strict=True))


def family_balanced(rhos: Mapping[str, float]) -> float:
    """Fisher's mean within each family, then over the families that have one: as Table 3 has Raw, MG and NMR.

    Example:
        >>> round(family_balanced({"psnr": 0.5, "ssim": 0.9, "state_score": 0.5}), 6)
        0.652726
    """
    return fisher(fisher(rhos.get(name, math.nan) for name in names) for names in FAMILIES.values())


def fisher(rhos: Iterable[float]) -> float:
    """Fisher's mean of those that are not NaN; NaN of none."""
    given = np.array([rho for rho in rhos if not math.isnan(rho)], dtype=np.float64)
    return float(fisher_mean(given).value) if given.size else math.nan


def partial_spearman(
    x: npt.ArrayLike, y: npt.ArrayLike, controls: Sequence[npt.ArrayLike], groups: Labels | None = None
) -> float:
    """Spearman's correlation of x and y, given other numbers and a label.

    The ranks of x and of y are freed of what the ranks of the controls and the groups' means explain (least squares),
    and what is left is correlated.

    Args:
        x, y: (N,); rows where any number is NaN are left out.
        controls: (N,) each.
        groups: (N,) labels, or ``None``.

    Returns:
        In -1 to 1; NaN where fewer than three rows are left, or nothing of x or y.

    Example:
        >>> x, c = np.arange(8.0), np.array([0, 1, 0, 1, 0, 1, 0, 1.0])
        >>> round(partial_spearman(x, x + 10 * c, [c]), 6)
        1.0
    """
    columns = [np.asarray(column, dtype=np.float64) for column in (x, y, *controls)]
    there = np.isfinite(np.stack(columns)).all(axis=0)
    if there.sum() < 3:
        return math.nan
    ranks = [midranks(column[there]) for column in columns]
    n = int(there.sum())
    explained = [np.ones(n), *ranks[2:]]
    if groups is not None:
        labels = np.asarray(list(groups))[there]
        explained += [(labels == label).astype(np.float64) for label in sorted(set(labels.tolist()))[1:]]
    design = np.stack(explained, axis=1)
    solution = np.linalg.lstsq(design, np.stack(ranks[:2], axis=1), rcond=None)[0]
    left = np.stack(ranks[:2], axis=1) - design @ solution
    if (np.abs(left).max(axis=0) < 1e-9 * n).any():
        return math.nan
    return float(pearson(np.ascontiguousarray(left[:, 0]), np.ascontiguousarray(left[:, 1])).value)


def midranks(values: Real) -> Real:
    """Ranks from 1, equal values sharing the mean of theirs.

    Example:
        >>> midranks(np.array([3.0, 1.0, 3.0])).tolist()
        [2.5, 1.0, 2.5]
    """
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[inverse], dtype=np.float64)


def cluster_bootstrap(
    statistic: Callable[[npt.NDArray[np.int64]], npt.ArrayLike],
    clusters: Labels,
    *,
    n: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[Real, Real]:
    """A percentile interval from resampling whole clusters.

    Args:
        statistic: Numbers (K,) of some rows, given by (M,) indices in which a row stands as often as it was drawn.
        clusters: (N,) labels; as many clusters as there are are drawn with replacement.
        n: Resamples.
        level: The coverage.
        seed: The generator's key.

    Returns:
        Low and high (K,); NaN where fewer than two clusters, or no resample, has a value.

    Numerics:
        Draws from the raw words of Philox4x64-10 by multiply-shift: the same on every machine.

    Source:
        Field and Welsh, "Bootstrapping clustered data", JRSS B 69, 2007. R2M-Bench, section 4: by trajectory and scene,
        and conservatively by method.
    """
    if n < 1 or not 0 < level < 1:
        raise bad_value("cluster_bootstrap", "n and level", "be at least 1, and between 0 and 1", f"{n} and {level}")
    labels = np.asarray(list(clusters))
    members = [np.flatnonzero(labels == label) for label in sorted(set(labels.tolist()))]
    k = len(members)
    if k < 2:
        empty = np.full(np.shape(np.asarray(statistic(np.arange(len(labels))), dtype=np.float64)), np.nan)
        return empty, empty
    raw = np.asarray(np.random.Philox(key=seed).random_raw(n * k), dtype=np.uint64)
    drawn = (((raw >> np.uint64(32)) * np.uint64(k)) >> np.uint64(32)).astype(np.int64).reshape(n, k)
    values = np.stack(
        [np.asarray(statistic(np.concatenate([members[c] for c in row])), dtype=np.float64) for row in drawn]
    )
    tail = 100.0 * (1.0 - level) / 2.0
    low, high = np.full(values.shape[1:], np.nan), np.full(values.shape[1:], np.nan)
    for at in np.ndindex(values.shape[1:]):
        there = values[(slice(None), *at)]
        there = there[np.isfinite(there)]
        if there.size:
            low[at], high[at] = np.percentile(there, [tail, 100.0 - tail])
    return low, high
