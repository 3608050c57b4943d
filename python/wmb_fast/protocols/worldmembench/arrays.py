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
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise bad_type(op, argument, "hold numbers", array.dtype)
    if shapes and array.ndim not in [shape.count(",") + (not shape.endswith(",)")) for shape in shapes]:
        raise bad_value(op, argument, f"have shape {' or '.join(shapes)}", shape_text(array))
    return array.astype(np.float64)


def flags(op: str, argument: str, value: Any, shape: tuple[int, ...]) -> Flags:
    """An array of True and False of this shape; ``None`` is all True."""
    array = np.ones(shape, dtype=bool) if value is None else np.asarray(value)
    if array.dtype != bool:
        raise bad_type(op, argument, "hold True and False", array.dtype)
    if array.shape != shape:
        raise bad_value(op, argument, f"have shape {shape}", shape_text(array))
    return array
