# SPDX-License-Identifier: Apache-2.0
"""Two samples an item, value by value: single, batched, padded or ragged, in the one form the core takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Array
from .checks import lengths_of, same_shape, shape_text, trailing
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
    if isinstance(views[a], list) != isinstance(views[b], list):
        raise bad_type(op, b, f"be a list exactly when {a} is", type(views[b]).__name__)
    return (_joined if isinstance(views[a], list) else _padded)(op, views, a, b, lengths)


def _joined(op: str, views: Mapping[str, Any], a: str, b: str, lengths: object) -> PairedSamples:
    first, second = views[a], views[b]
    if lengths is not None:
        raise bad_value(op, "lengths", "be None for a list", "lengths")
    if len(first) != len(second):
        raise bad_value(op, b, f"have as many items as {a} ({len(first)})", len(second))
    for i, (x, y) in enumerate(zip(first, second, strict=True)):
        if x.ndim != 1:
            raise bad_value(op, f"{a}[{i}]", "have shape (N,)", shape_text(x))
        same_shape(op, f"{b}[{i}]", y, f"{a}[{i}]", x)
    count = np.array([x.size for x in first], dtype=np.int64)
    empty = np.empty(0, dtype=np.float64)
    joined = [np.concatenate(arrays) if arrays else empty for arrays in (first, second)]
    return PairedSamples(joined[0], joined[1], np.cumsum(count) - count, count, (len(first),))


def _padded(op: str, views: Mapping[str, Any], a: str, b: str, lengths: object) -> PairedSamples:
    first, second = views[a], views[b]
    trailing(op, a, first, ("N",))
    same_shape(op, b, second, a, first)
    batch, n = first.shape[:-1], first.shape[-1]
    items = int(np.prod(batch))
    count = np.full(items, n, dtype=np.int64)
    if lengths is not None:
        count = lengths_of(op, lengths, batch, n)
    return PairedSamples(first.ravel(), second.ravel(), np.arange(items, dtype=np.int64) * n, count, batch)
