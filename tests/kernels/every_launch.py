# SPDX-License-Identifier: Apache-2.0
"""Calls every Triton launcher in every kind of arguments, on host tensors of sizes that GPUs see."""

from __future__ import annotations

import numpy as np
import torch

from wmb_fast.kernels.triton import cosine, match, patch, sweep, topk


def on(capability: int) -> None:
    """With the tiles for a device of this compute capability, for example 90."""
    for module in (cosine, sweep, topk):
        module.capability = lambda _: divmod(capability, 10)  # type: ignore[attr-defined]
    n, m, dim = 256, 512, 256
    spans = np.array([[0, n, 0, m]], dtype=np.int64)
    uneven = np.array([[0, n, 0, m], [0, n - 1, 1, m]], dtype=np.int64)
    index = torch.zeros(8 * n, dtype=torch.int64)
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        a, b = torch.zeros((n, dim), dtype=dtype), torch.zeros((m, dim), dtype=dtype)
        score = torch.zeros(2 * n * m, dtype=torch.float64 if dtype == torch.float64 else torch.float32)
        cosine.cosine_pairs(a, b[:n], dim, score[:n])
        cosine.cosine_matrix(a, b, spans, False, score)
        match.match(a, b, spans, False, True, 0.9, index, score)
        if dtype == torch.float16:  # the same kernels as bfloat16's, but for the type of a load
            continue
        cosine.cosine_matrix(a, a, spans, True, score)
        cosine.cosine_matrix(a, b, uneven, False, score)
        match.match(a, b, spans, False, False, 0.0, index, score)
        match.match(a, b, spans, True, True, 0.9, index, score)
        patch.patch_best_match(a, b, spans, score)
        topk.topk(a, b, spans, 5, index, score)
        if dtype == torch.float32:
            topk.topk(a, b, spans, topk.MOST_IN_REGISTERS, index.new_zeros(64 * n), score)
    bits = torch.zeros((m, 32), dtype=torch.uint8)
    match.match_binary(bits[:n], bits, spans, True, 0.8, index, torch.zeros(n))
