# SPDX-License-Identifier: Apache-2.0
"""Two samples an item, value by value: single, batched, padded or ragged, in the one form the core takes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Array
from .checks import lengths_of, same_shape, shape_text, trailing
from .device import lengths_on
from .errors import bad_type, bad_value


@dataclass(frozen=True)
class PairedSamples:
    """All values of a and of b end to end, and which of them make up each item.

    Attributes:
        a, b: (values,), C-contiguous.
        start, count: (items,) int64: the first value of each item, and how many it has.
        batch: The batch shape; ``(items,)`` for a ragged batch.
    """

    a: Array
    b: Array
    start: Array
    count: Array
    batch: tuple[int, ...]


def pair_samples(op: str, views: Mapping[str, Any], a: str, b: str, lengths: object) -> PairedSamples:
    """Checks two arguments (..., N) of one shape, or two lists of (N_i,), against each other, with ``lengths``."""
    if _are_lists(op, views, a, b, lengths):
        return _joined(views, a, b)
    _require_padded(op, views, a, b)
    return _padded(op, views, a, b, lengths)


@dataclass(frozen=True)
class PairedOnDevice:
    """The same on a device: ``each`` values an item, of which the first ``count`` count, or a list with its ``start``.

    Attributes:
        start, count: (items,) int64 tensors, or None: no list; all values.
    """

    a: Any
    b: Any
    each: int
    start: Any
    count: Any
    batch: tuple[int, ...]


def pair_samples_on_device(op: str, views: Mapping[str, Any], a: str, b: str, lengths: Any) -> PairedOnDevice:
    """As :func:`pair_samples`, of tensors; what the device holds is not looked at."""
    first, second = views[a], views[b]
    if not _are_lists(op, views, a, b, lengths):
        _require_padded(op, views, a, b)
        batch, each = tuple(first.shape[:-1]), int(first.shape[-1])
        count = lengths_on(op, lengths, first, batch, each)
        return PairedOnDevice(first.reshape(-1), second.reshape(-1), each, None, count, batch)
    torch = sys.modules["torch"]
    count = np.array([x.numel() for x in first], dtype=np.int64)
    where = torch.from_numpy(np.stack([np.cumsum(count) - count, count])).to(first[0].device, non_blocking=True)
    return PairedOnDevice(torch.cat(first), torch.cat(second), 0, where[0], where[1], (len(first),))


def _are_lists(op: str, views: Mapping[str, Any], a: str, b: str, lengths: object) -> bool:
    """Whether both are lists, whose items then agree in shape; both must be."""
    first, second = views[a], views[b]
    if isinstance(first, list) != isinstance(second, list):
        raise bad_type(op, b, f"be a list exactly when {a} is", type(second).__name__)
    if not isinstance(first, list):
        return False
    if lengths is not None:
        raise bad_value(op, "lengths", "be None for a list", "lengths")
    if len(first) != len(second):
        raise bad_value(op, b, f"have as many items as {a} ({len(first)})", len(second))
    for i, (x, y) in enumerate(zip(first, second, strict=True)):
        if x.ndim != 1:
            raise bad_value(op, f"{a}[{i}]", "have shape (N,)", shape_text(x))
        same_shape(op, f"{b}[{i}]", y, f"{a}[{i}]", x)
    return True


def _require_padded(op: str, views: Mapping[str, Any], a: str, b: str) -> None:
    trailing(op, a, views[a], ("N",))
    same_shape(op, b, views[b], a, views[a])


def _joined(views: Mapping[str, Any], a: str, b: str) -> PairedSamples:
    first, second = views[a], views[b]
    count = np.array([x.size for x in first], dtype=np.int64)
    empty = np.empty(0, dtype=np.float64)
    joined = [np.concatenate(arrays) if arrays else empty for arrays in (first, second)]
    return PairedSamples(joined[0], joined[1], np.cumsum(count) - count, count, (len(first),))


def _padded(op: str, views: Mapping[str, Any], a: str, b: str, lengths: object) -> PairedSamples:
    first, second = views[a], views[b]
    batch, n = first.shape[:-1], first.shape[-1]
    items = int(np.prod(batch))
    count = np.full(items, n, dtype=np.int64)
    if lengths is not None:
        count = lengths_of(op, lengths, batch, n)
    return PairedSamples(first.ravel(), second.ravel(), np.arange(items, dtype=np.int64) * n, count, batch)
