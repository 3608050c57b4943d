# SPDX-License-Identifier: Apache-2.0
"""Overlap of masks, and what lies in boxes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def mask_iou(a: npt.ArrayLike, b: npt.ArrayLike, *, empty: float = np.nan) -> Array:
    """``|a and b| / |a or b|`` over masks (..., H, W), in where not zero; ``empty`` where both are empty.

    NaN where a mask holds NaN.
    """
    first, second = np.asarray(a), np.asarray(b)
    both = np.count_nonzero((first != 0) & (second != 0), axis=(-2, -1))
    either = np.count_nonzero((first != 0) | (second != 0), axis=(-2, -1))
    iou = np.where(either == 0, empty, both / np.maximum(either, 1))
    unknown = np.isnan(first).any(axis=(-2, -1)) | np.isnan(second).any(axis=(-2, -1))
    return np.where(unknown, np.nan, iou)


class BoxMedians(NamedTuple):
    """``median`` and ``n`` (..., R)."""

    median: Array
    n: npt.NDArray[np.int64]


def box_medians(
    points_a: Array,
    points_b: Array,
    values: Array,
    boxes_a: Array,
    boxes_b: Array,
    *,
    lengths: npt.ArrayLike | None = None,
) -> BoxMedians:
    """Medians of values (..., N) at points (..., N, 2) that lie in both boxes (..., R, 4), and how many those are."""
    shape = boxes_a.shape[:-1]
    counts = np.broadcast_to(values.shape[-1] if lengths is None else np.asarray(lengths), shape[:-1])
    found = BoxMedians(np.full(shape, np.nan), np.zeros(shape, dtype=np.int64))
    for at in np.ndindex(shape):
        item, count = at[:-1], int(counts[at[:-1]])
        inside = np.ones(count, dtype=bool)
        for points, box in ((points_a[item], boxes_a[at]), (points_b[item], boxes_b[at])):
            inside &= ((points[:count] >= box[:2]) & (points[:count] <= box[2:])).all(axis=-1)
        chosen = values[item][:count][inside].astype(np.float64)
        found.n[at] = len(chosen)
        if len(chosen):
            found.median[at] = np.median(chosen) if np.isfinite(chosen).all() else np.inf
    return found
