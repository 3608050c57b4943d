# SPDX-License-Identifier: Apache-2.0
"""The k best rows of a gallery for every query; see :func:`wmb_fast.topk`.

Index and score are the CPU core's, to the bit, for any dtype. The k-th largest of the groups' largest scores is a bound
that k rows reach: only groups that reach it, within twice `tile_error`, are looked at again. Above k = 64 the scores of
some queries at a time are written and sorted: the answer itself is then no small part of them.

Held in Triton's interpreter; nothing was measured on a GPU yet.
"""

from __future__ import annotations

import numpy as np
import torch
import triton
import triton.language as tl

from .cosine import cosine_matrix
from .items import COUNTS, HOST, Items, Spans, capability, on_its_device, span_of
from .rows import COSINE, prepare
from .sweep import GROUP, Search, Slab, group_scores, slabs

MOST_IN_REGISTERS = 64
MOST_SCORES = 1 << 26  # that are written and sorted at once, above that k
_NONE = tl.constexpr(float("-inf"))
_LAST = tl.constexpr(2**31 - 1)
_GROUP = tl.constexpr(GROUP)


@triton.jit
def merged(value, index, more, more_index, R: tl.constexpr, K: tl.constexpr, M: tl.constexpr):
    """The K best of a list (R, K) in order and of (R, M) others: larger first, among equals the lower index.

    Every entry goes to its rank: how many are preferred to it. What is not there is -inf, and has the ranks that are
    left over.
    """
    v, j = value[:, :, None], index[:, :, None]
    w, h = more[:, None, :], more_index[:, None, :]
    later = (w > v) | ((w == v) & (h < j))  # (R, K, M)
    sooner = (v > w) | ((v == w) & (j < h))
    rank = tl.arange(0, K)[None, :] + tl.sum(later.to(tl.int32), axis=2)
    x, g = more[:, :, None], more_index[:, :, None]
    among = (w > x) | ((w == x) & (h < g))  # (R, M, M)
    more_rank = tl.sum(sooner.to(tl.int32), axis=1) + tl.sum(among.to(tl.int32), axis=2)
    place = tl.arange(0, K)[None, :, None]
    mine, other = (
        (rank[:, None, :] == place) & (value > _NONE)[:, None, :],
        (more_rank[:, None, :] == place) & (w > _NONE),
    )
    best = tl.maximum(
        tl.max(tl.where(mine, value[:, None, :], _NONE), axis=2), tl.max(tl.where(other, w, _NONE), axis=2)
    )
    at = tl.minimum(tl.min(tl.where(mine, index[:, None, :], _LAST), axis=2), tl.min(tl.where(other, h, _LAST), axis=2))
    return best, at


@triton.jit
def last_of(value, k, K: tl.constexpr):
    """The k-th entry of each list."""
    return tl.max(tl.where((tl.arange(0, K) == k - 1)[None, :], value, _NONE), axis=1)


@triton.jit(do_not_specialize=COUNTS)
def topk_kernel(
    a_columns, b_columns, a_usable, b_usable, a_rows, b_rows,
    table, step_a, step_b, most_n, most_m, depth, scale: tl.float64, margin: tl.float64, flags, first_item, first_row,
    height, groups, k, index_out, score_out,
    TABLE: tl.constexpr, SWAPPED: tl.constexpr, FLAGGED: tl.constexpr, WIDE: tl.constexpr, K: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """The k best of every row, in order; -1 and NaN where there are fewer."""
    acc = groups.dtype.element_ty
    blocks = tl.cdiv(height, R)
    local = tl.program_id(0) // blocks
    a0, n, b0, m, before, _, _, _, _ = span_of(
        table, step_a, step_b, most_n, most_m, first_item + local, TABLE, SWAPPED
    )
    n = tl.minimum(n, first_row + height)
    i = first_row + (tl.program_id(0) % blocks) * R + tl.arange(0, R)
    here = i < n
    if tl.min(i, axis=0) < n:
        n_groups = tl.cdiv(m, _GROUP)
        entry = groups + local.to(tl.int64) * tl.cdiv(most_m, _GROUP) * height + (i - first_row)
        v, j = tl.full((R, K), _NONE, acc), tl.full((R, K), _LAST, tl.int32)
        for g0 in range(0, n_groups, C):
            g = g0 + tl.arange(0, C)
            inside = here[:, None] & (g < n_groups)[None, :]
            largest = tl.load(entry[:, None] + g.to(tl.int64)[None, :] * height, mask=inside, other=_NONE)
            if tl.max((tl.max(largest, axis=1) > last_of(v, k, K)).to(tl.int32), axis=0) != 0:
                v, j = merged(v, j, largest, tl.broadcast_to(g[None, :], (R, C)).to(tl.int32), R, K, C)
        bar = (last_of(v, k, K) - margin).to(acc)
        v, j = tl.full((R, K), _NONE, acc), tl.full((R, K), _LAST, tl.int32)
        row = tl.where(here, i, n - 1)
        for g0 in range(0, n_groups, C):
            g = g0 + tl.arange(0, C)
            inside = here[:, None] & (g < n_groups)[None, :]
            largest = tl.load(entry[:, None] + g.to(tl.int64)[None, :] * height, mask=inside, other=_NONE)
            near = (largest >= bar[:, None]) & (largest > _NONE)
            pick = tl.min(tl.where(near, g[None, :], _LAST), axis=1)
            while tl.min(pick, axis=0) < _LAST:
                group = tl.minimum(pick, n_groups - 1)
                score, col = group_scores(
                    a_columns, b_columns, a_usable, b_usable, a_rows, b_rows, a0, row, b0, m, group, depth, scale,
                    0, acc, R,
                )  # fmt: skip
                score = tl.where((pick < _LAST)[:, None], score, _NONE)
                # Groups come in ascending order: what only equals the last of the list has the higher index.
                if tl.max((tl.max(score, axis=1) > last_of(v, k, K)).to(tl.int32), axis=0) != 0:
                    v, j = merged(v, j, score, col, R, K, _GROUP)
                pick = tl.min(tl.where(near & (g[None, :] > pick[:, None]), g[None, :], _LAST), axis=1)
        at = tl.arange(0, K)
        to = (before + i)[:, None] * k + at[None, :]
        wanted = here[:, None] & (at < k)[None, :]
        tl.store(index_out + to, tl.where(v > _NONE, j, -1).to(tl.int64), mask=wanted)
        tl.store(score_out + to, tl.where(v > _NONE, v, float("nan")), mask=wanted)


@on_its_device
def topk(
    queries: torch.Tensor,
    gallery: torch.Tensor,
    spans: Spans,
    k: int,
    index: torch.Tensor,
    score: torch.Tensor,
) -> None:
    """Fills `index` and `score` with the k best rows of the gallery for every query, item after item.

    Args:
        queries, gallery: (rows, D) float16, bfloat16, float32 or float64.
        spans: (items, 4) int64 in host memory, or `Items`: start and stop in queries, start and stop in gallery.
        k: At least 1.
        index: (queries · k,) int64, within the span, -1 where there are fewer than k.
        score: (queries · k,), float64 for float64, else float32; NaN where there are fewer.
    """
    items = Items.of(spans, queries.device)
    if items.most_n == 0:
        return
    if k > MOST_IN_REGISTERS:
        return _sorted(queries, gallery, items, k, index, score)
    search = Search(prepare(queries, COSINE, parts=True), prepare(gallery, COSINE, parts=True), items)
    groups_m = triton.cdiv(items.most_m, GROUP)
    for slab in slabs(items, groups_m * items.most_n):
        groups = search.a.columns.new_empty((slab.items, groups_m, slab.height))
        if items.most_m:
            search.sweep(groups, None, False, slab)
        _choose(search, groups, slab, k, index, score)


def _choose(search: Search, groups: torch.Tensor, slab: Slab, k: int, index: torch.Tensor, score: torch.Tensor) -> None:
    places = max(triton.next_power_of_2(k), 2)
    at_once = 32 if capability(groups.device) == HOST else min(max(64 // places, 1), 4)
    topk_kernel[(slab.items * triton.cdiv(slab.height, at_once),)](
        **search.common(False), groups=groups, margin=search.margin(), k=k, index_out=index, score_out=score,
        first_item=slab.first_item, first_row=slab.first_row, height=slab.height, K=places, R=at_once, C=32,
        num_warps=4,
    )  # fmt: skip


def _sorted(
    queries: torch.Tensor, gallery: torch.Tensor, items: Items, k: int, index: torch.Tensor,
    score: torch.Tensor,
) -> None:  # fmt: skip
    """The same for large k: a stable sort keeps equals in order of their index."""
    index, score = index.view(-1, k), score.view(-1, k)
    index.fill_(-1)
    score.fill_(float("nan"))
    if queries.dtype in (torch.float16, torch.bfloat16):  # chains, whose order is the CPU's
        queries, gallery = queries.float(), gallery.float()
    done = 0
    for item, (i, j, first, last) in enumerate(items.spans.tolist()):
        m = last - first
        at_once = max(MOST_SCORES // max(m, 1), 1)
        for start in range(i, j if m else i, at_once):
            n = min(at_once, j - start)
            scores = score.new_empty((n, m))
            block = np.array([[0, n, 0, m]], dtype=np.int64)
            cosine_matrix(queries[start : start + n], gallery[first:last], block, False, scores.view(-1))
            away = scores.isnan()
            for axis, offset, sizes in ((0, start - i, items.sizes[0]), (1, 0, items.sizes[1])):
                if sizes is not None:
                    beyond = torch.arange(offset, offset + scores.shape[axis], device=scores.device) >= sizes[item]
                    away |= beyond.unsqueeze(1 - axis)
            scores.masked_fill_(away, float("-inf"))
            value, order = scores.sort(dim=1, descending=True, stable=True)
            value, order, kept = value[:, :k], order[:, :k], min(k, m)
            there = value > float("-inf")
            at = slice(done + start - i, done + start - i + n)
            index[at, :kept] = torch.where(there, order, -1)
            score[at, :kept] = torch.where(there, value, float("nan"))
        done += j - i
