# SPDX-License-Identifier: Apache-2.0
"""Correlations, their means, agreement with votes, and bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
FISHER_CAP = 1 - 1e-7
LARGEST_CORRELATION = 1 + 1e-6


class Correlation(NamedTuple):
    """See :func:`spearman`."""

    value: Array
    p: Array


class Interval(NamedTuple):
    """See :func:`bootstrap_ci`."""

    low: Array
    high: Array
    estimate: Array
    all_equal: Array


def midranks(values: Array) -> Array:
    """Ranks from 1; equal values share the mean of the ranks they take up."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def two_sided_p(r: float, freedom: int) -> float:
    """``P(|t| > |r| sqrt(freedom / (1 - r^2)))`` of Student's distribution, by its finite sums.

    Source: Abramowitz and Stegun 26.7.3 and 26.7.4, with ``sin(theta) = |r|``. The difference from one: absolute, not
    relative, precision.
    """
    sine, cosine = abs(r), math.sqrt((1 - abs(r)) * (1 + abs(r)))
    odd = freedom % 2
    term, total = (cosine, cosine) if odd else (1.0, 1.0)
    if freedom == 1:
        total = 0.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= (k - 1) / k * cosine**2
        total += term
    inside = 2 / math.pi * (math.asin(sine) + sine * total) if odd else sine * total
    return 1 - inside


def spearman(a: npt.ArrayLike, b: npt.ArrayLike, *, nan_policy: str = "propagate") -> Correlation:
    """Pearson's correlation of midranks over the last axis, and its two-sided p value."""
    return _correlate(a, b, nan_policy, midranks, p_of_two=np.nan)


def pearson(a: npt.ArrayLike, b: npt.ArrayLike, *, nan_policy: str = "propagate") -> Correlation:
    """``sum (a - mean a)(b - mean b) / sqrt(sum (a - mean a)^2 sum (b - mean b)^2)`` over the last axis, and its p."""
    return _correlate(a, b, nan_policy, _finite_or_nan, p_of_two=1.0)


def _finite_or_nan(x: Array) -> Array:
    return x if np.isfinite(x).all() else np.full_like(x, np.nan)


def _correlate(
    a: npt.ArrayLike, b: npt.ArrayLike, nan_policy: str, transform: Callable[[Array], Array], p_of_two: float
) -> Correlation:
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    batch = first.shape[:-1]
    value, p = np.full(batch, np.nan), np.full(batch, np.nan)
    for index in np.ndindex(batch):
        x, y = first[index], second[index]
        missing = np.isnan(x) | np.isnan(y)
        if missing.any() and nan_policy == "propagate":
            continue
        x, y = x[~missing], y[~missing]
        if x.size < 2 or (x == x[0]).all() or (y == y[0]).all():
            continue
        x, y = transform(x), transform(y)
        # A power of two, which rounds nothing, keeps squares within float64 whatever the unit.
        x, y = (np.ldexp(v, -int(np.frexp(np.abs(v).max())[1])) for v in (x, y))
        x, y = x - x.mean(), y - y.mean()
        r = float(np.clip((x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()), -1, 1))
        if x.size == 2:
            value[index], p[index] = np.sign(r), p_of_two
        elif not np.isnan(r):
            value[index], p[index] = r, two_sided_p(r, x.size - 2)
    return Correlation(value, p)


def fisher_mean(rhos: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Array:
    """``tanh`` of the weighted mean of ``atanh(rho)`` over the last axis; NaN is left out with its weight.

    ``|rho|`` above 1 - 1e-7 is taken as that; above 1 + 1e-6 it is no correlation, and the mean is missing.
    """
    r = np.asarray(rhos, dtype=np.float64)
    w = np.broadcast_to(np.ones(r.shape[-1]) if weights is None else np.asarray(weights, dtype=np.float64), r.shape)
    w = np.where(np.isnan(r), 0, w)
    z = np.arctanh(np.clip(np.nan_to_num(r), -FISHER_CAP, FISHER_CAP))
    total = w.sum(axis=-1)
    usable = (total > 0) & ~(np.abs(r) > LARGEST_CORRELATION).any(axis=-1)
    return np.where(usable, np.tanh((w * z).sum(axis=-1) / np.where(usable, total, 1)), np.nan)


def pairwise_agreement(metric: npt.ArrayLike, votes: npt.ArrayLike) -> Array:
    """The share of decisive pairs in which the metric difference has the sign of the votes' majority.

    ``metric`` (..., N) and ``votes`` (..., N) or (..., N, voters): positive prefers A. Decisive: neither is zero.
    """
    m, v = np.asarray(metric, dtype=np.float64), np.asarray(votes, dtype=np.float64)
    majority = np.sign(v) if v.ndim == m.ndim else np.sign(np.nansum(np.sign(v), axis=-1))
    decisive = (np.nan_to_num(m) != 0) & (np.nan_to_num(majority) != 0)
    agree = (decisive & (np.sign(m) == majority)).sum(axis=-1)
    n = decisive.sum(axis=-1)
    return np.where(n > 0, agree / np.maximum(n, 1), np.nan)


def philox(counter: Array, seed: int) -> Array:
    """Philox4x32 with ten rounds of counters (..., 4). Source: Salmon et al., SC 2011."""
    c = [np.asarray(counter[..., i], dtype=np.uint64) for i in range(4)]
    low = np.uint64(0xFFFFFFFF)
    key0, key1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [
            (p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(key0),
            p1 & low,
            (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(key1),
            p0 & low,
        ]
        key0, key1 = (key0 + 0x9E3779B9) & 0xFFFFFFFF, (key1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, axis=-1)


def bootstrap_ci(
    values: npt.ArrayLike,
    *,
    hierarchy: Sequence[Any] | None = None,
    strata: npt.ArrayLike | None = None,
    indices: npt.ArrayLike | None = None,
    n: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    nan_policy: str = "omit",
) -> Interval:
    """Percentile bootstrap of means of means over the last axis of values (..., N).

    ``hierarchy``: one array of N labels a level, finest first. A mean over the cases of a group, over the groups of the
    next level, and so on; groups without a value have no part. A resample replaces each case by one of its stratum,
    which brings its labels along: the ``indices[b, i]``-th where given. Draw k of resample b is
    ``floor(word * size / 2^32)`` with word k mod 4 of Philox at counter (k // 4, 0, b mod 2^32, b // 2^32), the cases
    sorted by stratum, group and value. Percentiles by linear interpolation, over the resamples that have a mean. One
    case is not resampled. ``all_equal``: the resamples all have one mean.
    """
    data = np.asarray(values, dtype=np.float64) + 0.0
    batch, n_cases = data.shape[:-1], data.shape[-1]
    levels = [np.zeros(n_cases, dtype=int)] if hierarchy is None else [np.asarray(labels) for labels in hierarchy]
    codes = [np.unique(labels, return_inverse=True)[1] for labels in levels]
    path = np.stack(codes[::-1], axis=-1)  # coarsest first
    stratum = np.zeros(n_cases, dtype=int) if strata is None else np.unique(strata, return_inverse=True)[1]
    result, all_equal = np.full((3, *batch), np.nan), np.zeros(batch, dtype=bool)
    for index in np.ndindex(batch):
        item = data[index]
        present = ~np.isnan(item)
        if not present.any() or np.isinf(item).any() or (nan_policy == "propagate" and not present.all()):
            continue
        result[(2, *index)] = _mean_of_means(item, path)
        if indices is None and present.sum() == 1:
            continue
        means = [
            _mean_of_means(item[picked], path[picked]) for picked in _resamples(item, path, stratum, indices, n, seed)
        ]
        if not np.isnan(means).all():
            tail = 50 * (1 - level)
            result[(slice(2), *index)] = np.nanpercentile(means, [tail, 100 - tail])
            all_equal[index] = np.nanmin(means) == np.nanmax(means)
    return Interval(result[0], result[1], result[2], all_equal)


def _mean_of_means(values: Array, path: Array) -> float:
    """The mean over the groups of the coarsest level of their means; NaN where nothing is there."""
    if path.shape[1] == 0:
        return _mean(values)
    means = [_mean_of_means(values[path[:, 0] == g], path[path[:, 0] == g, 1:]) for g in np.unique(path[:, 0])]
    return _mean(np.array(means))


def _mean(values: Array) -> float:
    """Of what is not NaN, about the first of it: equal values have exactly that mean."""
    kept = values[~np.isnan(values)]
    return float(kept[0] + (kept - kept[0]).mean()) if kept.size else np.nan


def _resamples(
    item: Array, path: Array, stratum: Array, indices: npt.ArrayLike | None, n: int, seed: int
) -> list[Array]:
    """For each resample, the case that stands in the place of each case."""
    if indices is None:
        order = np.lexsort((item, *path.T[::-1], stratum))  # by stratum, then group, then value
    else:
        order = np.argsort(stratum, kind="stable")
    members = [order[stratum[order] == s] for s in np.unique(stratum)]
    if indices is not None:
        given = np.asarray(indices)
        return [np.array([members[s][j] for s, j in zip(stratum, row, strict=True)], dtype=int) for row in given]
    resamples = []
    k = np.arange(item.size)
    for b in range(n):
        counter = np.stack([k // 4, 0 * k, 0 * k + b % 2**32, 0 * k + b // 2**32], axis=-1)
        words = philox(counter, seed)[k, k % 4]
        picked, first = np.empty(item.size, dtype=int), 0
        for cases in members:
            drawn = (words[first : first + cases.size] * np.uint64(cases.size)) >> np.uint64(32)
            picked[cases] = cases[drawn.astype(int)]
            first += cases.size
        resamples.append(picked)
    return resamples
