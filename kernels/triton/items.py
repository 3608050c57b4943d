# SPDX-License-Identifier: Apache-2.0
"""The items of a batch, as kernels see them: which rows of a and of b make up each."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

_COLUMNS = tl.constexpr(9)
# Sizes of which kernels are not compiled anew: by default Triton does so for a 1 and for multiples of 16.
COUNTS = (
    *("n", "dim", "k", "step_a", "step_b", "most_n", "most_m", "x_stride", "y_stride"),
    *("first_item", "first_row", "height", "total"),
)
HOST = (0, 0)  # what stands for the interpreter among compute capabilities


@triton.jit
def span_of(table, step_a, step_b, most_n, most_m, item, TABLE: tl.constexpr, SWAPPED: tl.constexpr):
    """Of one item: its first row in a and how many, the same of b; results of rows of a, of b and of pairs before it;
    for how many rows of a and of b it has room. SWAPPED: a and b have changed places, in the arguments too.
    """
    item = item.to(tl.int64)
    if TABLE:
        entry = table + item * _COLUMNS
        if SWAPPED:
            b0, m, a0, n = tl.load(entry), tl.load(entry + 1), tl.load(entry + 2), tl.load(entry + 3)
            before_b, before_a = tl.load(entry + 4), tl.load(entry + 5)
            room_m, room_n = tl.load(entry + 7), tl.load(entry + 8)
        else:
            a0, n, b0, m = tl.load(entry), tl.load(entry + 1), tl.load(entry + 2), tl.load(entry + 3)
            before_a, before_b = tl.load(entry + 4), tl.load(entry + 5)
            room_n, room_m = tl.load(entry + 7), tl.load(entry + 8)
        pairs = tl.load(entry + 6)
    else:
        n, m = item * 0 + most_n, item * 0 + most_m
        a0, b0 = item * step_a, item * step_b
        before_a, before_b = item * n, item * m
        pairs = item * n * m
        room_n, room_m = n, m
    return a0, n, b0, m, before_a, before_b, pairs, room_n, room_m


@dataclass(frozen=True)
class Items:
    """The spans of a batch.

    Attributes:
        count: How many items.
        most_n, most_m: The most rows of a and of b in one.
        step_a, step_b: From one item's first row to the next one's, where there is no table.
        total_n, total_m: The rows of a and of b, summed over the items.
        table: (items, 9) int64 on the device: what `span_of` says of each. ``None`` for items of equal sizes and
            steps: numbers say it all, and a CUDA graph holds no table that might be gone when it is replayed.
        spans: As given.
        sizes: (items,) each on the device, of a padded batch: how many rows of a and of b take part.
    """

    count: int
    most_n: int
    most_m: int
    step_a: int
    step_b: int
    total_n: int
    total_m: int
    table: torch.Tensor | None
    spans: np.ndarray[Any, Any]
    sizes: tuple[torch.Tensor | None, torch.Tensor | None] = (None, None)
    swapped: bool = False

    @staticmethod
    def of(spans: np.ndarray[Any, Any] | Items, device: torch.device) -> Items:
        """From start and stop in a, start and stop in b, one row an item, in host memory."""
        if isinstance(spans, Items):
            return spans
        if len(spans) == 0:
            return Items(0, 0, 0, 0, 0, 0, 0, None, spans)
        starts, sizes = spans[:, ::2], spans[:, 1::2] - spans[:, ::2]
        most_n, most_m, total_n, total_m = (int(x) for x in (*sizes.max(axis=0), *sizes.sum(axis=0)))
        steps = starts[1] - starts[0] if len(spans) > 1 else np.zeros(2, np.int64)
        even = (starts == np.arange(len(spans))[:, None] * steps).all() and (sizes == sizes[0]).all()
        if even:
            step_a, step_b = (int(step) for step in steps)
            return Items(len(spans), most_n, most_m, step_a, step_b, total_n, total_m, None, spans)
        counts = np.column_stack([sizes, sizes[:, 0] * sizes[:, 1]])
        before = np.cumsum(counts, axis=0) - counts
        table = _on(np.column_stack([starts[:, 0], sizes[:, 0], starts[:, 1], sizes[:, 1], before, sizes]), device)
        return Items(len(spans), most_n, most_m, 0, 0, total_n, total_m, table, spans)

    @staticmethod
    def padded(
        spans: np.ndarray[Any, Any], device: torch.device, sizes: tuple[torch.Tensor | None, torch.Tensor | None]
    ) -> Items:
        """Items of which only the first rows take part: so many of a and of b, (items,) int64 on the device.

        Results have the padded shape. What lies beyond is left as it was: the host does not know where that is.
        """
        count = len(spans)
        n, m = (int(x) for x in (spans[0, 1::2] - spans[0, ::2] if count else (0, 0)))
        counts = np.tile([n, m, n * m], (count, 1))
        before = np.cumsum(counts, axis=0) - counts
        table = _on(
            np.column_stack([spans[:, 0], counts[:, 0], spans[:, 2], counts[:, 1], before, counts[:, :2]]), device
        )
        for column, each, most in ((1, sizes[0], n), (3, sizes[1], m)):
            if each is not None:
                table[:, column] = each.clamp(0, most)
        return Items(count, n, m, 0, 0, count * n, count * m, table, spans, sizes)

    def swap(self) -> Items:
        """The same with a and b in each other's place."""
        sizes = (self.most_m, self.most_n, self.step_b, self.step_a, self.total_m, self.total_n)
        return Items(self.count, *sizes, self.table, self.spans, self.sizes[::-1], not self.swapped)

    def arguments(self, stand_in: torch.Tensor) -> dict[str, Any]:
        """What kernels take of this; a tensor stands in for the table where there is none."""
        return {
            "table": stand_in if self.table is None else self.table,
            "step_a": self.step_a,
            "step_b": self.step_b,
            "most_n": self.most_n,
            "most_m": self.most_m,
            "TABLE": self.table is not None,
            "SWAPPED": self.swapped and self.table is not None,
        }


Spans = np.ndarray[Any, Any] | Items


def _on(table: np.ndarray[Any, Any], device: torch.device) -> torch.Tensor:
    """A table on a device; from pinned memory, so that the copy waits for nothing."""
    host = torch.from_numpy(np.ascontiguousarray(table, dtype=np.int64))
    return (host.pin_memory() if device.type == "cuda" else host).to(device, non_blocking=True)


def on_its_device(launcher: Callable[..., None]) -> Callable[..., None]:
    """Launches on the device of the first tensor: Triton's own choice is torch's current device."""

    @functools.wraps(launcher)
    def launch(first: torch.Tensor, *arguments: Any) -> None:
        if first.device.type == "cuda":
            with torch.cuda.device(first.device):
                launcher(first, *arguments)
        else:
            launcher(first, *arguments)

    return launch


def capability(device: torch.device) -> tuple[int, int]:
    """The compute capability of a device, HOST for host memory."""
    return torch.cuda.get_device_capability(device) if device.type == "cuda" else HOST
