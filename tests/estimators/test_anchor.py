# SPDX-License-Identifier: Apache-2.0
"""A camera from correspondences: a known scene, seen from a known place, with every test made to fail in turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import wmb_fast as wmb
from wmb_fast import ArgumentError
from wmb_fast.estimators.anchor import Anchored, View, anchor_camera, geometry_frame
from wmb_fast.protocols import opis

SIZE = (160, 120)
K = np.array([[140.0, 0, 79.5], [0, 140.0, 59.5], [0, 0, 1.0]])
SCALE = 0.5  # the frame's own depth is half the reference's


def turned(degrees: float, shift: tuple[float, float, float]) -> np.ndarray:
    a = np.radians(degrees)
    pose = np.eye(4)
    pose[:3, :3] = [[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]]
    pose[:3, 3] = shift
    return pose


POSE = turned(4.0, (0.15, -0.05, 0.1))


def relief() -> np.ndarray:
    rows, columns = np.mgrid[: SIZE[1], : SIZE[0]]
    return 3.0 + 0.6 * np.sin(columns / 17.0) * np.cos(rows / 13.0)


def scene(**noise: float) -> dict[str, Any]:
    """Correspondences on a grid, and the depth that the frame has at exactly those pixels."""
    reference = View(relief(), K)
    grid = np.stack(np.meshgrid(np.arange(8, 152, 6.0), np.arange(8, 112, 6.0)), axis=-1).reshape(-1, 2)
    points, _ = reference.points(grid)
    found = wmb.project(points, K, POSE)
    inside = ((found.pixels >= 0) & (found.pixels < SIZE)).all(axis=1)
    pixels = found.pixels[inside]
    depth = np.zeros(SIZE[::-1])
    x, y = np.rint(pixels).astype(int).T
    keep = (x < SIZE[0]) & (y < SIZE[1])
    depth[y[keep], x[keep]] = found.depth[inside][keep] * SCALE
    pixels = pixels + np.random.default_rng(0).normal(0, noise.get("pixels", 0.0), pixels.shape)
    return {
        "reference": reference,
        "current": View(depth, K),
        "reference_pixels": grid[inside],
        "current_pixels": pixels,
        "background": np.ones(SIZE[::-1], dtype=bool),
    }


def test_a_known_camera() -> None:
    found = anchor_camera(**scene())
    assert found.reason == "ok"
    assert found.T_current_reference is not None
    assert float(wmb.rotation_angle_deg(found.T_current_reference[:3, :3], POSE[:3, :3])) < 1e-3
    np.testing.assert_allclose(found.T_current_reference[:3, 3], POSE[:3, 3], atol=1e-4)
    assert found.depth_scale == pytest.approx(1 / SCALE, rel=1e-4)
    assert found.reliability == 1.0
    assert found.residual is not None
    assert found.residual.max() < 0.05


def test_the_same_bits_again() -> None:
    a, b = (anchor_camera(**scene(pixels=0.5)) for _ in range(2))
    np.testing.assert_array_equal(a.T_current_reference, b.T_current_reference)
    np.testing.assert_array_equal(a.residual, b.residual)


def test_the_order_of_correspondences_does_not_matter() -> None:
    given = scene(pixels=0.5)
    order = np.random.default_rng(1).permutation(len(given["current_pixels"]))
    turned_over = given | {name: given[name][order] for name in ("reference_pixels", "current_pixels")}
    a, b = anchor_camera(**given), anchor_camera(**turned_over)
    np.testing.assert_array_equal(a.T_current_reference, b.T_current_reference)


def test_objects_do_not_speak_of_the_camera() -> None:
    """A third of the image moves by itself; only where it counts as background does it change the camera."""
    given = scene()
    moved = given["reference_pixels"][:, 0] > 100
    given["current_pixels"] = given["current_pixels"] + np.where(moved[:, None], [12.0, 5.0], 0.0)
    given["background"][:, 95:] = False
    found = anchor_camera(**given)
    assert found.scored
    assert found.T_current_reference is not None
    np.testing.assert_allclose(found.T_current_reference[:3, 3], POSE[:3, 3], atol=1e-4)
    assert found.residual is not None
    assert np.median(found.residual[moved]) == pytest.approx(13.0, abs=0.2)


def other_intrinsics() -> dict[str, Any]:
    given = scene()
    wrong = K.copy()
    wrong[0, 0] = wrong[1, 1] = 400.0
    return given | {"current": replace(given["current"], intrinsics=wrong)}


def test_of_two_sets_of_intrinsics_the_better_is_taken() -> None:
    found = anchor_camera(**other_intrinsics())
    assert found.scored
    assert found.diagnostics["camera"].startswith("reference_resized")
    np.testing.assert_array_equal(found.intrinsics, K)


def few(given: dict[str, Any]) -> None:
    for name in ("reference_pixels", "current_pixels"):
        given[name] = given[name][:10]


def nowhere_free(given: dict[str, Any]) -> None:
    given["background"][:] = False


def one_corner(given: dict[str, Any]) -> None:
    given["background"][:, 24:] = given["background"][24:] = False
    for name in ("reference_pixels", "current_pixels"):
        given[name] = np.repeat(given[name], 4, axis=0)


def chaos(given: dict[str, Any]) -> None:
    given["current_pixels"] = np.random.default_rng(2).uniform(
        [1, 1], np.array(SIZE) - 2, given["current_pixels"].shape
    )
    given["current"] = View(np.ones(SIZE[::-1]), K)


def far(given: dict[str, Any]) -> None:
    given["current"] = View(given["current"].depth / 10, K)


def wavy(given: dict[str, Any]) -> None:
    rows, columns = np.mgrid[: SIZE[1], : SIZE[0]]
    given["current"] = View(given["current"].depth * np.exp(0.5 * np.sin(columns / 9.0 + rows / 7.0)), K)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (few, "insufficient_background_matches"),
        (nowhere_free, "insufficient_background_matches"),
        (one_corner, "insufficient_background_spatial_support"),
        (chaos, "unreliable_background_camera_pose"),
        (far, "unreliable_depth_scale"),
        (wavy, "unreliable_depth_alignment"),
    ],
)
def test_what_cannot_be_trusted_has_a_reason(spoil: Any, reason: str) -> None:
    given = scene()
    spoil(given)
    found = anchor_camera(**given)
    assert (found.reason, found.scored, found.T_current_reference) == (reason, False, None)


def test_a_frame_of_it_is_scored() -> None:
    """What the estimator makes is what the protocol reads: the wall's patch is visible, and keeps its structure."""
    given = scene()
    background = given.pop("background")
    found = anchor_camera(background=background, **given)
    patch = [[x, y] for y in range(50, 80, 6) for x in range(62, 92, 6)]
    frame = geometry_frame(found, queries={"a": patch, "b": patch[:3]}, **given)
    assert list(frame["instance_visibility"]) == ["a"]  # three points say nothing
    still = {"kinematic_class": "rigid", "motion_expectation": "world_static", "evaluation_track": "static_geometry"}
    one = {"category": "wall", "embedding": [1.0, 0.0], "bbox": [40.0, 30.0, 110.0, 100.0]}
    reference = {"objects": [{"object_id": "a", **one, "metadata": {"mobility": still | {"geometry_eligible": True}}}]}
    window = {"window_id": "w", "frame_index": 8, "frame_size": list(SIZE), "objects": [{"observed_id": "x", **one}]}
    case = opis.case_of(reference, {"windows": [window]}, {"frames": {"8": frame}})
    rows = opis.observe(case)
    assert rows.geometry[0, 0] > 0.99
    assert opis.of_rows(rows).opis == pytest.approx(100.0, abs=0.5)


def test_a_frame_without_a_camera_is_not() -> None:
    given = scene()
    given.pop("background")
    frame = geometry_frame(Anchored("background_pnp_failed"), queries={"a": [[1, 1]] * 5}, **given)
    assert (frame["status"], frame["instance_visibility"]) == ("evaluator_failure", {})


def test_shapes_that_do_not_fit() -> None:
    given = scene()
    with pytest.raises(ArgumentError, match="anchor_camera: current_pixels must be as many as reference_pixels"):
        anchor_camera(**(given | {"current_pixels": given["current_pixels"][1:]}))
    with pytest.raises(ArgumentError, match="anchor_camera: background must have the reference's size"):
        anchor_camera(**(given | {"background": np.ones((4, 4))}))
