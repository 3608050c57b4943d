# SPDX-License-Identifier: Apache-2.0
"""One tile of scores: as chains of fused multiply-adds, the CPU core's numbers to the bit, or by the tensor cores.

A chain sums 128 terms in the order of k; a longer sum is the sum of such chains, in order. So a score does not depend
on the tile that it falls in, and equals csrc/cpu/isa's. The tensor cores' score differs from it by `tile_error` at
most.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from .items import HOST
from .rows import BITS, DEPTH, L2, Rows

CHAIN = 128  # kChain of csrc/cpu/isa/isa.h
_CHAIN = tl.constexpr(CHAIN)
_L2, _BITS = tl.constexpr(L2), tl.constexpr(BITS)
_TILES_DOWN = tl.constexpr(8)  # tiles of one column that run side by side: they share b in the L2 cache


@triton.jit
def tile_of(tile, tiles_down, tiles_across):
    """Which tile (down, across) a program has: runs of eight down, then across."""
    per_band = _TILES_DOWN * tiles_across
    band = tile // per_band
    height = tl.minimum(tiles_down - band * _TILES_DOWN, _TILES_DOWN)
    within = tile % per_band
    return band * _TILES_DOWN + within % height, within // height


@triton.jit
def chained(
    a_ptr, a_stride, b_ptr, b_stride, depth, scale, METRIC: tl.constexpr, acc: tl.constexpr, SHAPE: tl.constexpr
):
    """Scores of the rows that pointers (R, 1) and (C,) or (R, C) point to: cosines, or minus squared distances."""
    total = tl.zeros(SHAPE, acc)
    for k0 in range(0, depth, _CHAIN):
        part = tl.zeros(SHAPE, acc)
        for _ in range(tl.minimum(depth - k0, _CHAIN)):
            x, y = tl.load(a_ptr).to(acc), tl.load(b_ptr).to(acc)
            a_ptr += a_stride
            b_ptr += b_stride
            if METRIC == 0:
                part = tl.fma(tl.broadcast_to(x, SHAPE), tl.broadcast_to(y, SHAPE), part)
            else:
                if acc == tl.float64:
                    x, y = x * scale, y * scale
                d = tl.broadcast_to(x, SHAPE) - tl.broadcast_to(y, SHAPE)
                part = tl.fma(-d, d, part)
        total = tl.where(k0 == 0, part, total + part)
    if METRIC == 0:
        total = tl.maximum(tl.minimum(total, 1.0), -1.0)
    return total


@triton.jit
def multiplied(
    a_high, a_low, b_high, b_low, i, j, padded,
    SPLIT: tl.constexpr, UPCAST: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Products of rows i (BM,) and j (BN,), counted from the pointers; of split ones all but that of the low parts."""
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, padded, BK):
        k = k0 + tl.arange(0, BK)
        x_at, y_at = i[:, None] * padded + k[None, :], j[None, :] * padded + k[:, None]
        x, y = tl.load(a_high + x_at), tl.load(b_high + y_at)
        if UPCAST:  # the interpreter's product of bfloat16 is none
            x, y = x.to(tl.float32), y.to(tl.float32)
        if SPLIT:
            acc = tl.dot(tl.load(a_low + x_at), y, acc, input_precision="tf32")
            acc = tl.dot(x, tl.load(b_low + y_at), acc, input_precision="tf32")
        acc = tl.dot(x, y, acc, input_precision="tf32")
    return acc


def tile_error(a: Rows) -> float:
    """The most by which a score of the tensor cores differs from that of a chain.

    Every term is bounded by Cauchy and Schwarz, for rows of length 1. Of the unit u = 2^-24 of float32: a chain and the
    sum of chains round once a term; an instruction of the tensor cores takes 8 products of TF32 or 16 of half precision
    and the sum so far, and is trusted to cut each at 2^-23 of the largest, no better; the parts of a split row leave
    out 2^-20; a half row is not rounded to float32 (2 u) and its weights are (3 u), and its numbers below float16's
    smallest lose at most 2^-25 each. None of this was measured on a GPU yet.
    """
    if a.metric == BITS:  # whole numbers below 2^24
        return 0.0
    u, padded = 2.0**-24, a.parts[0].shape[1]
    chain = (CHAIN + a.depth / CHAIN + 4) * u
    if a.is_half:
        return float(chain + padded / 16 * 17 * 2 * u + 5 * u + 2 * a.depth**0.5 * u)
    return float(chain + 3 * padded / 8 * 9 * 2 * u + 2.0**-20)


@dataclass(frozen=True)
class Config:
    """A tile's rows, columns and depth, the warps of a program and the stages of its pipeline. No bit depends on it."""

    rows: int
    cols: int
    depth: int
    warps: int
    stages: int


# By compute capability; the nearest below counts. Chosen by shared memory and registers, not
# by time: nothing was measured on a GPU yet.
_CHAINS = {HOST: Config(64, 64, 1, 4, 1), (8, 0): Config(64, 128, 1, 8, 1)}
_WIDE_CHAINS = {HOST: Config(64, 64, 1, 4, 1), (8, 0): Config(64, 64, 1, 8, 1)}
_PRODUCTS = {
    HOST: Config(64, 64, DEPTH, 4, 1),
    (8, 0): Config(128, 128, DEPTH, 8, 2),
    (9, 0): Config(128, 128, DEPTH, 8, 3),
}


def config_of(rows: Rows, here: tuple[int, int], *, chains: bool) -> Config:
    """The tiles for rows of this kind on a device of this compute capability; `chains` or the tensor cores."""
    table = _PRODUCTS if not chains else _WIDE_CHAINS if rows.metric == L2 or is_double(rows) else _CHAINS
    return table[max(known for known in table if known <= here)]


def is_double(rows: Rows) -> bool:
    return bool(rows.columns.dtype == torch.float64)


def products_of(a: Rows, b: Rows) -> dict[str, object]:
    """What `multiplied` takes of two sets of rows; stand-ins where they have no parts for it."""
    x, y = a.parts or (a.columns,), b.parts or (b.columns,)
    return {
        "a_high": x[0], "a_low": x[-1], "b_high": y[0], "b_low": y[-1], "padded": x[0].shape[1], "SPLIT": len(x) == 2,
        "UPCAST": x[0].dtype == torch.bfloat16 and x[0].device.type == "cpu",
    }  # fmt: skip
