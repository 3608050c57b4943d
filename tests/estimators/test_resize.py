# SPDX-License-Identifier: Apache-2.0
"""Means of what a pixel covers, against the same in fractions: every bit, whatever the two sizes are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wmb_fast.estimators.resize import area_resized


def cover(old: int, new: int) -> list[list[Fraction]]:
    """How much of each old pixel lies under each new one, in old pixels."""
    edge = [Fraction(i * old, new) for i in range(new + 1)]
    return [[max(min(edge[i + 1], j + 1) - max(edge[i], j), Fraction(0)) for j in range(old)] for i in range(new)]


def in_fractions(row: np.ndarray, new: int) -> list[int]:
    """A row of pixels, resized; halves up."""
    size = Fraction(len(row), new)
    means = [sum(w * int(v) for w, v in zip(weights, row, strict=True)) / size for weights in cover(len(row), new)]
    return [int(mean + Fraction(1, 2)) for mean in means]


@given(row=st.lists(st.integers(0, 255), min_size=1, max_size=40), new=st.integers(1, 60))
@settings(max_examples=150, deadline=None)
def test_a_row_and_a_column(row: list[int], new: int) -> None:
    line = np.array([row], dtype=np.uint8)
    assert area_resized(line, new, 1).tolist() == [in_fractions(line[0], new)]
    assert area_resized(line.T, 1, new)[:, 0].tolist() == in_fractions(line[0], new)


@pytest.mark.parametrize("size", [(48, 27), (224, 224), (13, 7)])
def test_a_picture_is_rounded_once(size: tuple[int, int]) -> None:
    width, height = size
    picture = np.random.default_rng(0).integers(0, 256, (9, 16, 3), dtype=np.uint8)
    rows, columns = (
        np.array([[int(w * new) for w in one] for one in cover(old, new)]) for old, new in ((9, height), (16, width))
    )
    sums = np.einsum("ij,jkc,lk->ilc", rows, picture.astype(np.int64), columns)  # of whole numbers: exact
    np.testing.assert_array_equal(area_resized(picture, width, height), (2 * sums + 9 * 16) // (2 * 9 * 16))


def test_sums_of_the_whitest_and_largest_pictures_fit() -> None:
    white = np.full((2160, 3840), 255, dtype=np.uint8)
    assert (area_resized(white, 48, 27) == 255).all()
    assert (area_resized(white, 1, 1) == 255).all()
    assert area_resized(np.full((1, 1), 255, np.uint8), 300, 200).min() == 255
