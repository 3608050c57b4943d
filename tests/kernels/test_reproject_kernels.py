# SPDX-License-Identifier: Apache-2.0
"""Kernels from one view into another: the host's bits, where a pixel's own arithmetic is all there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from every_op import assert_close, assert_same
from tolerances import FLOAT32_REL
from views import Array, both, camera, maps, tensors, way

import wmb_fast as wmb

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("on_device")
SIZES = [(1, 1), (1, 17), (17, 1), (63, 65), (9, 130)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_each_pixel_lands_as_on_the_host(height: int, width: int, dtype: str) -> None:
    rng = np.random.default_rng([height, width])
    depth, to = maps(rng, 3, height, width, dtype=dtype), way(rng, 3, dtype)
    intrinsics, other = camera(height, width, dtype), np.stack([camera(7, 11, dtype)] * 3)
    assert_same(*both("reproject_depth", depth, intrinsics, to))
    assert_same(*both("reproject_depth", depth, intrinsics, to, intrinsics_dst=other, shape=(7, 11)))
    assert_same(*both("splat_depth", depth, intrinsics, to, shape=(height, width)))
    assert_same(*both("splat_depth", depth, intrinsics, to, shape=(7, 11), intrinsics_dst=other))
    assert_same(*both("unproject", depth, intrinsics))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 17, 257, 600])
def test_each_point_lands_as_on_the_host(n: int, dtype: str) -> None:
    rng = np.random.default_rng(n)
    points = rng.standard_normal((2, n, 3)) + np.array([0, 0, 1])
    points[:, ::7, 1], points[:, 3::7, 2] = np.nan, 0
    matrices = np.stack([[[50.0, 0, 5], [0, 40, 6], [0, 0, 1]], np.eye(3)])
    got, want = both("project", points.astype(dtype), matrices.astype(dtype), way(rng, 2, dtype))
    assert_same(got, want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_nearest_point_stays_and_of_equally_near_ones_the_first(
    dtype: str, on_device: Callable[[bool], None]
) -> None:
    depth = np.random.default_rng(0).choice([1.0, 2.0, 3.0], (40, 50)).astype(dtype)
    far = np.array([4.0, 4, 1, 1], dtype=dtype)  # so that many points fall into a pixel
    arrays = depth, camera(40, 50, dtype), np.eye(4, dtype=dtype)
    got, want = both("splat_depth", *arrays, shape=(3, 3), intrinsics_dst=far)
    assert (want.source_index >= 0).any()
    assert_same(got, want)
    on_device(True)
    assert_same(both("splat_depth", *arrays, shape=(3, 3), intrinsics_dst=far)[0], got)


@pytest.mark.parametrize("sampling", ["nearest", "bilinear"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("height", "width"), [*SIZES, (91, 130)])
def test_depths_agree_as_on_the_host(height: int, width: int, dtype: str, sampling: str) -> None:
    rng = np.random.default_rng([height, width])
    arrays = (
        maps(rng, 2, height, width, dtype=dtype), maps(rng, 2, height + 2, width, dtype=dtype),
        camera(height, width, dtype), way(rng, 2, dtype, far=0.05),
    )  # fmt: skip
    got, want = both("depth_agreement", *arrays, sampling=sampling)
    assert_agree(got, want, dtype)
    if height > 1 and width > 1:
        assert want.n.min() > 20


def assert_agree(got: Any, want: Any, dtype: str) -> None:
    """The same pixels; the same errors, but for the last bit of those that are found in float32."""
    if dtype == "float64":
        assert_same(got, want)
        return
    assert_same((got.n, got.covisible_fraction, got.status), (want.n, want.covisible_fraction, want.status))
    assert_close(got, want, rel=FLOAT32_REL, abs=0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_float32_cannot_tell_is_told_as_the_host_does(dtype: str) -> None:
    """Points that land on the borders of pixels, and ratios that lie on the bounds of the gate or beside them."""
    one = np.dtype(dtype).type
    seen = np.random.default_rng(1).choice([2.0, 2.5, 1.9, 0.0], (40, 60))
    moved = np.eye(4)
    for focal, depth in ((32.0, 2.0), (33.3, 2.1), (29.7, 1.95)):
        half = 0.5 * depth / focal  # aside, and all points land on the borders of pixels, but for rounding
        camera_of = np.array([focal, focal, 30.0, 20.0])
        for shift in (half, -half, 2 * half, 1e-9, 63 * half, 4.0):
            moved[:2, 3] = shift, -shift
            arrays = [a.astype(dtype) for a in (np.full((40, 60), depth), seen, camera_of, moved)]
            assert_agree(*both("depth_agreement", *arrays), dtype)
    ratios = np.concatenate([one(x) + np.spacing(one(x)) * np.arange(-9, 10, dtype=dtype) for x in (0.7, 1.4)])
    near = (one(2) / np.broadcast_to(ratios, (6, 38))).astype(dtype)
    camera_of = np.array([32.0, 32.0, 19.0, 3.0], dtype=dtype)
    for bounds in ((0.7, 1.4), (0.0, 1.4), (0.7, np.inf), (0.7, 0.7000001)):
        arrays = np.full_like(near, 2), near, camera_of, np.eye(4, dtype=dtype)
        got, want = both("depth_agreement", *arrays, occlusion=bounds)
        assert_agree(got, want, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_map_of_thousands_of_tiles(dtype: str) -> None:
    """So many that a block goes through several, one below the other."""
    height = 65_600
    rng = np.random.default_rng(2)
    to = np.eye(4)
    to[:3, 3] = 0, 0.3, 0.1
    arrays = maps(rng, height, 1), maps(rng, height - 7, 1), np.array([40.0, 40.0, 0.0, 0.5 * height]), to
    got, want = both("depth_agreement", *[a.astype(dtype) for a in arrays])
    assert int(want.n) > 40_000
    assert_agree(got, want, dtype)


def sampled(pixels: int) -> Array:
    """The pixels by which the kernel brackets the median of a map of more than 8192."""
    k = np.arange(2048)
    jitter = (0x9E3779B9 * (k + 1)) % 2**32
    return np.minimum(((k + jitter * 2.0**-32) * (pixels / 2048)).astype(np.int64), pixels - 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_sample_that_misleads_changes_nothing(dtype: str) -> None:
    height, width = 91, 130
    n = height * width
    rng = np.random.default_rng(3)
    seen = {
        "above the bracket": np.full(n, 2.0) + 0.3 * rng.random(n),
        "below it": np.full(n, 2.0) + 0.01 * rng.random(n),
        "more inside than there is room for": 2.2 + 0.01 * rng.random(n),
        "all alike": np.full(n, 2.2),
        "two values": rng.choice([2.0, 2.2], n),
    }
    at = sampled(n)
    seen["above the bracket"][at] = 2.0
    seen["below it"][at] = 2.5
    seen["more inside than there is room for"][at] = rng.choice([2.0, 2.7], len(at))
    for name, depth in seen.items():
        arrays = [np.full((height, width), 2.0), depth.reshape(height, width), camera(height, width), np.eye(4)]
        got, want = both("depth_agreement", *[a.astype(dtype) for a in arrays])
        assert int(want.n) == n, name
        assert_agree(got, want, dtype)


def test_views_broadcast_without_a_copy() -> None:
    rng = np.random.default_rng(5)
    depth, to = maps(rng, 3, 20, 30, dtype="float32"), way(rng, 9, "float32", 0.05).reshape(3, 3, 4, 4)
    matrices = np.tile(np.eye(3, dtype="float32"), (2, 1, 1, 1, 1))
    matrices[..., 0, 0], matrices[..., 1, 1], matrices[..., :2, 2] = 30, 31, (15, 10)
    other = camera(20, 30, "float32") * np.linspace(1, 1.2, 3, dtype="float32")[:, None]
    got, want = both("depth_agreement", depth[:, None], depth[None], matrices, to, intrinsics_dst=other)
    assert want.n.shape == (2, 3, 3)
    assert_agree(got, want, "float32")
    assert_same(*both("reproject_depth", depth[:, None], matrices, to, intrinsics_dst=other, shape=(5, 6)))
    assert_same(*both("splat_depth", depth, matrices, to[:, :1], shape=(5, 6)))
    assert_same(*both("unproject", depth, np.stack([other, other * 2])[:, None]))
    assert_same(*both("project", rng.standard_normal((2, 1, 7, 3)), np.ones(4), way(rng, 3)))


def test_many_axes_are_few_where_they_go_together() -> None:
    depth = maps(np.random.default_rng(6), *(2,) * 10, 2, 3)
    assert_same(*both("unproject", depth, np.ones(4)))
    by_turns = maps(np.random.default_rng(6), *(2, 1) * 4, 2, 3), np.random.default_rng(7).random((*(1, 2) * 4, 4)) + 1
    assert_same(*both("unproject", *by_turns))
    with pytest.raises(ValueError, match="along at most 8 axes, got 9"):
        wmb.unproject(*tensors(by_turns[0][None], np.stack([by_turns[1]] * 2)))


@pytest.mark.parametrize("op", ["reproject_depth", "splat_depth", "depth_agreement", "unproject", "project"])
def test_an_empty_batch_has_empty_results(op: str) -> None:
    depth, to = np.ones((0, 4, 5)), np.eye(4)
    arrays = {"project": (depth, np.ones(4), to), "unproject": (depth, np.ones(4))}.get(op, (depth, np.ones(4), to))
    if op == "project":
        arrays = np.ones((0, 4, 3)), *arrays[1:]
    if op == "depth_agreement":
        arrays = depth, *arrays
    assert_same(*both(op, *arrays, **({"shape": (2, 3)} if op == "splat_depth" else {})))


def unusable() -> dict[str, tuple[Array, Array]]:
    """Cameras and transforms with which nothing can be seen."""
    ok, to = np.array([[20.0, 0, 5], [0, 20, 4], [0, 0, 1]]), np.eye(4)
    cases = {}
    for name, at, value in (("infinite", (0, 2), np.inf), ("NaN", (1, 1), np.nan), ("no focal length", (0, 0), 0.0)):
        cases[name] = ok.copy(), to
        cases[name][0][at] = value
    for name, at in (("NaN in the transform", (1, 2)), ("NaN in its last row", (3, 1))):
        cases[name] = ok, to.copy()
        cases[name][1][at] = np.nan
    return cases


@pytest.mark.parametrize("name", unusable())
def test_cameras_that_are_not_usable(name: str) -> None:
    intrinsics, to = unusable()[name]
    depth = np.ones((2, 9, 12))
    both_of = np.stack([intrinsics, np.eye(3)])
    got, want = both("depth_agreement", depth, depth, intrinsics, to)
    assert want.status.tolist() == [2, 2]
    assert_same(got, want)
    assert [got.reason(i) for i in range(2)] == [want.reason(i) for i in range(2)]
    assert_same(*both("reproject_depth", depth, intrinsics, to))
    assert_same(*both("splat_depth", depth, intrinsics, to, shape=(4, 4)))
    assert_same(*both("unproject", depth, both_of))
    assert_same(*both("project", np.ones((2, 4, 3)), both_of, to))


@pytest.mark.parametrize("which", ["intrinsics", "intrinsics_dst", "T_dst_src"])
def test_what_the_host_refuses_a_device_reports(which: str) -> None:
    depth = np.ones((3, 9, 12))
    given = {name: np.tile(np.array([[20.0, 0, 5], [0, 20, 4], [0, 0, 1]]), (3, 1, 1)) for name in
             ("intrinsics", "intrinsics_dst")} | {"T_dst_src": np.tile(np.eye(4), (3, 1, 1))}  # fmt: skip
    given["T_dst_src"][:, 3, 2] = 5e-7  # within what an inverse may lose
    given[which][1, -1, 0] = 0.1
    with pytest.raises(wmb.ArgumentError, match=which):
        wmb.depth_agreement(depth, depth, **given)
    moved = {name: torch.from_numpy(value) for name, value in given.items()}
    agreement = wmb.depth_agreement(torch.from_numpy(depth), torch.from_numpy(depth), **moved)
    assert agreement.status.tolist() == [0, 2, 0]
    assert "cannot be inverted" in agreement.reason(1)
    assert agreement.n.tolist() == [108, 0, 108]
    landed = wmb.reproject_depth(torch.from_numpy(depth), **moved)
    assert landed.valid.any(-1).any(-1).tolist() == [True, False, True]
    assert torch.isnan(landed.pixels[1]).all()
    splat = wmb.splat_depth(torch.from_numpy(depth), shape=(9, 12), **moved)
    assert (splat.source_index.amax((-1, -2)) >= 0).tolist() == [True, False, True]


def test_shapes_are_refused_as_on_the_host() -> None:
    depth, four, to = tensors(np.ones((9, 12)), np.ones(4), np.eye(4))
    with pytest.raises(wmb.ArgumentError, match="intrinsics must have shape"):
        wmb.reproject_depth(depth, four[:3], to)
    with pytest.raises(wmb.ArgumentError, match="T_dst_src must have shape"):
        wmb.reproject_depth(depth, four, to[:3])
    with pytest.raises(wmb.ArgumentError, match="broadcast together"):
        wmb.unproject(depth.expand(2, 9, 12), four.expand(3, 4))
    with pytest.raises(wmb.ArgumentError, match="at least 1"):
        wmb.unproject(depth[:0], four)


def test_pixels_that_see_nothing() -> None:
    depth = np.ones((4, 9, 12), dtype="float32")
    depth[0], depth[2] = np.nan, 5.0
    seen = np.ones_like(depth)
    seen[1] = 0
    got, want = both("depth_agreement", depth, seen, camera(9, 12, "float32"), np.eye(4, dtype="float32"))
    assert want.status.tolist() == [2, 2, 2, 0]
    assert_agree(got, want, "float32")
    assert [got.reason(i) for i in range(4)] == [want.reason(i) for i in range(4)]
