# SPDX-License-Identifier: Apache-2.0
"""Distances whose squares leave the numbers of their type: which items have them, and what they are in float64.

As in csrc/cpu/near.h: squares below a bound may have lost digits, so such distances are taken again from their two
rows, times a power of two. Where an item has numbers so large that squares might overflow, all of it is compared in
float64.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from .items import COUNTS, Items, span_of
from .rows import Rows, halved
from .sweep import Best, Search, best_two

_LANES = tl.constexpr(8)
_NONE = tl.constexpr(float("-inf"))


@dataclass(frozen=True)
class Range:
    """What a type's squares hold: `most` is too large, other numbers below `least` may be too near each other.

    Squares below `square` may have lost digits; `unit` makes them large enough for float64; `scale` the large small.
    """

    least: float
    most: float
    square: float
    unit: float
    scale: float


SINGLE = Range(2.0**-39, 2.0**50, 2.0**-100, 1.0, 1.0)
DOUBLE = Range(2.0**-420, 2.0**480, 2.0**-960, 2.0**500, 2.0**-600)


@triton.jit(do_not_specialize=COUNTS)
def flags_kernel(
    a_extent, b_extent, table, step_a, step_b, most_n, most_m, least: tl.float64, most: tl.float64, flags,
    TABLE: tl.constexpr, SWAPPED: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    """flags[item] = whether it has numbers of `most` or more; whether no two of its distances can be mistaken."""
    item = tl.program_id(0)
    a0, n, b0, m, _, _, _, _, _ = span_of(table, step_a, step_b, most_n, most_m, item, TABLE, SWAPPED)
    low, high = tl.full((R,), float("inf"), tl.float64), tl.zeros((R,), tl.float64)
    for i0 in range(0, n, R):
        at = i0 + tl.arange(0, R)
        low = tl.minimum(low, tl.load(a_extent + 2 * (a0 + at), mask=at < n, other=float("inf")))
        high = tl.maximum(high, tl.load(a_extent + 2 * (a0 + at) + 1, mask=at < n, other=0.0))
    for j0 in range(0, m, R):
        at = j0 + tl.arange(0, R)
        low = tl.minimum(low, tl.load(b_extent + 2 * (b0 + at), mask=at < m, other=float("inf")))
        high = tl.maximum(high, tl.load(b_extent + 2 * (b0 + at) + 1, mask=at < m, other=0.0))
    wide = tl.max(high, axis=0) >= most
    tl.store(flags + 2 * item, wide.to(tl.int8))
    tl.store(flags + 2 * item + 1, ((tl.min(low, axis=0) >= least) & ~wide).to(tl.int8))


@triton.jit
def near_distance(a_ptr, b_ptr, row, cols, inside, dim, scale, unit, J: tl.constexpr):
    """Distances (J,) of one row to others, in float64 after a power of two."""
    lanes = tl.zeros((J, _LANES), tl.float64)
    for k0 in range(0, dim, _LANES):
        k = k0 + tl.arange(0, _LANES)
        x = tl.load(a_ptr + row * dim + k, mask=k < dim, other=0.0).to(tl.float64) * scale
        there = inside[:, None] & (k < dim)[None, :]
        y = tl.load(b_ptr + (cols * dim)[:, None] + k[None, :], mask=there, other=0.0).to(tl.float64) * scale
        d = tl.where(there, (x[None, :] - y) * unit, 0.0)
        lanes += d * d
    return tl.sqrt(halved(lanes, _LANES)) / unit


@triton.jit(do_not_specialize=COUNTS)
def near_kernel(
    value, index, near, total, a_ptr, b_ptr, b_usable, dim, flags, table, step_a, step_b, most_n, most_m,
    square: tl.float64, unit: tl.float64, scale: tl.float64, wide_square: tl.float64, wide_unit: tl.float64,
    TABLE: tl.constexpr, SWAPPED: tl.constexpr, J: tl.constexpr,
):  # fmt: skip
    """near[k, i] = the distance of row i to its k-th best where near, else NaN; puts right what squares mixed up."""
    item, i = tl.program_id(0) // most_n, tl.program_id(0) % most_n
    a0, n, b0, m, before, _, _, _, _ = span_of(table, step_a, step_b, most_n, most_m, item, TABLE, SWAPPED)
    if i < n:
        at = before + i
        wide, safe = tl.load(flags + 2 * item) != 0, tl.load(flags + 2 * item + 1) != 0
        bound = tl.where(wide, -wide_square, -square)
        by, times = tl.where(wide, wide_unit, unit), tl.where(wide, scale, 1.0)
        j1, j2 = tl.load(index + at), tl.load(index + total + at)
        first, second = by * 0.0 + float("nan"), by * 0.0 + float("nan")
        each = tl.arange(0, J)
        if (j1 >= 0) & (tl.load(value + at) > bound):
            if safe | (j2 < 0) | ~(tl.load(value + total + at) > bound):
                one = each == 0
                taken = near_distance(a_ptr, b_ptr, a0 + i, b0 + j1 + each * 0, one, dim, times, by, J)
                first = tl.max(tl.where(one, taken, 0.0), axis=0)
            else:
                v1, v2 = by * 0.0 + _NONE, by * 0.0 + _NONE
                for j0 in range(0, m, J):
                    j = (j0 + each).to(tl.int32)
                    there = (j < m) & (tl.load(b_usable + b0 + j, mask=j < m, other=0) != 0)
                    taken = -near_distance(a_ptr, b_ptr, a0 + i, b0 + j, there, dim, times, by, J)
                    taken = tl.where(there, taken, _NONE)
                    w1 = tl.max(taken, axis=0)
                    k1 = tl.min(tl.where(taken == w1, j, 2147483647), axis=0)
                    rest = tl.where(j == k1, _NONE, taken)
                    w2 = tl.max(rest, axis=0)
                    k2 = tl.min(tl.where(rest == w2, j, 2147483647), axis=0)
                    v1, j1, v2, j2 = best_two(v1, j1, v2, j2, w1, k1, w2, k2)
                first, second = -v1, -v2
                tl.store(index + at, j1)
                tl.store(index + total + at, j2)
        tl.store(near + at, first)
        tl.store(near + total + at, second)


def range_of(rows: Rows) -> Range:
    return DOUBLE if rows.columns.dtype == torch.float64 else SINGLE


def flags_of(a: Rows, b: Rows, items: Items) -> torch.Tensor:
    """(items, 2) int8: whether an item is to be compared in float64, and whether its distances need no second look."""
    flags = a.usable.new_empty((items.count, 2))
    bounds = range_of(a)
    flags_kernel[(items.count,)](
        a.direction, b.direction, least=bounds.least, most=bounds.most, flags=flags, **items.arguments(flags),
        R=512, num_warps=4, enable_fp_fusion=False,
    )  # fmt: skip
    return flags


def settle_near(search: Search, best: Best) -> torch.Tensor:
    """(2, rows) float64: the distances of near rows, NaN elsewhere; `best` gets the indices that these say."""
    a, b, items, bounds = search.a, search.b, search.items, range_of(search.a)
    near = best.value.new_empty((2, best.index.shape[1]), dtype=torch.float64)
    near_kernel[(items.count * items.most_n,)](
        best.value, best.index, near, best.index.shape[1], a.data, b.data, b.usable, a.data.shape[1], search.flags,
        square=bounds.square, unit=bounds.unit, scale=bounds.scale, wide_square=DOUBLE.square, wide_unit=DOUBLE.unit,
        **items.arguments(b.usable), J=32, num_warps=1, enable_fp_fusion=False,
    )  # fmt: skip
    return near
