# SPDX-License-Identifier: Apache-2.0
"""The k best rows of a gallery for every query; the matrix of all scores is never written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._walls.arrays import SMALL_FLOATS, Array, ArrayLike, take
from .._walls.checks import integer
from .._walls.dispatch import declare, pick
from .._walls.ext import core, kernels
from .._walls.lazy import reference
from .._walls.rowsets import RowSets, pair_up
from .cosine import give_each

declare("topk", "cpu", "triton", "reference")


@dataclass(frozen=True, eq=False)
class TopK:
    """The best rows of the gallery for each query, best first.

    Attributes:
        index: (..., Q, k) int64, -1 where there is none; a list of (Q_i, k) for ragged input.
        score: The same shape, cosine within ±1, NaN where there is none.
    """

    index: Any
    score: Any


def topk(
    queries: ArrayLike | Sequence[ArrayLike],
    gallery: ArrayLike | Sequence[ArrayLike],
    k: int,
    *,
    lengths: ArrayLike | Sequence[int] | None = None,
    gallery_lengths: ArrayLike | Sequence[int] | None = None,
    backend: str = "auto",
) -> TopK:
    """The k rows of the gallery of the largest cosine with each query, in descending order; ties to the lowest index.

    Args:
        queries: (..., Q, D) float16, bfloat16, float32 or float64; or a list of (Q_i, D).
        gallery: (..., N, D) of the same dtype, batch dimensions broadcast; or a list of (N_i, D). Rows need no
            normalisation.
        k: How many, at least 1.
        lengths: (...) queries of each item of a padded batch; the rest is not read.
        gallery_lengths: (...) rows of each item of a padded gallery.
        backend: ``auto``, ``cpu``, ``triton`` or ``reference``.

    Returns:
        Index -1 and score NaN for a query that is zero or has a NaN or an infinity, beyond the lengths, and for places
        beyond the rows of the gallery that have a direction. Rows of the gallery that have none never rank.

    Raises:
        ArgumentError: Sizes that do not go together, D = 0, k below 1, lengths beyond Q or N.
        ArgumentTypeError: Arrays of another dtype, of two kinds, devices or dtypes, a k that is no integer.

    Numerics:
        Cosines as in :func:`cosine_matrix`, to the bit, clipped before they are ranked. The same bits for any threads,
        batch split and SIMD level, and on a device. On the CPU, with up to twelve queries, rows of the gallery that a
        proven bound keeps from the k best are read but not scored. Memory beyond the result: about 2k candidates for
        each of 1,024 queries a thread, and 1 MiB of gallery a thread; on a device up to three copies of the rows, and a
        32nd of the scores, 1 GiB at most.

    Example:
        >>> import numpy as np, wmb_fast as wmb
        >>> wmb.topk(np.array([[0.0, 2.0]]), np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 3.0], [0.0, 0.0]]), 4)
        TopK(index=array([[ 1,  2,  0, -1]]), score=array([[1.        , 0.70710678, 0.        ,        nan]]))
    """
    call, views = take("topk", {"queries": queries, "gallery": gallery}, dtypes=SMALL_FLOATS)
    k = integer("topk", "k", k, at_least=1)
    names = ("queries", "gallery")
    sizes, sizes_names = (lengths, gallery_lengths), ("lengths", "gallery_lengths")
    sets = pair_up("topk", views["queries"], views["gallery"], sizes, names, sizes_names)
    chosen = pick("topk", backend, call.device)
    index, score = (sets.room((sets.n_rows(), k), dtype) for dtype in ("int64", sets.score))
    if chosen == "reference":
        _by_reference(sets, k, index, score)
    elif chosen == "triton":
        kernels("topk", "triton").topk(sets.a, sets.b, sets.for_kernels(), k, index.view(-1), score.view(-1))
    else:
        core.topk(sets.a, sets.b, sets.spans, k, index.reshape(-1), score.reshape(-1))
    return TopK(give_each(call, sets.of_each_row(index)), give_each(call, sets.of_each_row(score)))


def _by_reference(sets: RowSets, k: int, index: Array, score: Array) -> None:
    start = 0
    for i, j, n, m in sets.spans:
        item = slice(start, start := start + j - i)
        index[item], score[item] = reference.topk(sets.a[i:j], sets.b[n:m], k)
