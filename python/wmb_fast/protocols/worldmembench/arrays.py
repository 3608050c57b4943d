# SPDX-License-Identifier: Apache-2.0
"""Checks of this protocol's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.checks import shape_text
from ..._walls.errors import bad_type, bad_value

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def numbers(op: str, argument: str, value: Any, *shapes: str) -> Values:
    """An array of numbers as float64, with as many dimensions as one of the shapes, where any are given."""
    array = _array(op, argument, value)
    if array.dtype.kind not in "fiu":
        raise bad_type(op, argument, "hold numbers", array.dtype)
    if shapes and array.ndim not in [shape.count(",") + (not shape.endswith(",)")) for shape in shapes]:
        raise bad_value(op, argument, f"have shape {' or '.join(shapes)}", shape_text(array))
    return array.astype(np.float64)


def flags(op: str, argument: str, value: Any, shape: tuple[int, ...]) -> Flags:
    """An array of True and False of this shape; ``None`` is all True."""
    array = np.ones(shape, dtype=bool) if value is None else _array(op, argument, value)
    if array.dtype != bool:
        raise bad_type(op, argument, "hold True and False", array.dtype)
    if array.shape != shape:
        raise bad_value(op, argument, f"have shape {shape}", shape_text(array))
    return array


def masks(op: str, argument: str, value: Any, *dimensions: int) -> Flags:
    """An array of masks, True or False or numbers that are not 0, with one of these numbers of dimensions."""
    array = _array(op, argument, value)
    if array.dtype.kind not in "biuf":
        raise bad_type(op, argument, "hold masks", array.dtype)
    if array.ndim not in dimensions:
        raise bad_value(op, argument, f"have {' or '.join(map(str, dimensions))} dimensions", shape_text(array))
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise bad_value(op, argument, "hold masks", "nan")
    inside: Flags = array != 0
    return inside


def has_frames(op: str, observed: npt.NDArray[Any]) -> None:
    """Requires that the returns (K, W, …) have frames: where nobody looked, nothing is lost."""
    if observed.shape[0] and not observed.shape[1]:
        raise bad_value(op, "observed", "hold at least one frame of each return", shape_text(observed))


def _array(op: str, argument: str, value: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(value)
    except ValueError:  # rows of several lengths
        raise bad_type(op, argument, "be one array", "rows of several lengths") from None
