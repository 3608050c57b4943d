# SPDX-License-Identifier: Apache-2.0
"""nearest and mutual_matches against their reference, and the cases that others get wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from similarity import everything, rows

import wmb_fast as wmb
from wmb_fast._walls.ext import simd_levels

TIE = 1e-6  # two scores this close may be ordered otherwise in float32 than in float64


def same_matches(got: wmb.Matches, want: wmb.Matches) -> None:
    for field in ("index_a", "index_b", "score"):
        np.testing.assert_array_equal(getattr(got, field), getattr(want, field))


def pairs(matches: wmb.Matches) -> list[tuple[int, int]]:
    return list(zip(matches.index_a.tolist(), matches.index_b.tolist(), strict=True))


@pytest.mark.parametrize("metric", ["cosine", "l2"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "m", "dim"), [(1, 1, 1), (1, 40, 5), (37, 1, 3), (50, 70, 16), (61, 33, 130)])
def test_reference(metric: str, dtype: str, n: int, m: int, dim: int) -> None:
    a, b = rows(n, dim, 1, dtype), rows(m, dim, 2, dtype)
    if metric == "l2":  # the huge row of rows() would make every other difference relative to it
        a, b = np.clip(a, -1e3, 1e3), np.clip(b, -1e3, 1e3)
    got, (index, score) = wmb.nearest(a, b, metric=metric), wmb.reference.nearest(a, b, metric=metric)
    assert got.index.dtype == np.int64
    assert got.score.dtype == dtype
    np.testing.assert_allclose(got.score, score, rtol=1e-6, atol=TIE)
    differing = np.flatnonzero(got.index != index)
    assert (np.abs(got.score[differing] - score[differing]) <= TIE).all()
    assert len(differing) <= n // 10
    for ratio in (None, 0.9):
        found = wmb.mutual_matches(a, b, ratio=ratio, metric=metric)
        index_a, index_b, scores = wmb.reference.mutual_matches(a, b, ratio=ratio, metric=metric)
        if dtype == "float64":
            assert pairs(found) == list(zip(index_a.tolist(), index_b.tolist(), strict=True))
            np.testing.assert_allclose(found.score, scores, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("n", "m", "dim"), [(1, 1, 1), (30, 41, 7), (50, 20, 32), (300, 301, 33)])
def test_hamming(n: int, m: int, dim: int) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (n, dim), dtype=np.uint8), rng.integers(0, 256, (m, dim), dtype=np.uint8)
    got, (index, score) = wmb.nearest(a, b, metric="hamming"), wmb.reference.nearest(a, b, metric="hamming")
    np.testing.assert_array_equal(got.index, index)
    np.testing.assert_array_equal(got.score, score)
    for ratio in (None, 0.9):
        found = wmb.mutual_matches(a, b, ratio=ratio, metric="hamming")
        want = wmb.reference.mutual_matches(a, b, ratio=ratio, metric="hamming")
        for x, y in zip((found.index_a, found.index_b, found.score), want, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(("dtype", "tiny"), [("float32", 1e-30), ("float32", 1e-43), ("float64", 1e-200)])
@pytest.mark.parametrize("others", [False, True])
def test_squares_beyond_the_least_number_of_their_type(dtype: str, tiny: float, others: bool) -> None:
    """Differences whose squares are 0: without care every distance is 0, and the lowest index wins."""
    a, b = np.array([[2.2], [4.9]]) * tiny, np.array([[0.0], [5.0], [2.0]]) * tiny
    if others and dtype == "float32":  # ordinary rows beside them
        a, b = np.append(a, [[1.0]], axis=0), np.append(b, [[1.5]], axis=0)
    a, b = a.astype(dtype), b.astype(dtype)
    found = wmb.nearest(a, b, metric="l2")
    assert found.index.tolist() == [2, 1, 3][: len(a)]
    np.testing.assert_allclose(found.score[:2], np.abs(np.float64(a[:2]) - np.float64(b[[2, 1]]))[:, 0], rtol=1e-6)
    assert pairs(wmb.mutual_matches(a, b, metric="l2")) == [(0, 2), (1, 1), (2, 3)][: len(a)]
    assert wmb.reference.nearest(a, b, metric="l2")[0].tolist() == found.index.tolist()


@pytest.mark.parametrize(("dtype", "huge"), [("float32", 1e30), ("float64", 1e200), ("float64", 1e307)])
def test_squares_beyond_the_largest_number_of_their_type(dtype: str, huge: float) -> None:
    a, b = (np.array([[2.2], [4.9]]) * huge).astype(dtype), (np.array([[0.0], [5.0], [2.0]]) * huge).astype(dtype)
    found = wmb.nearest(a, b, metric="l2")
    assert found.index.tolist() == [2, 1]
    np.testing.assert_allclose(found.score / huge, [0.2, 0.1], rtol=1e-5)
    assert wmb.reference.nearest(a, b, metric="l2")[0].tolist() == [2, 1]


@pytest.mark.parametrize("metric", ["cosine", "l2"])
@pytest.mark.parametrize("copies", [1, 1000])
def test_m02_ties(metric: str, copies: int) -> None:
    u, v = np.eye(2, dtype=np.float32)
    b = np.concatenate([np.tile(np.stack([v, u, u]), (copies, 1))])
    assert pairs(wmb.mutual_matches(u[None], b, metric=metric)) == [(0, 1)]
    assert pairs(wmb.mutual_matches(b, u[None], metric=metric)) == [(1, 0)]


def test_m05_batch_dimension() -> None:
    x, y = rows(100, 128, 1), rows(90, 128, 2)
    single, batch = wmb.mutual_matches(x, y), wmb.mutual_matches(x[None], y)
    assert isinstance(batch, list)
    same_matches(batch[0], single)


def test_batches_and_ragged_lists() -> None:
    x, y = rows(240, 16, 1).reshape(2, 3, 40, 16), rows(150, 16, 2).reshape(3, 50, 16)
    dense, near = wmb.mutual_matches(x, y), wmb.nearest(x, y)
    ragged = wmb.mutual_matches(
        [x[i, j] for i in range(2) for j in range(3)], [y[j] for _ in range(2) for j in range(3)]
    )
    assert near.index.shape == near.score.shape == (2, 3, 40)
    for k in range(6):
        alone = wmb.mutual_matches(x[k // 3, k % 3], y[k % 3])
        same_matches(dense[k], alone)
        same_matches(ragged[k], alone)
        np.testing.assert_array_equal(near.index[k // 3, k % 3], wmb.nearest(x[k // 3, k % 3], y[k % 3]).index)
    lists = wmb.nearest([x[0, 0], x[0, 1, :5]], [y[0], y[1, :0]])
    assert [i.shape for i in lists.index] == [(40,), (5,)]
    assert (lists.index[1] == -1).all()
    assert wmb.mutual_matches([], []) == []
    assert wmb.nearest([], []).index == []


@pytest.mark.parametrize("metric", ["cosine", "l2", "hamming"])
@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 5), (5, 0)])
def test_empty_sets(metric: str, n: int, m: int) -> None:
    dtype = np.uint8 if metric == "hamming" else np.float32
    a, b = np.ones((n, 4), dtype), np.ones((m, 4), dtype)
    found = wmb.nearest(a, b, metric=metric)
    assert (found.index == -1).all()
    assert np.isnan(found.score).all()
    assert found.index.shape == (n,)
    assert pairs(wmb.mutual_matches(a, b, ratio=0.8, metric=metric)) == []


def test_zero_and_nan_rows_never_match() -> None:
    a = np.float32([[1, 0], [np.nan, 1], [0, 0], [-1, 0.1], [np.inf, 0]])
    b = np.float32([[np.nan, np.nan], [0, 0], [-1, 0], [1, 0.1]])
    assert pairs(wmb.mutual_matches(a, b)) == [(0, 3), (3, 2)]
    np.testing.assert_array_equal(wmb.nearest(a, b).index, [3, -1, -1, 2, -1])
    np.testing.assert_array_equal(np.isnan(wmb.nearest(a, b).score), [False, True, True, False, True])
    # Under l2 the origin is a point like any other.
    assert pairs(wmb.mutual_matches(a, b, metric="l2")) == [(0, 3), (2, 1), (3, 2)]


def test_negative_scores_are_found() -> None:
    """Columns beyond the end of b must not win where every cosine is negative."""
    a, b = np.float32([[1, 0, 0]]), np.float32([[-1, 0.2, 0], [-1, 0, 0]])
    assert wmb.nearest(a, b).index[0] == 0
    assert wmb.nearest(a, b).score[0] < 0
    assert wmb.nearest(b, a).index.tolist() == [0, 0]


def test_ratio() -> None:
    """d1 / d2 of Euclidean distances between rows of length 1, strictly below."""
    angle = np.radians([10.0, 20.0])
    a = np.array([[5.0, 0.0]])
    b = np.stack([np.cos(angle), np.sin(angle)], axis=1) * [[3.0], [0.2]]
    d = 2 * np.sin(angle / 2)
    for slack, want in ((1e-9, [(0, 0)]), (-1e-9, [])):
        assert pairs(wmb.mutual_matches(a, b, ratio=d[0] / d[1] + slack)) == want
    assert pairs(wmb.mutual_matches(a, b[:1], ratio=0.9)) == []  # no second row
    assert pairs(wmb.mutual_matches(a, np.concatenate([b[:1], np.full((3, 2), np.nan)]), ratio=0.9)) == []
    assert pairs(wmb.mutual_matches(a, np.concatenate([a, a]), ratio=0.9)) == []  # 0 / 0


def test_ratio_of_nearly_equal_rows_is_exact() -> None:
    """2 - 2 cos has no digits left here."""
    a = np.zeros((1, 64), dtype=np.float32)
    a[0, 0] = 1
    b = np.repeat(a, 2, axis=0)
    b[0, 1], b[1, 2] = 1e-5, 2e-5
    b = np.concatenate([b, -a])
    assert pairs(wmb.mutual_matches(a, b[1:], ratio=0.8)) == [(0, 0)]
    assert pairs(wmb.mutual_matches(a, b[[0, 2]], ratio=1e-4)) == [(0, 0)]


def test_limits() -> None:
    a, b = np.eye(3), np.float64([[0, 1, 0.1], [1, 0, 0]])
    assert pairs(wmb.mutual_matches(a, b, min_score=0.999)) == [(0, 1)]
    assert pairs(wmb.mutual_matches(a, b, metric="l2", max_distance=0.05)) == [(0, 1)]
    assert pairs(wmb.mutual_matches(a, b, metric="l2", max_distance=0.1)) == [(0, 1), (1, 0)]


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_l2_has_no_cancellation(offset: float) -> None:
    """A row is at distance 0 from itself, and the answer does not change with the number of rows."""
    x = (rows(19, 64, 1) + np.float32(offset)).astype(np.float32)
    found = wmb.nearest(x, x, metric="l2")
    np.testing.assert_array_equal(found.score, 0)
    np.testing.assert_array_equal(np.signbit(found.score), False)
    y = rows(500, 64, 2) + np.float32(offset)
    y[3:8] = 1
    whole = wmb.nearest(x, y, metric="l2")
    alone = [wmb.nearest(row[None], y, metric="l2") for row in x]
    np.testing.assert_array_equal(whole.score, [one.score[0] for one in alone])


@pytest.mark.parametrize("size", [1e-44, 1e-30, 1e-15, 1e15, 1e30])
def test_l2_at_any_scale(size: float) -> None:
    grid = np.float32([[1, 0], [4, 4], [20, 0]])
    x = (grid * np.float32(size)).astype(np.float32)
    y = x.copy()
    y[:, 0] += np.float32(size)
    found = wmb.nearest(x, y, metric="l2")
    np.testing.assert_array_equal(found.index, [0, 1, 2])
    np.testing.assert_allclose(found.score, (y - x)[:, 0], rtol=1e-6)


def test_s12_batch_split() -> None:
    x, y = rows(200, 768, 1), rows(90, 768, 2)
    for metric in ("cosine", "l2"):
        a, b = (x, y) if metric == "cosine" else (np.clip(x, -9, 9), np.clip(y, -9, 9))
        whole = wmb.nearest(a, b, metric=metric)
        for step in (1, 7):
            parts = [wmb.nearest(a[i : i + step], b, metric=metric) for i in range(0, 200, step)]
            np.testing.assert_array_equal(np.concatenate([p.index for p in parts]), whole.index)
            np.testing.assert_array_equal(np.concatenate([p.score for p in parts]), whole.score)


def test_more_columns_than_one_block() -> None:
    """Bests of several column blocks are merged, ties across them included."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((40, 8)).astype(np.float32), rng.standard_normal((20000, 8)).astype(np.float32)
    b[19000:19040] = b[100:140] = a
    found = wmb.nearest(a, b)
    np.testing.assert_array_equal(found.index, np.arange(100, 140))
    np.testing.assert_array_equal(wmb.nearest(b, a).index[[100, 19000]], [0, 0])
    assert pairs(wmb.mutual_matches(a, b, ratio=0.9)) == []
    assert pairs(wmb.mutual_matches(a, b)) == [(i, 100 + i) for i in range(40)]
    other = wmb.reference.nearest(a[:5], b)
    np.testing.assert_array_equal(found.index[:5], other[0])


def test_layouts_and_torch() -> None:
    x, y = rows(30, 20, 1), rows(35, 20, 2)
    want = wmb.mutual_matches(x, y, ratio=0.95)
    frozen = y.copy()
    frozen.flags.writeable = False
    for other in (np.asfortranarray(x), x[::-1].copy()[::-1], np.repeat(x, 2, axis=0)[::2]):
        same_matches(wmb.mutual_matches(other, frozen, ratio=0.95), want)
    got = wmb.mutual_matches(torch.from_numpy(x), torch.from_numpy(y), ratio=0.95)
    assert all(isinstance(v, torch.Tensor) for v in (got.index_a, got.index_b, got.score))
    assert got.index_a.dtype is torch.int64
    same_matches(got, want)
    half, whole = (
        wmb.nearest(torch.from_numpy(x).to(t).to(u), torch.from_numpy(y).to(t).to(u))
        for t, u in ((torch.bfloat16, torch.bfloat16), (torch.bfloat16, torch.float32))
    )
    assert half.score.dtype is torch.float32
    assert torch.equal(half.index, whole.index)
    np.testing.assert_array_equal(half.score, whole.score)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 30), st.integers(0, 30), st.integers(1, 6), st.integers(0, 2**31), st.sampled_from(["cosine", "l2"])
)
def test_permutation_and_duplicates(n: int, m: int, dim: int, seed: int, metric: str) -> None:
    """Small whole numbers, so that ties are many and exact: the chosen index is the lowest of the best."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-1, 2, (n, dim)).astype(np.float64), rng.integers(-1, 2, (m, dim)).astype(np.float64)
    p, q = rng.permutation(n), rng.permutation(m)
    plain, mixed = wmb.nearest(a, b, metric=metric), wmb.nearest(a[p], b[q], metric=metric)
    np.testing.assert_array_equal(mixed.score, plain.score[p])
    if m and metric == "l2":
        squared = ((a[:, None] - b[None]) ** 2).sum(axis=2)
        np.testing.assert_array_equal(plain.index, squared.argmin(axis=1) if n else [])
        np.testing.assert_array_equal(mixed.index, squared[p][:, q].argmin(axis=1) if n else [])
    matches = wmb.mutual_matches(a, b, metric=metric)
    assert (np.diff(matches.index_a) > 0).all()
    assert len(set(matches.index_b.tolist())) == len(matches.index_b)
    np.testing.assert_array_equal(plain.index[matches.index_a], matches.index_b)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.integers(2, 40), st.integers(0, 2**31), st.integers(-30, 30))
def test_change_of_units(n: int, m: int, dim: int, seed: int, power: int) -> None:
    a, b = np.random.default_rng(seed).standard_normal((2, max(n, m), dim)).astype(np.float32)
    a, b, unit = a[:n], b[:m], np.float32(2.0**power)
    same_matches(wmb.mutual_matches(a * unit, b, ratio=0.9), wmb.mutual_matches(a, b, ratio=0.9))
    plain, scaled = (wmb.nearest(a * u, b * u, metric="l2") for u in (np.float32(1), unit))
    np.testing.assert_array_equal(scaled.index, plain.index)
    np.testing.assert_array_equal(scaled.score, plain.score * unit)


def test_same_bits_for_any_threads() -> None:
    hashes = set()
    before = wmb.get_num_threads()
    try:
        for threads in (1, 2, 7):
            wmb.set_num_threads(threads)
            hashes.add(everything())
    finally:
        wmb.set_num_threads(before)
    assert len(hashes) == 1


def test_same_bits_at_every_simd_level() -> None:
    program = Path(__file__).with_name("similarity.py")
    hashes = {
        level: subprocess.run(
            [sys.executable, program], env={**os.environ, "WMB_SIMD": level}, capture_output=True, text=True, check=True
        ).stdout.strip()
        for level in simd_levels()
    }
    assert "portable" in hashes
    assert set(hashes.values()) == {everything()}, hashes


@pytest.mark.parametrize("level", ["sse9", "", "AVX2"])
def test_a_simd_level_that_is_not_there_is_refused(level: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import wmb_fast"], env={**os.environ, "WMB_SIMD": level}, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "wmb_fast: WMB_SIMD must be a level this CPU and build have (portable" in done.stderr


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: wmb.nearest(x, x, metric="dot"), "nearest: metric must be one of cosine, l2, hamming, got 'dot'"),
        (lambda x: wmb.nearest(x, x, metric="hamming"), "nearest: a must have dtype uint8, got float32"),
        (lambda x: wmb.nearest(x, x[0]), r"nearest: b must have shape \(..., N, D\) with D at least 1, got shape"),
        (lambda x: wmb.nearest([x], [x[None]]), r"nearest: b\[0\] must have shape \(N, D\)"),
        (lambda x: wmb.nearest([x], [x, x]), r"nearest: b must be a list as long as a \(1\), got 2 arrays"),
        (lambda x: wmb.nearest([x], x), "nearest: b must be a list of arrays where a is one, and only there, got"),
        (lambda x: wmb.mutual_matches(x, x, ratio=0), "mutual_matches: ratio must be above 0, got 0"),
        (lambda x: wmb.mutual_matches(x, x, ratio="1"), "mutual_matches: ratio must be a real number, got '1'"),
        (lambda x: wmb.mutual_matches(x, x, min_score=np.nan), "mutual_matches: min_score must be finite, got nan"),
        (lambda x: wmb.mutual_matches(x, x, max_distance=1.0), r"max_distance must be None with metric 'cosine' \(use"),
        (lambda x: wmb.mutual_matches(x, x, metric="l2", min_score=1.0), "min_score must be None with metric 'l2'"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    with pytest.raises(wmb.WmbError, match=message):
        call(np.ones((4, 3), dtype=np.float32))
