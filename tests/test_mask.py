# SPDX-License-Identifier: Apache-2.0
"""mask_iou against its reference, and what must hold for any masks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import wmb_fast as wmb


def masks(shape: tuple[int, ...], seed: int) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.random.default_rng(seed).random((2, *shape)) < 0.4
    return a, b


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=2), st.integers(0, 70), st.integers(0, 70), st.integers(0, 2**32 - 1))
def test_the_reference_agrees(batch: list[int], h: int, w: int, seed: int) -> None:
    a, b = masks((*batch, h, w), seed)
    got = wmb.mask_iou(a, b)
    assert np.shape(got) == tuple(batch)
    np.testing.assert_array_equal(got, wmb.reference.mask_iou(a, b))
    np.testing.assert_array_equal(got, wmb.mask_iou(b, a))
    np.testing.assert_array_equal(got, wmb.mask_iou(a, b, backend="reference"))


def test_counts_beyond_a_byte() -> None:
    """Every pixel in: a byte a lane would overflow after 255 steps of 16."""
    full = np.ones((480, 848), dtype=bool)
    half = full.copy()
    half[:240] = False
    assert wmb.mask_iou(full, full) == 1
    assert wmb.mask_iou(full, half) == 0.5


@pytest.mark.parametrize(("on", "dtype"), [(1, "uint8"), (255, "uint8"), (7, "uint8"), (1, "float32"), (-1, "int64")])
def test_not_zero_is_in(on: int, dtype: str) -> None:
    a, b = masks((3, 20, 30), 1)
    typed = [np.where(mask, on, 0).astype(dtype) for mask in (a, b)]
    np.testing.assert_array_equal(wmb.mask_iou(*typed), wmb.mask_iou(a, b))


def test_nan_and_empty() -> None:
    a = np.zeros((3, 4, 4), dtype=np.float32)
    b = a.copy()
    a[1, 0, 0], b[2, 1, 1] = np.nan, 1
    np.testing.assert_array_equal(wmb.mask_iou(a, b), [np.nan, np.nan, 0])
    np.testing.assert_array_equal(wmb.mask_iou(a, b, empty=1.0), [1, np.nan, 0])
    np.testing.assert_array_equal(wmb.mask_iou(a, b, empty=1.0, backend="reference"), [1, np.nan, 0])


def test_same_bits_for_any_threads_and_batch_strided_and_torch() -> None:
    a, b = masks((5, 31, 33), 2)
    before = wmb.get_num_threads()
    try:
        wmb.set_num_threads(1)
        one = wmb.mask_iou(a, b)
        wmb.set_num_threads(3)
        three = wmb.mask_iou(a, b)
    finally:
        wmb.set_num_threads(before)
    np.testing.assert_array_equal(one, three)
    np.testing.assert_array_equal(one, [wmb.mask_iou(x, y) for x, y in zip(a, b, strict=True)])
    view = a[::2, ::-1, 1::2], b[::2, ::-1, 1::2]
    wanted = wmb.reference.mask_iou(*view)
    np.testing.assert_array_equal(wmb.mask_iou(*view), wanted)
    tensor = wmb.mask_iou(*(torch.from_numpy(np.ascontiguousarray(mask)) for mask in view))
    assert isinstance(tensor, torch.Tensor)
    np.testing.assert_array_equal(tensor.numpy(), wanted)


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        (np.zeros(3, bool), np.zeros(3, bool), r"mask_iou: a must have shape \(..., H, W\), got shape \(3,\)"),
        (np.zeros((2, 3), bool), np.zeros((3, 2), bool), r"mask_iou: b must have the shape of a \(2, 3\)"),
        (
            np.zeros((2, 3), bool),
            np.zeros((2, 3), np.uint8),
            r"mask_iou: b must have the dtype of a \(bool\)",
        ),
    ],
)
def test_bad_arguments_say_what_is_wrong(a: np.ndarray, b: np.ndarray, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        wmb.mask_iou(a, b)
