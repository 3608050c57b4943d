# SPDX-License-Identifier: Apache-2.0
"""The items of a batch, as kernels see them: which rows of a and of b make up each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

_COLUMNS = tl.constexpr(7)


@triton.jit
def span_of(table, step_a, step_b, most_n, most_m, item, TABLE: tl.constexpr, SWAPPED: tl.constexpr):
    """Of one item: its first row in a and how many, the same of b, and the rows of a, rows of b and pairs before it.

    SWAPPED: a and b have changed places, in the arguments too.
    """
    item = item.to(tl.int64)
    if TABLE:
        entry = table + item * _COLUMNS
        if SWAPPED:
            b0, m, a0, n = tl.load(entry), tl.load(entry + 1), tl.load(entry + 2), tl.load(entry + 3)
            before_b, before_a = tl.load(entry + 4), tl.load(entry + 5)
        else:
            a0, n, b0, m = tl.load(entry), tl.load(entry + 1), tl.load(entry + 2), tl.load(entry + 3)
            before_a, before_b = tl.load(entry + 4), tl.load(entry + 5)
        pairs = tl.load(entry + 6)
    else:
        n, m = item * 0 + most_n, item * 0 + most_m
        a0, b0 = item * step_a, item * step_b
        before_a, before_b = item * n, item * m
        pairs = item * n * m
    return a0, n, b0, m, before_a, before_b, pairs


@dataclass(frozen=True)
class Items:
    """The spans of a batch.

    Attributes:
        count: How many items.
        most_n, most_m: The most rows of a and of b in one.
        step_a, step_b: From one item's first row to the next one's, where there is no table.
        total_n, total_m: The rows of a and of b, summed over the items.
        table: (items, 7) int64 on the device: first row and number of rows in a, the same of b, and the rows of a, of b
            and the pairs before it. ``None`` for items of equal sizes and steps: numbers say it all, and a CUDA graph
            holds no table that might be gone when it is replayed.
    """

    count: int
    most_n: int
    most_m: int
    step_a: int
    step_b: int
    total_n: int
    total_m: int
    table: torch.Tensor | None
    swapped: bool = False

    @staticmethod
    def of(spans: np.ndarray[Any, Any], device: torch.device) -> Items:
        """From start and stop in a, start and stop in b, one row an item, in host memory."""
        starts, sizes = spans[:, ::2], spans[:, 1::2] - spans[:, ::2]
        if len(spans) == 0:
            return Items(0, 0, 0, 0, 0, 0, 0, None)
        most_n, most_m, total_n, total_m = (int(x) for x in (*sizes.max(axis=0), *sizes.sum(axis=0)))
        steps = starts[1] - starts[0] if len(spans) > 1 else np.zeros(2, np.int64)
        even = (starts == np.arange(len(spans))[:, None] * steps).all() and (sizes == sizes[0]).all()
        if even:
            return Items(len(spans), most_n, most_m, int(steps[0]), int(steps[1]), total_n, total_m, None)
        counts = np.column_stack([sizes, sizes[:, 0] * sizes[:, 1]])
        before = np.cumsum(counts, axis=0) - counts
        rows = np.column_stack([starts[:, 0], sizes[:, 0], starts[:, 1], sizes[:, 1], before])
        host = torch.from_numpy(np.ascontiguousarray(rows, dtype=np.int64))
        if device.type == "cuda":  # from pinned memory the copy waits for nothing
            host = host.pin_memory()
        return Items(len(spans), most_n, most_m, 0, 0, total_n, total_m, host.to(device, non_blocking=True))

    def swap(self) -> Items:
        """The same with a and b in each other's place."""
        sizes = (self.most_m, self.most_n, self.step_b, self.step_a, self.total_m, self.total_n)
        return Items(self.count, *sizes, self.table, not self.swapped)

    def arguments(self, stand_in: torch.Tensor) -> dict[str, Any]:
        """What kernels take of this; a tensor stands in for the table where there is none."""
        return {
            "table": stand_in if self.table is None else self.table,
            "step_a": self.step_a,
            "step_b": self.step_b,
            "most_n": self.most_n,
            "most_m": self.most_m,
            "TABLE": self.table is not None,
            "SWAPPED": self.swapped,
        }
