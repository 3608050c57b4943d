# SPDX-License-Identifier: Apache-2.0
"""Reductions of an optical flow field, and the split of sideways flow into translation and rotation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._walls.arrays import Array, ArrayLike, Call, narrowed, take
from .._walls.checks import shape_text, trailing
from .._walls.device import item_by_item
from .._walls.dispatch import declare, pick
from .._walls.errors import bad_value
from .._walls.ext import core, kernels
from .._walls.lazy import reference
from .._walls.records import Record, code, status_of
from .._walls.samples import pair_samples, pair_samples_on_device


@dataclass(frozen=True, eq=False)
class FlowChannels(Record):
    """What :func:`flow_channels` returns; all fields have the batch's shape."""

    horizontal: Any
    radial: Any


@dataclass(frozen=True, eq=False)
class Parallax(Record):
    """What :func:`parallax_split` returns; all fields have the batch's shape."""

    translation: Any
    rotation: Any
    slope: Any
    intercept: Any


def flow_channels(flow: ArrayLike | Sequence[ArrayLike], *, backend: str = "auto") -> FlowChannels:
    """Mean horizontal and mean radial flow of a field.

    ``horizontal = mean u`` tells sideways motion and turning, ``radial = mean(u rx + v ry)`` forward motion, where
    ``(rx, ry) = (x - W/2, y - H/2) / (|(x - W/2, y - H/2)| + 1e-6)`` at integer pixel coordinates x, y.

    Args:
        flow: (..., H, W, 2), float32 or float64: displacement (u, v) of each pixel, x right, y down, in pixels; or a
            list of (H_i, W_i, 2).
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        ``horizontal`` and ``radial``, (...) each in the flow's dtype and in pixels, and ``status``: missing (2), with
        NaN, where the field holds a value that is not finite and the channel depends on it.

    Raises:
        ArgumentError: Another shape, or fields without pixels.
        ArgumentTypeError: Something that is not a float array.

    Numerics:
        Sums in float64, each row in eight fixed lanes, rows in order: the same bits for any number of threads and any
        batch. Rounded once, to the flow's dtype. On a device each field in bands of rows, in a fixed order: the same
        bits from run to run, and the host's to rounding.

    Source:
        WorldMark (arXiv 2604.21686), section 3.4; the centre (W/2, H/2) and the 1e-6 are its evaluator's.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> y, x = np.mgrid[0:4, 0:6].astype(float)
        >>> channels = wmb.flow_channels(np.stack([x - 3, y - 2], axis=-1))
        >>> float(channels.horizontal), round(float(channels.radial), 3)
        (-0.5, 1.986)
    """
    call, views = take("flow_channels", {"flow": flow})
    fields = views["flow"]
    chosen = pick("flow_channels", backend, call.device)
    if chosen == "cuda":
        return FlowChannels(*item_by_item("flow", fields, _channels_on_device))
    if isinstance(fields, list):
        parts = [_channels(f"flow[{i}]", field, chosen, at_most=3) for i, field in enumerate(fields)]
        horizontal, radial = np.array([part[:2] for part in parts], dtype=np.float64).reshape(-1, 2).T
        codes = np.array([part[2] for part in parts], dtype=np.uint8)
        dtype = fields[0].dtype if fields else np.dtype(np.float64)
    else:
        horizontal, radial, codes = _channels("flow", fields, chosen)
        dtype = fields.dtype
    return FlowChannels(status_of(call, codes), codes, *_given(call, dtype, horizontal, radial))


def _channels(name: str, field: Array, backend: str, *, at_most: int | None = None) -> tuple[Array, Array, Array]:
    """Mean horizontal flow, mean radial flow and reason of fields of one size, (...) each."""
    _require_fields(name, field, at_most)
    if backend == "reference":
        horizontal, radial = reference.flow_channels(field)
        missing = np.isnan(horizontal) | np.isnan(radial)
        return horizontal, radial, np.where(missing, code("value_not_finite"), code("ok")).astype(np.uint8)
    batch = field.shape[:-3]
    horizontal, radial, codes = np.empty(batch), np.empty(batch), np.empty(batch, dtype=np.uint8)
    core.flow_channels(field.reshape(-1, *field.shape[-3:]), horizontal.ravel(), radial.ravel(), codes.ravel())
    return horizontal, radial, codes


def _channels_on_device(name: str, field: Any, at_most: int | None) -> tuple[Any, ...]:
    """Status, code and both channels of fields of one size."""
    _require_fields(name, field, at_most)
    batch = field.shape[:-3]
    out = kernels("flow").flow_channels(field.reshape(-1, *field.shape[-3:]))
    return tuple(each.reshape(batch) for each in out)


def _require_fields(name: str, field: Any, at_most: int | None) -> None:
    """Requires fields (..., H, W, 2) of at least one pixel, with no more axes than ``at_most``."""
    trailing("flow_channels", name, field, ("H", "W", 2))
    if at_most is not None and field.ndim > at_most:
        raise bad_value("flow_channels", name, "have shape (H, W, 2)", shape_text(field))
    if 0 in field.shape[-3:-1]:
        raise bad_value("flow_channels", name, "have at least one pixel", shape_text(field))


def parallax_split(
    u: ArrayLike | Sequence[ArrayLike],
    inverse_depth: ArrayLike | Sequence[ArrayLike],
    *,
    lengths: ArrayLike | Sequence[int] | None = None,
    backend: str = "auto",
) -> Parallax:
    """How much of the horizontal flow is translation, which falls with depth, and how much is rotation, which does not.

    Fits ``u = slope * inverse_depth + intercept`` by least squares over the points of an item. Then
    ``translation = |slope| * (P95 - P5 of inverse_depth)`` and ``rotation = |intercept|``.

    Args:
        u: (..., N) horizontal flow of sampled points in pixels, float32 or float64; or a list of (N_i,).
        inverse_depth: The same shape: inverse z-depth of the points, in one over any unit.
        lengths: (...) points of each item of a padded array; the rest is not read.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        ``translation``, ``rotation``, ``slope``, ``intercept``, (...) each in the dtype of ``u``, and ``status``:
        missing (2), with NaN, for an item without points or with one that is not finite. Where all inverse depths are
        equal the solution of least norm is taken, and ``translation`` is zero.

    Raises:
        ArgumentError: Shapes that differ, or lengths beyond N.
        ArgumentTypeError: Something that is not a float array.

    Numerics:
        Centred sums in float64 over eight fixed lanes, in order; percentiles by NumPy's linear rule. Rounded once, to
        the dtype of ``u``. On a device the sums are in another fixed order, the percentiles exact likewise; lengths
        that it holds are not looked at, but held between 0 and N.

    Source:
        WorldMark (arXiv 2604.21686), equation 1.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> inverse_depth = np.linspace(0.0, 1.0, 21)
        >>> parallax = wmb.parallax_split(2 * inverse_depth - 0.5, inverse_depth)
        >>> round(float(parallax.translation), 6), round(float(parallax.rotation), 6)
        (1.8, 0.5)
    """
    op = "parallax_split"
    call, views = take(op, {"u": u, "inverse_depth": inverse_depth})
    chosen = pick(op, backend, call.device)
    if chosen == "cuda":
        there = pair_samples_on_device(op, views, "u", "inverse_depth", lengths)
        out = kernels("flow").parallax_split(there.a, there.b, there.each, there.start, there.count, there.batch)
        return Parallax(*out)
    samples = pair_samples(op, views, "u", "inverse_depth", lengths)
    batch, start, count = samples.batch, samples.start, samples.count
    codes = np.empty(batch, dtype=np.uint8)
    if chosen == "reference":
        parts = [
            reference.parallax_split(samples.a[k : k + n], samples.b[k : k + n])
            for k, n in zip(start, count, strict=True)
        ]
        translation, rotation, slope, intercept = np.array(parts, dtype=np.float64).reshape(-1, 4).T.reshape(4, *batch)
        codes[...] = np.where(np.isnan(slope), code("value_not_finite"), code("ok"))
        codes[(count == 0).reshape(batch)] = code("no_samples")
    else:
        slope, intercept, spread = (np.empty(batch) for _ in range(3))
        core.parallax_split(
            samples.a, samples.b, start, count, slope.ravel(), intercept.ravel(), spread.ravel(), codes.ravel()
        )
        with np.errstate(over="ignore", invalid="ignore"):
            translation, rotation = np.abs(slope) * spread, np.abs(intercept)
    lost = (codes == code("ok")) & ~np.isfinite([translation, rotation, slope]).all(axis=0)
    codes[lost] = code("value_not_finite")  # the numbers were, and their squares left float64
    results = (np.where(lost, np.nan, result) for result in (translation, rotation, slope, intercept))
    fields = _given(call, samples.a.dtype, *results)
    return Parallax(status_of(call, codes), codes, *fields)


def _given(call: Call, dtype: np.dtype[Any], *results: Array) -> list[Any]:
    return [call.give(narrowed(result, dtype)) for result in results]


declare("flow_channels", "cpu", "cuda", "reference")
declare("parallax_split", "cpu", "cuda", "reference")
