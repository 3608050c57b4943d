# SPDX-License-Identifier: Apache-2.0
"""visibility: the states in their order, OPIS's vectors, the readable statement, bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_reproject import EYE, holed, motion, rng

import wmb_fast as wmb
from wmb_fast import Visibility

PLAIN = np.array([1.0, 1.0, 0.0, 0.0])  # with this camera a point (u z, v z, z) has the pixel (u, v)

# What the evaluator calls the states that the op has; all its other reasons for not judging are `unknown`.
STATES = {
    "expected_visible": Visibility.VISIBLE,
    "insufficient_baseline": Visibility.VISIBLE,  # the same projection; the baseline is not the op's to judge
    "occluded": Visibility.OCCLUDED,
    "outside_view": Visibility.OUTSIDE,
    "too_small": Visibility.TOO_SMALL,
    "evaluator_failure": Visibility.UNKNOWN,
}
# Cases about what the op is not told: a detection's box, the camera's confidence, where the projection came from.
NOT_ASKED = ("direct_", "camera_conf", "no_evidence", "wrong_source", "frame_", "unreliable_", "dynamic_")


def floats(value: Any) -> Any:
    if isinstance(value, dict):
        return float(value["$float"])
    return [floats(x) for x in value] if isinstance(value, list) else float(value)


def maps_with(pixels: np.ndarray, values: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """A map (H, W) that has these values at these pixels."""
    width, height = size
    out = np.zeros((height, width))
    for (u, v), value in zip(pixels, values, strict=True):
        if np.isfinite([u, v]).all() and 0 <= u < width and 0 <= v < height:
            out[min(int(v + 0.5), height - 1), min(int(u + 0.5), width - 1)] = value
    return out


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_opis_vectors(oracles: Path, backend: str) -> None:
    document = json.loads((oracles / "C_opis" / "C3_visibility.json").read_text())
    seen = []
    for case in document["cases"]:
        evidence = case["inputs"]["evidence"]
        if case["name"].startswith(NOT_ASKED) or evidence is None:
            continue
        if "projected_pixels" in evidence:
            pixels, z = np.array(floats(evidence["projected_pixels"])), np.array(floats(evidence["projected_depth"]))
            points, camera = np.concatenate([pixels * z[:, None], z[:, None]], axis=1), PLAIN
        else:
            points = np.array(evidence["reference_points_3d"])
            camera = np.array([80.0, 80.0, 50.0, 40.0])
            pixels = points[:, :2] / points[:, 2:] * 80 + [50, 40]
        size = tuple(case["inputs"]["frame_size"])
        depth, trust = (
            maps_with(pixels, np.array(floats(evidence[key])), size) for key in ("current_depth", "depth_confidence")
        )
        state = wmb.visibility(points[None], depth, camera, EYE, confidence=trust, backend=backend)
        expected = STATES[case["expected"]["state"]]
        assert Visibility(state[0]) is expected, case["name"]
        seen.append(expected)
    assert len(seen) >= 21
    assert set(seen) == set(Visibility)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_readable_statement(dtype: Any) -> None:
    """Random instances near and far, in several views, with and without confidence."""
    depth = holed(4, 30, 40).astype(dtype)
    centres = rng(1).uniform([-2, -2, -1], [2, 2, 5], (60, 1, 3))
    points = (centres + 0.2 * rng(2).standard_normal((60, 25, 3))).astype(dtype)
    points[0, 3, 1] = np.nan
    to = np.stack([motion(i, 0.3) for i in range(4)]).astype(dtype)
    camera = np.array([30.0, 31.0, 19.5, 14.5], dtype=dtype)
    trust = rng(3).random(depth.shape).astype(dtype) + dtype(0.4)
    options: dict[str, Any] = {"min_coverage": 0.5, "min_area": 12}
    for confidence in (None, trust):
        got = wmb.visibility(points, depth, camera, to, confidence=confidence, **options)
        expected = wmb.reference.visibility(points, depth, camera, to, confidence=confidence, **options)
        assert got.shape == (4, 60)
        assert got.dtype == np.uint8
        np.testing.assert_array_equal(got, expected)
    everything = wmb.visibility(points, depth, camera, to, **options)
    assert set(everything.ravel().tolist()) == set(Visibility)


def square(z: float, side: float = 10.0) -> np.ndarray:
    """Nine points of a square in front of PLAIN, with pixels from 5 to 5 + side."""
    at = 5 + side * np.array([0, 0.5, 1])
    u, v = (x.ravel() for x in np.meshgrid(at, at))
    return np.stack([u * z, v * z, np.full(9, z)], axis=-1)


def test_a_point_counts_as_hidden_below_not_at_the_limit() -> None:
    for seen, state in ((3.8, Visibility.VISIBLE), (3.79, Visibility.OCCLUDED), (9.0, Visibility.VISIBLE)):
        assert wmb.visibility(square(4.0)[None], np.full((20, 20), seen), PLAIN, EYE)[0] == state


def test_area_is_the_hull_s() -> None:
    depth = np.full((30, 30), 4.0)
    for side, state in ((4.0, Visibility.VISIBLE), (3.99, Visibility.TOO_SMALL)):
        assert wmb.visibility(square(4.0, side)[None], depth, PLAIN, EYE)[0] == state
    line = square(4.0) * [1, 0, 1]
    assert wmb.visibility(line[None], depth, PLAIN, EYE)[0] == Visibility.TOO_SMALL


def test_cameras_that_cannot_be_used_and_empty_sets_are_unknown() -> None:
    depth = np.full((2, 20, 20), 4.0)
    states = wmb.visibility(square(4.0)[None], depth, np.stack([PLAIN, PLAIN * np.nan]), EYE)
    assert states[:, 0].tolist() == [Visibility.VISIBLE, Visibility.UNKNOWN]
    assert wmb.visibility(np.zeros((3, 0, 3)), depth, PLAIN, EYE).tolist() == [[Visibility.UNKNOWN] * 3] * 2
    assert wmb.visibility(np.zeros((0, 5, 3)), depth, PLAIN, EYE).shape == (2, 0)


def test_torch_comes_back() -> None:
    torch = pytest.importorskip("torch")
    args = (square(4.0)[None], np.full((20, 20), 4.0), PLAIN, EYE)
    state = wmb.visibility(*(torch.from_numpy(x) for x in args))
    assert isinstance(state, torch.Tensor)
    assert state.tolist() == [Visibility.VISIBLE]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: wmb.visibility(np.ones((4, 3)), np.ones((9, 9)), PLAIN, EYE),
            r"visibility: points must have shape \(..., I, Q, 3\), got shape \(4, 3\)",
        ),
        (
            lambda: wmb.visibility(np.ones((1, 4, 3)), np.ones((9, 9)), PLAIN, EYE, confidence=np.ones((9, 8))),
            r"visibility: confidence must have the shape of depth \(9, 9\), got shape \(9, 8\)",
        ),
        (
            lambda: wmb.visibility(np.ones((1, 4, 3)), np.ones((9, 9)), PLAIN, EYE, min_area="big"),  # type: ignore[arg-type]
            "visibility: min_area must be a real number, got 'big'",
        ),
    ],
)
def test_bad_input_gets_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(wmb.WmbError, match=f"^{sentence}$"):
        call()
