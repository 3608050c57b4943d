# SPDX-License-Identifier: Apache-2.0
"""Depth faults of the field with their right answers, each test named after its case.

docs/cases.md says which need an op this library does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tolerances import FLOAT64_REL

import wmb_fast as wmb

UNIT = np.array([1.0, 1.0, 0.0, 0.0])
EYE = np.eye(4)
ANY = (0.0, np.inf)


def kinds() -> list[Any]:
    """What makes an argument of NumPy's: itself, or torch's tensor."""

    def as_tensor(x: np.ndarray) -> Any:
        return pytest.importorskip("torch").from_numpy(np.array(x))

    return [pytest.param(np.asarray, id="numpy"), pytest.param(as_tensor, id="torch")]


@pytest.mark.parametrize("kind", kinds())
def test_d01_zeros_inf_nan(kind: Callable[[np.ndarray], Any]) -> None:
    truth = np.array([[0, 1, 2, np.inf, np.nan]])
    guess = np.array([[1, 1.1, 1.8, 5, 5]])
    found = wmb.depth_agreement(kind(guess), kind(truth), kind(UNIT), kind(EYE), occlusion=ANY)
    assert float(found.median_relative_error) == pytest.approx(0.1, rel=FLOAT64_REL)
    assert int(found.n) == 2
    assert float(found.covisible_fraction) == pytest.approx(2 / 5)
    nothing = wmb.depth_agreement(kind(np.zeros((1, 5))), kind(truth), kind(UNIT), kind(EYE))
    assert int(nothing.status) == 2
    assert nothing.reason() == "no pixel has a valid depth"
    assert np.isnan(float(nothing.median_relative_error))


@pytest.mark.parametrize("kind", kinds())
def test_d02_even_median(kind: Callable[[np.ndarray], Any]) -> None:
    """Errors 0, 1, 2, 3: the mean of the middle two, with torch too, whose own median takes the lower."""
    found = wmb.depth_agreement(
        kind(np.array([[1.0, 2, 3, 4]])), kind(np.ones((1, 4))), kind(UNIT), kind(EYE), occlusion=ANY
    )
    assert float(found.median_relative_error) == 1.5


@pytest.mark.parametrize("kind", kinds())
def test_d07_depth_holes(kind: Callable[[np.ndarray], Any]) -> None:
    image = np.arange(20.0).reshape(4, 5)
    k = np.array([[2.0, 0, 2], [0, 2, 1], [0, 0, 1]])
    depth = np.ones((4, 5))
    holes = ((0, 2, 3), (0, 1, 4))
    depth[holes] = 0
    landed = wmb.reproject_depth(kind(depth), kind(k), kind(EYE))
    valid, pixels = np.asarray(landed.valid), np.asarray(landed.pixels)
    assert valid.sum() == 17
    assert not valid[holes].any()
    at = np.rint(pixels[valid]).astype(int)
    np.testing.assert_allclose(pixels[valid], at, atol=1e-6)
    np.testing.assert_array_equal(image[at[:, 1], at[:, 0]], image[valid])
    for sampling in ("nearest", "bilinear"):  # a hole beside a pixel takes nothing from it
        found = wmb.depth_agreement(kind(depth), kind(depth), kind(k), kind(EYE), sampling=sampling)
        assert (int(found.n), float(found.median_relative_error)) == (17, 0.0)


@pytest.mark.parametrize("kind", kinds())
def test_d08_half_pixel_identity(kind: Callable[[np.ndarray], Any]) -> None:
    camera, depth = np.array([10.0, 10.0, 4.5, 2.5]), np.ones((6, 10))
    v, u = np.mgrid[0.0:6, 0.0:10]
    still = wmb.reproject_depth(kind(depth), kind(camera), kind(EYE))
    np.testing.assert_allclose(still.pixels, np.stack([u, v], axis=-1), atol=1e-8)  # 1e-5 of an image of slope 100
    assert np.asarray(still.valid).all()
    aside = EYE.copy()
    aside[0, 3] = 0.1
    moved = wmb.reproject_depth(kind(depth), kind(camera), kind(aside))
    np.testing.assert_allclose(moved.pixels, np.stack([u + 1, v], axis=-1), atol=1e-8)
    np.testing.assert_array_equal(moved.valid, u < 9)


def test_d09_resizing_and_pixel_centres() -> None:
    """Halving an image maps u to (u + 0.5) / 2 - 0.5: the centre 639.5 to 319.5, not 319.75."""
    full = np.array([1000.0, 1000.0, 639.5, 359.5])
    half = np.array([500.0, 500.0, 319.5, 179.5])
    points = wmb.unproject(np.full((720, 1280), 2.0), full).reshape(-1, 3)
    in_full, in_half = (wmb.project(points, camera, EYE).pixels for camera in (full, half))
    np.testing.assert_allclose((in_full + 0.5) / 2 - 0.5, in_half, atol=1e-9)
    corner = wmb.unproject(np.ones((1, 1)), half)[0]  # the keypoint x = 0 at half size
    np.testing.assert_allclose(wmb.project(corner, full, EYE).pixels, [[0.5, 0.5]], atol=1e-9)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_d10_z_buffer(threads: int) -> None:
    """A at depth 1 hides B at depth 2 on its ray, among a million points; ten runs are one."""
    depth = 3 + np.random.default_rng(0).random((1000, 1000))
    camera, coarse = np.array([1000.0, 1000, 499.5, 499.5]), np.array([64.0, 64, 31.5, 31.5])
    a, b = (500, 500), (501, 501)  # both fall into pixel (32, 32) of 64 x 64
    depth[a], depth[b] = 1.0, 2.0
    before = wmb.get_num_threads()
    try:
        wmb.set_num_threads(threads)
        runs = [wmb.splat_depth(depth, camera, EYE, (64, 64), intrinsics_dst=coarse) for _ in range(10)]
    finally:
        wmb.set_num_threads(before)
    assert runs[0].depth[32, 32] == 1.0
    assert runs[0].source_index[32, 32] == 500 * 1000 + 500
    assert runs[0].valid.all()
    for run in runs[1:]:
        assert run.depth.tobytes() == runs[0].depth.tobytes()
        assert run.source_index.tobytes() == runs[0].source_index.tobytes()
    seen = wmb.depth_agreement(
        depth[500:502, 500:502], runs[0].depth, camera - [0, 0, 500, 500], EYE, intrinsics_dst=coarse
    )
    assert int(seen.n) == 1  # A alone: B, and what is behind it, is occluded
    assert float(seen.median_relative_error) == 0.0
