# SPDX-License-Identifier: Apache-2.0
"""associate, path_length and interpolate_positions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wmb_fast as wmb
from wmb_fast import reference

# Quarters: differences are exact, so ties are ties.
STAMPS = st.lists(st.integers(-40, 40).map(lambda k: k / 4), max_size=25)


@settings(deadline=None, max_examples=300)
@given(STAMPS, STAMPS, st.sampled_from([0.0, 0.25, 1.0, 30.0]), st.sampled_from([0.0, -1.5]), st.booleans())
def test_it_is_the_readable_statement(a: list, b: list, limit: float, offset: float, one_to_one: bool) -> None:
    options = {"max_difference": limit, "offset": offset, "one_to_one": one_to_one}
    rows = np.sort(np.array(a, float)), np.sort(np.array(b, float))
    want = reference.associate(*rows, **options)
    gap = len(a) and len(b) and max(rows[1][0] + offset - rows[0][-1], rows[0][0] - rows[1][-1] - offset)
    if gap > limit:
        assert len(want) == 0
        with pytest.raises(wmb.ArgumentError, match="apart: 0 pairs"):
            wmb.associate(*rows, **options)
        return
    got = wmb.associate(*rows, **options)
    assert got.dtype == np.int64
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(wmb.associate(*rows, **options, backend="reference"), want)


@settings(deadline=None, max_examples=100)
@given(STAMPS.filter(bool), st.integers(0, 2**32 - 1))
def test_unsorted_stamps_and_nan(a: list, seed: int) -> None:
    rng = np.random.default_rng(seed)
    stamps = np.unique(a)
    rows = [np.insert(rng.permutation(stamps), rng.integers(0, len(stamps) + 1), np.nan) for _ in range(2)]
    got = wmb.associate(*rows, sort=True)
    np.testing.assert_array_equal(rows[0][got[:, 0]], rows[1][got[:, 1]])
    assert len(got) == len(stamps)
    assert (np.diff(rows[0][got[:, 0]]) > 0).all()


def test_the_largest_difference_counts_in() -> None:
    a, b = np.array([0.0, 1, 2, 3]), np.array([0.25, 1.25, 2.5, 2.75])
    assert wmb.associate(a, b, max_difference=0.25).tolist() == [[0, 0], [1, 1], [3, 3]]


def test_the_nearest_may_serve_twice() -> None:
    a, b = np.array([0.0, 0.4, 1.0, 2.0]), np.array([0.0, 1.0, 2.0])
    got = wmb.associate(a, b, max_difference=0.5, one_to_one=False)
    assert got.tolist() == [[0, 0], [1, 0], [2, 1], [3, 2]]


def test_the_ends_are_rounded_as_evo_rounds_them() -> None:
    """3 - 2.98 is above 0.02 in float64, and 2.98 + 0.02 is 3."""
    a, b = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.02, 1.02, 2.0200001, 2.98])
    for backend in ("cpu", "reference"):
        pairs = wmb.associate(a, b, max_difference=0.02, one_to_one=False, backend=backend)
        assert pairs.tolist() == [[0, 0], [3, 3]]
    assert wmb.associate(a[3:], b[3:], max_difference=0.02, one_to_one=False).tolist() == [[0, 0]]
    assert wmb.associate(b[3:], a[3:], max_difference=0.02, one_to_one=False).tolist() == []


def test_long_rows() -> None:
    """A hundred thousand stamps: a merge, where trying all pairs would take minutes."""
    rng = np.random.default_rng(0)
    a = np.sort(rng.uniform(0, 1e4, 100_000))
    b = np.sort(a + rng.normal(size=a.size) * 1e-4)
    pairs = wmb.associate(a, b, max_difference=0.01)
    assert len(pairs) > 99_000
    assert len(np.unique(pairs[:, 0])) == len(np.unique(pairs[:, 1])) == len(pairs)


def test_nothing_pairs_with_nothing() -> None:
    assert wmb.associate(np.zeros(0), np.ones(3)).shape == (0, 2)
    assert wmb.associate(np.array([0.0, 9]), np.array([4.0, 5])).shape == (0, 2)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: wmb.associate(np.zeros((2, 2)), np.zeros(2)),
            "associate: stamps_a must have shape (N,), got shape (2",
        ),
        (
            lambda: wmb.associate([0.0], np.zeros(2)),
            "associate: stamps_a must be a NumPy array or a torch tensor, got list",
        ),
        (
            lambda: wmb.associate(np.zeros(2), np.zeros(2), max_difference=-1),
            "associate: max_difference must be at least 0",
        ),
        (lambda: wmb.associate(np.zeros(2), np.zeros(2), offset=np.nan), "associate: offset must be finite, got nan"),
        (
            lambda: wmb.interpolate_positions(np.array([0.0, 2, 1]), np.zeros((3, 3)), np.zeros(1)),
            "interpolate_positions: stamps must ascend, got 1.0 in row 2 after 2.0",
        ),
    ],
)
def test_bad_input_is_one_sentence(call, sentence: str) -> None:
    with pytest.raises((wmb.ArgumentError, wmb.ArgumentTypeError)) as refusal:
        call()
    assert str(refusal.value).startswith(sentence)


def test_paths() -> None:
    square = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]])
    assert wmb.path_length(square) == 4
    square[2] = np.nan
    assert wmb.path_length(square) == 1 + np.sqrt(2) + 1
    assert wmb.path_length(np.stack([square, square]), lengths=[2, 5]).tolist() == [1, 2 + np.sqrt(2)]
    at = np.array([-1.0, 0.5, 3.75])
    got = wmb.interpolate_positions(np.array([0.0, 1, 4]), np.eye(3), at)
    np.testing.assert_allclose(got, [[1, 0, 0], [0.5, 0.5, 0], [0, 1 / 12, 11 / 12]], atol=1e-15)
