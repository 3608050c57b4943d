# SPDX-License-Identifier: Apache-2.0
"""Two sets of rows an item: single, batched or ragged, in the one form the core takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Array
from .checks import shape_text
from .errors import bad_type, bad_value

LARGEST_SET = 2**31 - 1  # the kernels count rows in 32 bits


@dataclass(frozen=True)
class RowSets:
    """All rows of a and of b, and which of them make up each item.

    Attributes:
        a, b: (rows, D), C-contiguous.
        spans: (items, 4) int64: start and stop in a, start and stop in b.
        lead: The batch shape; ``None`` for a ragged batch.
        shape: N and M, the rows of a and of b in each item; ``(0, 0)`` for a ragged batch.
    """

    a: Array
    b: Array
    spans: Array
    lead: tuple[int, ...] | None
    shape: tuple[int, int]

    def n_rows(self) -> int:
        """The rows of a, summed over the items."""
        return self.shape[0] if self.lead == () else int((self.spans[:, 1] - self.spans[:, 0]).sum())

    def n_pairs(self) -> int:
        """The pairs of rows, summed over the items."""
        return int(((self.spans[:, 1] - self.spans[:, 0]) * (self.spans[:, 3] - self.spans[:, 2])).sum())

    def of_each_row(self, flat: Array) -> Any:
        """Results that have one entry for each row of a: (..., N), or a list of (N_i,)."""
        if self.lead == ():
            return flat
        counts = self.spans[:, 1] - self.spans[:, 0]
        if self.lead is None:
            return np.split(flat, np.cumsum(counts)[:-1]) if len(counts) else []
        return flat.reshape(*self.lead, self.shape[0])

    def of_each_pair(self, flat: Array) -> Any:
        """Results that have one entry for each pair of rows: (..., N, M), or a list of (N_i, M_i)."""
        n, m = self.spans[:, 1] - self.spans[:, 0], self.spans[:, 3] - self.spans[:, 2]
        if self.lead is None:
            parts = np.split(flat, np.cumsum(n * m)[:-1]) if len(n) else []
            return [part.reshape(i, j) for part, i, j in zip(parts, n, m, strict=True)]
        return flat.reshape(*self.lead, *self.shape)


def pair_up(op: str, a: Array | list[Array], b: Array | list[Array]) -> RowSets:
    """Checks two arguments (..., N, D) and (..., M, D), or two lists of (N_i, D) and (M_i, D), against each other.

    Batch dimensions broadcast. D is at least 1 and the same everywhere.
    """
    if isinstance(a, list) and isinstance(b, list):
        return _ragged(op, a, b)
    if isinstance(a, list) or isinstance(b, list):
        raise bad_type(op, "b", "be a list of arrays where a is one, and only there", type(b).__name__)
    dim = a.shape[-1] if a.ndim else 0
    for name, rows in (("a", a), ("b", b)):
        _check(op, name, rows, dim, at_least=2)
    if a.ndim == b.ndim == 2:
        return RowSets(a, b, np.array([[0, len(a), 0, len(b)]], dtype=np.int64), (), (len(a), len(b)))
    try:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise bad_value(op, "b", f"have batch dimensions that go with a's {a.shape[:-2]}", shape_text(b)) from None
    spans = np.empty((math.prod(lead), 4), dtype=np.int64)
    for column, rows in ((0, a), (2, b)):
        items = np.arange(math.prod(rows.shape[:-2])).reshape(rows.shape[:-2])
        spans[:, column] = np.broadcast_to(items, lead).ravel() * rows.shape[-2]
        spans[:, column + 1] = spans[:, column] + rows.shape[-2]
    return RowSets(a.reshape(-1, dim), b.reshape(-1, dim), spans, lead, (a.shape[-2], b.shape[-2]))


def _ragged(op: str, a: Sequence[Array], b: Sequence[Array]) -> RowSets:
    if len(a) != len(b):
        raise bad_value(op, "b", f"be a list as long as a ({len(a)})", f"{len(b)} arrays")
    dim = a[0].shape[-1] if a and a[0].ndim else 1
    for name, rows in (("a", a), ("b", b)):
        for i, item in enumerate(rows):
            _check(op, f"{name}[{i}]", item, dim, at_least=2, at_most=2)
    spans = np.zeros((len(a), 4), dtype=np.int64)
    for column, rows in ((0, a), (2, b)):
        spans[:, column + 1] = np.cumsum([len(item) for item in rows], dtype=np.int64)
        spans[1:, column] = spans[:-1, column + 1]
    if not a:
        return RowSets(np.empty((0, dim), np.float32), np.empty((0, dim), np.float32), spans, None, (0, 0))
    return RowSets(np.concatenate(a), np.concatenate(b), spans, None, (0, 0))


def _check(op: str, name: str, rows: Array, dim: int, *, at_least: int, at_most: int | None = None) -> None:
    lead = "" if at_most == at_least else "..., "
    if rows.ndim < at_least or (at_most is not None and rows.ndim > at_most) or rows.shape[-1] == 0:
        raise bad_value(op, name, f"have shape ({lead}N, D) with D at least 1", shape_text(rows))
    if rows.shape[-1] != dim:
        raise bad_value(op, name, f"have shape ({lead}N, {dim})", shape_text(rows))
    if rows.shape[-2] > LARGEST_SET:
        raise bad_value(op, name, f"have at most {LARGEST_SET} rows", str(rows.shape[-2]))
