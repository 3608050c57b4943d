# SPDX-License-Identifier: Apache-2.0
"""Kernels of all pairs of a clip's frames: the host's pairs, and its medians to the bit; means are summed in another
order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from every_op import assert_close, assert_same
from tolerances import FLOAT32_REL, FLOAT64_REL
from views import Array, both, camera, maps, tensors, way

import wmb_fast as wmb

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("on_device")


def clip(rng: np.random.Generator, *shape: int, dtype: str = "float64") -> tuple[Array, Array, Array]:
    """Depth (..., K, H, W), poses and one camera."""
    depth = maps(rng, *shape, dtype=dtype)
    poses = way(rng, int(np.prod(shape[:-2])), dtype, far=0.05).reshape(*shape[:-2], 4, 4)
    return depth, poses, camera(*shape[-2:], dtype)


def assert_near(got: Any, want: Any, dtype: str) -> None:
    """All but the mean to the bit."""
    for name in ("status", "median", "per_pair", "n_pairs", "covisible_fraction"):
        assert_same(getattr(got, name), getattr(want, name))
    assert_close(got.mean, want.mean, rel=FLOAT64_REL if dtype == "float64" else FLOAT32_REL, abs=0)


@pytest.mark.parametrize("unit", ["depth", "pixels"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("frames", "height", "width", "grid"), [(2, 17, 65, 1), (3, 33, 31, 3), (4, 21, 37, 4), (1, 9, 9, 2)]
)
def test_pairs_are_those_of_the_host(frames: int, height: int, width: int, grid: int, dtype: str, unit: str) -> None:
    rng = np.random.default_rng([frames, height, width])
    arrays = clip(rng, 2, frames, height, width, dtype=dtype)
    trust = rng.random(arrays[0].shape).astype(dtype)
    trust[:, :, ::5] = np.nan
    for given in ({}, {"confidence": trust}):
        got, want = both("reprojection_error", *arrays, **given, grid=grid, unit=unit)
        assert (want.n_pairs > 0).all() == (frames > 1)
        assert_near(got, want, dtype)


def test_the_order_of_threads_changes_no_bit(on_device: Callable[[bool], None]) -> None:
    arrays = tensors(*clip(np.random.default_rng(1), 2, 3, 30, 40))
    forwards = wmb.reprojection_error(*arrays, grid=2)
    on_device(True)
    assert_same(wmb.reprojection_error(*arrays, grid=2), forwards)


@pytest.mark.parametrize("least", [1, 20, 60, 10_000])
def test_pairs_with_few_points_do_not_count(least: int) -> None:
    arrays = clip(np.random.default_rng(2), 4, 24, 32)
    arrays[1][2:, 0, 3] += 1.5  # two of the frames stand aside, and see little of what the others do
    arrays[0][3] *= 3  # and one has another depth
    got, want = both("reprojection_error", *arrays, grid=3, min_points=least)
    assert 0 <= int(want.n_pairs) < 12
    assert_near(got, want, "float64")


@pytest.mark.parametrize("quantile", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_confidence_has_the_quantile_of_the_host(quantile: float, dtype: str) -> None:
    rng = np.random.default_rng(3)
    arrays = clip(rng, 3, 20, 27, dtype=dtype)
    for trust in (rng.standard_normal(arrays[0].shape), rng.choice([0.0, 1.0], arrays[0].shape)):
        given = {"confidence": trust.astype(dtype), "confidence_quantile": quantile, "grid": 2}
        assert_near(*both("reprojection_error", *arrays, **given), dtype)


def test_cameras_broadcast_over_frames() -> None:
    depth, poses, four = clip(np.random.default_rng(4), 2, 3, 20, 27, dtype="float32")
    matrix = np.array([[four[0], 0, four[2]], [0, four[1], four[3]], [0, 0, 1]], dtype="float32")
    of_frame = four * np.linspace(1, 1.1, 3, dtype="float32")[:, None]
    of_clip = four * np.array([1, 1.2], dtype="float32")[:, None, None]
    for intrinsics in (four, matrix, of_frame, of_clip, np.tile(matrix, (2, 1, 1, 1))):
        assert_near(*both("reprojection_error", depth, poses, intrinsics, grid=2), "float32")


def lost() -> dict[str, tuple[int, Any]]:
    """What can be missing of the second of two clips of three frames."""
    return {
        "no depth": (0, np.nan),
        "no pose": (1, np.nan),
        "a singular pose": (1, np.diag([0.0, 0, 0, 1])),
        "nothing in common": (1, np.stack([np.eye(4), np.diag([-1.0, 1, -1, 1]), np.eye(4) + 9 * np.eye(4, k=3)])),
        "no focal length": (2, 0.0),
    }


@pytest.mark.parametrize("name", lost())
def test_clips_of_which_nothing_can_be_said(name: str) -> None:
    depth, poses, four = clip(np.random.default_rng(5), 2, 3, 20, 27)
    arrays = depth, poses, np.tile(four, (2, 1, 1))
    at, value = lost()[name]
    arrays[at][1] = value
    got, want = both("reprojection_error", *arrays, grid=2)
    assert want.status.tolist() == [0, 2]
    assert_near(got, want, "float64")
    assert [got.reason(i) for i in range(2)] == [want.reason(i) for i in range(2)]


def test_confidence_of_which_nothing_is_finite() -> None:
    depth, poses, four = clip(np.random.default_rng(6), 2, 3, 20, 27)
    trust = np.ones_like(depth)
    trust[0] = np.nan
    got, want = both("reprojection_error", depth, poses, four, confidence=trust, grid=2)
    assert want.status.tolist() == [2, 0]
    assert_near(got, want, "float64")
    assert got.reason(0) == want.reason(0)


def test_frames_without_a_camera_are_left_out() -> None:
    depth, poses, four = clip(np.random.default_rng(7), 4, 20, 27)
    poses[1, 0, 3], poses[2, 3, 3] = np.inf, np.nan
    got, want = both("reprojection_error", depth, poses, four, grid=2)
    assert int(want.n_pairs) == 2
    assert_near(got, want, "float64")


@pytest.mark.parametrize("which", ["poses", "intrinsics"])
def test_what_the_host_refuses_a_device_reports(which: str) -> None:
    depth, poses, four = clip(np.random.default_rng(8), 2, 3, 20, 27)
    given = {"poses": poses, "intrinsics": np.tile(np.diag([four[0], four[1], 1.0]), (2, 3, 1, 1))}
    given["intrinsics"][..., :2, 2] = four[2:]
    given[which][1, 2] = given[which][1, 2].T + np.eye(given[which].shape[-1], k=-2)
    with pytest.raises(wmb.ArgumentError, match=which):
        wmb.reprojection_error(depth, **given, grid=2)
    found = wmb.reprojection_error(torch.from_numpy(depth), *tensors(*given.values()), grid=2)
    assert found.status.tolist() == [0, 2]
    assert "cannot be inverted" in found.reason(1)
    assert torch.isnan(found.per_pair[1]).all()
    assert found.n_pairs.tolist() == [6, 0]


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 0, 4, 5), (0, 4, 5)])
def test_no_clips_and_no_frames(shape: tuple[int, ...]) -> None:
    poses = np.zeros((*shape[:-2], 4, 4))
    assert_near(*both("reprojection_error", np.ones(shape), poses, np.ones(4)), "float64")


def test_arguments_are_refused_as_on_the_host() -> None:
    depth, poses, four = tensors(*clip(np.random.default_rng(9), 2, 9, 12))
    with pytest.raises(wmb.ArgumentError, match="poses must have shape"):
        wmb.reprojection_error(depth, poses[:1], four)
    with pytest.raises(wmb.ArgumentError, match="intrinsics must broadcast to the frames"):
        wmb.reprojection_error(depth, poses, four.expand(5, 2, 4))
    with pytest.raises(wmb.ArgumentError, match="grid must be at least 1"):
        wmb.reprojection_error(depth, poses, four, grid=0)
