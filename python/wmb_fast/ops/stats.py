# SPDX-License-Identifier: Apache-2.0
"""Correlations, means of correlations, and agreement with votes. Bootstrap intervals are in ``ops.bootstrap``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._walls.arrays import Array, ArrayLike, take
from .._walls.checks import one_of, shape_text, trailing
from .._walls.dispatch import declare, pick
from .._walls.errors import bad_value
from .._walls.ext import core
from .._walls.lazy import reference
from .._walls.records import Valued, code, status_of
from .._walls.samples import PairedSamples, pair_samples

NUMBERS = ("float32", "float64", "int64")
NAN_POLICIES = ("propagate", "omit", "raise")
FISHER_CAP, LARGEST_CORRELATION = 1 - 1e-7, 1 + 1e-6


@dataclass(frozen=True, eq=False)
class Correlation(Valued):
    """What :func:`spearman` and :func:`pearson` return, fields of the batch's shape. Unpacks as ``value, p``."""

    p: Any
    n_used: Any

    def __iter__(self) -> Iterator[Any]:
        return iter((self.value, self.p))


@dataclass(frozen=True, eq=False)
class FisherMean(Valued):
    """What :func:`fisher_mean` returns, fields of the batch's shape. ``float()`` gives the value."""

    n_used: Any


@dataclass(frozen=True, eq=False)
class Agreement(Valued):
    """What :func:`pairwise_agreement` returns, fields of the batch's shape. ``float()`` gives the value."""

    agree: Any
    decisive: Any
    tie: Any
    split: Any
    missing: Any


def spearman(
    a: ArrayLike | Sequence[ArrayLike],
    b: ArrayLike | Sequence[ArrayLike],
    *,
    nan_policy: str = "propagate",
    lengths: ArrayLike | Sequence[int] | None = None,
    backend: str = "auto",
) -> Correlation:
    """Spearman's rank correlation, with midranks for ties, and its two-sided p value.

    ``value = sum (ra - mean ra)(rb - mean rb) / sqrt(sum (ra - mean ra)^2 sum (rb - mean rb)^2)`` over midranks ra, rb.

    Args:
        a: (..., N) float32, float64 or int64; or a list of (N_i,). Infinite values have their ranks.
        b: The same shape.
        nan_policy: ``propagate``: an item with a NaN is missing; ``omit``: pairs with a NaN are left out; ``raise``.
        lengths: (...) values of each item of a padded array; the rest is not read.
        backend: ``auto``, ``cpu`` or ``reference``.

    Returns:
        ``value`` in -1..1 and ``p``, (...) each in the dtype of ``a`` (int64: float64); ``n_used`` pairs; ``status``:
        2, with NaN, for fewer than two pairs, a constant input, or NaN; 1 for two pairs, where the value is -1 or 1
        whatever the data, and p is NaN, as SciPy has it (of :func:`pearson` 1).

    Raises:
        ArgumentError: Shapes that differ, lengths beyond N, or a NaN under ``raise``.
        ArgumentTypeError: Something that is not an array of those dtypes.

    Numerics:
        Ranks and their products are summed in whole numbers: the value is rounded only in the last division and root,
        so identical orders give 1 exactly, in any order of the pairs, batch or number of threads. p is the incomplete
        beta function I_(1 - value^2)(N/2 - 1, 1/2) by its continued fraction, to about 1e-13 of itself; it calls the
        C library's exp and log.

    Source:
        Spearman (1904); p as a t distribution with N - 2 degrees of freedom: Kendall and Stuart, section 31.19.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> value, p = wmb.spearman(np.array([1, 0, 4, 1, 0, 3, 0]), np.array([4, 0, 3, 3, 3, 1, 1]))
        >>> round(float(value), 8), round(float(p), 6)
        (0.35294118, 0.437439)
    """
    return _correlate("spearman", a, b, nan_policy, lengths, backend)


def pearson(
    a: ArrayLike | Sequence[ArrayLike],
    b: ArrayLike | Sequence[ArrayLike],
    *,
    nan_policy: str = "propagate",
    lengths: ArrayLike | Sequence[int] | None = None,
    backend: str = "auto",
) -> Correlation:
    """Pearson's linear correlation, and its two-sided p value.

    ``value = sum (a - mean a)(b - mean b) / sqrt(sum (a - mean a)^2 sum (b - mean b)^2)``.

    Args:
        a: (..., N) float32, float64 or int64; or a list of (N_i,).
        b: The same shape.
        nan_policy: ``propagate``: an item with a NaN is missing; ``omit``: pairs with a NaN are left out; ``raise``.
        lengths: (...) values of each item of a padded array; the rest is not read.
        backend: ``auto``, ``cpu`` or ``reference``.

    Returns:
        As :func:`spearman`; an infinite value also makes an item missing.

    Raises:
        ArgumentError: Shapes that differ, lengths beyond N, or a NaN under ``raise``.
        ArgumentTypeError: Something that is not an array of those dtypes.

    Numerics:
        Values are taken from the first of them, centred, and scaled by a power of two, so a large common part and any
        unit do no harm. Sums in float64, in order. p as in :func:`spearman`.

    Source:
        Pearson (1895); p as a t distribution with N - 2 degrees of freedom.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> x = np.array([1.0, 2.0, 3.0, 4.0])
        >>> found = wmb.pearson(x, x**2)
        >>> round(float(found.value), 6), round(float(found.p), 6)
        (0.984374, 0.015626)
    """
    return _correlate("pearson", a, b, nan_policy, lengths, backend)


def _correlate(op: str, a: Any, b: Any, nan_policy: str, lengths: Any, backend: str) -> Correlation:
    one_of(op, "nan_policy", nan_policy, NAN_POLICIES)
    call, views = take(op, {"a": a, "b": b}, dtypes=NUMBERS)
    samples = pair_samples(op, views, "a", "b", lengths)
    if nan_policy == "raise":
        _refuse_nan(op, samples)
    n = len(samples.start)
    value, p, n_used, codes = np.empty(n), np.empty(n), np.empty(n, np.int64), np.empty(n, np.uint8)
    x, y = _double(samples.a), _double(samples.b)
    omit, of_ranks = nan_policy == "omit", op == "spearman"
    if pick(op, backend, call.device) == "reference":
        for k, (first, count) in enumerate(zip(samples.start, samples.count, strict=True)):
            part = slice(first, first + count)
            value[k], p[k] = getattr(reference, op)(x[part], y[part], nan_policy=nan_policy)
            n_used[k], codes[k] = _explain(x[part], y[part], of_ranks, omit)
    else:
        core.correlate(x, y, samples.start, samples.count, of_ranks, omit, value, p, n_used, codes)
    fields = [call.give(item.reshape(samples.batch)) for item in (*_as_given(samples.a, value, p), n_used)]
    codes = codes.reshape(samples.batch)
    return Correlation(status_of(call, codes), codes, *fields)


def _refuse_nan(op: str, samples: PairedSamples) -> None:
    for name, values in (("a", samples.a), ("b", samples.b)):
        for item, (first, count) in enumerate(zip(samples.start, samples.count, strict=True)):
            bad = np.flatnonzero(np.isnan(values[first : first + count]))
            if bad.size:
                raise bad_value(op, name, "hold no NaN under nan_policy='raise'", f"one at item {item}, value {bad[0]}")


def _explain(x: Array, y: Array, of_ranks: bool, omit: bool) -> tuple[int, int]:
    """How many pairs the reference used, and the reason that belongs to its answer."""
    known = ~(np.isnan(x) | np.isnan(y))
    kept = x[known], y[known]
    n = int(known.sum())
    if (not omit and n < x.size) or (not of_ranks and not np.isfinite(kept).all()):
        return n, code("value_not_finite")
    if n < 2:
        return n, code("too_few_pairs")
    if any((values == values[0]).all() for values in kept):
        return n, code("constant_input")
    return n, code("two_pairs" if n == 2 else "ok")


def fisher_mean(rhos: ArrayLike, weights: ArrayLike | None = None, *, backend: str = "auto") -> FisherMean:
    """Mean of correlations through Fisher's transform: ``tanh(sum w atanh(rho) / sum w)``.

    Args:
        rhos: (..., N) correlations, float32 or float64. NaN is left out, with its weight.
        weights: (N,) or (..., N), at least 0, of the same dtype; ``None``: all equal.
        backend: ``auto``, ``cpu`` or ``reference``.

    Returns:
        ``value`` (...), in the dtype of ``rhos``; ``n_used`` of the N; ``status``: 2, with NaN, where nothing is left,
        the weights that are left add up to zero, or a value beyond 1 + 1e-6 is no correlation; 1 where a correlation
        above 1 - 1e-7 in magnitude was capped there, because the transform of one is infinite: such a mean depends on
        the cap.

    Raises:
        ArgumentError: Weights of another shape, negative or not finite.
        ArgumentTypeError: Something that is not a float array.

    Numerics:
        Sums in float64, in order; the C library's atanh and tanh.

    Source:
        Fisher, Metron 1 (1921); R2M-Bench (arXiv 2608.27328), which averages its correlations so.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> round(float(wmb.fisher_mean(np.array([0.5, 0.9]))), 8)
        0.76607734
        >>> wmb.fisher_mean(np.array([1.0, 0.5])).reason()
        'a correlation of one was capped: its transform is infinite'
    """
    op = "fisher_mean"
    call, views = take(op, {"rhos": rhos, "weights": weights}, optional=("weights",), lists=False)
    r, w = views["rhos"], views["weights"]
    trailing(op, "rhos", r, ("N",))
    if w is not None:
        if w.shape not in (r.shape, r.shape[-1:]):
            raise bad_value(op, "weights", f"have shape {r.shape[-1:]} or {r.shape}", shape_text(w))
        if not (np.isfinite(w).all() and (w >= 0).all()):
            raise bad_value(op, "weights", "be finite and at least 0", w[~(np.isfinite(w) & (w >= 0))][0])
        w = np.ascontiguousarray(np.broadcast_to(w, r.shape))
    batch, n = r.shape[:-1], r.shape[-1]
    items = int(np.prod(batch))
    value, n_used, codes = np.empty(items), np.empty(items, np.int64), np.empty(items, np.uint8)
    rows = _double(r).reshape(items, n)
    row_weights = None if w is None else _double(w).reshape(items, n)
    if pick(op, backend, call.device) == "reference":
        value = np.atleast_1d(reference.fisher_mean(rows, row_weights))
        n_used = (~np.isnan(rows)).sum(axis=-1)
        kept = np.where(np.isnan(rows), 0, np.ones_like(rows) if row_weights is None else row_weights).sum(axis=-1)
        size = np.nan_to_num(np.abs(rows)).max(axis=-1, initial=0)
        capped = np.where(size > FISHER_CAP, code("correlation_of_one"), code("ok"))
        weightless = np.where(kept > 0, capped, code("no_weight"))
        checked = np.where(size > LARGEST_CORRELATION, code("no_correlation"), weightless)
        codes = np.where(n_used == 0, code("no_samples"), checked).astype(np.uint8)
    else:
        core.fisher_mean(rows, row_weights, value, n_used, codes)
    codes = codes.reshape(batch)
    fields = [call.give(item.reshape(batch)) for item in (*_as_given(r, value), n_used)]
    return FisherMean(status_of(call, codes), codes, *fields)


def pairwise_agreement(metric: ArrayLike, votes: ArrayLike, *, backend: str = "auto") -> Agreement:
    """How often a metric prefers the same side of a pair as the majority of votes: ``agree / decisive``.

    Args:
        metric: (..., N), the metric of A minus the metric of B for each pair, so that positive prefers A (turn the sign
            where less is better); float32, float64 or int64. Zero is a tie.
        votes: (..., N), or (..., N, V) for V voters: positive prefers A, negative B, zero neither, NaN no vote. The
            majority is of the signs; where they balance, the pair is split.
        backend: ``auto``, ``cpu`` or ``reference``.

    Returns:
        ``value`` (...), float64, NaN with ``status`` 2 where no pair is decisive; and the counts ``agree``,
        ``decisive`` (a majority, and no tie), ``split``, ``tie`` (a majority, but the metric is zero) and ``missing``
        (NaN, or no vote), int64. ``decisive + split + tie + missing`` is N.

    Raises:
        ArgumentError: Votes of another shape.
        ArgumentTypeError: Something that is not an array of those dtypes.

    Numerics:
        Counted exactly; one division in float64.

    Source:
        WorldMemBench (arXiv 2610.19063), table 6.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> votes = np.array([[1, 1, -1], [1, -1, 0], [-1, -1, -1], [1, 0, 0]])
        >>> found = wmb.pairwise_agreement(np.array([0.2, 0.1, 0.3, 0.0]), votes)
        >>> float(found), int(found.agree), int(found.decisive), int(found.split), int(found.tie)
        (0.5, 1, 2, 1, 1)
    """
    op = "pairwise_agreement"
    call, views = take(op, {"metric": metric, "votes": votes}, dtypes=NUMBERS, lists=False)
    m, v = views["metric"], views["votes"]
    trailing(op, "metric", m, ("N",))
    if v.shape != m.shape and v.shape[:-1] != m.shape:
        raise bad_value(op, "votes", f"have shape {m.shape} or {(*m.shape, 'V')}", shape_text(v))
    batch, n = m.shape[:-1], m.shape[-1]
    items = int(np.prod(batch))
    rows, ballots = _double(m).reshape(items, n), _double(v).reshape(items, n, -1 if v.size else v.shape[-1])
    value, counts, codes = np.empty(items), np.empty((items, 5), np.int64), np.empty(items, np.uint8)
    if pick(op, backend, call.device) == "reference":
        value = np.atleast_1d(reference.pairwise_agreement(rows, ballots))
        counts = _count_pairs(rows, ballots)
        codes = np.where(counts[:, 1] > 0, code("ok"), code("no_decisive_pair")).astype(np.uint8)
    else:
        core.pairwise_agreement(rows, ballots, value, counts, codes)
    codes = codes.reshape(batch)
    fields = [call.give(item.reshape(batch)) for item in (value, *np.ascontiguousarray(counts.T))]
    return Agreement(status_of(call, codes), codes, *fields)


def _count_pairs(metric: Array, votes: Array) -> Array:
    missing = np.isnan(metric) | np.isnan(votes).all(axis=-1)
    majority = np.sign(np.nansum(np.sign(votes), axis=-1))
    split = ~missing & (majority == 0)
    tie = ~missing & ~split & (metric == 0)
    decisive = ~missing & ~split & ~tie
    agree = decisive & (np.sign(metric) == majority)
    return np.stack([kind.sum(axis=-1) for kind in (agree, decisive, tie, split, missing)], axis=-1)


def _double(values: Array) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)


def _as_given(like: Array, *results: Array) -> list[Array]:
    """Results in the dtype of an argument; of whole numbers, in float64."""
    dtype = like.dtype if like.dtype.kind == "f" else np.dtype(np.float64)
    return [result.astype(dtype, copy=False) for result in results]


for _op in ("spearman", "pearson", "fisher_mean", "pairwise_agreement"):
    declare(_op, "cpu", "reference")
