# SPDX-License-Identifier: Apache-2.0
"""Nearest neighbours, matches and patches in Triton's interpreter, against the CPU core's bits and the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import triton.runtime.interpreter
from both import HALVES, SIZES, UNEVEN, Array, compare, whole
from similarity import rows
from wmb_fast.kernels.triton import match, patch, sweep, tiles
from wmb_fast.kernels.triton import rows as rows_of

import wmb_fast as wmb
from wmb_fast import _core as core


def outs(spans: Array, dtype: Any) -> list[Array]:
    n = int((spans[:, 1] - spans[:, 0]).sum())
    return [np.empty(n, np.int64), np.empty(n, dtype)]


def repeated(a: Array, b: Array) -> None:
    """Rows that stand in several groups of b, and in one group several times."""
    b[10:40], b[60:], a[5:9] = b[9], b[9], b[9]


def tiny(a: Array, b: Array) -> None:
    """Distances whose squares leave the type, some of them zero; no number too large."""
    for x in (a, b):
        x[17], x[13] = x[0], x[1]
        x *= 1e-18 if x.itemsize == 4 else 1e-170
    a[3] = a[5] = b[6] = b[4]


def ordinary(a: Array, b: Array) -> None:
    """No number so large that its square matters."""
    for x in (a, b):
        x[17], x[13] = x[0], x[1]


def huge(a: Array, b: Array) -> None:
    """Numbers whose squares leave the type."""
    if a.itemsize == 8:
        b[17] *= 1e200


@pytest.mark.parametrize("metric", ["cosine", "l2"])
@pytest.mark.parametrize(("n", "m", "dim"), SIZES)
def test_nearest(metric: str, n: int, m: int, dim: int) -> None:
    a, b = rows(n, dim, 1), rows(m, dim, 2)
    spans = whole(a, b)
    want = outs(spans, np.float32)
    compare(core.match, match.match, (a, b, spans, metric == "l2", False, 0.0), want)
    if dim > 1:  # else many are as near
        np.testing.assert_array_equal(want[0], wmb.reference.nearest(a, b, metric=metric)[0])


@pytest.mark.parametrize("mutual", [False, True])
@pytest.mark.parametrize(("metric", "dtype"), [("cosine", "float32"), ("l2", "float32")])
def test_ratio(metric: str, dtype: str, mutual: bool) -> None:
    a, b = rows(63, 4, 1, dtype), rows(130, 4, 2, dtype)
    b[100] = b[40] * (1 + 1e-7)
    spans = whole(a, b)
    want = outs(spans, dtype)
    compare(core.match, match.match, (a, b, spans, metric == "l2", mutual, 0.97), want)
    assert 0 < (want[0] >= 0).sum() < 60


@pytest.mark.parametrize(
    ("change", "dtype"),
    [
        (repeated, "float32"),
        (tiny, "float32"),
        (huge, "float32"),
        (tiny, "float64"),
        (ordinary, "float64"),
        (huge, "float64"),
    ],
)
def test_distances_that_squares_mix_up(dtype: str, change: Callable[[Array, Array], None]) -> None:
    a, b = rows(21, 3, 1, dtype), rows(65, 3, 2, dtype)
    change(a, b)
    spans = whole(a, b)
    compare(core.match, match.match, (a, b, spans, True, True, 0.99), outs(spans, dtype))


@pytest.mark.parametrize("ratio", [0.0, 0.99])
def test_ties_go_to_the_lowest_index(ratio: float) -> None:
    a, b = rows(63, 9, 1), rows(65, 9, 2)
    repeated(a, b)
    spans = whole(a, b)
    want = outs(spans, np.float32)
    compare(core.match, match.match, (a, b, spans, False, True, ratio), want)
    assert ratio or want[0][5] == 9


@pytest.mark.parametrize("half", HALVES)
def test_half_precision(half: torch.dtype) -> None:
    a, b = (torch.from_numpy(rows(size, 9, size)).to(half) for size in (17, 65))
    spans = whole(a, b)
    for l2, ratio in ((False, 0.0), (False, 0.97), (True, 0.9)):
        compare(core.match, match.match, (a, b, spans, l2, True, ratio), outs(spans, np.float32))
    compare(core.patch_best_match, patch.patch_best_match, (a, b, spans), [np.empty(82, np.float32)])


@pytest.mark.parametrize(("n", "m", "dim"), [(1, 1, 1), (17, 63, 5), (130, 65, 1)])
def test_bytes(n: int, m: int, dim: int) -> None:
    random = np.random.default_rng(n)
    a, b = random.integers(0, 256, (n, dim), np.uint8), random.integers(0, 256, (m, dim), np.uint8)
    a[n // 2], b[m // 2] = 0, 0
    spans = whole(a, b)
    for ratio in (0.0, 0.9):
        compare(core.match_binary, match.match_binary, (a, b, spans, True, ratio), outs(spans, np.float32))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "m", "dim"), SIZES[1:3])
def test_patches(dtype: str, n: int, m: int, dim: int) -> None:
    a, b = rows(n, dim, 1, dtype), rows(m, dim, 2, dtype)
    want = np.empty(n + m, dtype)
    compare(core.patch_best_match, patch.patch_best_match, (a, b, whole(a, b)), [want])
    np.testing.assert_allclose(want, wmb.reference.patch_best_match(a, b), rtol=0, atol=1e-6)


def test_nothing_to_choose_from() -> None:
    a, b = rows(17, 3, 1), np.zeros((5, 3), np.float32)
    for other in (b, b[:0], np.full_like(b, np.nan)):
        spans = whole(a, other)
        compare(core.match, match.match, (a, other, spans, False, True, 0.5), outs(spans, np.float32))
        compare(
            core.patch_best_match, patch.patch_best_match, (a, other, spans), [np.empty(17 + len(other), np.float32)]
        )
        turned = whole(other, a)
        compare(core.match, match.match, (other, a, turned, False, True, 0.0), outs(turned, np.float32))


@pytest.mark.parametrize("l2", [False, True])
def test_uneven_items(l2: bool) -> None:
    a, b = rows(65, 3, 1), rows(65, 3, 2)
    compare(core.match, match.match, (a, b, UNEVEN, l2, True, 0.0), outs(UNEVEN, np.float32))
    both = np.empty(int((UNEVEN[:, 1::2] - UNEVEN[:, ::2]).sum()), np.float32)
    compare(core.patch_best_match, patch.patch_best_match, (a, b, UNEVEN), [both])


@pytest.mark.parametrize("most", [1, 200])
def test_little_workspace(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Item by item; and an item whose groups do not fit, part by part and one direction after the other."""
    monkeypatch.setattr(sweep, "MOST_WORKSPACE", most)
    monkeypatch.setattr(sweep, "ROWS_OF_A_SLAB", 32)
    a, b = rows(65, 3, 1), rows(65, 3, 2)
    for spans in (whole(a, b), UNEVEN):
        compare(core.match, match.match, (a, b, spans, False, True, 0.0), outs(spans, np.float32))


@pytest.mark.parametrize("tile", [(32, 128), (128, 32)])
def test_no_bit_depends_on_the_tile(tile: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    for table in (tiles._CHAINS, tiles._WIDE_CHAINS, tiles._PRODUCTS):
        monkeypatch.setitem(table, tiles.HOST, tiles.Config(*tile, 32, 4, 1))
    a, b = rows(65, 5, 1), rows(130, 5, 2)
    spans = whole(a, b)
    compare(core.match, match.match, (a, b, spans, False, True, 0.95), outs(spans, np.float32))


class Rounded:
    """The tensor cores at their worst: every product of a tile off by the most that `tile_error` trusts them with."""

    def __init__(self, error: float) -> None:
        self.random, self.error = np.random.default_rng(0), error
        self.exact = triton.runtime.interpreter.InterpreterBuilder.create_dot

    def __call__(self, builder: Any, a: Any, b: Any, sum_so_far: Any, *rest: Any) -> Any:
        product = self.exact(builder, a, b, sum_so_far, *rest)
        # Three products make up a score: a third each.
        off = self.random.choice([-self.error, self.error], product.data.shape) / 3.001
        product.data = product.data + off.astype(product.data.dtype)
        return product


@pytest.mark.parametrize("trusted", [True, False])
def test_rescoring_makes_good_what_tensor_cores_round(trusted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = rows(63, 17, 1), rows(130, 17, 2)
    b[64:128] = b[:64] * (1 + 3e-5 * np.random.default_rng(5).standard_normal((64, 17), np.float32))
    ready = rows_of.prepare(torch.from_numpy(a), rows_of.COSINE, parts=True)
    off = Rounded(tiles.tile_error(ready))
    interpreter = triton.runtime.interpreter.InterpreterBuilder
    monkeypatch.setattr(interpreter, "create_dot", lambda self, *arguments: off(self, *arguments))
    if not trusted:
        monkeypatch.setattr(sweep, "tile_error", lambda rows: 0.0)
    spans = whole(a, b)

    def check() -> None:
        compare(core.match, match.match, (a, b, spans, False, True, 0.0), outs(spans, np.float32))

    if trusted:
        check()
    else:
        with pytest.raises(AssertionError):
            check()
