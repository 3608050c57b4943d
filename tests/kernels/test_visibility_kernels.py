# SPDX-License-Identifier: Apache-2.0
"""Kernels that judge instances: the host's states, fractions and areas, to the bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from every_op import assert_same
from views import Array, both, maps, tensors, way

import wmb_fast as wmb

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("on_device")


def scene(rng: np.random.Generator, items: int, instances: int, points: int, dtype: str) -> tuple[Array, ...]:
    """Blobs of points of several sizes around a wall, some of them far aside: every state is among them."""
    centre = np.array([1.2, 0.8, 0.25]) * rng.standard_normal((items, instances, 1, 3)) + np.array([0, 0, 2.0])
    size = rng.choice([0.01, 0.05, 0.4], (items, instances, 1, 1))
    cloud = centre + size * rng.standard_normal((items, instances, points, 3))
    depth = maps(rng, items, 33, 47)
    arrays = cloud, depth, np.array([40.0, 40, 23, 16]), way(rng, items, far=0.05)
    return tuple(a.astype(dtype) for a in arrays)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("points", [0, 1, 3, 4, 17, 65, 130, 300])
def test_states_are_those_of_the_host(points: int, dtype: str) -> None:
    rng = np.random.default_rng(points)
    arrays = scene(rng, 2, 40, points, dtype)
    trust = rng.random(arrays[1].shape).astype(dtype)
    got, want = both("visibility", *arrays)
    assert len(set(want.ravel().tolist())) >= (4 if points >= 17 else 1)
    assert_same(got, want)
    assert_same(*both("visibility", *arrays, confidence=trust, min_coverage=0.2, occlusion=0.99))


def test_areas_are_those_of_the_host(on_device: Callable[[bool], None]) -> None:
    """Thresholds on and beside the areas themselves, so that the hull decides, and nothing quicker."""
    rng = np.random.default_rng(1)
    pixels = 30 + np.concatenate([rng.standard_normal((6, 50, 2)), rng.integers(0, 3, (6, 50, 2))], axis=0)
    depth, size = np.full((12, 50), 2.0), (60, 60)
    got, want = both("sampled_visibility", pixels, depth, depth, size=size, with_area=True)
    assert want.area.min() == 4.0
    assert_same(got, want)
    on_device(True)
    assert_same(wmb.sampled_visibility(*tensors(pixels, depth, depth), size=size, with_area=True), got)
    for area in want.area:
        for least in (area, np.nextafter(area, np.inf)):
            assert_same(*both("sampled_visibility", pixels, depth, depth, size=size, min_area=least))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("points", [0, 1, 17, 130])
def test_sampled_points_are_judged_as_on_the_host(points: int, dtype: str) -> None:
    rng = np.random.default_rng([points, 2])
    pixels = (40 + 20 * rng.standard_normal((5, 4, points, 2))).astype(dtype)
    depth = (4 + rng.standard_normal((5, 4, points))).astype(dtype)
    seen, trust = maps(rng, 5, 4, points, dtype=dtype) * 2, rng.random((5, 4, points)).astype(dtype)
    pixels[1, :, :1], depth[2, :, :1] = np.nan, np.inf
    lengths, sizes = rng.integers(0, points + 1, (5, 4)), rng.integers(30, 90, (5, 4, 2)) * 1.0
    given = {"with_area": True, "size": (80, 64)}
    assert_same(*both("sampled_visibility", pixels, depth, seen, **given))
    assert_same(*both("sampled_visibility", pixels, depth, seen, confidence=trust, **given))
    assert_same(*both("sampled_visibility", pixels, depth, seen, size=sizes.tolist()))
    with pytest.raises(wmb.ArgumentError, match="size must be width and height"):
        wmb.sampled_visibility(*tensors(pixels, depth, seen), torch.ones(3))
    for area in (True, False):
        options = {"size": sizes, "lengths": lengths, "with_area": area}
        assert_same(*both("sampled_visibility", pixels, depth, seen, **options))


def test_views_broadcast_over_instances() -> None:
    rng = np.random.default_rng(3)
    cloud, depth, four, to = scene(rng, 3, 7, 20, "float64")
    trust = rng.random(depth.shape)
    got, want = both("visibility", cloud[0], depth[:, None], four, to[None], confidence=trust[:, None])
    assert want.shape == (3, 3, 7)
    assert_same(got, want)


def test_lengths_on_a_device_are_held_to_what_there_is() -> None:
    values = np.ones((2, 8))
    pixels = np.random.default_rng(4).random((2, 8, 2)) * 50
    beyond = torch.tensor([99, -1])
    got = wmb.sampled_visibility(*tensors(pixels, values, values), size=(50, 50), lengths=beyond)
    assert_same(got, wmb.sampled_visibility(pixels, values, values, (50, 50), lengths=[8, 0]))


def test_cameras_that_are_not_usable_see_nothing_known() -> None:
    arrays = scene(np.random.default_rng(5), 3, 7, 20, "float64")
    arrays[3][1, 0, 0] = np.nan
    assert_same(*both("visibility", *arrays))
    arrays[3][1] = np.eye(4) + np.eye(4, k=-3)  # which the host refuses
    with pytest.raises(wmb.ArgumentError, match="T_cam_world"):
        wmb.visibility(*arrays)
    states = wmb.visibility(*tensors(*arrays))
    assert (states[1] == wmb.Visibility.UNKNOWN).all()
    assert not (states[0] == wmb.Visibility.UNKNOWN).all()


@pytest.mark.parametrize("shape", [(0, 3, 5), (2, 0, 5)])
def test_no_instances(shape: tuple[int, int, int]) -> None:
    points, views = np.ones((*shape, 3)), np.ones((shape[0], 4, 5))
    assert_same(*both("visibility", points, views, np.ones(4), np.eye(4)))
    assert_same(*both("sampled_visibility", np.ones((*shape, 2)), np.ones(shape), np.ones(shape), size=(4, 5)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("points", [0, 1, 2, 17, 65, 300])
def test_medians_in_boxes_are_those_of_the_host(points: int, dtype: str, on_device: Callable[[bool], None]) -> None:
    rng = np.random.default_rng([points, 5])
    a, b, values = (rng.standard_normal((3, points, n)).astype(dtype) for n in (2, 2, 1))
    values = np.round(values[..., 0], 1)  # so that some are alike
    values[1, 5:6], values[2, 3:4], a[0, :1] = np.inf, np.nan, np.nan
    corners = np.sort(rng.standard_normal((2, 3, 9, 2, 2)), axis=-2).reshape(2, 3, 9, 4).astype(dtype)
    corners[:, :, 0] = -np.inf, -np.inf, np.inf, np.inf
    corners[0, :, 1, 2], corners[0, :, 2, 0] = np.nan, 9
    got, want = both("box_medians", a, b, values, *corners)
    assert (want.n.max() > 1) == (points > 1)
    assert_same(got, want)
    lengths = rng.integers(0, points + 1, 3)
    assert_same(*both("box_medians", a, b, values, *corners, lengths=lengths))
    beyond = wmb.box_medians(*tensors(a, b, values, *corners), lengths=torch.tensor([points + 9, -2, 0]))
    assert_same(beyond, wmb.box_medians(a, b, values, *corners, lengths=[points, 0, 0]))
    on_device(True)
    assert_same(wmb.box_medians(*tensors(a, b, values, *corners)), got)
