# SPDX-License-Identifier: Apache-2.0
"""patch_best_match and verify_identity, and padded batches of the ops that compare two sets of rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from similarity import rows

import wmb_fast as wmb


def best_of(matrix: np.ndarray) -> np.ndarray:
    """The largest of each row, then of each column; NaN where there is none."""
    known = np.where(np.isnan(matrix), -np.inf, matrix)
    best = np.concatenate([known.max(axis=1, initial=-np.inf), known.max(axis=0, initial=-np.inf)])
    return np.where(np.isinf(best), np.nan, best)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("n", "m", "dim"), [(1, 1, 1), (37, 50, 16), (256, 300, 384), (5, 9000, 3), (0, 4, 2), (4, 0, 2)]
)
def test_patches_are_the_best_of_the_matrix(dtype: str, n: int, m: int, dim: int) -> None:
    a, b = rows(n, dim, 1, dtype), rows(m, dim, 2, dtype)
    got = wmb.patch_best_match(a, b)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, best_of(wmb.cosine_matrix(a, b)))
    want = wmb.reference.patch_best_match(a, b)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-6 if dtype == "float32" else 1e-13)
    np.testing.assert_array_equal(wmb.patch_best_match(a, b, backend="reference"), want.astype(dtype))


def test_patches_both_ways() -> None:
    a, b = rows(60, 20, 1), rows(70, 20, 2)
    forward, backward = wmb.patch_best_match(a, b), wmb.patch_best_match(b, a)
    np.testing.assert_array_equal(forward, np.concatenate([backward[70:], backward[:70]]))
    np.testing.assert_array_equal(forward[:60], wmb.nearest(a, b).score)


def test_patches_of_a_clip() -> None:
    """Adjacent frames in one call, and WRBench's local term from it."""
    tokens = rows(6 * 64, 48, 1).reshape(6, 64, 48)
    scores = wmb.patch_best_match(tokens[:-1], tokens[1:])
    assert scores.shape == (5, 128)
    for i in range(5):
        np.testing.assert_array_equal(scores[i], wmb.patch_best_match(tokens[i], tokens[i + 1]))
        x, y = (np.nan_to_num(wmb.reference.cosine.directions(t)) for t in (tokens[i], tokens[i + 1]))
        sims = np.clip(x @ y.T, 0, 1)
        local = np.percentile(np.concatenate([sims.max(axis=1), sims.max(axis=0)]), 20)
        ours = np.percentile(np.clip(np.nan_to_num(scores[i]), 0, 1), 20)
        np.testing.assert_allclose(ours, local, rtol=0, atol=1e-6)


def test_verify_identity() -> None:
    a, b = rows(40, 512, 1), rows(40, 512, 2)
    b[:15] = 0.4 * a[:15] + b[:15]
    got = wmb.verify_identity(a, b, threshold=0.25)
    np.testing.assert_array_equal(got.score, wmb.cosine_pairs(a, b))
    score, same = wmb.reference.verify_identity(a, b, threshold=0.25)
    np.testing.assert_allclose(got.score, score, atol=1e-6)
    np.testing.assert_array_equal(got.same, same)
    assert got.same.sum() > 5
    np.testing.assert_array_equal(got.status, np.where(np.isnan(score), 2, 0))
    assert got.status.dtype == np.uint8
    assert got.reason(3) == "an embedding is zero: it has no direction"
    assert got.reason(5) == "a value is not finite"
    assert got.reason(0) == ""


def test_verify_one_pair_lists_and_torch() -> None:
    x = np.float32([0.6, 0.8])
    one = wmb.verify_identity(x, np.float32([0, 1]), threshold=float(np.float32(0.8)))
    assert one.same  # at least, not above
    assert (one.status, one.reason()) == (0, "")
    assert not wmb.verify_identity(x, x * 0, threshold=-1).same
    a, b = rows(30, 8, 1), rows(30, 8, 2)
    whole = wmb.verify_identity(a, b, threshold=0.1)
    lists = wmb.verify_identity([a[:10], a[10:]], [b[:10], b[10:]], threshold=0.1)
    np.testing.assert_array_equal(np.concatenate(lists.score), whole.score)
    np.testing.assert_array_equal(np.concatenate(lists.same), whole.same)
    np.testing.assert_array_equal(np.concatenate(lists.status), whole.status)
    assert lists.reason(13) == whole.reason(13)
    tensors = wmb.verify_identity(torch.from_numpy(a), torch.from_numpy(b), threshold=0.1)
    assert tensors.same.dtype is torch.bool
    np.testing.assert_array_equal(tensors.same.numpy(), whole.same)


def test_s09_no_face() -> None:
    """A face that was not found is a zero embedding: missing, then left out or counted as 0 by the protocol."""
    angle = np.arccos([0.9, 0.8, 0, 0.7, 0])
    faces = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    faces[[2, 4]] = 0
    got = wmb.verify_identity(faces, np.array([1.0, 0.0]), threshold=0.5)
    np.testing.assert_array_equal(got.status, [0, 0, 2, 0, 2])
    np.testing.assert_allclose(np.nanmean(got.score), 0.8)
    np.testing.assert_allclose(np.mean(got.status == 0), 3 / 5)
    np.testing.assert_allclose(np.mean(np.nan_to_num(got.score)), 0.48)


def test_s10_several_faces() -> None:
    similarity = np.array([[0.9, 0.8], [0.85, 0.2]])
    np.testing.assert_array_equal(wmb.assign(similarity, maximize=True), [1, 0])
    np.testing.assert_array_equal(wmb.assign(similarity[::-1], maximize=True), [0, 1])


@pytest.mark.parametrize("metric", ["cosine", "l2", "hamming"])
def test_lengths_of_matches(metric: str) -> None:
    a, b = rows(120, 16, 1).reshape(2, 3, 20, 16), rows(75, 16, 2).reshape(3, 25, 16)
    if metric == "hamming":
        a, b = (np.random.default_rng(0).integers(0, 256, x.shape, dtype=np.uint8) for x in (a, b))
    n, m = np.array([[20, 3, 0], [1, 20, 7]]), np.array([25, 1, 0])
    near = wmb.nearest(a, b, metric=metric, lengths=n, lengths_b=m)
    found = wmb.mutual_matches(a, b, metric=metric, lengths=n, lengths_b=m)
    for i in range(2):
        for j in range(3):
            x, y = a[i, j, : n[i, j]], b[j, : m[j]]
            alone, pairs = wmb.nearest(x, y, metric=metric), wmb.mutual_matches(x, y, metric=metric)
            np.testing.assert_array_equal(near.index[i, j, : n[i, j]], alone.index)
            np.testing.assert_array_equal(near.score[i, j, : n[i, j]], alone.score)
            assert (near.index[i, j, n[i, j] :] == -1).all()
            assert np.isnan(near.score[i, j, n[i, j] :]).all()
            np.testing.assert_array_equal(found[3 * i + j].index_a, pairs.index_a)
            np.testing.assert_array_equal(found[3 * i + j].index_b, pairs.index_b)


def test_lengths_of_matrices_and_patches() -> None:
    a, b = rows(120, 16, 1).reshape(6, 20, 16), rows(25, 16, 2)
    n = np.array([20, 0, 7, 1, 20, 3])
    matrix, patches = (op(a, b, lengths=n, lengths_b=22) for op in (wmb.cosine_matrix, wmb.patch_best_match))
    own = wmb.cosine_matrix(a, lengths=n)
    assert (matrix.shape, patches.shape, own.shape) == ((6, 20, 25), (6, 45), (6, 20, 20))
    for i in range(6):
        x, y = a[i, : n[i]], b[:22]
        alone = wmb.patch_best_match(x, y)
        np.testing.assert_array_equal(matrix[i, : n[i], :22], wmb.cosine_matrix(x, y))
        np.testing.assert_array_equal(own[i, : n[i], : n[i]], wmb.cosine_matrix(x))
        np.testing.assert_array_equal(patches[i, : n[i]], alone[: n[i]])
        np.testing.assert_array_equal(patches[i, 20:42], alone[n[i] :])
        assert np.isnan(matrix[i, n[i] :]).all()
        assert np.isnan(matrix[i, :, 22:]).all()
        assert np.isnan(own[i, :, n[i] :]).all()
        assert np.isnan(np.concatenate([patches[i, n[i] : 20], patches[i, 42:]])).all()
    one = wmb.cosine_matrix(a[0], b, lengths=3)
    np.testing.assert_array_equal(one[:3], wmb.cosine_matrix(a[0, :3], b))
    assert np.isnan(one[3:]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: wmb.nearest(x, x, lengths=[1, 2]), r"nearest: lengths must have the batch's shape \(\), got shape"),
        (lambda x: wmb.nearest(x[None], x, lengths=[9]), "nearest: lengths must lie between 0 and 4, got 9 to 9"),
        (lambda x: wmb.nearest([x], [x], lengths=[1]), "nearest: lengths must be None for a list, got lengths"),
        (
            lambda x: wmb.cosine_matrix(x, lengths_b=2),
            "cosine_matrix: lengths_b must be None where b is, got lengths_b",
        ),
        (lambda x: wmb.patch_best_match(x, x, lengths_b=-1), "patch_best_match: lengths_b must lie between 0 and 4"),
        (lambda x: wmb.patch_best_match(x[0], x), r"patch_best_match: a must have shape \(..., N, D\)"),
        (lambda x: wmb.verify_identity(x, x, threshold=1.5), "verify_identity: threshold must be at most 1, got 1.5"),
        (lambda x: wmb.verify_identity(x, x, threshold=None), "verify_identity: threshold must be a real number"),
        (lambda x: wmb.verify_identity(x, x[:, :2], threshold=0), r"verify_identity: b must have shape \(..., 3\)"),
        (lambda x: wmb.verify_identity([x], x, threshold=0), "verify_identity: b must be a list of arrays where a is"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    with pytest.raises(wmb.WmbError, match=message):
        call(np.ones((4, 3), dtype=np.float32))
