# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments, done once, at the public function, before any work."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from .errors import bad_type, bad_value


def shape_text(array: np.ndarray[Any, Any]) -> str:
    """A shape as it is written in messages: ``shape (3, 4)``."""
    return f"shape {tuple(array.shape)}"


def trailing(op: str, argument: str, array: np.ndarray[Any, Any], tail: tuple[int | str, ...]) -> None:
    """Requires that the last axes have these sizes; a letter stands for any size."""
    wanted = "(..., " + ", ".join(str(size) for size in tail) + ")"
    fits = array.ndim >= len(tail) and all(
        isinstance(size, str) or array.shape[axis - len(tail)] == size for axis, size in enumerate(tail)
    )
    if not fits:
        raise bad_value(op, argument, f"have shape {wanted}", shape_text(array))


def same_shape(op: str, argument: str, array: np.ndarray[Any, Any], other: str, like: np.ndarray[Any, Any]) -> None:
    """Requires the shape of another argument."""
    if array.shape != like.shape:
        raise bad_value(op, argument, f"have the shape of {other} {tuple(like.shape)}", shape_text(array))


def lengths_of(
    op: str, lengths: object, shape: tuple[int, ...], most: int, argument: str = "lengths"
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Requires one integer from 0 to ``most`` for each item of a padded batch, and returns them as (items,) int64."""
    try:
        sizes = np.asarray(lengths)
    except ValueError:
        raise bad_type(op, argument, "be one array of integers", repr(lengths)) from None
    if not np.issubdtype(sizes.dtype, np.integer):
        raise bad_type(op, argument, "hold integers", sizes.dtype)
    if sizes.shape != shape:
        raise bad_value(op, argument, f"have the batch's shape {shape}", shape_text(sizes))
    if sizes.size and (sizes.min() < 0 or sizes.max() > most):
        raise bad_value(op, argument, f"lie between 0 and {most}", f"{sizes.min()} to {sizes.max()}")
    return np.ascontiguousarray(sizes.reshape(-1), dtype=np.int64)


def finite(op: str, argument: str, array: np.ndarray[Any, Any]) -> None:
    """Requires finite values, and names the first that is not."""
    bad = ~np.isfinite(array)
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise bad_value(op, argument, "be finite", f"{array[index]} at index {index}")


def one_of(op: str, argument: str, value: object, choices: Iterable[str]) -> None:
    """Requires one of the named choices."""
    names = list(choices)
    if not isinstance(value, str) or value not in names:
        raise bad_value(op, argument, "be one of " + ", ".join(names), repr(value))


def flag(op: str, argument: str, value: object) -> bool:
    """Requires True or False, and returns it as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise bad_type(op, argument, "be True or False", repr(value))
    return bool(value)


def integer(op: str, argument: str, value: object, *, at_least: int | None = None, at_most: int | None = None) -> int:
    """Requires an integer (not a bool), and returns it as an int."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise bad_type(op, argument, "be an integer", repr(value))
    if at_least is not None and int(value) < at_least:
        raise bad_value(op, argument, f"be at least {at_least}", repr(value))
    if at_most is not None and int(value) > at_most:
        raise bad_value(op, argument, f"be at most {at_most}", repr(value))
    return int(value)


def real(
    op: str,
    argument: str,
    value: object,
    *,
    above: float | None = None,
    at_least: float | None = None,
    any_float: bool = False,
) -> float:
    """Requires a real number (not a bool), finite unless ``any_float``, and returns it as a float."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise bad_type(op, argument, "be a real number", repr(value))
    try:
        number = float(value)
    except OverflowError:
        raise bad_value(op, argument, "be within the range of float64", repr(value)) from None
    if not any_float and not math.isfinite(number):
        raise bad_value(op, argument, "be finite", repr(value))
    if above is not None and not number > above:
        raise bad_value(op, argument, f"be above {above:g}", repr(value))
    if at_least is not None and not number >= at_least:
        raise bad_value(op, argument, f"be at least {at_least:g}", repr(value))
    return number
