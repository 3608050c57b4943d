# SPDX-License-Identifier: Apache-2.0
"""Points and depth maps through a pinhole camera: known values, properties, the readable statement, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tolerances import FLOAT32_REL, FLOAT64_ABS, FLOAT64_REL

import wmb_fast as wmb

CAMERA = np.array([40.0, 42.0, 15.5, 11.5])
OTHER = np.array([-30.0, 33.0, 14.0, 9.0])
EYE = np.eye(4)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def motion(seed: int, angle: float = 0.1, shift: float = 0.1) -> np.ndarray:
    """A small rigid motion (4, 4)."""
    axis = rng(seed).standard_normal(3)
    x, y, z = axis / np.linalg.norm(axis) * angle
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    q, _ = np.linalg.qr(np.eye(3) + skew)
    out = np.eye(4)
    out[:3, :3] = q * np.sign(np.diag(q))
    out[:3, 3] = shift * rng(seed + 1).standard_normal(3)
    return out


def holed(*shape: int, seed: int = 0) -> np.ndarray:
    """Depth between 2 and 3, with one of every kind of hole here and there."""
    depth = 2 + rng(seed).random(shape)
    holes = rng(seed + 1).choice(depth.size, size=depth.size // 7, replace=False)
    depth.flat[holes] = np.resize([0.0, -1.0, np.nan, np.inf, -np.inf], holes.size)
    return depth


def assert_same(got: Any, expected: Any, dtype: Any = np.float64) -> None:
    """Every field of a record against the reference's, NaN where it is NaN."""
    rel, absolute = (FLOAT64_REL, FLOAT64_ABS) if dtype == np.float64 else (FLOAT32_REL, 1e-4)
    for name in expected._fields:
        a, b = np.asarray(getattr(got, name)), np.asarray(getattr(expected, name))
        if b.dtype.kind in "biu":
            np.testing.assert_array_equal(a, b, err_msg=name)
        else:
            assert a.dtype == dtype
            np.testing.assert_allclose(a, b, rtol=rel, atol=absolute, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_readable_statement(dtype: Any) -> None:
    """Batches that broadcast, holes, points behind, another camera: as the reference, field by field."""
    depth = holed(3, 1, 24, 32).astype(dtype)
    to = np.stack([motion(0), motion(2, 1.5, 2.0)]).astype(dtype)
    camera, other = CAMERA.astype(dtype), OTHER.astype(dtype)
    points = (rng(5).standard_normal((2, 500, 3)) * 3).astype(dtype)
    points[0, :5] = [[0, 0, 0], [np.nan, 1, 1], [np.inf, 0, 1], [1e30, 0, 1e-30], [0, 0, -1]]
    assert_same(wmb.project(points, camera, to), wmb.reference.project(points, camera, to), dtype)
    np.testing.assert_allclose(
        wmb.unproject(depth, camera), wmb.reference.unproject(depth, camera), rtol=FLOAT32_REL, equal_nan=True
    )
    for given_other in (None, other):
        args = (depth, camera, to)
        got = wmb.reproject_depth(*args, intrinsics_dst=given_other)
        assert got.valid.shape == (3, 2, 24, 32)
        assert_same(got, wmb.reference.reproject_depth(*args, intrinsics_dst=given_other), dtype)
        splat = wmb.splat_depth(*args, (20, 40), intrinsics_dst=given_other)
        assert_same(splat, wmb.reference.splat_depth(*args, (20, 40), intrinsics_dst=given_other), dtype)


@pytest.mark.parametrize("op", ["project", "unproject", "reproject_depth", "splat_depth"])
def test_the_reference_as_a_backend(op: str) -> None:
    depth, to = holed(2, 24, 32).astype(np.float32), motion(0).astype(np.float32)
    camera = CAMERA.astype(np.float32)
    args: dict[str, tuple[Any, ...]] = {
        "project": (depth[..., :3], camera, to),
        "unproject": (depth, camera),
        "reproject_depth": (depth, camera, to),
        "splat_depth": (depth, camera, to, (24, 32)),
    }
    fast, slow = (getattr(wmb, op)(*args[op], backend=b) for b in ("cpu", "reference"))
    for a, b in zip(*([x] if op == "unproject" else vars(x).values() for x in (fast, slow)), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-4, equal_nan=True)


def test_matrices_and_vectors_say_the_same() -> None:
    matrix = np.array([[40.0, 0, 15.5], [0, 42.0, 11.5], [0, 0, 1]])
    depth = holed(24, 32)
    a, b = (wmb.reproject_depth(depth, k, motion(0)) for k in (matrix, CAMERA))
    np.testing.assert_array_equal(a.pixels, b.pixels)


def test_torch_comes_back() -> None:
    torch = pytest.importorskip("torch")
    depth = torch.from_numpy(holed(24, 32))
    camera, to = torch.from_numpy(CAMERA), torch.from_numpy(motion(0))
    landed = wmb.reproject_depth(depth, camera, to)
    splat = wmb.splat_depth(depth, camera, to, (24, 32))
    assert all(isinstance(x, torch.Tensor) for x in (landed.pixels, landed.depth, splat.depth))
    assert landed.valid.dtype == splat.valid.dtype == torch.bool
    assert splat.source_index.dtype == torch.int64
    np.testing.assert_array_equal(landed.pixels.numpy(), wmb.reproject_depth(depth.numpy(), CAMERA, motion(0)).pixels)


def test_read_only_and_strided_maps() -> None:
    depth = holed(48, 64)[::-2, ::2]
    depth.flags.writeable = False
    a = wmb.reproject_depth(depth, CAMERA, motion(0))
    b = wmb.reproject_depth(depth.copy(), CAMERA, motion(0))
    np.testing.assert_array_equal(a.pixels, b.pixels)


def test_depth_is_z_and_not_ray_length() -> None:
    """A wall at z = 2 seen far off the axis: depth stays 2 when the camera only moves aside."""
    aside = EYE.copy()
    aside[0, 3] = 1.0
    landed = wmb.reproject_depth(np.full((3, 101), 2.0), np.array([20.0, 20.0, 50.0, 1.0]), aside)
    np.testing.assert_allclose(landed.depth, 2.0, rtol=FLOAT64_REL)
    np.testing.assert_allclose(landed.pixels[1, :, 0], np.arange(101) + 10, rtol=FLOAT64_REL)


def test_points_on_and_behind_the_camera_have_no_pixel() -> None:
    points = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, -1.0], [1.0, 2.0, 1.0]])
    landed = wmb.project(points, CAMERA, EYE)
    assert landed.valid.tolist() == [False, False, True]
    assert np.isnan(landed.pixels[:2]).all()
    assert landed.depth.tolist() == [0.0, -1.0, 1.0]


@given(seed=st.integers(0, 10**6), exponent=st.sampled_from([-9, -3, 0, 3, 9]))
@settings(max_examples=20, deadline=None)
def test_a_change_of_units_changes_no_pixel(seed: int, exponent: int) -> None:
    scale, to, depth = 10.0**exponent, motion(seed), holed(12, 17, seed=seed)
    scaled = to.copy()
    scaled[:3, 3] *= scale
    a, b = wmb.reproject_depth(depth, CAMERA, to), wmb.reproject_depth(depth * scale, CAMERA, scaled)
    np.testing.assert_allclose(a.pixels, b.pixels, rtol=FLOAT64_REL, atol=1e-9)
    np.testing.assert_allclose(a.depth * scale, b.depth, rtol=FLOAT64_REL)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_there_and_back(seed: int) -> None:
    """unproject, move, move back, project: the pixels themselves."""
    depth, to = 2 + rng(seed).random((9, 14)), motion(seed, 0.5, 0.5)
    there = wmb.unproject(depth, CAMERA).reshape(-1, 3) @ to[:3, :3].T + to[:3, 3]
    back = wmb.project(there, CAMERA, np.linalg.inv(to))
    v, u = np.mgrid[0:9, 0:14]
    np.testing.assert_allclose(back.pixels.reshape(9, 14, 2), np.stack([u, v], axis=-1), atol=1e-10)
    np.testing.assert_allclose(back.depth.reshape(9, 14), depth, rtol=FLOAT64_REL)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_negative_focal_lengths_mirror(seed: int) -> None:
    points = rng(seed).standard_normal((20, 3)) + np.array([0, 0, 3])
    mirrored = wmb.project(points * [-1, 1, 1], CAMERA * [-1, 1, 1, 1], EYE)
    np.testing.assert_allclose(mirrored.pixels, wmb.project(points, CAMERA, EYE).pixels, rtol=FLOAT64_REL)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_a_splat_holds_the_nearest_of_what_lands(seed: int) -> None:
    depth, to = holed(15, 20, seed=seed), motion(seed, 0.3, 0.5)
    landed, splat = wmb.reproject_depth(depth, CAMERA, to), wmb.splat_depth(depth, CAMERA, to, (15, 20))
    nearest = np.full((15, 20), np.inf)
    at = np.floor(landed.pixels[landed.valid] + 0.5).astype(int)
    np.minimum.at(nearest, (at[:, 1], at[:, 0]), landed.depth[landed.valid])
    np.testing.assert_array_equal(splat.valid, np.isfinite(nearest))
    np.testing.assert_array_equal(splat.depth[splat.valid], nearest[splat.valid])
    assert (splat.source_index[~splat.valid] == -1).all()
    np.testing.assert_array_equal(landed.depth.flat[splat.source_index[splat.valid]], splat.depth[splat.valid])


def test_equally_near_points_the_first_stays() -> None:
    splat = wmb.splat_depth(
        np.ones((4, 4)), np.array([1.0, 1, 0, 0]), EYE, (1, 1), intrinsics_dst=np.array([1e-3, 1e-3, 0, 0])
    )
    assert splat.source_index.tolist() == [[0]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0], ids=["nan", "inf", "zero"])
def test_a_camera_that_cannot_be_used_shows_nothing(bad: float) -> None:
    """And does not touch its neighbour in the batch."""
    cameras = np.stack([CAMERA, CAMERA])
    cameras[0, 0] = bad
    depth = 2 + rng().random((24, 32))
    landed, splat = wmb.reproject_depth(depth, cameras, EYE), wmb.splat_depth(depth, cameras, EYE, (24, 32))
    points, seen = wmb.unproject(depth, cameras), wmb.project(rng().random((9, 3)) + 1, cameras, EYE)
    for valid in (landed.valid, splat.valid, np.isfinite(points).all(axis=-1), seen.valid):
        assert not valid[0].any()
        assert valid[1].all()


def test_empty_batches_and_no_points() -> None:
    assert wmb.project(np.zeros((0, 5, 3)), CAMERA, EYE).pixels.shape == (0, 5, 2)
    assert wmb.project(np.zeros((0, 3)), CAMERA, EYE).valid.shape == (0,)
    assert wmb.unproject(np.zeros((0, 4, 5)), CAMERA).shape == (0, 4, 5, 3)
    assert wmb.splat_depth(np.zeros((0, 4, 5)), CAMERA, EYE, (2, 3)).depth.shape == (0, 2, 3)


SKEW = np.array([[40.0, 0.5, 15.5], [0, 42.0, 11.5], [0, 0, 1]])
MAP = np.ones((4, 5))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: wmb.project(MAP, CAMERA, EYE), r"project: points must have shape \(..., N, 3\), got shape \(4, 5\)"),
        (lambda: wmb.unproject(MAP[0], CAMERA), r"unproject: depth must have shape \(..., H, W\), got shape \(5,\)"),
        (lambda: wmb.unproject(MAP[:0], CAMERA), "unproject: depth must be at least 1, got 0"),
        (
            lambda: wmb.unproject(MAP, CAMERA[:3]),
            r"unproject: intrinsics must have shape \(..., 3, 3\) or \(..., 4\), got shape \(3,\)",
        ),
        (
            lambda: wmb.unproject(MAP, SKEW),
            r"unproject: intrinsics must be \[\[fx, 0, cx\], \[0, fy, cy\], \[0, 0, 1\]\], got \[\[40.0, 0.5.*",
        ),
        (
            lambda: wmb.reproject_depth(MAP, CAMERA, motion(0).T),
            r"reproject_depth: T_dst_src must have the last row 0, 0, 0, 1 \(it may be transposed\), got .*",
        ),
        (
            lambda: wmb.reproject_depth(MAP, CAMERA, EYE[:3]),
            r"reproject_depth: T_dst_src must have shape \(..., 4, 4\), got shape \(3, 4\)",
        ),
        (
            lambda: wmb.reproject_depth(np.ones((2, 4, 5)), CAMERA, np.stack([EYE] * 3)),
            r"reproject_depth: batch dimensions must broadcast together, got depth \(2,\).*T_dst_src \(3,\).*",
        ),
        (lambda: wmb.splat_depth(MAP, CAMERA, EYE, (0, 3)), "splat_depth: shape must be at least 1, got 0"),
        (
            lambda: wmb.splat_depth(MAP, CAMERA, EYE, (2**16, 2**15)),
            r"splat_depth: shape must have fewer than 2\*\*31 pixels, got 65536 x 32768",
        ),
        (
            lambda: wmb.splat_depth(MAP, CAMERA, EYE, 3),  # type: ignore[arg-type]
            r"splat_depth: shape must be \(height, width\), got 3",
        ),
        (
            lambda: wmb.unproject(MAP.astype(np.float32), CAMERA),
            r"unproject: intrinsics must have the dtype of depth \(float32\), got float64",
        ),
        (
            lambda: wmb.unproject(MAP.astype(int), CAMERA),
            "unproject: depth must have dtype float32 or float64, got int64",
        ),
    ],
)
def test_bad_input_gets_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(wmb.WmbError, match=f"^{sentence}$"):
        call()
