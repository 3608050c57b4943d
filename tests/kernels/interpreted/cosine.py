# SPDX-License-Identifier: Apache-2.0
"""Cosines of pairs and of all rows in Triton's interpreter, against the CPU core's bits and the reference."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from both import HALVES, SIZES, UNEVEN, Array, compare, same_bits, whole
from similarity import rows
from wmb_fast.kernels.triton import cosine, tiles
from wmb_fast.kernels.triton.rows import COSINE, prepare

import wmb_fast as wmb
from wmb_fast import _core as core


def extreme(n: int, dim: int, seed: int, dtype: str) -> Array:
    """Rows with zeros, NaN, infinities, and in float64 numbers whose squares leave its range."""
    x = rows(n, dim, seed, dtype)
    if n > 10:
        x[8, 0], x[9] = np.inf, -np.abs(x[9])
        if dtype == "float64":
            x[1] *= 1e-200
            x[4] *= 1e200
            x[6] *= 1e-310
    return x


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dim", [1, 17, 130])
def test_pairs(dtype: str, dim: int) -> None:
    a, b = extreme(65, dim, 1, dtype), extreme(65, dim, 2, dtype)[::-1].copy()
    compare(core.cosine_pairs, cosine.cosine_pairs, (a, b, dim), [np.empty(65, dtype)])
    compare(core.cosine_pairs, cosine.cosine_pairs, (a, b[2], dim), [np.empty(65, dtype)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "m", "dim"), SIZES)
def test_matrix(dtype: str, n: int, m: int, dim: int) -> None:
    a, b = extreme(n, dim, 1, dtype), extreme(m, dim, 2, dtype)
    got = np.empty(n * m, dtype)
    compare(core.cosine_matrix, cosine.cosine_matrix, (a, b, whole(a, b), False), [got])
    tolerance = 1e-6 if dtype == "float32" else 1e-13
    np.testing.assert_allclose(got.reshape(n, m), wmb.reference.cosine_matrix(a, b), rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matrix_of_a_set_with_itself(dtype: str) -> None:
    a = extreme(65, 9, 1, dtype)
    compare(core.cosine_matrix, cosine.cosine_matrix, (a, a, whole(a, a), True), [np.empty(65 * 65, dtype)])


def test_chains_longer_than_one() -> None:
    a, b = rows(23, 260, 1), rows(9, 260, 2)
    compare(core.cosine_matrix, cosine.cosine_matrix, (a, b, whole(a, b), False), [np.empty(23 * 9, np.float32)])


def test_uneven_items() -> None:
    a, b = rows(65, 3, 1), rows(65, 3, 2)
    sizes = UNEVEN[:, 1::2] - UNEVEN[:, ::2]
    scores = np.empty(int(sizes.prod(axis=1).sum()), np.float32)
    compare(core.cosine_matrix, cosine.cosine_matrix, (a, b, UNEVEN, False), [scores])


def test_even_items_need_no_table() -> None:
    a, b = rows(60, 5, 1), rows(20, 5, 2)
    spans = np.array([[20 * i, 20 * i + 20, 0, 20] for i in range(3)], dtype=np.int64)
    compare(core.cosine_matrix, cosine.cosine_matrix, (a, b, spans, False), [np.empty(1200, np.float32)])
    assert cosine.Items.of(spans, torch.device("cpu")).table is None
    assert cosine.Items.of(UNEVEN, torch.device("cpu")).table is not None


@pytest.mark.parametrize("tile", [(16, 128), (128, 32)])
def test_no_bit_depends_on_the_tile(tile: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tiles._CHAINS, tiles.HOST, tiles.Config(*tile, 1, 4, 1))
    a, b = rows(65, 9, 1), rows(130, 9, 2)
    compare(core.cosine_matrix, cosine.cosine_matrix, (a, b, whole(a, b), False), [np.empty(65 * 130, np.float32)])


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize(("n", "m", "dim"), SIZES[1:3])
def test_half_precision(half: torch.dtype, n: int, m: int, dim: int) -> None:
    a, b = (torch.from_numpy(rows(size, dim, seed)).to(half) for seed, size in enumerate((n, m)))
    scores, back = torch.full((n * m,), -9.0), torch.full((n * n,), -9.0)
    cosine.cosine_matrix(a, b, whole(a, b), False, scores)
    want = wmb.cosine_matrix(a, b)
    np.testing.assert_array_equal(scores.isnan(), want.reshape(-1).isnan())
    off = (scores - want.reshape(-1)).abs().nan_to_num().max()
    assert off <= tiles.tile_error(prepare(a, COSINE, parts=True))
    assert off <= 1e-6
    cosine.cosine_matrix(a, a, whole(a, a), True, back)
    same_bits(back.reshape(n, n).T.contiguous(), back.reshape(n, n).numpy())


@pytest.mark.parametrize("half", HALVES)
def test_pairs_of_half_precision(half: torch.dtype) -> None:
    a, b = (torch.from_numpy(rows(65, 33, seed)).to(half) for seed in (1, 2))
    compare(core.cosine_pairs, cosine.cosine_pairs, (a, b, 33), [np.empty(65, np.float32)])
