# SPDX-License-Identifier: Apache-2.0
"""Two sets of rows an item: single, batched, padded or ragged, in the one form the core takes."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Array, is_tensor
from .checks import lengths_of, shape_text
from .device import Tensor, lengths_on
from .errors import bad_type, bad_value
from .ext import kernels

LARGEST_SET = 2**31 - 1  # the kernels count rows in 32 bits


@dataclass(frozen=True)
class RowSets:
    """All rows of a and of b, and which of them make up each item.

    Results come from the core item after item, without what lies beyond ``lengths``; the methods give them the caller's
    form, with NaN or -1 there. Those of a device come with it, for only the device may know how long an item is.

    Attributes:
        a, b: (rows, D), C-contiguous; tensors where they are on a device.
        spans: (items, 4) int64: start and stop in a, start and stop in b.
        lead: The batch shape; ``None`` for a ragged batch.
        shape: N and M, the rows of a and of b in each item; ``(0, 0)`` for a ragged batch.
        padded: Whether items may be shorter than that.
        sizes: How long those of a and of b are that are on a device, (items,) each; ``spans`` do not say it.
    """

    a: Any
    b: Any
    spans: Array
    lead: tuple[int, ...] | None
    shape: tuple[int, int]
    padded: bool = False
    sizes: tuple[Tensor | None, Tensor | None] = (None, None)

    @property
    def score(self) -> str:
        """The dtype of scores: float64 for float64, else float32."""
        return "float64" if "float64" in str(self.a.dtype) else "float32"

    def room(self, shape: int | tuple[int, ...], dtype: str) -> Any:
        """Room for results, where the rows are; on a device filled with -1 or NaN where items may be shorter."""
        if not is_tensor(self.a):
            return np.empty(shape, dtype)
        torch = sys.modules["torch"]
        room = self.a.new_empty(shape, dtype=getattr(torch, dtype))
        return room.fill_(-1 if dtype == "int64" else math.nan) if self.padded else room

    def for_kernels(self) -> Any:
        """The items, as Triton's launchers take them."""
        return (
            kernels("items", "triton").Items.padded(self.spans, self.a.device, self.sizes)
            if self.padded
            else self.spans
        )

    def n_rows(self) -> int:
        """The rows of a, summed over the items."""
        return self.shape[0] if self.lead == () and not self.padded else int(self._counts()[0].sum())

    def n_pairs(self) -> int:
        """The pairs of rows, summed over the items."""
        n, m = self._counts()
        return int((n * m).sum())

    def of_each_row(self, flat: Any) -> Any:
        """Results that have one entry for each row of a: (..., N) and what an entry is, or a list of (N_i,)."""
        if self.lead == () and not self.padded:
            return flat
        return self._formed(flat, self._counts()[0], (self.shape[0],), lambda rows, _: rows)

    def of_both_rows(self, flat: Any) -> Any:
        """Results that have one entry for each row of a, then of b: (..., N + M), or a list of (N_i + M_i,)."""
        n, m = self._counts()
        return self._formed(flat, n + m, (sum(self.shape),), lambda rows, cols: np.concatenate([rows, cols], axis=1))

    def of_each_pair(self, flat: Any) -> Any:
        """Results that have one entry for each pair of rows: (..., N, M), or a list of (N_i, M_i)."""
        n, m = self._counts()
        result = self._formed(flat, n * m, self.shape, lambda rows, cols: rows[:, :, None] & cols[:, None])
        if self.lead is None:
            return [part.reshape(int(i), int(j)) for part, i, j in zip(result, n, m, strict=True)]
        return result

    def _counts(self) -> tuple[Array, Array]:
        return self.spans[:, 1] - self.spans[:, 0], self.spans[:, 3] - self.spans[:, 2]

    def _formed(self, flat: Any, sizes: Array, each: tuple[int, ...], inside: Callable[[Array, Array], Array]) -> Any:
        """Entries one after the other as a list of items of these sizes, or as an array of ``each`` an item."""
        on_device = is_tensor(flat)
        if self.lead is None:
            if on_device:
                return list(flat.split(sizes.tolist()))
            return np.split(flat, np.cumsum(sizes)[:-1]) if len(sizes) else []
        if self.padded and not on_device:
            n, m = self._counts()
            there = inside(np.arange(self.shape[0]) < n[:, None], np.arange(self.shape[1]) < m[:, None])
            spread = np.full((*there.shape, *flat.shape[1:]), np.nan if flat.dtype.kind == "f" else -1, flat.dtype)
            spread[there] = flat
            flat = spread
        tail = flat.shape[len(each) + 1 :] if self.padded and not on_device else flat.shape[1:]
        return flat.reshape(*self.lead, *each, *tail)


def pair_up(
    op: str,
    a: Array | list[Array],
    b: Array | list[Array],
    lengths: tuple[object, object] = (None, None),
    names: tuple[str, str] = ("a", "b"),
    lengths_names: tuple[str, str] = ("lengths", "lengths_b"),
) -> RowSets:
    """Checks two arguments (..., N, D) and (..., M, D), or two lists of (N_i, D) and (M_i, D), against each other.

    Batch dimensions broadcast. D is at least 1 and the same everywhere. ``lengths`` are those of a's and of b's items.
    """
    if isinstance(a, list) or isinstance(b, list):
        return _ragged(op, a, b, lengths, names, lengths_names)
    dim, padded = a.shape[-1] if a.ndim else 0, any(each is not None for each in lengths)
    for name, rows in zip(names, (a, b), strict=True):
        _check(op, name, rows, dim, at_least=2)
    if a.ndim == b.ndim == 2 and not padded:
        return RowSets(a, b, np.array([[0, len(a), 0, len(b)]], dtype=np.int64), (), (len(a), len(b)))
    try:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        wanted = f"have batch dimensions that go with {names[0]}'s {a.shape[:-2]}"
        raise bad_value(op, names[1], wanted, shape_text(b)) from None
    spans = np.empty((math.prod(lead), 4), dtype=np.int64)
    on_device: list[Tensor | None] = []
    for column, rows, each, name in zip((0, 2), (a, b), lengths, lengths_names, strict=True):
        batch, most = rows.shape[:-2], rows.shape[-2]
        items = np.arange(math.prod(batch)).reshape(batch)
        sizes: Any = np.int64(most)
        if is_tensor(rows):
            there = lengths_on(op, each, rows, batch, most, name)
            on_device.append(None if there is None else there.reshape(batch).expand(lead).reshape(-1))
        elif each is not None:
            sizes = lengths_of(op, each, batch, most, name).reshape(batch)
        spans[:, column] = np.broadcast_to(items, lead).ravel() * most
        spans[:, column + 1] = spans[:, column] + np.broadcast_to(sizes, lead).ravel()
    flat_a, flat_b = a.reshape(-1, dim), b.reshape(-1, dim)
    of_device = (on_device[0], on_device[1]) if on_device else (None, None)
    return RowSets(flat_a, flat_b, spans, lead, (a.shape[-2], b.shape[-2]), padded, of_device)


def _ragged(
    op: str,
    a: Array | list[Array],
    b: Array | list[Array],
    lengths: tuple[object, object],
    names: tuple[str, str],
    lengths_names: tuple[str, str],
) -> RowSets:
    if not isinstance(a, list) or not isinstance(b, list):
        wanted = f"be a list of arrays where {names[0]} is one, and only there"
        raise bad_type(op, names[1], wanted, type(b).__name__)
    for each, name in zip(lengths, lengths_names, strict=True):
        if each is not None:
            raise bad_value(op, name, "be None for a list", name)
    if len(a) != len(b):
        raise bad_value(op, names[1], f"be a list as long as {names[0]} ({len(a)})", f"{len(b)} arrays")
    dim = a[0].shape[-1] if a and a[0].ndim else 1
    for name, rows in zip(names, (a, b), strict=True):
        for i, item in enumerate(rows):
            _check(op, f"{name}[{i}]", item, dim, at_least=2, at_most=2)
    spans = np.zeros((len(a), 4), dtype=np.int64)
    for column, rows in ((0, a), (2, b)):
        spans[:, column + 1] = np.cumsum([len(item) for item in rows], dtype=np.int64)
        spans[1:, column] = spans[:-1, column + 1]
    if not a:
        return RowSets(np.empty((0, dim), np.float32), np.empty((0, dim), np.float32), spans, None, (0, 0))
    joined = sys.modules["torch"].cat if is_tensor(a[0]) else np.concatenate
    return RowSets(joined(a), joined(b), spans, None, (0, 0))


def _check(op: str, name: str, rows: Array, dim: int, *, at_least: int, at_most: int | None = None) -> None:
    lead = "" if at_most == at_least else "..., "
    if rows.ndim < at_least or (at_most is not None and rows.ndim > at_most) or rows.shape[-1] == 0:
        raise bad_value(op, name, f"have shape ({lead}N, D) with D at least 1", shape_text(rows))
    if rows.shape[-1] != dim:
        raise bad_value(op, name, f"have shape ({lead}N, {dim})", shape_text(rows))
    if rows.shape[-2] > LARGEST_SET:
        raise bad_value(op, name, f"have at most {LARGEST_SET} rows", str(rows.shape[-2]))
