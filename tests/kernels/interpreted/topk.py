# SPDX-License-Identifier: Apache-2.0
"""The k best of a gallery in Triton's interpreter, against the CPU core's bits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from both import HALVES, UNEVEN, compare, whole
from similarity import rows
from wmb_fast.kernels.triton import sweep, topk

from wmb_fast import _core as core


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "m", "dim", "k"), [(1, 1, 1, 1), (17, 130, 17, 5), (65, 63, 1, 64), (17, 65, 9, 70)])
def test_topk(dtype: str, n: int, m: int, dim: int, k: int) -> None:
    a, b = rows(n, dim, 1, dtype), rows(m, dim, 2, dtype)
    if m > 50:
        b[40:50], b[50:60] = b[10], 0  # ties across groups, rows without a direction
    compare(core.topk, topk.topk, (a, b, whole(a, b), k), [np.empty(n * k, np.int64), np.empty(n * k, dtype)])


@pytest.mark.parametrize("half", HALVES)
def test_half_precision(half: torch.dtype) -> None:
    a, b = (torch.from_numpy(rows(size, 17, size)).to(half) for size in (17, 130))
    for k in (7, 65):
        compare(
            core.topk, topk.topk, (a, b, whole(a, b), k), [np.empty(17 * k, np.int64), np.empty(17 * k, np.float32)]
        )


@pytest.mark.parametrize("k", [3, 66])
def test_uneven_items(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "MOST_WORKSPACE", 100)
    monkeypatch.setattr(sweep, "ROWS_OF_A_SLAB", 16)
    monkeypatch.setattr(topk, "MOST_SCORES", 500)
    a, b = rows(65, 5, 1), rows(65, 5, 2)
    n = int((UNEVEN[:, 1] - UNEVEN[:, 0]).sum()) * k
    compare(core.topk, topk.topk, (a, b, UNEVEN, k), [np.empty(n, np.int64), np.empty(n, np.float32)])
