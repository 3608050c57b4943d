# SPDX-License-Identifier: Apache-2.0
"""Global memory: scenes whose residual is known, and where compat and the default part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wmb_fast as wmb
from wmb_fast.protocols import worldmark
from wmb_fast.protocols.record import Status

H, W = 96, 128
CAMERA = np.array([[100.0, 0, 63.5], [0, 100, 47.5], [0, 0, 1]])


def wall(k: int = 6, distance: float = 4.0, drift: float = 0.0, dtype: type = np.float32) -> dict[str, np.ndarray]:
    """K views of a wall by a camera that strafes along it; ``drift``: how much nearer each frame thinks it is."""
    poses = np.tile(np.eye(4)[:3], (k, 1, 1))
    poses[:, 0, 3] = -0.1 * np.arange(k)
    depth = distance * (1 - drift * np.arange(k))[:, None, None] * np.ones((k, H, W))
    return {"depth": depth.astype(dtype), "cam_from_world": poses, "intrinsics": np.tile(CAMERA, (k, 1, 1))}


@pytest.mark.parametrize("compat", [False, True])
def test_what_fits_together_leaves_only_the_sampling(compat: bool) -> None:
    """A point is compared with the pixel it falls into: up to a pixel aside, a hundredth of the wall's distance."""
    found = worldmark.global_memory(**wall(), compat=compat)
    assert found.value is not None
    assert found.detail["residual"] < 0.015
    assert found.n_used == found.n_total == 30


def test_the_residual_is_what_the_geometry_is_off_by() -> None:
    still = wall(drift=0.02)
    still["cam_from_world"][:, 0, 3] = 0
    found = worldmark.global_residual(**still)
    y, x = np.mgrid[0:H:16, 0:W:16]
    rays = np.sqrt(((x - 63.5) / 100) ** 2 + ((y - 47.5) / 100) ** 2 + 1)
    gaps = [0.02 * abs(i - j) * rays / 0.95 for i in range(6) for j in range(6) if i != j]
    # Points land on the very corner of their pixel, and rounding takes some into the one beside it.
    assert found.median == pytest.approx(np.median(gaps), rel=2e-3)


@settings(max_examples=20, deadline=None)
@given(st.floats(1e-6, 1e6))
def test_the_unit_of_length_does_not_count(unit: float) -> None:
    scene = wall(drift=0.01, dtype=np.float64)
    scaled = {**scene, "depth": scene["depth"] * unit, "cam_from_world": scene["cam_from_world"].copy()}
    scaled["cam_from_world"][:, :, 3] *= unit
    assert worldmark.global_residual(**scaled).median == pytest.approx(
        worldmark.global_residual(**scene).median, rel=0.02
    )


def test_compat_is_the_op_on_clean_scenes_and_parts_from_it_where_data_are_missing() -> None:
    rng = np.random.default_rng(3)
    scene = wall(drift=0.01)
    scene["depth"] += rng.normal(0, 0.05, scene["depth"].shape).astype(np.float32)
    trust = rng.uniform(size=scene["depth"].shape).astype(np.float32)
    ours, theirs = (worldmark.global_residual(**scene, confidence=trust, compat=c) for c in (False, True))
    assert ours.median == pytest.approx(theirs.median, abs=2e-5)
    assert ours.covisible == pytest.approx(theirs.covisible, abs=2e-3)
    assert ours.n_pairs == theirs.n_pairs
    trust[0, 0, 0] = np.nan
    ours, theirs = (worldmark.global_memory(**scene, confidence=trust, compat=c) for c in (False, True))
    assert ours.value is not None
    assert (theirs.value, theirs.reason) == (None, "no_covis")
    scene["depth"][:, :48] = 0
    default = worldmark.global_residual(**scene)
    assert default.n_pairs == 30


@pytest.mark.parametrize("compat", [False, True])
def test_what_cannot_be_compared_is_a_reason(compat: bool) -> None:
    one = worldmark.global_memory(**wall(1), compat=compat)
    assert (one.status, one.reason) == (Status.NOT_EVALUABLE, "no_covis")
    none = worldmark.global_memory(**wall(0), compat=compat)
    assert (none.status, none.reason) == (Status.NOT_EVALUABLE, "empty_video")
    empty = wall()
    empty["depth"][:] = 0
    assert worldmark.global_memory(**empty, compat=compat).reason == (
        "no_covis" if compat else "geometry: no pixel has a valid depth"
    )
    apart = wall()
    apart["cam_from_world"][:, 0, 3] = 1000.0 * np.arange(6)
    assert worldmark.global_memory(**apart, compat=compat).reason == "no_covis"


def test_one_unusable_camera_leaves_the_others() -> None:
    for bad in (np.nan, 0.0):
        scene = wall()
        scene["cam_from_world"][2, :, :3] = bad
        found = worldmark.global_memory(**scene)
        assert found.n_used == 20
        assert found.value is not None


def test_frames_of_any_length_and_rate() -> None:
    for n in range(200):
        for fps in (None, float("nan"), float("inf"), 0.0, 0.3, 1.0, 16.0, 29.97, 1000.0):
            frames = worldmark.global_frames(n, fps)
            assert frames == sorted(set(frames))
            assert len(frames) <= 64
            assert len(frames) >= min(n, 6)
            assert all(0 <= frame < n for frame in frames)


def test_bad_arguments_are_one_sentence() -> None:
    scene = wall()
    with pytest.raises(
        wmb.ArgumentError, match=r"global_residual: depth must have shape \(K, H, W\), got float32 \(96, 1"
    ):
        worldmark.global_residual(scene["depth"][0], scene["cam_from_world"], CAMERA)
    with pytest.raises(
        wmb.ArgumentError, match=r"cam_from_world must have shape \(6, 3, 4\) or \(6, 4, 4\), got \(5, 3"
    ):
        worldmark.global_residual(scene["depth"], scene["cam_from_world"][1:], CAMERA)
    with pytest.raises(wmb.ArgumentError, match=r"confidence must have shape \(6, 96, 128\), got \(6, 96\)"):
        worldmark.global_residual(**scene, confidence=scene["depth"][..., 0])
    with pytest.raises(wmb.ArgumentError, match=r"intrinsics must have shape \(6, 3, 3\) or \(3, 3\), got \(4,\)"):
        worldmark.global_residual(scene["depth"], scene["cam_from_world"], np.ones(4))


@pytest.mark.parametrize(("x", "reason"), [(3.0, ""), (5.0, ""), (0.9, "not_a_rating"), (np.nan, "not_finite")])
def test_ratings(x: float, reason: str) -> None:
    assert worldmark.quality(x).reason.split(":")[0] == reason
    assert worldmark.quality_frames(100, 24.0) == [0, 24, 48, 72, 96]
    assert worldmark.rating(np.eye(5) * 50).round(6).tolist() == [5, 4, 3, 2, 1]
    with pytest.raises(wmb.ArgumentError, match=r"logits must have shape \(..., 5\), excellent first, got \(4,\)"):
        worldmark.rating(np.zeros(4))
