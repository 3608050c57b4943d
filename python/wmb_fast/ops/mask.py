# SPDX-License-Identifier: Apache-2.0
"""Overlap of masks, and what lies in boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._walls.arrays import Array, ArrayLike, take
from .._walls.checks import lengths_of, real, same_shape, shape_text, trailing
from .._walls.device import lengths_on
from .._walls.dispatch import declare, pick
from .._walls.errors import bad_type, bad_value
from .._walls.ext import core, kernels
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


@dataclass(frozen=True, eq=False)
class BoxMedians:
    """What :func:`box_medians` returns: ``median`` and ``n`` (..., R)."""

    median: Any
    n: Any


def box_medians(
    points_a: ArrayLike,
    points_b: ArrayLike,
    values: ArrayLike,
    boxes_a: ArrayLike,
    boxes_b: ArrayLike,
    *,
    lengths: npt.ArrayLike | None = None,
    backend: str = "auto",
) -> BoxMedians:
    """The median of a value over the correspondences that lie in a box in both images, for many pairs of boxes.

    Args:
        points_a: (..., N, 2), float32 or float64: x, y in the first image.
        points_b: (..., N, 2): the same points in the second.
        values: (..., N): what is known of each, for example a residual.
        boxes_a: (..., R, 4): x0, y0, x1, y1 in the first image, edges included; infinite ends are open.
        boxes_b: (..., R, 4): in the second. A box with a NaN holds nothing.
        lengths: (...) integers: only so many points of an item count; by default all.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        ``median`` (..., R) float64: of an even number the mean of the middle two; NaN of none, and infinite where a
        selected value is not finite. ``n`` (..., R) int64: how many points were selected.

    Raises:
        ArgumentError: Shapes that do not go together. Lengths that a device holds are taken between 0 and N.
        ArgumentTypeError: Something that is not a float array, or arrays of two kinds or dtypes.

    Numerics:
        Values are compared, and two of them averaged in float64: the same bits for any threads and any batch, and on a
        device.

    Source:
        OPIS (arXiv 2609.35052), Eq. 4: the median residual of an instance.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> points, box = np.array([[1.0, 1.0], [2.0, 2.0], [9.0, 9.0]]), np.array([[0.0, 0.0, 5.0, 5.0]])
        >>> found = wmb.box_medians(points, points, np.array([1.0, 4.0, 7.0]), box, box)
        >>> found.median, found.n
        (array([2.5]), array([2]))
    """
    op = "box_medians"
    given = {"points_a": points_a, "points_b": points_b, "values": values, "boxes_a": boxes_a, "boxes_b": boxes_b}
    call, views = take(op, given, lists=False)
    a, b, x, first, second = views.values()
    trailing(op, "points_a", a, ("N", 2))
    same_shape(op, "points_b", b, "points_a", a)
    if x.shape != a.shape[:-1]:
        raise bad_value(op, "values", f"have shape {tuple(a.shape[:-1])}", shape_text(x))
    batch = tuple(a.shape[:-2])
    trailing(op, "boxes_a", first, ("R", 4))
    same_shape(op, "boxes_b", second, "boxes_a", first)
    if tuple(first.shape[:-2]) != batch:
        raise bad_value(op, "boxes_a", f"have the batch's shape {batch}", shape_text(first))
    n_items, n_boxes = math.prod(batch), first.shape[-2]
    flat = [array.reshape(n_items, *array.shape[len(batch) :]) for array in (a, b, x, first, second)]
    chosen = pick(op, backend, call.device)
    if chosen == "cuda":
        found = kernels("boxes").box_medians(*flat, lengths_on(op, lengths, a, batch, a.shape[-2]))
        return BoxMedians(*(each.reshape(*batch, n_boxes) for each in found))
    counts = np.full(n_items, a.shape[-2]) if lengths is None else lengths_of(op, lengths, batch, a.shape[-2])
    if chosen == "reference":
        median, n = reference.box_medians(a, b, x, first, second, lengths=counts.reshape(batch))
    else:
        median, n = np.empty((n_items, n_boxes)), np.empty((n_items, n_boxes), dtype=np.int64)
        core.box_medians(*flat, counts.astype(np.int64, copy=False), median, n)  # type: ignore[call-overload]
    return BoxMedians(*(call.give(array.reshape(*batch, n_boxes)) for array in (median, n)))


declare("mask_iou", "cpu", "reference")
declare("box_medians", "cpu", "cuda", "reference")
