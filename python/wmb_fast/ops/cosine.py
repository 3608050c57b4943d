# SPDX-License-Identifier: Apache-2.0
"""Cosine similarity of pairs of rows, and of all rows of two sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._walls.arrays import SMALL_FLOATS, Array, ArrayLike, Call, take
from .._walls.checks import shape_text
from .._walls.dispatch import declare, pick
from .._walls.errors import bad_type, bad_value
from .._walls.ext import core
from .._walls.lazy import reference
from .._walls.rowsets import pair_up

declare("cosine_pairs", "cpu", "reference")
declare("cosine_matrix", "cpu", "reference")


def cosine_pairs(
    a: ArrayLike | Sequence[ArrayLike], b: ArrayLike | Sequence[ArrayLike], *, backend: str = "auto"
) -> Any:
    """Cosine similarity of rows that belong together: ``a_i · b_i / (|a_i| |b_i|)``.

    Args:
        a, b: (..., D) float16, bfloat16, float32 or float64, both the same; leading dimensions broadcast. Or two lists
            of such arrays, of equal length.
        backend: ``auto``, ``cpu`` or ``reference``.

    Returns:
        (...) scores within ±1, a scalar for two vectors, a list for lists. float64 for float64 input, else float32.
        NaN where a row is zero, is empty, or has a NaN or an infinity: it has no direction.

    Raises:
        ArgumentError: Sizes that do not go together.
        ArgumentTypeError: Arrays of another dtype, of two kinds, devices or dtypes.

    Numerics:
        Float64 sums over sixteen lanes, added in halves, rounded once: right for rows of any length from 1e-300 to
        1e300 (float32: from its smallest to its largest number). The same bits for any threads, batch split and SIMD
        level.

    Example:
        >>> import numpy as np, wmb_fast as wmb
        >>> rows = np.array([[0, 0], [1, 0], [3, 4]], dtype=np.float32)
        >>> wmb.cosine_pairs(rows, np.array([1, 0], dtype=np.float32))
        array([nan, 1. , 0.6], dtype=float32)
    """
    if backend == "auto" and type(a) is type(b) is np.ndarray and a.ndim == 1 == b.ndim:
        try:
            return a.dtype.type(core.cosine_of_one(a, b))
        except TypeError:
            pass  # not two vectors that the core can read as they are: the long way takes them, or says what is wrong
    call, views = take("cosine_pairs", {"a": a, "b": b}, dtypes=SMALL_FLOATS)
    a, b = views["a"], views["b"]
    chosen = pick("cosine_pairs", backend, call.device)
    if not isinstance(a, list) and not isinstance(b, list):
        return call.give(_pairs(a, b, chosen))
    if not isinstance(a, list) or not isinstance(b, list):
        raise bad_type("cosine_pairs", "b", "be a list of arrays where a is one, and only there", type(b).__name__)
    if len(a) != len(b):
        raise bad_value("cosine_pairs", "b", f"be a list as long as a ({len(a)})", f"{len(b)} arrays")
    return [call.give(_pairs(x, y, chosen)) for x, y in zip(a, b, strict=True)]


def _pairs(a: Array, b: Array, backend: str) -> Array:
    if a.ndim == 0 or b.ndim == 0 or a.shape[-1] != b.shape[-1]:
        size = a.shape[-1] if a.ndim else "D"
        name, wrong = ("a", a) if a.ndim == 0 else ("b", b)
        raise bad_value("cosine_pairs", name, f"have shape (..., {size})", shape_text(wrong))
    lead, dim = a.shape[:-1], a.shape[-1]
    if lead != b.shape[:-1]:
        try:
            lead = np.broadcast_shapes(lead, b.shape[:-1])
        except ValueError:
            raise bad_value("cosine_pairs", "b", f"broadcast against a {a.shape}", shape_text(b)) from None
        a, b = (x if x.size == dim else np.ascontiguousarray(np.broadcast_to(x, (*lead, dim))) for x in (a, b))
    if backend == "reference":
        return np.asarray(reference.cosine_pairs(a, b), dtype=a.dtype)
    scores = np.empty(lead, dtype=a.dtype)
    if dim == 0:
        scores.fill(np.nan)
    elif scores.size:
        core.cosine_pairs(a, b, dim, scores)
    return scores


def cosine_matrix(
    a: ArrayLike | Sequence[ArrayLike], b: ArrayLike | Sequence[ArrayLike] | None = None, *, backend: str = "auto"
) -> Any:
    """Cosine similarity of every row of one set with every row of another: ``a_i · b_j / (|a_i| |b_j|)``.

    Args:
        a: (..., N, D) float16, bfloat16, float32 or float64; or a list of (N_i, D).
        b: (..., M, D) of the same dtype, batch dimensions broadcast; or a list of (M_i, D). ``None`` compares a with
            itself: half is computed, and the result is symmetric to the bit.
        backend: ``auto``, ``cpu`` or ``reference``.

    Returns:
        (..., N, M) scores within ±1; a list of (N_i, M_i) for lists. float64 for float64 input, else float32. NaN in
        the rows and columns of vectors that are zero or have a NaN or an infinity.

    Raises:
        ArgumentError: Sizes that do not go together, D = 0.
        ArgumentTypeError: Arrays of another dtype, of two kinds, devices or dtypes.

    Numerics:
        Rows are brought to length 1 in float64 and rounded to the dtype of the result. Each score is a sum of chains of
        128 fused multiply-adds in that dtype, in order; for float32 within 1e-6 of the exact value. The same bits for
        any threads, batch split and SIMD level, also row by row.

    Example:
        >>> import numpy as np, wmb_fast as wmb
        >>> wmb.cosine_matrix(np.array([[2.0, 0.0], [0.0, 5.0], [0.0, 0.0]]))
        array([[ 1.,  0., nan],
               [ 0.,  1., nan],
               [nan, nan, nan]])
    """
    call, views = take("cosine_matrix", {"a": a, "b": b}, dtypes=SMALL_FLOATS, optional=("b",))
    chosen = pick("cosine_matrix", backend, call.device)
    symmetric = b is None
    sets = pair_up("cosine_matrix", views["a"], views["a"] if symmetric else views["b"])
    scores = np.empty(sets.n_pairs(), dtype=sets.a.dtype)
    if chosen == "reference":
        _fill_by_reference(sets.a, sets.b, sets.spans, scores)
    else:
        core.cosine_matrix(sets.a, sets.b, sets.spans, symmetric, scores)
    return give_each(call, sets.of_each_pair(scores))


def _fill_by_reference(a: Array, b: Array, spans: Array, scores: Array) -> None:
    parts = [reference.cosine_matrix(a[i:j], b[k:m]).ravel() for i, j, k, m in spans]
    scores[:] = np.concatenate(parts) if parts else scores


def give_each(call: Call, result: Array | list[Array]) -> Any:
    """An array, or each of a list, in the caller's kind."""
    return [call.give(item) for item in result] if isinstance(result, list) else call.give(result)
