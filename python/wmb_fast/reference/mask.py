# SPDX-License-Identifier: Apache-2.0
"""Overlap of masks."""

from __future__ import annotations

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


def box_medians(
    a: Array, b: Array, values: Array, boxes_a: Array, boxes_b: Array, counts: npt.NDArray[np.int64]
) -> tuple[Array, npt.NDArray[np.int64]]:
    """Medians (B, R) of values (B, N) at points (B, N, 2) that lie in both boxes (B, R, 4), and how many those are."""
    median = np.full(boxes_a.shape[:2], np.nan)
    n = np.zeros(boxes_a.shape[:2], dtype=np.int64)
    for i, r in np.ndindex(n.shape):
        inside = np.ones(int(counts[i]), dtype=bool)
        for points, box in ((a[i, : counts[i]], boxes_a[i, r]), (b[i, : counts[i]], boxes_b[i, r])):
            inside &= ((points >= box[:2]) & (points <= box[2:])).all(axis=-1)
        chosen = values[i, : counts[i]][inside].astype(np.float64)
        n[i, r] = len(chosen)
        if len(chosen):
            median[i, r] = np.median(chosen) if np.isfinite(chosen).all() else np.inf
    return median, n
