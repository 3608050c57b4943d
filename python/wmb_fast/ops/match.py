# SPDX-License-Identifier: Apache-2.0
"""Nearest neighbours and best matches between two sets of rows; the matrix of all scores is never written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._walls.arrays import BYTES, SMALL_FLOATS, Array, ArrayLike, Call, is_tensor, take
from .._walls.checks import one_of, real
from .._walls.dispatch import declare, pick
from .._walls.errors import bad_value
from .._walls.ext import core, kernels
from .._walls.lazy import reference
from .._walls.rowsets import RowSets, pair_up
from .cosine import give_each

METRICS = ("cosine", "l2", "hamming")
declare("nearest", "cpu", "triton", "reference")
declare("mutual_matches", "cpu", "triton", "reference")
declare("patch_best_match", "cpu", "triton", "reference")


@dataclass(frozen=True, eq=False)
class Nearest:
    """The best row of b for each row of a.

    Attributes:
        index: (..., N) int64, -1 where there is none; a list of (N_i,) for ragged input.
        score: The same shape, NaN where there is none. Cosine, or a distance under ``l2`` and ``hamming``.
    """

    index: Any
    score: Any


@dataclass(frozen=True, eq=False)
class Matches:
    """Pairs of rows that chose each other.

    Attributes:
        index_a: (K,) int64, ascending.
        index_b: (K,) int64.
        score: (K,) cosine, or a distance under ``l2`` and ``hamming``.
    """

    index_a: Any
    index_b: Any
    score: Any


def nearest(
    a: ArrayLike | Sequence[ArrayLike],
    b: ArrayLike | Sequence[ArrayLike],
    *,
    metric: str = "cosine",
    lengths: ArrayLike | Sequence[int] | None = None,
    lengths_b: ArrayLike | Sequence[int] | None = None,
    backend: str = "auto",
) -> Nearest:
    """For each row of a the nearest row of b; among equals the one of lowest index.

    Args:
        a: (..., N, D), or a list of (N_i, D). float16, bfloat16, float32 or float64; uint8 under ``hamming``.
        b: (..., M, D) of the same dtype, batch dimensions broadcast; or a list of (M_i, D).
        metric: ``cosine`` (rows are brought to length 1 inside, the largest cosine wins), ``l2`` (rows as they are, the
            smallest Euclidean distance wins) or ``hamming`` (rows of bytes, the fewest differing bits win).
        lengths: (...) rows of each item of a padded a; the rest is not read.
        lengths_b: (...) rows of each item of a padded b.
        backend: ``auto``, ``cpu``, ``triton`` or ``reference``.

    Returns:
        Index -1 and score NaN for a row that is NaN or infinite anywhere, for a zero row under ``cosine``, beyond
        the lengths, and for every row where b has none that can be compared. Such rows of b are never chosen.

    Raises:
        ArgumentError: Sizes that do not go together, D = 0, an unknown metric, lengths beyond N or M.
        ArgumentTypeError: Arrays of another dtype, of two kinds, devices or dtypes.

    Numerics:
        Cosines as in :func:`cosine_matrix`. Distances are sums of squared differences, never |a|² + |b|² − 2ab: a row
        is at distance 0 from itself, and a result does not change with the number of rows. What a square of float32
        cannot hold is compared in float64: distances below 2⁻⁵⁰, and items with a number above 2⁵⁰; of float64 (2⁻⁴⁸⁰,
        2⁴⁸⁰), times a power of two. The same bits for any threads, batch split and SIMD level, and on a device: what
        its tensor cores find is compared again where it is near the best.

    Example:
        >>> import numpy as np, wmb_fast as wmb
        >>> wmb.nearest(np.array([[0.0, 2.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]]))
        Nearest(index=array([ 1, -1]), score=array([ 1., nan]))
    """
    call, sets = _enter("nearest", a, b, metric, (lengths, lengths_b))
    index, score = _search("nearest", call, sets, metric, False, None, backend)
    return Nearest(give_each(call, sets.of_each_row(index)), give_each(call, sets.of_each_row(score)))


def mutual_matches(
    a: ArrayLike | Sequence[ArrayLike],
    b: ArrayLike | Sequence[ArrayLike],
    *,
    ratio: float | None = None,
    min_score: float | None = None,
    max_distance: float | None = None,
    metric: str = "cosine",
    lengths: ArrayLike | Sequence[int] | None = None,
    lengths_b: ArrayLike | Sequence[int] | None = None,
    backend: str = "auto",
) -> Matches | list[Matches]:
    """Pairs (i, j) with ``b_j`` nearest to ``a_i`` and ``a_i`` nearest to ``b_j``; ties to the lowest index.

    Args:
        a: (..., N, D), or a list of (N_i, D). float16, bfloat16, float32 or float64; uint8 under ``hamming``.
        b: (..., M, D) of the same dtype, batch dimensions broadcast; or a list of (M_i, D).
        ratio: Keeps i → j only where the distance d1 to the nearest row of b and the distance d2 to the second nearest
            satisfy d1 < ratio · d2 (Lowe's test, from a to b). Distances are Euclidean, between rows of length 1 under
            ``cosine``; Hamming distances under ``hamming``. Where b has no second row nothing passes; two rows at
            distance 0 do not pass.
        min_score: Keeps cosines of at least this; only under ``cosine``.
        max_distance: Keeps distances of at most this; only under ``l2`` and ``hamming``.
        metric: ``cosine``, ``l2`` or ``hamming``, as in :func:`nearest`.
        lengths, lengths_b: As in :func:`nearest`.
        backend: ``auto``, ``cpu``, ``triton`` or ``reference``.

    Returns:
        One record; a list of them, in C order, for a batch. Rows that cannot be compared (see :func:`nearest`) never
        match. No match, an empty a or an empty b: empty arrays.

    Raises:
        ArgumentError: Sizes that do not go together, D = 0, lengths beyond N or M, an unknown metric, a ratio not above
            0, a limit that does not go with the metric.
        ArgumentTypeError: Arrays of another dtype, of two kinds, devices or dtypes.

    Numerics:
        As in :func:`nearest`. Under ``cosine`` the ratio's two distances are taken in float64 from the rows
        themselves, not as 2 − 2cos. On a device this op alone waits: it returns as many pairs as there are.

    Source:
        Lowe, Distinctive Image Features from Scale-Invariant Keypoints, IJCV 2004, section 7.1 (the ratio test).

    Example:
        >>> import numpy as np, wmb_fast as wmb
        >>> a, b = np.eye(3), np.array([[0.0, 1.0, 0.1], [1.0, 0.0, 0.0]])
        >>> wmb.mutual_matches(a, b, min_score=0.9)
        Matches(index_a=array([0, 1]), index_b=array([1, 0]), score=array([1.        , 0.99503719]))
    """
    op = "mutual_matches"
    call, sets = _enter(op, a, b, metric, (lengths, lengths_b))
    ratio = None if ratio is None else real(op, "ratio", ratio, above=0)
    limit_name, limit = ("min_score", min_score) if metric == "cosine" else ("max_distance", max_distance)
    other_name, other = ("max_distance", max_distance) if metric == "cosine" else ("min_score", min_score)
    if other is not None:
        raise bad_value(op, other_name, f"be None with metric {metric!r} (use {limit_name})", repr(other))
    limit = None if limit is None else real(op, limit_name, limit)
    index, score = _search(op, call, sets, metric, True, ratio, backend)
    if limit is not None:
        index[(score < limit) if metric == "cosine" else (score > limit)] = -1
    if is_tensor(index):
        return _matches_on_device(sets, index, score)
    if sets.lead == ():
        return _matches(call, index, score)
    counts = np.cumsum(sets.spans[:, 1] - sets.spans[:, 0])[:-1]
    items = zip(np.split(index, counts), np.split(score, counts), strict=True) if len(sets.spans) else ()
    return [_matches(call, *item) for item in items]


def patch_best_match(
    a: ArrayLike | Sequence[ArrayLike],
    b: ArrayLike | Sequence[ArrayLike],
    *,
    lengths: ArrayLike | Sequence[int] | None = None,
    lengths_b: ArrayLike | Sequence[int] | None = None,
    backend: str = "auto",
) -> Any:
    """How well each patch of either frame is found in the other: the best cosines of both directions in one array.

    Args:
        a: (..., N, D) patch tokens of one frame, float16, bfloat16, float32 or float64; or a list of (N_i, D).
        b: (..., M, D) of the other, of the same dtype, batch dimensions broadcast; or a list of (M_i, D). For all
            adjacent pairs of a clip: ``patch_best_match(tokens[:-1], tokens[1:])``.
        lengths: (...) rows of each item of a padded a; the rest is not read.
        lengths_b: (...) rows of each item of a padded b.
        backend: ``auto``, ``cpu``, ``triton`` or ``reference``.

    Returns:
        (..., N + M) cosines within ±1: first ``max_j cos(a_i, b_j)`` for each row of a, then ``max_i cos(a_i, b_j)``
        for each row of b; a list of (N_i + M_i,) for lists. NaN for a patch that is zero or not finite, beyond the
        lengths, and for every patch where the other frame has none that can be compared.

    Raises:
        ArgumentError: Sizes that do not go together, D = 0, lengths beyond N or M.
        ArgumentTypeError: Arrays of another dtype, of two kinds, devices or dtypes.

    Numerics:
        Cosines as in :func:`cosine_matrix`, to the bit, those of half precision as on the host.

    Source:
        WRBench D2: its local term is the 20th percentile of these over a pair of frames, negative cosines and patches
        without a direction counted as 0: ``np.percentile(np.clip(np.nan_to_num(scores), 0, 1), 20, axis=-1)``.

    Example:
        >>> import numpy as np, wmb_fast as wmb
        >>> wmb.patch_best_match(np.eye(3), np.array([[0.0, 2.0, 0.0], [0.6, 0.8, 0.0]]))
        array([0.6, 1. , 0. , 1. , 0.8])
    """
    op = "patch_best_match"
    call, sets = _enter(op, a, b, "cosine", (lengths, lengths_b))
    chosen = pick(op, backend, call.device)
    sizes = np.diff(sets.spans, axis=1)[:, ::2].sum(axis=1)
    score = sets.room(int(sizes.sum()), sets.score)
    if chosen == "reference":
        parts = [reference.patch_best_match(sets.a[i:j], sets.b[k:m]) for i, j, k, m in sets.spans]
        score[:] = np.concatenate(parts) if parts else score
    elif chosen == "triton":
        kernels("patch", "triton").patch_best_match(sets.a, sets.b, sets.for_kernels(), score)
    else:
        core.patch_best_match(sets.a, sets.b, sets.spans, score)
    return give_each(call, sets.of_both_rows(score))


def _enter(op: str, a: Any, b: Any, metric: str, lengths: tuple[Any, Any]) -> tuple[Call, RowSets]:
    one_of(op, "metric", metric, METRICS)
    call, views = take(op, {"a": a, "b": b}, dtypes=BYTES if metric == "hamming" else SMALL_FLOATS)
    return call, pair_up(op, views["a"], views["b"], lengths)


def _search(
    op: str, call: Call, sets: RowSets, metric: str, mutual: bool, ratio: float | None, backend: str
) -> tuple[Array, Array]:
    """The chosen row of b and its score, for every row of a of every item."""
    chosen = pick(op, backend, call.device)
    n = sets.n_rows()
    index, score = sets.room(n, "int64"), sets.room(n, sets.score)
    core_or_kernels = kernels("match", "triton") if chosen == "triton" else core
    spans = sets.for_kernels() if chosen == "triton" else sets.spans
    if chosen == "reference":
        _search_by_reference(sets, metric, mutual, ratio, index, score)
    elif metric == "hamming":
        core_or_kernels.match_binary(sets.a, sets.b, spans, mutual, ratio or 0.0, index, score)
    else:
        core_or_kernels.match(sets.a, sets.b, spans, metric == "l2", mutual, ratio or 0.0, index, score)
    return index, score


def _search_by_reference(
    sets: RowSets, metric: str, mutual: bool, ratio: float | None, index: Array, score: Array
) -> None:
    index.fill(-1)
    score.fill(np.nan)
    start = 0
    for i, j, k, m in sets.spans:
        item = slice(start, start := start + j - i)
        a, b = sets.a[i:j], sets.b[k:m]
        if mutual:
            index_a, index_b, found = reference.mutual_matches(a, b, ratio=ratio, metric=metric)
            index[item][index_a], score[item][index_a] = index_b, found
        else:
            index[item], score[item] = reference.nearest(a, b, metric=metric)


def _matches(call: Call, index: Array, score: Array) -> Matches:
    index_a = np.flatnonzero(index >= 0)
    return Matches(call.give(index_a), call.give(index[index_a]), call.give(score[index_a]))


def _matches_on_device(sets: RowSets, index: Any, score: Any) -> Matches | list[Matches]:
    """Matches of tensors: how many there are must be known to the host, so this waits for the device, once."""
    rows = (index >= 0).nonzero().squeeze(1)
    whole = Matches(rows, index[rows], score[rows])
    if sets.lead == ():
        return whole
    sizes = sets.spans[:, 1] - sets.spans[:, 0]
    starts = np.cumsum(sizes) - sizes
    ends = np.searchsorted(rows.cpu().numpy(), np.append(starts, sizes.sum()))
    return [
        Matches(whole.index_a[i:j] - int(start), whole.index_b[i:j], whole.score[i:j])
        for i, j, start in zip(ends[:-1], ends[1:], starts, strict=True)
    ]
