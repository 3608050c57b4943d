# SPDX-License-Identifier: Apache-2.0
"""Calls every Triton launcher in every kind of arguments, on host tensors of sizes that GPUs see."""

from __future__ import annotations

import numpy as np
import torch

from wmb_fast.kernels.triton import cosine, tiles


def on(capability: int) -> None:
    tiles.capability = cosine.capability = lambda _: divmod(capability, 10)
    n, m, dim = 256, 512, 256
    spans = np.array([[0, n, 0, m]], dtype=np.int64)
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        a, b = torch.zeros((n, dim), dtype=dtype), torch.zeros((m, dim), dtype=dtype)
        exact = torch.float64 if dtype == torch.float64 else torch.float32
        cosine.cosine_matrix(a, b, spans, False, torch.zeros(n * m, dtype=exact))
        cosine.cosine_pairs(a, b[:n], dim, torch.zeros(n, dtype=exact))
