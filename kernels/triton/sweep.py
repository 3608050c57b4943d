# SPDX-License-Identifier: Apache-2.0
"""The best rows of b for every row of a, and of a for every row of b, without the matrix of their scores.

First all tiles are computed, once, and of each only the largest score of every 32 neighbours is kept, along rows and
along columns: those are 1/32 of the matrix each. Then, for every row, the scores of the few groups whose largest comes
near the best are computed again as chains of fused multiply-adds. Where the tiles came from the tensor cores, a group
comes near if it is within twice `tile_error` of the best: then no other can hold the winner, and index and score are
those of the CPU core, bit for bit, whatever the tensor cores rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl

from .items import COUNTS, HOST, Items, capability, span_of
from .rows import BITS, COSINE, L2, Rows
from .tiles import chained, config_of, multiplied, products_of, tile_error, tile_of

GROUP = 32
_GROUP = tl.constexpr(GROUP)
_BITS = tl.constexpr(BITS)
_NONE = tl.constexpr(float("-inf"))
_LAST = tl.constexpr(2**31 - 1)
ROWS_OF_A_SLAB = 1024
MOST_WORKSPACE = 1 << 28  # elements of all groups' largest scores that are kept at once


@triton.jit
def skips(flags, item, FLAGGED: tl.constexpr, WIDE: tl.constexpr):
    """Whether an item is the business of the other of two launches: of numbers that squares can hold, or cannot."""
    skip = item < 0
    if FLAGGED:
        skip = (tl.load(flags + 2 * item) != 0) != WIDE
    return skip


@triton.jit(do_not_specialize=COUNTS)
def sweep_kernel(
    a_columns, b_columns, a_high, a_low, b_high, b_low, a_usable, b_usable, a_weight, b_weight, a_rows, b_rows,
    table, step_a, step_b, most_n, most_m, depth, padded, scale: tl.float64, flags, first_item, first_row, height,
    of_rows, of_cols,
    TABLE: tl.constexpr, SWAPPED: tl.constexpr, METRIC: tl.constexpr, PRODUCTS: tl.constexpr, SPLIT: tl.constexpr,
    UPCAST: tl.constexpr, FLAGGED: tl.constexpr, WIDE: tl.constexpr, COLS: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """of_rows[item, g, i] = the largest score of row i with b's rows [32 g, 32 g + 32); of_cols with both swapped."""
    tiles_down, tiles_across = tl.cdiv(height, BM), tl.cdiv(most_m, BN)
    tiles = tiles_down.to(tl.int64) * tiles_across
    local, tile = tl.program_id(0) // tiles, tl.program_id(0) % tiles
    item = first_item + local
    down, across = tile_of(tile, tiles_down, tiles_across)
    a0, n, b0, m, _, _, _, _, _ = span_of(table, step_a, step_b, most_n, most_m, item, TABLE, SWAPPED)
    i0, j0 = first_row + down * BM, across * BN
    n = tl.minimum(n, first_row + height)
    if (i0 < n) & (j0 < m) & ~skips(flags, item, FLAGGED, WIDE):
        row0, col0 = a0 + i0, b0 + j0
        i, j = tl.arange(0, BM), tl.arange(0, BN)
        row, col = tl.minimum(i, (n - i0 - 1).to(tl.int32)), tl.minimum(j, (m - j0 - 1).to(tl.int32))
        if PRODUCTS:
            score = multiplied(
                a_high + row0 * padded, a_low + row0 * padded, b_high + col0 * padded, b_low + col0 * padded,
                row, col, padded, SPLIT, UPCAST, BM, BN, BK,
            )  # fmt: skip
            if METRIC == _BITS:
                ones = tl.load(a_weight + row0 + row)[:, None] + tl.load(b_weight + col0 + col)[None, :]
                score = 2.0 * score - ones
            else:
                if not SPLIT:
                    score = score * (tl.load(a_weight + row0 + row)[:, None] * tl.load(b_weight + col0 + col)[None, :])
                score = tl.maximum(tl.minimum(score, 1.0), -1.0)
        else:
            score = chained(
                a_columns + row0 + row[:, None], a_rows, b_columns + col0 + col[None, :], b_rows, depth, scale,
                METRIC, of_rows.dtype.element_ty, (BM, BN),
            )  # fmt: skip
        there_i = (tl.load(a_usable + row0 + row) != 0) & (i0 + i < n)
        there_j = (tl.load(b_usable + col0 + col) != 0) & (j0 + j < m)
        score = tl.where(there_i[:, None] & there_j[None, :], score, _NONE)
        along = tl.max(tl.reshape(score, (BM, BN // _GROUP, _GROUP)), axis=2)
        group = j0 // _GROUP + tl.arange(0, BN // _GROUP)
        to = (local * tl.cdiv(most_m, _GROUP) + group)[None, :] * height + (i0 - first_row + i)[:, None]
        tl.store(of_rows + to, along, mask=(group * _GROUP < m)[None, :] & (i0 + i < n)[:, None])
        if COLS:
            along = tl.max(tl.reshape(score, (BM // _GROUP, _GROUP, BN)), axis=1)
            group = i0 // _GROUP + tl.arange(0, BM // _GROUP)
            to = (local * tl.cdiv(most_n, _GROUP) + group)[:, None] * most_m + (j0 + j)[None, :]
            tl.store(of_cols + to, along, mask=(group * _GROUP < n)[:, None] & (j0 + j < m)[None, :])


@triton.jit
def group_scores(
    a_columns, b_columns, a_usable, b_usable, a_rows, b_rows, a0, i, b0, m, group, depth, scale,
    METRIC: tl.constexpr, acc: tl.constexpr, R: tl.constexpr,
):  # fmt: skip
    """Scores (R, 32) of row i[r] with the rows of b in group[r], as chains; and which rows of b those are."""
    j = group[:, None] * _GROUP + tl.arange(0, _GROUP)[None, :]
    col = b0 + tl.minimum(j, m - 1)
    score = chained(
        a_columns + (a0 + i)[:, None], a_rows, b_columns + col, b_rows, depth, scale, METRIC, acc, (R, _GROUP)
    )
    there = (j < m) & (tl.load(b_usable + col) != 0) & (tl.load(a_usable + a0 + i) != 0)[:, None]
    return tl.where(there, score, _NONE), j.to(tl.int32)


@triton.jit
def best_of(score, j):
    """The largest score of each row, the lowest of its indices; and the scores without it."""
    value = tl.max(score, axis=1)
    index = tl.min(tl.where((score == value[:, None]) & (score > _NONE), j, _LAST), axis=1)
    return value, index, tl.where(j == index[:, None], _NONE, score)


@triton.jit
def best_two(v1, j1, v2, j2, w1, k1, w2, k2):
    """The best two out of two that are there and two that come later: among equals the earlier has the lower index."""
    wins = w1 > v1
    challenger, challenger_j = tl.where(wins, v1, w1), tl.where(wins, j1, k1)
    other, other_j = tl.where(wins, w2, v2), tl.where(wins, k2, j2)
    ahead = (challenger > other) | ((challenger == other) & wins)
    v2, j2 = tl.where(ahead, challenger, other), tl.where(ahead, challenger_j, other_j)
    return tl.where(wins, w1, v1), tl.where(wins, k1, j1), v2, j2


@triton.jit
def largest_of(entry, group, here, n_groups, height):
    """The largest scores (R, C) of some rows with some groups."""
    inside = here[:, None] & (group < n_groups)[None, :]
    return tl.load(entry[:, None] + group.to(tl.int64)[None, :] * height, mask=inside, other=_NONE)


@triton.jit(do_not_specialize=COUNTS)
def settle_kernel(
    a_columns, b_columns, a_usable, b_usable, a_rows, b_rows,
    table, step_a, step_b, most_n, most_m, depth, scale: tl.float64, margin: tl.float64, flags, first_item, first_row,
    height, groups,
    value, index, total,
    TABLE: tl.constexpr, SWAPPED: tl.constexpr, METRIC: tl.constexpr, FLAGGED: tl.constexpr, WIDE: tl.constexpr,
    KEEP: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """value[k, i], index[k, i] = the k-th best row of b for row i, k below KEEP; -1 where there is none.

    groups[item, g, i] bounds the scores of row i with group g, within half of `margin`.
    """
    acc = groups.dtype.element_ty
    blocks = tl.cdiv(height, R)
    local = tl.program_id(0) // blocks
    item = first_item + local
    a0, n, b0, m, before, _, _, _, _ = span_of(table, step_a, step_b, most_n, most_m, item, TABLE, SWAPPED)
    n = tl.minimum(n, first_row + height)
    i = first_row + (tl.program_id(0) % blocks) * R + tl.arange(0, R)
    here = i < n
    if (tl.min(i, axis=0) < n) & ~skips(flags, item, FLAGGED, WIDE):
        n_groups = tl.cdiv(m, _GROUP)
        entry = groups + local.to(tl.int64) * tl.cdiv(most_m, _GROUP) * height + (i - first_row)
        best, second = tl.full((R,), _NONE, acc), tl.full((R,), _NONE, acc)
        for g0 in range(0, n_groups, C):
            g = g0 + tl.arange(0, C)
            largest = largest_of(entry, g, here, n_groups, height)
            first, _at, rest = best_of(largest, tl.broadcast_to(g[None, :], (R, C)))
            second = tl.maximum(tl.minimum(best, first), tl.maximum(second, tl.max(rest, axis=1)))
            best = tl.maximum(best, first)
        bar = ((second if KEEP == 2 else best) - margin).to(acc)
        v1, v2 = tl.full((R,), _NONE, acc), tl.full((R,), _NONE, acc)
        j1, j2 = tl.full((R,), -1, tl.int32), tl.full((R,), -1, tl.int32)
        row = tl.where(here, i, n - 1)
        for g0 in range(0, n_groups, C):
            g = g0 + tl.arange(0, C)
            largest = largest_of(entry, g, here, n_groups, height)
            near = (largest >= bar[:, None]) & (largest > _NONE)
            pick = tl.min(tl.where(near, g[None, :], _LAST), axis=1)
            while tl.min(pick, axis=0) < _LAST:
                group = tl.minimum(pick, n_groups - 1)
                score, j = group_scores(
                    a_columns, b_columns, a_usable, b_usable, a_rows, b_rows, a0, row, b0, m, group, depth, scale,
                    METRIC, acc, R,
                )  # fmt: skip
                score = tl.where((pick < _LAST)[:, None], score, _NONE)
                w1, k1, rest = best_of(score, j)
                w2, k2, rest = best_of(rest, j)
                v1, j1, v2, j2 = best_two(v1, j1, v2, j2, w1, k1, w2, k2)
                pick = tl.min(tl.where(near & (g[None, :] > pick[:, None]), g[None, :], _LAST), axis=1)
        to = before + i
        tl.store(value + to, v1.to(value.dtype.element_ty), mask=here)
        tl.store(index + to, tl.where(v1 > _NONE, j1, -1), mask=here)
        if KEEP == 2:
            tl.store(value + total + to, v2.to(value.dtype.element_ty), mask=here)
            tl.store(index + total + to, tl.where(v2 > _NONE, j2, -1), mask=here)


@dataclass(frozen=True)
class Best:
    """The best of every row: (KEEP, rows of all items), the index within the span, -1 where there is none."""

    value: torch.Tensor
    index: torch.Tensor


@dataclass(frozen=True)
class Search:
    """Two sets of rows, the items they make up, and how they are compared.

    `flags`: (items, 2) int8 of L2: whether the squares of an item must be taken in float64, times `scale`.
    """

    a: Rows
    b: Rows
    items: Items
    flags: torch.Tensor | None = None
    scale: float = 1.0

    def swap(self) -> Search:
        return Search(self.b, self.a, self.items.swap(), self.flags, self.scale)

    def passes(self) -> tuple[tuple[torch.dtype, bool], ...]:
        """The accumulator of each launch, and whether it is the one for items whose squares float32 cannot hold."""
        exact = self.a.columns.dtype
        return ((exact, False),) if self.flags is None else ((exact, False), (torch.float64, True))

    def common(self, wide: bool) -> dict[str, Any]:
        """What both kernels take."""
        a, b = self.a, self.b
        return {
            "a_columns": a.columns, "b_columns": b.columns, "a_usable": a.usable, "b_usable": b.usable,
            "a_rows": a.columns.shape[1], "b_rows": b.columns.shape[1], "depth": a.depth,
            "scale": self.scale if wide else 1.0,
            "flags": a.usable if self.flags is None else self.flags, "FLAGGED": self.flags is not None,
            "WIDE": wide, "enable_fp_fusion": False, **self.items.arguments(a.usable),
        }  # fmt: skip

    def margin(self) -> float:
        """How far below the best a group's largest score may be, and yet hold the winner."""
        return 2 * tile_error(self.a) if self.a.parts else 0.0

    def sweep(self, of_rows: torch.Tensor, of_cols: torch.Tensor | None, wide: bool, slab: Slab) -> None:
        """Fills the largest scores of groups: `of_rows` (items, groups of b, rows), and `of_cols` the other way."""
        chains = wide or not self.a.parts
        tile = config_of(self.a, capability(self.a.data.device), chains=chains)
        downs, across = triton.cdiv(slab.height, tile.rows), triton.cdiv(self.items.most_m, tile.cols)
        sweep_kernel[(slab.items * downs * across,)](
            **self.common(wide), **products_of(self.a, self.b), a_weight=self.a.weight, b_weight=self.b.weight,
            of_rows=of_rows, of_cols=of_rows if of_cols is None else of_cols, COLS=of_cols is not None,
            first_item=slab.first_item, first_row=slab.first_row, height=slab.height, METRIC=self.a.metric,
            PRODUCTS=not chains, BM=tile.rows, BN=tile.cols, BK=tile.depth,
            num_warps=tile.warps, num_stages=tile.stages,
        )  # fmt: skip

    def settle(self, groups: torch.Tensor, wide: bool, slab: Slab, best: Best) -> None:
        """Fills the best of the rows of a slab, from the largest scores of groups."""
        at_once = 64 if capability(groups.device) == HOST else 4
        settle_kernel[(slab.items * triton.cdiv(slab.height, at_once),)](
            **self.common(wide), groups=groups, margin=self.margin(), value=best.value, index=best.index,
            total=best.index.shape[1], first_item=slab.first_item, first_row=slab.first_row, height=slab.height,
            METRIC=COSINE if self.a.metric == COSINE else L2, KEEP=len(best.index), R=at_once, C=32,
            num_warps=4,
        )  # fmt: skip


@dataclass(frozen=True)
class Slab:
    """What is worked on at once: so many items from one on, so many rows of each from one on."""

    first_item: int
    items: int
    first_row: int
    height: int


def slabs(items: Items, an_item: int) -> Iterator[Slab]:
    """Parts of a batch whose groups fit into the workspace; `an_item` is what one item takes."""
    if an_item <= MOST_WORKSPACE:
        at_once = min(max(MOST_WORKSPACE // max(an_item, 1), 1), items.count)
        for first in range(0, items.count, at_once):
            yield Slab(first, min(at_once, items.count - first), 0, items.most_n)
        return
    a_row = triton.cdiv(items.most_m, GROUP)
    height = max(MOST_WORKSPACE // a_row // ROWS_OF_A_SLAB, 1) * ROWS_OF_A_SLAB
    for item in range(items.count):
        for first in range(0, items.most_n, height):
            yield Slab(item, 1, first, min(height, items.most_n - first))


def best_rows(search: Search, keep: int) -> Best:
    """The `keep` (1 or 2) best rows of b for every row of a."""
    return best_both(search, keep, columns=False)[0]


def best_both(search: Search, keep: int, *, columns: bool = True) -> tuple[Best, Best]:
    """The `keep` best rows of b for every row of a, and, where `columns`, as many of a for every row of b."""
    items, back = search.items, search.swap()
    groups_m, groups_n = triton.cdiv(items.most_m, GROUP), triton.cdiv(items.most_n, GROUP)
    an_item = groups_m * items.most_n + groups_n * items.most_m * columns
    if columns and an_item > MOST_WORKSPACE:  # too large to keep both: one after the other
        return best_rows(search, keep), best_rows(back, keep)
    new = search.a.columns.new_empty
    kind = torch.float64 if search.flags is not None else search.a.columns.dtype
    found = [
        Best(new((keep, total), dtype=kind), new((keep, total), dtype=torch.int32))
        for total in (items.total_n, items.total_m * columns)
    ]
    for slab in slabs(items, an_item):
        for exact, wide in search.passes():
            of_rows = new((slab.items, groups_m, slab.height), dtype=exact)
            of_cols = new((slab.items, groups_n, items.most_m), dtype=exact) if columns else None
            if items.most_m:
                search.sweep(of_rows, of_cols, wide, slab)
            search.settle(of_rows, wide, slab, found[0])
            if of_cols is not None and items.most_m:
                turned = Slab(slab.first_item, slab.items, 0, items.most_m)
                back.settle(of_cols, wide, turned, found[1])
    return found[0], found[1]
