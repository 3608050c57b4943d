# SPDX-License-Identifier: Apache-2.0
"""Nearest neighbours and mutual matches, stated plainly: the whole matrix, then its rows and columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .cosine import cosine_matrix, directions

Array = npt.NDArray[Any]


def _distances(a: Array, b: Array, metric: str) -> Array:
    """(N, M) distances, NaN where a row cannot be compared. Under cosine: Euclidean between directions."""
    if metric == "hamming":
        differing = np.unpackbits(a, axis=1)[:, None] != np.unpackbits(b, axis=1)[None]
        return np.asarray(differing.sum(axis=2), dtype=np.float64)
    x, y = (directions(a), directions(b)) if metric == "cosine" else (np.float64(a), np.float64(b))
    x = np.where(np.isfinite(x).all(axis=1, keepdims=True), x, np.nan)
    y = np.where(np.isfinite(y).all(axis=1, keepdims=True), y, np.nan)
    difference = x[:, None] - y[None]
    largest = np.abs(difference).max(axis=2, keepdims=True, initial=0.0)  # squares of shares of it stay within float64
    share = difference / np.where(largest > 0, largest, 1.0)
    return np.asarray(largest[..., 0] * np.sqrt(np.sum(share**2, axis=2)))


def _lowest(values: Array, axis: int) -> Array:
    """The index of the smallest, ties to the lowest index; -1 where there is none."""
    if values.shape[axis] == 0:
        return np.full(values.shape[1 - axis], -1)
    unusable = np.isnan(values)
    return np.where(unusable.all(axis=axis), -1, np.where(unusable, np.inf, values).argmin(axis=axis))


def _scores(distances: Array, metric: str) -> Array:
    return 1.0 - distances**2 / 2.0 if metric == "cosine" else distances


def nearest(a: Array, b: Array, *, metric: str = "cosine") -> tuple[Array, Array]:
    """Index (N,) and score (N,) of the best row of b (M, D) for each row of a (N, D); see :func:`wmb_fast.nearest`."""
    distances = _distances(a, b, metric)
    index = _lowest(distances, axis=1)
    score = np.full(len(a), np.nan)
    found = np.flatnonzero(index >= 0)
    score[found] = _scores(distances[found, index[found]], metric)
    return index, score


def mutual_matches(
    a: Array,
    b: Array,
    *,
    ratio: float | None = None,
    min_score: float | None = None,
    max_distance: float | None = None,
    metric: str = "cosine",
) -> tuple[Array, Array, Array]:
    """``(index_a, index_b, score)`` of mutual nearest neighbours; see :func:`wmb_fast.mutual_matches`."""
    distances = _distances(a, b, metric)
    forward, backward = _lowest(distances, axis=1), _lowest(distances, axis=0)
    kept = []
    for i, j in enumerate(forward):
        if j < 0 or backward[j] != i:
            continue
        score = float(_scores(distances[i, j], metric))
        others = np.delete(distances[i], j)
        second = np.min(others[~np.isnan(others)], initial=np.inf)
        if ratio is not None and not (np.isfinite(second) and distances[i, j] < ratio * second):
            continue
        if (min_score is not None and score < min_score) or (max_distance is not None and score > max_distance):
            continue
        kept.append((i, j, score))
    table = np.array(kept, dtype=np.float64).reshape(-1, 3)
    return table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2]


def patch_best_match(a: Array, b: Array) -> Array:
    """(N + M,) best cosines of the rows of a (N, D), then of b (M, D); see :func:`wmb_fast.patch_best_match`."""
    scores = cosine_matrix(a, b)
    cosines = np.where(np.isnan(scores), -np.inf, scores)
    best = np.concatenate([cosines.max(axis=1, initial=-np.inf), cosines.max(axis=0, initial=-np.inf)])
    return np.where(np.isinf(best), np.nan, best)
