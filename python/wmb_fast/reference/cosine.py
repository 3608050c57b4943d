# SPDX-License-Identifier: Apache-2.0
"""Cosine similarity, stated plainly."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def directions(rows: Array) -> Array:
    """Rows (..., D) at length 1; NaN where a row is zero or has a NaN or an infinity.

    Divided by their largest magnitude first, so that no square overflows or underflows.
    """
    x = np.asarray(rows, dtype=np.float64)
    usable = np.isfinite(x).all(axis=-1, keepdims=True) & (x != 0).any(axis=-1, keepdims=True)
    x = np.where(usable, x, np.nan)
    x = x / np.max(np.abs(x), axis=-1, keepdims=True, initial=0, where=usable) if x.size else x
    return np.asarray(x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True)))


def cosine_pairs(a: Array, b: Array) -> Any:
    """Cosine of rows (..., D) with rows (..., D); see :func:`wmb_fast.cosine_pairs`."""
    if np.shape(a)[-1] == 0:
        return np.full(np.broadcast_shapes(np.shape(a)[:-1], np.shape(b)[:-1]), np.nan)[()]
    return np.clip(np.sum(directions(a) * directions(b), axis=-1), -1.0, 1.0)


def cosine_matrix(a: Array, b: Array | None = None) -> Array:
    """Cosine of every row of a (..., N, D) with every row of b (..., M, D); see :func:`wmb_fast.cosine_matrix`."""
    unit_a, unit_b = directions(a), directions(a if b is None else b)
    return np.asarray(np.clip(unit_a @ np.swapaxes(unit_b, -1, -2), -1.0, 1.0))


def verify_identity(a: Array, b: Array, *, threshold: float) -> tuple[Any, Any]:
    """``(score, same)`` of embeddings (..., D); see :func:`wmb_fast.verify_identity`."""
    score = cosine_pairs(a, b)
    return score, score >= threshold
