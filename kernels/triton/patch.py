# SPDX-License-Identifier: Apache-2.0
"""How well each patch of either frame is found in the other; see :func:`wmb_fast.patch_best_match`.

The CPU core's bits, for any dtype. Held in Triton's interpreter; nothing was measured on a GPU yet.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .items import COUNTS, Items, Spans, on_its_device, span_of
from .rows import COSINE, prepare
from .sweep import Best, Search, best_both

_ROWS = 256


@triton.jit(do_not_specialize=COUNTS)
def scores_kernel(
    value, index, table, step_a, step_b, most_n, most_m, scores,
    TABLE: tl.constexpr, SWAPPED: tl.constexpr, OF_B: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    """The best of each row to its place: those of a before those of b; NaN where there is none.

    OF_B: the rows are b's, and a and b have changed places in the items.
    """
    blocks = tl.cdiv(most_n, R)
    item = tl.program_id(0) // blocks
    _, n, _, _, before_a, before_b, _, _, room_m = span_of(table, step_a, step_b, most_n, most_m, item, TABLE, SWAPPED)
    i = (tl.program_id(0) % blocks) * R + tl.arange(0, R)
    here = i < n
    best = tl.load(value + before_a + i, mask=here)
    best = tl.where(tl.load(index + before_a + i, mask=here, other=-1) < 0, float("nan"), best)
    to = before_a + before_b + i
    if OF_B:
        to += room_m
    tl.store(scores + to, best, mask=here)


def _put(best: Best, items: Items, scores: torch.Tensor) -> None:
    if items.most_n:
        scores_kernel[(items.count * triton.cdiv(items.most_n, _ROWS),)](
            best.value, best.index, scores=scores, **items.arguments(best.index), OF_B=items.swapped,
            R=_ROWS, num_warps=4,
            enable_fp_fusion=False,
        )  # fmt: skip


@on_its_device
def patch_best_match(a: torch.Tensor, b: torch.Tensor, spans: Spans, score: torch.Tensor) -> None:
    """Fills `score` with the best cosines of every row of a's spans, then of b's, item after item.

    Args:
        a, b: (rows, D) float16, bfloat16, float32 or float64.
        spans: (items, 4) int64 in host memory, or `Items`: start and stop in a, start and stop in b.
        score: (rows of a and of b in all spans,), float64 for float64, else float32.
    """
    items = Items.of(spans, a.device)
    if items.count == 0:
        return
    search = Search(prepare(a, COSINE, parts=True), prepare(b, COSINE, parts=True), items)
    rows, cols = best_both(search, 1)
    _put(rows, items, score)
    _put(cols, items.swap(), score)
