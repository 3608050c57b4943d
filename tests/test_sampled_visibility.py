# SPDX-License-Identifier: Apache-2.0
"""sampled_visibility: its reference, visibility of the same view, and what must hold for any points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wmb_fast as wmb
from wmb_fast import Visibility

FIELDS = ("state", "inside", "known", "occluded", "visible", "area")


def scattered(n: int, q: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    centre, spread = rng.uniform(-10, 110, (n, 1, 2)), rng.choice([0.5, 2.0, 20.0], (n, 1, 1))
    return {
        "pixels": centre + spread * rng.standard_normal((n, q, 2)),
        "depth": rng.uniform(-0.2, 5, (n, q)),
        "seen_depth": rng.uniform(0.5, 5, (n, q))
        * rng.choice([0.0, 1.0, np.inf, np.nan], (n, q), p=[0.05, 0.9, 0.03, 0.02]),
        "size": rng.uniform(60, 120, (n, 2)),
        "confidence": rng.random((n, q)),
        "lengths": rng.integers(0, q + 1, n),
    }


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 30), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_the_reference_agrees(n: int, q: int, seed: int) -> None:
    made = scattered(n, q, seed)
    if n and q:
        made["pixels"][0, 0, 0] = np.nan
    arrays, options = (made.pop("pixels"), made.pop("depth"), made.pop("seen_depth"), made.pop("size")), made
    for with_area in (False, True):
        ours = wmb.sampled_visibility(*arrays, with_area=with_area, min_confidence=0.1, **options)
        theirs = wmb.sampled_visibility(
            *arrays, with_area=with_area, min_confidence=0.1, backend="reference", **options
        )
        for name in FIELDS[:-1]:
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
        np.testing.assert_allclose(ours.area, theirs.area, rtol=1e-9, atol=1e-9)


def test_asking_for_the_area_changes_no_state() -> None:
    """The short way, which looks at extremes before it sorts, and the long one."""
    rng = np.random.default_rng(1)
    sides = np.concatenate([rng.uniform(3.9, 4.1, (400, 1, 1)), [[[4.0]], [[np.nextafter(4.0, 0)]]]])
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1.0]]) * sides + 10
    flat = np.full(corners.shape[:2], 2.0)
    short, long = (wmb.sampled_visibility(corners, flat, flat, (40, 40), with_area=asked) for asked in (False, True))
    np.testing.assert_array_equal(short.state, long.state)
    np.testing.assert_array_equal(long.state == Visibility.TOO_SMALL, long.area < 16)
    assert {int(s) for s in short.state} == {Visibility.VISIBLE, Visibility.TOO_SMALL}
    assert np.isnan(short.area).all()


def test_it_says_what_visibility_says() -> None:
    rng = np.random.default_rng(2)
    points = rng.uniform([-2, -2, 1], [2, 2, 6], (12, 1, 3)) + 0.3 * rng.standard_normal((12, 30, 3))
    camera, depth = np.array([40.0, 40.0, 32.0, 24.0]), rng.uniform(0.5, 6, (48, 64))
    found = wmb.project(points, camera, np.eye(4))
    behind = points[..., 2] <= 0
    pixels = np.where(behind[..., None], -1.0, found.pixels)
    nearest = np.clip(np.floor(pixels + 0.5).astype(int), 0, [63, 47])
    sampled = wmb.sampled_visibility(pixels, points[..., 2].copy(), depth[nearest[..., 1], nearest[..., 0]], (64, 48))
    np.testing.assert_array_equal(sampled.state, wmb.visibility(points, depth, camera, np.eye(4)))
    assert len(set(sampled.state.tolist())) > 2


def test_units_of_depth_do_not_matter() -> None:
    made = scattered(20, 16, 3)
    arrays = made["pixels"], made["depth"], made["seen_depth"]
    state = wmb.sampled_visibility(*arrays, made["size"]).state
    np.testing.assert_array_equal(
        wmb.sampled_visibility(arrays[0], arrays[1] * 2.0**30, arrays[2] * 2.0**30, made["size"]).state, state
    )


def test_batches_float32_and_torch() -> None:
    torch = pytest.importorskip("torch")
    made = scattered(6, 9, 4)
    arrays = [made[name].astype(np.float32) for name in ("pixels", "depth", "seen_depth")]
    flat = wmb.sampled_visibility(*arrays, (64, 48))
    grid = wmb.sampled_visibility(*(x.reshape(2, 3, *x.shape[1:]) for x in arrays), (64, 48))
    np.testing.assert_array_equal(grid.state.reshape(-1), flat.state)
    tensors = wmb.sampled_visibility(*map(torch.from_numpy, arrays), (64, 48))
    assert isinstance(tensors.state, torch.Tensor)
    np.testing.assert_array_equal(tensors.state.numpy(), flat.state)
    one = wmb.sampled_visibility(*(x[0] for x in arrays), (64, 48))
    assert one.state == flat.state[0]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"depth": np.ones((2, 5))}, r"depth must have shape \(2, 4\), got shape \(2, 5\)"),
        ({"seen_depth": np.ones(4)}, r"seen_depth must have shape \(2, 4\), got shape \(4,\)"),
        ({"size": (1, 2, 3)}, r"size must be width and height, or have shape \(2, 2\), got shape \(3,\)"),
        ({"pixels": np.ones((2, 4, 3))}, r"pixels must have shape \(..., Q, 2\), got shape \(2, 4, 3\)"),
        ({"lengths": [1, 9]}, "lengths must lie between 0 and 4, got 1 to 9"),
        ({"with_area": 1}, "with_area must be True or False, got 1"),
    ],
)
def test_bad_input_gets_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    given = {"pixels": np.ones((2, 4, 2)), "depth": np.ones((2, 4)), "seen_depth": np.ones((2, 4)), "size": (9, 9)}
    with pytest.raises(wmb.WmbError, match=f"^sampled_visibility: {sentence}$"):
        wmb.sampled_visibility(**(given | changes))  # type: ignore[arg-type]
