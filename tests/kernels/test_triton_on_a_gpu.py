# SPDX-License-Identifier: Apache-2.0
"""Triton's kernels on a GPU: the CPU core's bits, and tensor cores that round no worse than they are trusted to.

Skipped without one, unless ``WMB_REQUIRE_CUDA=1``: then that is a failure. None of it was run on a GPU yet.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from every_op import assert_same, leaves
from similarity import rows

import wmb_fast as wmb
from wmb_fast._walls.ext import triton_status

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.cuda
SIZES = ((1, 1, 1), (17, 63, 65), (65, 130, 17), (130, 17, 300), (1000, 2300, 256))


@pytest.fixture(autouse=True)
def gpu() -> None:
    usable, why_not = triton_status()
    if not usable and os.environ.get("WMB_REQUIRE_CUDA") == "1":
        pytest.fail(f"WMB_REQUIRE_CUDA=1, and {why_not}")
    if not usable:
        pytest.skip(why_not)


def assert_same_as_the_host(op: Any, *arguments: Any, **options: Any) -> None:
    want = op(*arguments, **options)
    got = op(*(x.cuda() if isinstance(x, torch.Tensor) else x for x in arguments), **options)
    assert_same([value.cpu() for _, value in leaves(got)], [value for _, value in leaves(want)])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize(("n", "m", "dim"), SIZES)
def test_bits_of_the_host(n: int, m: int, dim: int, dtype: str) -> None:
    a, b = (torch.from_numpy(rows(size, dim, size)).to(getattr(torch, dtype)) for size in (n, m))
    assert_same_as_the_host(wmb.nearest, a, b)
    assert_same_as_the_host(wmb.nearest, a, b, metric="l2")
    assert_same_as_the_host(wmb.mutual_matches, a, b, ratio=0.97)
    assert_same_as_the_host(wmb.patch_best_match, a, b)
    assert_same_as_the_host(wmb.topk, a, b, 5)
    assert_same_as_the_host(wmb.topk, a, b, 70)
    assert_same_as_the_host(wmb.cosine_pairs, a, b[:1])
    if dtype in ("float32", "float64"):
        assert_same_as_the_host(wmb.cosine_matrix, a, b)
        assert_same_as_the_host(wmb.cosine_matrix, a)


def test_bytes_and_padded_batches() -> None:
    bits = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (2, 700, 33), np.uint8))
    assert_same_as_the_host(wmb.nearest, *bits, metric="hamming")
    a = torch.from_numpy(rows(3 * 70, 17, 1)).reshape(3, 70, 17)
    assert_same_as_the_host(wmb.nearest, a, a.flip(1), lengths=[70, 0, 33], lengths_b=[5, 70, 64])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("dim", [64, 256, 1024])
def test_tensor_cores_round_no_worse_than_trusted(dim: int, dtype: str) -> None:
    from wmb_fast.kernels.triton import items, sweep, tiles
    from wmb_fast.kernels.triton import rows as made

    n = 1024
    x, y = (torch.randn((n, dim), generator=torch.Generator().manual_seed(i)).to(getattr(torch, dtype)) for i in (1, 2))
    y[: n // 2] = x[: n // 2]  # cosines near 1, where every product has one sign
    a, b = (made.prepare(side.cuda(), made.COSINE, parts=True) for side in (x, y))
    search = sweep.Search(a, b, items.Items.of(np.array([[0, n, 0, n]]), a.data.device))
    groups = a.columns.new_empty((1, n // sweep.GROUP, n))
    search.sweep(groups, None, False, sweep.Slab(0, 1, 0, n))
    want = wmb.cosine_matrix(x, y).reshape(n, n // sweep.GROUP, sweep.GROUP).amax(dim=2).T
    off, trusted = float((groups[0].cpu() - want).abs().max()), tiles.tile_error(a)
    print(f"{dtype}, D = {dim}: off by {off:.2g} at most, trusted with {trusted:.2g}")
    assert off <= trusted
