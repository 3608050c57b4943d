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
