# SPDX-License-Identifier: Apache-2.0
"""Cosine similarity of pairs of rows and of all rows of two sets, and whether two embeddings are of one identity."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._walls.arrays import SMALL_FLOATS, Array, ArrayLike, Call, is_tensor, take
from .._walls.checks import real, shape_text
from .._walls.dispatch import declare, pick
from .._walls.errors import bad_type, bad_value
from .._walls.ext import core, kernels
from .._walls.lazy import reference
from .._walls.records import MISSING, Record, code, status_of
from .._walls.rowsets import pair_up

declare("cosine_pairs", "cpu", "triton", "reference")
declare("cosine_matrix", "cpu", "triton", "reference")
declare("verify_identity", "cpu", "triton", "reference")


@dataclass(frozen=True, eq=False)
class Verification(Record):
    """What :func:`verify_identity` returns, fields of the batch's shape; lists of them for lists.

    Attributes:
        score: Cosine within ±1, NaN where either embedding has no direction.
        same: bool, False where the score is NaN.
        status: uint8, 0 ok, 2 missing.
    """

    score: Any
    same: Any


def cosine_pairs(
    a: ArrayLike | Sequence[ArrayLike], b: ArrayLike | Sequence[ArrayLike], *, backend: str = "auto"
) -> Any:
    """Cosine similarity of rows that belong together: ``a_i · b_i / (|a_i| |b_i|)``.

    Args:
        a, b: (..., D) float16, bfloat16, float32 or float64, both the same; leading dimensions broadcast. Or two lists
            of such arrays, of equal length.
        backend: ``auto``, ``cpu``, ``triton`` or ``reference``.

    Returns:
        (...) scores within ±1, a scalar for two vectors, a list for lists. float64 for float64 input, else float32.
        NaN where a row is zero, is empty, or has a NaN or an infinity: it has no direction.

    Raises:
        ArgumentError: Sizes that do not go together.
        ArgumentTypeError: Arrays of another dtype, of two kinds, devices or dtypes.

    Numerics:
        Float64 sums over sixteen lanes, added in halves, rounded once: right for rows of any length from 1e-300 to
        1e300 (float32: from its smallest to its largest number). The same bits for any threads, batch split and SIMD
        level, and on a device.

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
    return give_each(
        call, _each_pair("cosine_pairs", views["a"], views["b"], pick("cosine_pairs", backend, call.device))
    )


def _each_pair(op: str, a: Any, b: Any, backend: str) -> Any:
    """Scores of two arrays, or of two lists item by item."""
    if not isinstance(a, list) and not isinstance(b, list):
        return _pairs(op, a, b, backend)
    if not isinstance(a, list) or not isinstance(b, list):
        raise bad_type(op, "b", "be a list of arrays where a is one, and only there", type(b).__name__)
    if len(a) != len(b):
        raise bad_value(op, "b", f"be a list as long as a ({len(a)})", f"{len(b)} arrays")
    return [_pairs(op, x, y, backend) for x, y in zip(a, b, strict=True)]


def _pairs(op: str, a: Any, b: Any, backend: str) -> Any:
    if a.ndim == 0 or b.ndim == 0 or a.shape[-1] != b.shape[-1]:
        size = a.shape[-1] if a.ndim else "D"
        name, wrong = ("a", a) if a.ndim == 0 else ("b", b)
        raise bad_value(op, name, f"have shape (..., {size})", shape_text(wrong))
    lead, dim = a.shape[:-1], a.shape[-1]
    if lead != b.shape[:-1]:
        try:
            lead = np.broadcast_shapes(lead, b.shape[:-1])
        except ValueError:
            raise bad_value(op, "b", f"broadcast against a {a.shape}", shape_text(b)) from None
        a, b = (_spread(x, (*lead, dim)) for x in (a, b))
    if backend == "reference":
        return np.asarray(reference.cosine_pairs(a, b), dtype=a.dtype)
    if backend == "triton":
        room = sys.modules["torch"].float64 if "float64" in str(a.dtype) else sys.modules["torch"].float32
        scores = a.new_full(lead, np.nan, dtype=room)
        if dim:
            kernels("cosine", "triton").cosine_pairs(a, b, dim, scores)
        return scores
    scores = np.empty(lead, dtype=a.dtype)
    if dim == 0:
        scores.fill(np.nan)
    elif scores.size:
        core.cosine_pairs(a, b, dim, scores)
    return scores


def _spread(rows: Any, shape: tuple[int, ...]) -> Any:
    """Rows broadcast to a shape; a single one as it is."""
    if math.prod(rows.shape) == shape[-1]:
        return rows
    return rows.expand(shape).contiguous() if is_tensor(rows) else np.ascontiguousarray(np.broadcast_to(rows, shape))


def verify_identity(
    a: ArrayLike | Sequence[ArrayLike],
    b: ArrayLike | Sequence[ArrayLike],
    *,
    threshold: float,
    backend: str = "auto",
) -> Verification:
    """Whether two embeddings are of one identity: ``cosine(a, b) >= threshold``.

    Args:
        a, b: (..., D) embeddings, float16, bfloat16, float32 or float64, both the same; leading dimensions broadcast.
            Or two lists of (N_i, D), of equal length. They need no normalisation.
        threshold: The least cosine of one identity, from -1 to 1. It belongs to the network: there is no default.
        backend: ``auto``, ``cpu``, ``triton`` or ``reference``.

    Returns:
        Scores as of :func:`cosine_pairs`, and decisions. An embedding that is zero or not finite (a face that was not
        found) has score NaN, same False and status 2; ``reason(i)`` says so. Leave it out of a mean or count it as 0 as
        the protocol says: ``np.nanmean(v.score)`` or ``np.nan_to_num(v.score)``.

    Raises:
        ArgumentError: Sizes that do not go together, a threshold beyond ±1.
        ArgumentTypeError: Arrays of another dtype, of two kinds, devices or dtypes.

    Numerics:
        As :func:`cosine_pairs`. The score is compared as it is returned, in its own dtype.

    Source:
        Deng et al., ArcFace: Additive Angular Margin Loss for Deep Face Recognition, CVPR 2019, section 3 (verification
        by the cosine of two embeddings).

    Example:
        >>> import numpy as np, wmb_fast as wmb
        >>> faces = np.array([[3.0, 4.0], [-4.0, 3.0], [0.0, 0.0]])
        >>> found = wmb.verify_identity(faces, np.array([6.0, 8.0]), threshold=0.3)
        >>> found.score, found.same, found.reason(2)
        (array([ 1.,  0., nan]), array([ True, False, False]), 'an embedding is zero: it has no direction')
    """
    op = "verify_identity"
    call, views = take(op, {"a": a, "b": b}, dtypes=SMALL_FLOATS)
    limit = real(op, "threshold", threshold, at_least=-1)
    if limit > 1:
        raise bad_value(op, "threshold", "be at most 1", repr(threshold))
    a, b = views["a"], views["b"]
    score = _each_pair(op, a, b, pick(op, backend, call.device))
    if call.device != "cpu":
        return _verified_on_device(a, b, score, limit)
    if isinstance(score, list):
        parts = [_codes(x, y, s) for x, y, s in zip(a, b, score, strict=True)]
        flat = np.concatenate([part.ravel() for part in parts]) if parts else np.zeros(0, np.uint8)
        same = [s >= limit for s in score]
        return Verification(
            [status_of(call, part) for part in parts], flat, give_each(call, score), give_each(call, same)
        )
    codes = _codes(a, b, score)
    return Verification(status_of(call, codes), codes, call.give(score), call.give(score >= limit))


def _verified_on_device(a: Any, b: Any, score: Any, limit: float) -> Verification:
    """The same of tensors; nothing waits for the device."""
    if isinstance(score, list):
        each = [_verified_on_device(*item, limit) for item in zip(a, b, score, strict=True)]
        codes = [item._codes.reshape(-1) for item in each]
        status, same = [item.status for item in each], [item.same for item in each]
        return Verification(status, sys.modules["torch"].cat(codes), score, same)
    missing = score.isnan()
    finite = (a.isfinite().all(dim=-1) & b.isfinite().all(dim=-1)).expand_as(score)
    codes = missing.byte() * code("value_not_finite")
    codes = codes.masked_fill(missing & finite, code("zero_embedding"))
    return Verification(missing.byte() * MISSING, codes, score, score >= limit)


def _codes(a: Array, b: Array, score: Array) -> Array:
    """Why there is no score, pair by pair."""
    codes = np.zeros(score.shape, dtype=np.uint8)
    missing = np.isnan(score)
    if missing.any():
        finite = np.isfinite(a).all(axis=-1) & np.isfinite(b).all(axis=-1)
        codes[missing] = np.where(finite, code("zero_embedding"), code("value_not_finite"))[missing]
    return codes


def cosine_matrix(
    a: ArrayLike | Sequence[ArrayLike],
    b: ArrayLike | Sequence[ArrayLike] | None = None,
    *,
    lengths: ArrayLike | Sequence[int] | None = None,
    lengths_b: ArrayLike | Sequence[int] | None = None,
    backend: str = "auto",
) -> Any:
    """Cosine similarity of every row of one set with every row of another: ``a_i · b_j / (|a_i| |b_j|)``.

    Args:
        a: (..., N, D) float16, bfloat16, float32 or float64; or a list of (N_i, D).
        b: (..., M, D) of the same dtype, batch dimensions broadcast; or a list of (M_i, D). ``None`` compares a with
            itself: half is computed, and the result is symmetric to the bit.
        lengths: (...) rows of each item of a padded a, and of b where that is ``None``; the rest is not read.
        lengths_b: (...) rows of each item of a padded b.
        backend: ``auto``, ``cpu``, ``triton`` or ``reference``.

    Returns:
        (..., N, M) scores within ±1; a list of (N_i, M_i) for lists. float64 for float64 input, else float32. NaN in
        the rows and columns of vectors that are zero or have a NaN or an infinity, and beyond the lengths.

    Raises:
        ArgumentError: Sizes that do not go together, D = 0, lengths beyond N or M.
        ArgumentTypeError: Arrays of another dtype, of two kinds, devices or dtypes.

    Numerics:
        Rows are brought to length 1 by a factor of float64 and rounded to the dtype of the result. Each score is a
        sum of chains of 128 fused multiply-adds in that dtype, in order, then clipped; for float32 within 1e-6 of the
        exact value. The same bits for any threads, batch split and SIMD level, also row by row; and on a device, but
        for half precision: there the tensor cores multiply the numbers as they are, and sums are in float32.

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
    if symmetric and lengths_b is not None:
        raise bad_value("cosine_matrix", "lengths_b", "be None where b is", "lengths_b")
    both = (lengths, lengths if symmetric else lengths_b)
    sets = pair_up("cosine_matrix", views["a"], views["a"] if symmetric else views["b"], both)
    scores = sets.room(sets.n_pairs(), sets.score)
    if chosen == "reference":
        _fill_by_reference(sets.a, sets.b, sets.spans, scores)
    elif chosen == "triton":
        kernels("cosine", "triton").cosine_matrix(sets.a, sets.b, sets.for_kernels(), symmetric, scores)
    else:
        core.cosine_matrix(sets.a, sets.b, sets.spans, symmetric, scores)
    return give_each(call, sets.of_each_pair(scores))


def _fill_by_reference(a: Array, b: Array, spans: Array, scores: Array) -> None:
    parts = [reference.cosine_matrix(a[i:j], b[k:m]).ravel() for i, j, k, m in spans]
    scores[:] = np.concatenate(parts) if parts else scores


def give_each(call: Call, result: Array | list[Array]) -> Any:
    """An array, or each of a list, in the caller's kind."""
    if isinstance(result, list):
        return [give_each(call, item) for item in result]
    return result if is_tensor(result) else call.give(result)
