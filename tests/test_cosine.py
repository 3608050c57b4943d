# SPDX-License-Identifier: Apache-2.0
"""cosine_pairs and cosine_matrix against their reference, and the cases that others get wrong."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from similarity import rows

import wmb_fast as wmb

FLOAT32 = 1e-6  # of a cosine, as API.md and the numerics paragraph promise
FLOAT64 = 1e-13


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", FLOAT32), ("float64", FLOAT64)])
@pytest.mark.parametrize("dim", [1, 2, 15, 16, 17, 128, 129, 768])
def test_reference(dtype: str, tolerance: float, dim: int) -> None:
    a, b = rows(37, dim, 1, dtype), rows(45, dim, 2, dtype)
    a[0] = b[0]
    got = wmb.cosine_matrix(a, b)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, wmb.reference.cosine_matrix(a, b), rtol=0, atol=tolerance)
    np.testing.assert_allclose(wmb.cosine_pairs(a, b[:37]), wmb.reference.cosine_pairs(a, b[:37]), atol=tolerance)
    np.testing.assert_array_equal(
        wmb.cosine_matrix(a, b, backend="reference"), wmb.reference.cosine_matrix(a, b).astype(dtype)
    )


def test_pairs_of_float32_are_rounded_once() -> None:
    a, b = rows(300, 512, 1), rows(300, 512, 2)
    exact = wmb.reference.cosine_pairs(a, b).astype(np.float32)
    got = wmb.cosine_pairs(a, b)
    np.testing.assert_array_max_ulp(got[np.isfinite(exact)], exact[np.isfinite(exact)], 1)


def test_s01_zero_vector() -> None:
    got = wmb.cosine_pairs(np.float32([[0, 0], [1, 0], [3, 4]]), np.float32([1, 0]))
    np.testing.assert_array_equal(got, np.float32([np.nan, 1.0, 0.6]))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_s02_self_similarity(dtype: str) -> None:
    ramp = np.arange(84, dtype=np.float32)
    assert np.isfinite(np.arccos(wmb.cosine_pairs(ramp, ramp)))
    x = np.random.default_rng(0).standard_normal((2000, 512)).astype(dtype)
    for own in (wmb.cosine_pairs(x, x), np.diagonal(wmb.cosine_matrix(x)), wmb.nearest(x, x).score):
        assert own.max() <= 1
        assert own.min() >= 1 - FLOAT32


@pytest.mark.parametrize("as_tensor", [False, True])
def test_s04_float16_overflow(as_tensor: bool) -> None:
    x = np.full(1024, 300, dtype=np.float16)
    y = x * np.where(np.arange(1024) % 2, 1, -1).astype(np.float16)
    stack = [torch.from_numpy(v) if as_tensor else v for v in (x, y)]
    assert wmb.cosine_pairs(stack[0], stack[0]) == 1.0
    assert abs(float(wmb.cosine_pairs(*stack))) <= 1e-7


def test_s05_nan_row() -> None:
    got = wmb.cosine_matrix(np.float64([[np.nan, 1], [1, 1], [1, 0]]), np.float64([[1, 1]]))
    np.testing.assert_allclose(got, [[np.nan], [1.0], [np.sqrt(0.5)]], rtol=1e-15)


def test_s06_scale_invariance() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 100, 512), dtype=np.float32)
    plain = wmb.cosine_pairs(a, b)
    for s in np.float32([1e-3, 1e-1, 7, 1e3]):
        np.testing.assert_allclose(wmb.cosine_pairs(a * s, b / s), plain, rtol=0, atol=FLOAT32)
    for power in np.float32([2.0**-80, 2.0**70]):  # exact scaling changes no bit
        np.testing.assert_array_equal(wmb.cosine_pairs(a * power, b), plain)
        np.testing.assert_array_equal(wmb.cosine_matrix(a * power, b), wmb.cosine_matrix(a, b))


@pytest.mark.parametrize("size", [1e-45, 1e-25, 1e20, 3e38])
def test_norms_beyond_float32_squares(size: float) -> None:
    x = np.full((3, 16), size, dtype=np.float32)
    np.testing.assert_array_equal(wmb.cosine_pairs(x, x), np.ones(3))
    np.testing.assert_allclose(wmb.cosine_matrix(x), np.ones((3, 3)), atol=FLOAT32)


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-160, 1e160, 1e308])
def test_norms_beyond_float64_squares(size: float) -> None:
    x = np.array([[size, 0.0, size], [0.0, size, size]])
    np.testing.assert_allclose(wmb.cosine_matrix(x), [[1, 0.5], [0.5, 1]], rtol=1e-15)
    np.testing.assert_allclose(wmb.cosine_pairs(x[0], x[1]), 0.5, rtol=1e-15)


def test_s12_batch_independence() -> None:
    x, y = rows(200, 768, 1), rows(90, 768, 2)
    whole = wmb.cosine_matrix(x, y)
    np.testing.assert_array_equal(np.concatenate([wmb.cosine_matrix(x[i : i + 7], y) for i in range(0, 200, 7)]), whole)
    np.testing.assert_array_equal(np.stack([wmb.cosine_matrix(r[None], y)[0] for r in x]), whole)
    np.testing.assert_array_equal(np.concatenate([wmb.cosine_matrix(x, y[j : j + 1]) for j in range(90)], 1), whole)
    np.testing.assert_array_equal(
        np.stack([wmb.cosine_pairs(r, s) for r, s in zip(x, y, strict=False)]), wmb.cosine_pairs(x[:90], y)
    )


@pytest.mark.parametrize("n", [0, 1, 2, 5, 33, 700])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_symmetric_to_the_bit(n: int, dtype: str) -> None:
    x = rows(n, 40, 3, dtype)
    got = wmb.cosine_matrix(x)
    np.testing.assert_array_equal(got, got.T)
    np.testing.assert_array_equal(got, wmb.cosine_matrix(x, x))


def test_shapes() -> None:
    x = rows(24, 6).reshape(2, 3, 4, 6)
    assert wmb.cosine_pairs(x, x).shape == (2, 3, 4)
    assert np.ndim(wmb.cosine_pairs(x[0, 0, 0], x[0, 0, 1])) == 0
    assert wmb.cosine_matrix(x, x[0, 0]).shape == (2, 3, 4, 4)
    np.testing.assert_array_equal(wmb.cosine_matrix(x, x[:, :1])[1, 2], wmb.cosine_matrix(x[1, 2], x[1, 0]))
    np.testing.assert_array_equal(wmb.cosine_pairs(x, x[:, :1])[1, 2], wmb.cosine_pairs(x[1, 2], x[1, 0]))
    assert wmb.cosine_matrix(np.zeros((0, 4, 6)), np.zeros((0, 5, 6))).shape == (0, 4, 5)
    assert wmb.cosine_matrix(np.zeros((0, 6)), np.zeros((5, 6))).shape == (0, 5)
    ragged = wmb.cosine_matrix([rows(3, 6), rows(0, 6)], [rows(4, 6), rows(2, 6)])
    assert [r.shape for r in ragged] == [(3, 4), (0, 2)]
    np.testing.assert_array_equal(ragged[0], wmb.cosine_matrix(rows(3, 6), rows(4, 6)))
    assert [r.shape for r in wmb.cosine_pairs([rows(3, 6), rows(0, 6)], [rows(3, 6), rows(0, 6)])] == [(3,), (0,)]
    assert np.isnan(wmb.cosine_pairs(np.zeros((2, 0)), np.zeros((2, 0)))).all()


@pytest.mark.parametrize("op", [wmb.cosine_pairs, wmb.cosine_matrix])
def test_layouts(op: object) -> None:
    x, y = rows(30, 20, 1), rows(30, 20, 2)
    want = op(x, y)
    wide = np.zeros((60, 40), dtype=np.float32)
    wide[::2, ::2] = x
    frozen = y.copy()
    frozen.flags.writeable = False
    for other in (wide[::2, ::2], np.asfortranarray(x), x[::-1].copy()[::-1], x[:, ::-1].copy()[:, ::-1]):
        np.testing.assert_array_equal(op(other, frozen), want)
    np.testing.assert_array_equal(op(x.astype(">f4"), y), want)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_torch(dtype: torch.dtype) -> None:
    x, y = torch.from_numpy(rows(30, 20, 1)).to(dtype), torch.from_numpy(rows(30, 20, 2)).to(dtype)
    wide = dtype if dtype is torch.float64 else torch.float32
    for op in (wmb.cosine_pairs, wmb.cosine_matrix):
        got = op(x, y)
        assert isinstance(got, torch.Tensor)
        assert got.dtype is wide
        np.testing.assert_array_equal(got.numpy(), op(x.to(wide).numpy(), y.to(wide).numpy()))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 40), st.integers(0, 2**31), st.randoms())
def test_permutation(n: int, m: int, dim: int, seed: int, random: object) -> None:
    a, b = rows(n, dim, seed), rows(m, dim, seed + 1)
    p, q = np.random.default_rng(seed).permutation(n), np.random.default_rng(seed + 1).permutation(m)
    np.testing.assert_array_equal(wmb.cosine_matrix(a[p], b[q]), wmb.cosine_matrix(a, b)[np.ix_(p, q)])
    np.testing.assert_array_equal(wmb.cosine_matrix(b, a), wmb.cosine_matrix(a, b).T)
    assert np.nanmax(np.abs(wmb.cosine_matrix(a, b)), initial=0) <= 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wmb.cosine_pairs(np.zeros(3), np.zeros(4)), r"cosine_pairs: b must have shape \(..., 3\), got"),
        (lambda: wmb.cosine_pairs(np.zeros((2, 3)), np.zeros((5, 3))), "cosine_pairs: b must broadcast against a"),
        (
            lambda: wmb.cosine_pairs(np.zeros((2, 3)), np.zeros((5, 3)), backend="reference"),
            "cosine_pairs: b must broadcast against a",
        ),
        (lambda: wmb.cosine_pairs(np.float64(1), np.zeros(1)), "cosine_pairs: a must be a NumPy array"),
        (lambda: wmb.cosine_pairs([np.zeros(3)], np.zeros(3)), "cosine_pairs: b must be a list of arrays where a is"),
        (lambda: wmb.cosine_pairs([np.zeros(3)], []), r"cosine_pairs: b must be a list as long as a \(1\), got 0"),
        (lambda: wmb.cosine_matrix(np.zeros(3)), r"cosine_matrix: a must have shape \(..., N, D\) with D at least 1"),
        (lambda: wmb.cosine_matrix(np.zeros((3, 0))), r"cosine_matrix: a must have shape \(..., N, D\)"),
        (lambda: wmb.cosine_matrix(np.zeros((2, 3)), np.zeros((2, 4))), r"cosine_matrix: b must have shape .*N, 3\)"),
        (lambda: wmb.cosine_matrix(np.zeros((2, 4, 3)), np.zeros((3, 4, 3))), "cosine_matrix: b must have batch dim"),
        (lambda: wmb.cosine_matrix(np.zeros((2, 3), int)), "cosine_matrix: a must have dtype float16 or"),
        (lambda: wmb.cosine_matrix(np.zeros((2, 3)), np.zeros((2, 3), "f4")), "b must have the dtype of a"),
        (lambda: wmb.cosine_matrix(np.zeros((2, 3)), torch.zeros(2, 3)), "b must have the kind of a"),
        (lambda: wmb.cosine_matrix(torch.zeros(2, 3, requires_grad=True)), "a must not require grad"),
        (lambda: wmb.cosine_matrix(np.zeros((2, 3)), backend="cuda"), "cosine_matrix: this version has no cuda"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    with pytest.raises(wmb.WmbError, match=message):
        call()
