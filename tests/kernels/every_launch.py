# SPDX-License-Identifier: Apache-2.0
"""Calls every Triton launcher in every kind of arguments, on host tensors of sizes that GPUs see."""

from __future__ import annotations

import numpy as np
import torch
from wmb_fast.kernels.triton import cosine, items, match, patch, rows, sweep, topk

N, M, DIM = 256, 512, 256
WHOLE = np.array([[0, N, 0, M]], dtype=np.int64)
UNEVEN = np.array([[0, N, 0, M], [0, N - 1, 1, M]], dtype=np.int64)


def on(capability: int, *, brief: bool) -> None:
    """With the tiles for a device of this compute capability, for example 90; `brief`: its tensor cores alone."""
    for module in (cosine, rows, sweep, topk):
        module.capability = lambda _: divmod(capability, 10)  # type: ignore[attr-defined]
    index, score = torch.zeros(64 * N, dtype=torch.int64), torch.zeros(2 * N * M)
    a, b = torch.zeros((N, DIM)), torch.zeros((M, DIM))
    if brief:
        tiles_of(a, b)
        return
    cosine.cosine_pairs(a, b[:N], DIM, score[:N])
    cosine.cosine_matrix(a, b, WHOLE, False, score)
    cosine.cosine_matrix(a, a, UNEVEN[:, [0, 1, 0, 1]], True, score)
    match.match(a, b, WHOLE, False, True, 0.9, index, score)
    match.match(a, b, WHOLE, True, True, 0.9, index, score)
    patch.patch_best_match(a, b, WHOLE, score)
    topk.topk(a, b, WHOLE, 1, index, score)
    topk.topk(a, b, WHOLE, topk.MOST_IN_REGISTERS, index, score)
    bits = torch.zeros((M, 32), dtype=torch.uint8)
    match.match_binary(bits[:N], bits, WHOLE, True, 0.8, index, score)
    tiles_of(a.bfloat16(), b.bfloat16())
    cosine.cosine_matrix(a.bfloat16(), b.bfloat16(), WHOLE, False, score)
    match.match(a.double(), b.double(), WHOLE, False, False, 0.0, index, score.double())


def tiles_of(a: torch.Tensor, b: torch.Tensor) -> None:
    """The largest scores of groups, of rows and of columns."""
    spans = items.Items.of(WHOLE, a.device)
    search = sweep.Search(rows.prepare(a, rows.COSINE, parts=True), rows.prepare(b, rows.COSINE, parts=True), spans)
    of_rows, of_cols = torch.zeros((M // sweep.GROUP, N)), torch.zeros((N // sweep.GROUP, M))
    search.sweep(of_rows, of_cols, False, sweep.Slab(0, 1, 0, N))
