# SPDX-License-Identifier: Apache-2.0
"""box_medians against its reference, and what must hold for any points and boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wmb_fast as wmb


def made(batch: tuple[int, ...], n: int, r: int, seed: int) -> list[np.ndarray]:
    """Points and corners on a coarse grid: edges are hit, and coordinates repeat."""
    rng = np.random.default_rng(seed)
    points = [rng.integers(0, 8, (*batch, n, 2)).astype(float) for _ in range(2)]
    values = rng.choice([0.5, 1.0, 2.0, 3.0, np.inf, np.nan], (*batch, n), p=[0.3, 0.3, 0.2, 0.16, 0.02, 0.02])
    boxes = [
        np.sort(rng.integers(0, 8, (*batch, r, 2, 2)), axis=-2).reshape(*batch, r, 4).astype(float) for _ in range(2)
    ]
    for box in boxes:
        box[rng.random(box.shape[:-1]) < 0.1] = np.nan
        box[rng.random(box.shape[:-1]) < 0.1] = [-np.inf, -np.inf, np.inf, np.inf]
    return [*points, values, *boxes]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=2), st.integers(0, 40), st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_the_reference_agrees(batch: list[int], n: int, r: int, seed: int) -> None:
    arrays = made(tuple(batch), n, r, seed)
    lengths = np.random.default_rng(seed).integers(0, n + 1, tuple(batch))
    ours, theirs = (wmb.box_medians(*arrays, lengths=lengths, backend=b) for b in ("cpu", "reference"))
    np.testing.assert_array_equal(ours.n, theirs.n)
    np.testing.assert_array_equal(ours.median, theirs.median)


def test_the_order_of_points_does_not_matter() -> None:
    a, b, values, *boxes = made((), 50, 9, 1)
    values = np.where(np.isfinite(values), values, 4.0)
    order = np.random.default_rng(2).permutation(50)
    first, second = wmb.box_medians(a, b, values, *boxes), wmb.box_medians(a[order], b[order], values[order], *boxes)
    np.testing.assert_array_equal(first.median, second.median)


def test_units_and_sides() -> None:
    a, b, values, *boxes = made((), 60, 9, 3)
    once = wmb.box_medians(a, b, values, *boxes)
    scaled = wmb.box_medians(*(x * 2.0**-40 for x in (a, b)), values, *(x * 2.0**-40 for x in boxes))
    turned = wmb.box_medians(b, a, values, *boxes[::-1])
    for other in (scaled, turned):
        np.testing.assert_array_equal(other.n, once.n)
        np.testing.assert_array_equal(other.median, once.median)


def test_points_that_are_not_finite_lie_nowhere() -> None:
    points = np.array([[np.nan, 1.0], [1.0, np.nan], [1.0, 1.0]])
    box = np.array([[0.0, 0.0, 2.0, 2.0]])
    assert wmb.box_medians(points, np.ones((3, 2)), np.arange(3.0), box, box).n.tolist() == [1]
    assert wmb.box_medians(np.ones((3, 2)), points, np.arange(3.0), box, box).median.tolist() == [2.0]


def test_float32_and_torch() -> None:
    torch = pytest.importorskip("torch")
    arrays = [x.astype(np.float32) for x in made((2,), 20, 4, 5)]
    ours = wmb.box_medians(*arrays)
    tensors = wmb.box_medians(*map(torch.from_numpy, arrays))
    assert isinstance(tensors.median, torch.Tensor)
    np.testing.assert_array_equal(tensors.median.numpy(), ours.median)
    assert ours.median.dtype == np.float64


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("points_b", np.ones((3, 2)), r"points_b must have the shape of points_a \(4, 2\), got shape \(3, 2\)"),
        ("values", np.ones(3), r"values must have shape \(4,\), got shape \(3,\)"),
        ("boxes_a", np.ones((1, 3)), r"boxes_a must have shape \(..., R, 4\), got shape \(1, 3\)"),
        ("boxes_b", np.ones((2, 4)), r"boxes_b must have the shape of boxes_a \(1, 4\), got shape \(2, 4\)"),
        ("lengths", 5, "lengths must lie between 0 and 4, got 5 to 5"),
    ],
)
def test_bad_input_gets_one_sentence(name: str, value: Any, sentence: str) -> None:
    arrays = {"points_a": np.ones((4, 2)), "points_b": np.ones((4, 2)), "values": np.ones(4)}
    arrays |= {"boxes_a": np.ones((1, 4)), "boxes_b": np.ones((1, 4))}
    with pytest.raises(wmb.WmbError, match=f"^box_medians: {sentence}$"):
        wmb.box_medians(**(arrays | {name: value}))
