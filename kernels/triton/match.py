# SPDX-License-Identifier: Apache-2.0
"""Nearest neighbours and mutual matches; see :mod:`wmb_fast.ops.match`.

Index and score are the CPU core's, to the bit, for any dtype and metric. Held in Triton's interpreter; nothing was
measured on a GPU yet.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .items import COUNTS, Items, Spans, on_its_device, span_of
from .near import flags_of, range_of, settle_near
from .rows import BITS, COSINE, L2, halved, prepare
from .sweep import Best, Search, best_both, best_rows
from .tiles import CHAIN

_LANES = tl.constexpr(8)
_COSINE, _L2 = tl.constexpr(COSINE), tl.constexpr(L2)


@triton.jit
def direction_distance(a_ptr, b_ptr, a_at, b_at, here, a_direction, b_direction, dim, R: tl.constexpr):
    """Distance of two directions, from the rows themselves: `direction_distance_squared` of csrc/core/match.h."""
    u_shift, u = tl.load(a_direction + 2 * a_at), tl.load(a_direction + 2 * a_at + 1)
    v_shift, v = tl.load(b_direction + 2 * b_at), tl.load(b_direction + 2 * b_at + 1)
    lanes = tl.zeros((R, _LANES), tl.float64)
    for k0 in range(0, dim, _LANES):
        k = k0 + tl.arange(0, _LANES)
        inside = here[:, None] & (k < dim)[None, :]
        x = tl.load(a_ptr + (a_at * dim)[:, None] + k[None, :], mask=inside, other=0.0).to(tl.float64)
        y = tl.load(b_ptr + (b_at * dim)[:, None] + k[None, :], mask=inside, other=0.0).to(tl.float64)
        d = x * u_shift[:, None] * u[:, None] - y * v_shift[:, None] * v[:, None]
        lanes += d * d
    return tl.sqrt(halved(lanes, _LANES))


@triton.jit
def distance_of(value, near, wide, kind: tl.constexpr):
    """The distance, as float64, of a value that is minus its square: rounded as rows are, but where near or wide."""
    distance = tl.sqrt(0.0 - value)
    if kind == tl.float32:
        distance = tl.where(wide, distance, tl.sqrt_rn(0.0 - value.to(tl.float32)).to(tl.float64))
    return tl.where(near == near, near, distance)


@triton.jit(do_not_specialize=COUNTS)
def decide_kernel(
    value, index, back_index, a_ptr, b_ptr, a_direction, b_direction, dim, total,
    table, step_a, step_b, most_n, most_m, ratio: tl.float64, slack: tl.float64, near, flags,
    scale: tl.float64, index_out, score_out,
    TABLE: tl.constexpr, SWAPPED: tl.constexpr, METRIC: tl.constexpr, MUTUAL: tl.constexpr, RATIO: tl.constexpr,
    R: tl.constexpr,
):  # fmt: skip
    """What the best of rows, and of columns, say about each row of a: an index and a score, or -1 and NaN."""
    blocks = tl.cdiv(most_n, R)
    item = tl.program_id(0) // blocks
    a0, n, b0, _, before_a, before_b, _, _, _ = span_of(table, step_a, step_b, most_n, most_m, item, TABLE, SWAPPED)
    i = (tl.program_id(0) % blocks) * R + tl.arange(0, R)
    here = i < n
    at = before_a + i
    j = tl.load(index + at, mask=here, other=-1)
    kept = here & (j >= 0)
    best = tl.load(value + at, mask=kept, other=0.0)
    if MUTUAL:
        kept = kept & (tl.load(back_index + before_b + j, mask=kept, other=-1) == i)
    if METRIC == _COSINE:
        score = best
    elif METRIC == _L2:
        wide = tl.load(flags + 2 * item) != 0
        distance = distance_of(best, tl.load(near + at, mask=kept, other=0.0), wide, score_out.dtype.element_ty)
        score = tl.where(wide, distance / scale, distance).to(score_out.dtype.element_ty)
    else:
        score = 0.0 - best
    if RATIO:
        second_j = tl.load(index + total + at, mask=kept, other=-1)
        second = tl.load(value + total + at, mask=kept, other=0.0)
        kept = kept & (second_j >= 0)
        if METRIC == _COSINE:
            first, second = 2.0 - 2.0 * best.to(tl.float64), 2.0 - 2.0 * second.to(tl.float64)
            passes = first + slack < ratio * ratio * (second - slack)
            unclear = kept & ~passes & ~(first - slack > ratio * ratio * (second + slack))
            if tl.max(unclear.to(tl.int32), axis=0) != 0:  # too close to say: from the rows themselves
                row = a0 + tl.where(here, i, 0)
                col, second_col = b0 + tl.where(unclear, j, 0), b0 + tl.where(unclear, second_j, 0)
                first = direction_distance(a_ptr, b_ptr, row, col, unclear, a_direction, b_direction, dim, R)
                second = direction_distance(a_ptr, b_ptr, row, second_col, unclear, a_direction, b_direction, dim, R)
                passes = passes | (unclear & (first < ratio * second))
        elif METRIC == _L2:
            near_second = tl.load(near + total + at, mask=kept, other=0.0)
            passes = distance < ratio * distance_of(second, near_second, wide, score_out.dtype.element_ty)
        else:
            passes = score.to(tl.float64) < ratio * (0.0 - second).to(tl.float64)
        kept = kept & passes
    tl.store(index_out + at, tl.where(kept, j, -1).to(tl.int64), mask=here)
    tl.store(score_out + at, tl.where(kept, score, float("nan")), mask=here)


@on_its_device
def match(
    a: torch.Tensor,
    b: torch.Tensor,
    spans: Spans,
    l2: bool,
    mutual: bool,
    ratio: float,
    index: torch.Tensor,
    score: torch.Tensor,
) -> None:
    """Fills `index` and `score` with the best row of b for every row of a's spans, item after item.

    Args:
        a, b: (rows, D) float16, bfloat16, float32 or float64.
        spans: (items, 4) int64 in host memory, or `Items`: start and stop in a, start and stop in b.
        l2: Euclidean distance instead of the cosine.
        mutual: Only where both chose each other.
        ratio: Only where the nearest is nearer than this times the second; 0: no such test.
        index: (rows of a,) int64, within the span, -1 where there is none.
        score: (rows of a,), float64 for float64, else float32; NaN where there is none.
    """
    _match(a, b, spans, L2 if l2 else COSINE, mutual, ratio, index, score)


@on_its_device
def match_binary(
    a: torch.Tensor,
    b: torch.Tensor,
    spans: Spans,
    mutual: bool,
    ratio: float,
    index: torch.Tensor,
    score: torch.Tensor,
) -> None:
    """As :func:`match`, of uint8 rows by their differing bits; `score` is float32."""
    _match(a, b, spans, BITS, mutual, ratio, index, score)


def distance_slack(dim: int, dtype: torch.dtype) -> float:
    """By how much the squared distance of two directions may differ from 2 - 2 cos: as in csrc/cpu/match.cpp."""
    roundings = float(CHAIN + dim // CHAIN + 4)
    return float(2.02 * roundings * torch.finfo(dtype).eps / 2)


def _match(
    a: torch.Tensor,
    b: torch.Tensor,
    spans: Spans,
    metric: int,
    mutual: bool,
    ratio: float,
    index: torch.Tensor,
    score: torch.Tensor,
) -> None:
    items = Items.of(spans, a.device)
    if items.most_n == 0:
        return
    x, y = prepare(a, metric, parts=True), prepare(b, metric, parts=True)
    if metric == L2:
        search = Search(x, y, items, flags_of(x, y, items), range_of(x).scale)
    else:
        search = Search(x, y, items)
    keep = 2 if ratio > 0 or metric == L2 else 1
    if mutual:
        rows, cols = best_both(search, keep)
    else:
        rows = cols = best_rows(search, keep)
    near = None
    if metric == L2:
        near = settle_near(search, rows)
        if mutual and items.most_m:
            settle_near(search.swap(), cols)
    _decide(search, rows, cols, near, mutual, ratio, index, score)


def _decide(
    search: Search,
    rows: Best,
    cols: Best,
    near: torch.Tensor | None,
    mutual: bool,
    ratio: float,
    index: torch.Tensor,
    score: torch.Tensor,
) -> None:
    x, y, items, at_once = search.a, search.b, search.items, 64
    decide_kernel[(items.count * triton.cdiv(items.most_n, at_once),)](
        rows.value, rows.index, cols.index, x.data, y.data, x.direction, y.direction, x.data.shape[1],
        rows.index.shape[1], ratio=ratio, slack=distance_slack(x.data.shape[1], score.dtype),
        near=rows.value if near is None else near, flags=x.usable if search.flags is None else search.flags,
        scale=search.scale, index_out=index, score_out=score, **items.arguments(x.usable),
        METRIC=x.metric, MUTUAL=mutual, RATIO=ratio > 0, R=at_once, num_warps=4, enable_fp_fusion=False,
    )  # fmt: skip
