# SPDX-License-Identifier: Apache-2.0
"""Overlap of masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._walls.arrays import Array, ArrayLike, take
from .._walls.checks import real, same_shape, trailing
from .._walls.dispatch import declare, pick
from .._walls.errors import bad_type
from .._walls.ext import core
from .._walls.lazy import reference

DTYPES = ("bool", "uint8", "int64", "float32", "float64")


def mask_iou(a: ArrayLike, b: ArrayLike, *, empty: float | None = None, backend: str = "auto") -> Any:
    """Intersection over union of masks: ``|a and b| / |a or b|``.

    For a mean over classes give one mask a class, and take the mean of what is not NaN: classes that are in neither
    image have no part in it.

    Args:
        a: (..., H, W), bool; or uint8, int64, float32 or float64, where every pixel that is not zero is in.
        b: The same shape and dtype.
        empty: What to answer where both masks are empty, for which the ratio is not defined. By default NaN.
        backend: ``auto``, ``cpu`` or ``reference``.

    Returns:
        (...), float64, in 0..1. NaN: both masks are empty (unless ``empty`` says otherwise), or one holds NaN.

    Raises:
        ArgumentError: Shapes that differ or have fewer than two dimensions.
        ArgumentTypeError: Something that is not an array of those dtypes, or two dtypes.

    Numerics:
        Pixels are counted exactly; one division in float64.

    Source:
        Jaccard, Bulletin de la Société vaudoise des sciences naturelles 37 (1901).

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> left, top = np.zeros((2, 64, 64), dtype=bool)
        >>> left[:, :32], top[:32] = True, True
        >>> round(float(wmb.mask_iou(left, top)), 6)
        0.333333
    """
    op = "mask_iou"
    call, views = take(op, {"a": a, "b": b}, dtypes=DTYPES, lists=False)
    first, second = views["a"], views["b"]
    trailing(op, "a", first, ("H", "W"))
    same_shape(op, "b", second, "a", first)
    if first.dtype != second.dtype:
        raise bad_type(op, "b", f"have the dtype of a ({first.dtype})", second.dtype)
    without = np.nan if empty is None else real(op, "empty", empty)
    if pick(op, backend, call.device) == "reference":
        return call.give(reference.mask_iou(first, second, empty=without))
    iou = np.empty(first.shape[:-2])
    flat = iou.size, int(np.prod(first.shape[-2:]))
    core.mask_iou(_as_bytes(first).reshape(flat), _as_bytes(second).reshape(flat), without, iou.reshape(-1))
    if first.dtype.kind == "f":
        iou[np.isnan(first).any(axis=(-2, -1)) | np.isnan(second).any(axis=(-2, -1))] = np.nan
    return call.give(iou)


def _as_bytes(mask: Array) -> Array:
    """Bytes that are zero exactly where the mask is; no copy of bool and uint8."""
    if mask.dtype.itemsize > 1:
        mask = mask != 0
    return mask.view(np.uint8)


declare("mask_iou", "cpu", "reference")
