# SPDX-License-Identifier: Apache-2.0
"""Cosines of pairs of rows and of all rows of two sets; see :mod:`wmb_fast.ops.cosine`.

float32 and float64 give the CPU core's bits. The matrix of half precision goes to the tensor cores: every score is
within `tile_error` (tiles.py) of the CPU's, 2e-4 at D = 1024; its pairs give the CPU core's bits too.

Held in Triton's interpreter; nothing was measured on a GPU yet.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .items import COUNTS, HOST, Items, Spans, capability, on_its_device, span_of
from .rows import COSINE, directions_of, halved, prepare, scaled
from .tiles import chained, config_of, multiplied, products_of, tile_of

_LANES = tl.constexpr(16)


@triton.jit
def _sums(
    x_ptr,
    y_ptr,
    x_at,
    y_at,
    here,
    dim,
    u_shift,
    u,
    v_shift,
    v,
    out: tl.constexpr,
    DIRECTED: tl.constexpr,
    R: tl.constexpr,
):
    """Float64 sums over sixteen lanes of x·y, x·x and y·y; DIRECTED: of rows of length 1."""
    xy, xx, yy = tl.zeros((R, _LANES), tl.float64), tl.zeros((R, _LANES), tl.float64), tl.zeros((R, _LANES), tl.float64)
    for k0 in range(0, dim, _LANES):
        k = k0 + tl.arange(0, _LANES)
        inside = here[:, None] & (k < dim)[None, :]
        x = tl.load(x_ptr + x_at[:, None] + k[None, :], mask=inside, other=0.0).to(out)
        y = tl.load(y_ptr + y_at[:, None] + k[None, :], mask=inside, other=0.0).to(out)
        if DIRECTED:
            x, y = scaled(x, u_shift[:, None], u[:, None]), scaled(y, v_shift[:, None], v[:, None])
        x, y = x.to(tl.float64), y.to(tl.float64)
        xy, xx, yy = tl.fma(x, y, xy), tl.fma(x, x, xx), tl.fma(y, y, yy)
    return halved(xy, _LANES), halved(xx, _LANES), halved(yy, _LANES)


@triton.jit(do_not_specialize=COUNTS)
def pairs_kernel(x_ptr, y_ptr, x_stride, y_stride, n, dim, scores, R: tl.constexpr):
    """scores[i] = x_i · y_i / (|x_i| |y_i|), NaN where a row has no direction."""
    out = scores.dtype.element_ty
    i = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    here = i < n
    x_at, y_at = tl.where(here, i, 0) * x_stride, tl.where(here, i, 0) * y_stride
    one = tl.full((R,), 1.0, tl.float64)
    xy, xx, yy = _sums(x_ptr, y_ptr, x_at, y_at, here, dim, one, one, one, one, out, False, R)
    there = (xx > 1e-280) & (xx < 1e280) & (yy > 1e-280) & (yy < 1e280)
    if tl.max((here & ~there).to(tl.int32), axis=0) != 0:  # no direction, or squares that float64 cannot hold
        u_shift, u = directions_of(x_ptr, x_at, here, dim, R)
        v_shift, v = directions_of(y_ptr, y_at, here, dim, R)
        directed = (u > 0) & (v > 0) & ~there
        xy1, xx1, yy1 = _sums(x_ptr, y_ptr, x_at, y_at, directed, dim, u_shift, u, v_shift, v, out, True, R)
        xy, xx, yy = tl.where(directed, xy1, xy), tl.where(directed, xx1, xx), tl.where(directed, yy1, yy)
        there = there | directed
    cosine = xy / tl.where(there, tl.sqrt(xx) * tl.sqrt(yy), 1.0)
    cosine = tl.where(cosine > 1, 1.0, tl.where(cosine < -1, -1.0, cosine))
    tl.store(scores + i, tl.where(there, cosine, float("nan")).to(out), mask=here)


@triton.jit(do_not_specialize=COUNTS)
def matrix_kernel(
    a_columns, b_columns, a_high, a_low, b_high, b_low, a_usable, b_usable, a_weight, b_weight, a_rows, b_rows,
    table, step_a, step_b, most_n, most_m, depth, padded, scores,
    TABLE: tl.constexpr, SWAPPED: tl.constexpr, SYMMETRIC: tl.constexpr, PRODUCTS: tl.constexpr, SPLIT: tl.constexpr,
    UPCAST: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """scores[i, j] = unit_a_i · unit_b_j, NaN where either has no direction; SYMMETRIC: computed once a pair."""
    tiles_down, tiles_across = tl.cdiv(most_n, BM), tl.cdiv(most_m, BN)
    tiles = tiles_down.to(tl.int64) * tiles_across
    item, tile = tl.program_id(0) // tiles, tl.program_id(0) % tiles
    down, across = tile_of(tile, tiles_down, tiles_across)
    a0, n, b0, m, _, _, before, _, room_m = span_of(table, step_a, step_b, most_n, most_m, item, TABLE, SWAPPED)
    i0, j0 = down * BM, across * BN
    has_any = (i0 < n) & (j0 < m)
    if SYMMETRIC:
        has_any = has_any & (j0 + BN > i0)
    if has_any:
        row0, col0 = a0 + i0, b0 + j0
        i, j = tl.arange(0, BM), tl.arange(0, BN)
        row, col = tl.minimum(i, (n - i0 - 1).to(tl.int32)), tl.minimum(j, (m - j0 - 1).to(tl.int32))
        if PRODUCTS:
            score = multiplied(
                a_high + row0 * padded, a_low + row0 * padded, b_high + col0 * padded, b_low + col0 * padded,
                row, col, padded, SPLIT, UPCAST, BM, BN, BK,
            )  # fmt: skip
            score = score * (tl.load(a_weight + row0 + row)[:, None] * tl.load(b_weight + col0 + col)[None, :])
            score = tl.maximum(tl.minimum(score, 1.0), -1.0)
        else:
            score = chained(
                a_columns + row0 + row[:, None], a_rows, b_columns + col0 + col[None, :], b_rows, depth, 1.0,
                0, a_columns.dtype.element_ty, (BM, BN),
            )  # fmt: skip
        there = (tl.load(a_usable + row0 + row) != 0)[:, None] & (tl.load(b_usable + col0 + col) != 0)[None, :]
        score = tl.where(there, score, float("nan"))
        i, j = i0 + i.to(tl.int64), j0 + j.to(tl.int64)
        inside = (i < n)[:, None] & (j < m)[None, :]
        if SYMMETRIC:
            inside = inside & (j[None, :] >= i[:, None])
            tl.store(scores + before + j[None, :] * room_m + i[:, None], score, mask=inside)
        tl.store(scores + before + i[:, None] * room_m + j[None, :], score, mask=inside)


@on_its_device
def cosine_pairs(a: torch.Tensor, b: torch.Tensor, dim: int, scores: torch.Tensor) -> None:
    """Fills `scores` with the cosines of rows that belong together; one row of a or b goes with every row."""
    n = scores.numel()
    if n:
        a_stride, b_stride = (0 if x.numel() == dim else dim for x in (a, b))
        at_once = 64 if capability(a.device) == HOST else 8
        pairs_kernel[(triton.cdiv(n, at_once),)](
            a, b, a_stride, b_stride, n, dim, scores, R=at_once, num_warps=4, enable_fp_fusion=False
        )


@on_its_device
def cosine_matrix(a: torch.Tensor, b: torch.Tensor, spans: Spans, symmetric: bool, scores: torch.Tensor) -> None:
    """Fills `scores` with the cosines of all rows of a's spans with those of b's, item after item.

    Args:
        a, b: (rows, D) float16, bfloat16, float32 or float64.
        spans: (items, 4) int64 in host memory, or `Items`: start and stop in a, start and stop in b.
        symmetric: b is a.
        scores: (pairs,), float64 for float64, else float32.
    """
    items = Items.of(spans, a.device)
    if items.most_n == 0 or items.most_m == 0:
        return
    half = a.dtype in (torch.float16, torch.bfloat16)
    x = prepare(a, COSINE, parts=half)
    y = x if symmetric else prepare(b, COSINE, parts=half)
    tile = config_of(x, capability(a.device), chains=not half)
    grid = (items.count * triton.cdiv(items.most_n, tile.rows) * triton.cdiv(items.most_m, tile.cols),)
    matrix_kernel[grid](
        x.columns, y.columns, a_usable=x.usable, b_usable=y.usable, a_weight=x.weight, b_weight=y.weight,
        a_rows=len(a), b_rows=len(b), depth=x.depth, scores=scores, SYMMETRIC=symmetric, PRODUCTS=half,
        **products_of(x, y), **items.arguments(x.usable),
        BM=tile.rows, BN=tile.cols, BK=tile.depth, num_warps=tile.warps, num_stages=tile.stages, enable_fp_fusion=False,
    )  # fmt: skip
