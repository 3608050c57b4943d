# SPDX-License-Identifier: Apache-2.0
"""topk against its reference and against the sorted matrix, and the cases that others get wrong."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from similarity import rows

import wmb_fast as wmb
from wmb_fast._walls.ext import core


def sorted_matrix(queries: np.ndarray, gallery: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """What topk must give to the bit: the rows of cosine_matrix, sorted, ties in order."""
    scores = wmb.cosine_matrix(queries, gallery)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    best = np.take_along_axis(scores, order, axis=1)
    room = max(k - best.shape[1], 0)
    index = np.pad(np.where(np.isnan(best), -1, order), ((0, 0), (0, room)), constant_values=-1)
    return index, np.pad(best, ((0, 0), (0, room)), constant_values=np.nan)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("n", "m", "dim", "k"), [(1, 1, 1, 1), (37, 700, 16, 5), (3, 90, 130, 90), (200, 41, 7, 50), (2, 20000, 4, 300)]
)
def test_is_the_sorted_matrix(dtype: str, n: int, m: int, dim: int, k: int) -> None:
    a, b = rows(n, dim, 1, dtype), rows(m, dim, 2, dtype)
    got = wmb.topk(a, b, k)
    index, score = sorted_matrix(a, b, k)
    assert got.index.dtype == np.int64
    assert got.score.dtype == dtype
    np.testing.assert_array_equal(got.index, index)
    np.testing.assert_array_equal(got.score, score)


def test_reference() -> None:
    a, b = rows(37, 19, 1, "float64"), rows(150, 19, 2, "float64")
    got, (index, score) = wmb.topk(a, b, 9), wmb.reference.topk(a, b, 9)
    np.testing.assert_allclose(got.score, score, rtol=0, atol=1e-13)
    tied = np.isin(got.index, (2, 7, 11))  # copies of one row: float64 sums may order them otherwise
    np.testing.assert_array_equal(got.index[~tied], index[~tied])
    np.testing.assert_array_equal(wmb.topk(a, b, 9, backend="reference").index, index)


def test_agrees_with_nearest() -> None:
    a, b = rows(61, 33, 1), rows(603, 33, 2)
    found, best = wmb.nearest(a, b), wmb.topk(a, b, 1)
    np.testing.assert_array_equal(best.index[:, 0], found.index)
    np.testing.assert_array_equal(best.score[:, 0], found.score)


def test_k_beyond_the_gallery_is_padded() -> None:
    got = wmb.topk(np.eye(2), np.array([[1.0, 0], [0, 0], [1, 1]]), 5)
    np.testing.assert_array_equal(got.index, [[0, 2, -1, -1, -1], [2, 0, -1, -1, -1]])
    np.testing.assert_array_equal(np.isnan(got.score), got.index < 0)
    empty = wmb.topk(np.eye(2), np.zeros((0, 2)), 3)
    assert (empty.index == -1).all()
    assert np.isnan(empty.score).all()
    assert wmb.topk(np.zeros((0, 2)), np.eye(2), 3).index.shape == (0, 3)


def test_zero_and_nan_rows_never_rank() -> None:
    gallery = np.float32([[np.nan, 1], [0, 0], [-1, 0], [1, np.inf], [-1, -1]])
    got = wmb.topk(np.float32([[1, 0], [0, 0], [np.nan, 1]]), gallery, 3)
    np.testing.assert_array_equal(got.index, [[4, 2, -1], [-1] * 3, [-1] * 3])
    np.testing.assert_array_equal(np.isnan(got.score), got.index < 0)


@pytest.mark.parametrize("copies", [1, 1000, 20000])
def test_m02_ties(copies: int) -> None:
    """Equal rows rank by index, whatever panel or chunk they stand in."""
    u, v = np.eye(2, dtype=np.float32)
    got = wmb.topk(u[None], np.tile(np.stack([v, u, u * 4]), (copies, 1)), 40)
    kept = min(2 * copies, 40)
    both = np.sort(np.concatenate([np.arange(copies) * 3 + 1, np.arange(copies) * 3 + 2]))
    np.testing.assert_array_equal(got.index[0, :kept], both[:kept])
    np.testing.assert_array_equal(got.score[0, :kept], 1)


def test_ties_of_clipped_scores() -> None:
    """Multiples of one row, whose float32 cosines would straddle 1: all score 1 or next to it, in a total order."""
    x = np.random.default_rng(3).standard_normal(512).astype(np.float32)
    gallery = x * np.random.default_rng(4).uniform(0.1, 9, (500, 1)).astype(np.float32)
    got = wmb.topk(x[None], gallery, 500)
    assert got.score.max() <= 1
    pairs = list(zip(-got.score[0], got.index[0], strict=True))
    assert pairs == sorted(pairs)


def test_descending_and_ascending_galleries() -> None:
    """The best come last, or first: candidates are thrown out at every tile, or never."""
    angle = np.linspace(0.01, 3, 30000)
    gallery = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for order in (slice(None), slice(None, None, -1)):
        index, score = sorted_matrix(np.eye(2), gallery[order], 7)
        got = wmb.topk(np.eye(2), gallery[order], 7)
        np.testing.assert_array_equal(got.index, index)
        np.testing.assert_array_equal(got.score, score)


def hard_galleries(queries: np.ndarray, m: int, dtype: str) -> dict[str, np.ndarray]:
    """Galleries on which a quick look at the rows decides least, or goes wrong most easily."""
    rng = np.random.default_rng(m)
    x = rng.standard_normal((m, queries.shape[1]))
    near = queries[0] + 0.3 * x[0]
    cosines = x @ queries[0] / np.linalg.norm(x, axis=1)
    wide = 10.0 ** rng.uniform(*((-44, 37) if dtype == "float32" else (-320, 300)), x.shape)
    broken = x.copy()
    for value in (0, np.nan, np.inf, -np.inf):
        broken[rng.random(m) < 0.1] = value
        broken[rng.random(m) < 0.05, 0] = value
    u = float(np.finfo(dtype).eps)
    return {
        "as it comes": x,
        "equal": np.tile(x[:1], (m, 1)),
        "few different": x[rng.integers(0, 9, m)],
        "within rounding": near * (1 + u * x),
        "around rounding": near * (1 + 30 * u * x),
        "one direction": near * rng.uniform(0.1, 9, (m, 1)),
        "worse and worse": x[np.argsort(-cosines)],
        "better and better": x[np.argsort(cosines)],
        "rows of any size": x * wide[:, :1],
        "elements of any size": x * wide,
        "broken": broken,
        "small integers": rng.integers(-1, 2, x.shape),
    }


@pytest.mark.parametrize("simd", core.simd_levels())
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "dim", "k"), [(1, 130, 5), (3, 16, 1), (12, 33, 20), (13, 33, 20), (2, 1, 3)])
def test_few_queries(simd: str, dtype: str, n: int, dim: int, k: int) -> None:
    """Most rows of a gallery get only a look: the bits are those of the sorted matrix, whatever the gallery."""
    queries = np.random.default_rng(n).standard_normal((n, dim))
    queries[1:3] *= np.reshape([1e-30, 1e30][: n - 1], (-1, 1))
    core.set_simd_level(simd)
    try:
        for name, gallery in hard_galleries(queries, 1500, dtype).items():
            a, b = queries.astype(dtype), gallery.astype(dtype)
            got, (index, score) = wmb.topk(a, b, k), sorted_matrix(a, b, k)
            np.testing.assert_array_equal(got.index, index, err_msg=name)
            np.testing.assert_array_equal(got.score, score, err_msg=name)
    finally:
        core.set_simd_level(core.simd_levels()[-1])


def test_batches_lists_lengths_and_torch() -> None:
    queries, gallery = rows(120, 16, 1).reshape(2, 3, 20, 16), rows(150, 16, 2).reshape(3, 50, 16)
    whole = wmb.topk(queries, gallery, 4)
    assert whole.index.shape == whole.score.shape == (2, 3, 20, 4)
    sizes, gallery_sizes = np.array([[20, 3, 0], [1, 20, 7]]), np.array([50, 1, 0])
    padded = wmb.topk(queries, gallery, 4, lengths=sizes, gallery_lengths=gallery_sizes)
    for i in range(2):
        for j in range(3):
            alone = wmb.topk(queries[i, j], gallery[j], 4)
            np.testing.assert_array_equal(whole.index[i, j], alone.index)
            n = sizes[i, j]
            short = wmb.topk([queries[i, j, :n]], [gallery[j, : gallery_sizes[j]]], 4)
            np.testing.assert_array_equal(padded.index[i, j, :n], short.index[0])
            np.testing.assert_array_equal(padded.score[i, j, :n], short.score[0])
            assert (padded.index[i, j, n:] == -1).all()
            assert np.isnan(padded.score[i, j, n:]).all()
    one = wmb.topk(queries[0, 0], gallery[0], 4, gallery_lengths=9)
    np.testing.assert_array_equal(one.index, wmb.topk(queries[0, 0], gallery[0, :9], 4).index)
    got = wmb.topk(torch.from_numpy(queries), torch.from_numpy(gallery), 4)
    assert isinstance(got.index, torch.Tensor)
    np.testing.assert_array_equal(got.score.numpy(), whole.score)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 20), st.integers(0, 70), st.integers(1, 6), st.integers(1, 80), st.integers(0, 2**31))
def test_permutation_and_duplicates(n: int, m: int, dim: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-1, 2, (size, dim)).astype(np.float32) for size in (n, m))
    p, q = rng.permutation(n), rng.permutation(m)
    plain, mixed = wmb.topk(a, b, k), wmb.topk(a[p], b[q], k)
    np.testing.assert_array_equal(mixed.score, plain.score[p])
    for found, left, right in ((plain, a, b), (mixed, a[p], b[q])):
        index, score = sorted_matrix(left, right, k)
        np.testing.assert_array_equal(found.index, index)
        np.testing.assert_array_equal(found.score, score)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: wmb.topk(x, x, 0), "topk: k must be at least 1, got 0"),
        (lambda x: wmb.topk(x, x, 2.0), "topk: k must be an integer, got 2.0"),
        (lambda x: wmb.topk(x[0], x, 2), r"topk: queries must have shape \(..., N, D\) with D at least 1"),
        (lambda x: wmb.topk(x, x[:, :2], 2), r"topk: gallery must have shape \(..., N, 3\), got shape \(4, 2\)"),
        (lambda x: wmb.topk([x], x, 2), "topk: gallery must be a list of arrays where queries is one, and only there"),
        (lambda x: wmb.topk(x, x, 2, lengths=5), "topk: lengths must lie between 0 and 4, got 5 to 5"),
        (lambda x: wmb.topk(x, x, 2, gallery_lengths=[1]), r"topk: gallery_lengths must have the batch's shape \(\)"),
        (lambda x: wmb.topk([x], [x], 2, gallery_lengths=[1]), "topk: gallery_lengths must be None for a list"),
        (lambda x: wmb.topk(x, x.astype(int), 2), "topk: gallery must have dtype float16 or"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    with pytest.raises(wmb.WmbError, match=message):
        call(np.ones((4, 3), dtype=np.float32))
