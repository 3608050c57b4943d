# SPDX-License-Identifier: Apache-2.0
"""Depth, poses, flow and frames must tell one story."""

from __future__ import annotations

import numpy as np
import pytest
from small_worlds import small

from wmb_fast._walls.errors import ArgumentError
from wmb_fast.world import Flow, World, default_scene, truth
from wmb_fast.world.truth import same_shape, wall_ahead, wall_in_view


def reprojected(world: World, first: int, later: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the depth and pose of one frame put its pixels in another, and their depth there."""
    depth, k = world.depth(first).astype(np.float64), world.intrinsics
    height, width = depth.shape
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    points = np.linalg.inv(k) @ np.stack((x, y, np.ones_like(x))).reshape(3, -1) * depth.reshape(1, -1)
    motion = np.linalg.inv(world.poses[later]) @ world.poses[first]
    there = motion[:3, :3] @ points + motion[:3, 3:]
    pixels = k @ there
    return (pixels[:2] / pixels[2]).T.reshape(height, width, 2), there[2].reshape(height, width)


@pytest.mark.parametrize(("keys", "gap"), [("W", 30), ("D", 40), ("L", 30), ("lrud", 40), ("WR", 60)])
def test_flow_is_what_depth_and_pose_say(keys: str, gap: int) -> None:
    world = small(keys)
    flow = world.flow(5, gap)
    there, _ = reprojected(world, 5, 5 + gap)
    y, x = np.mgrid[:64, :96]
    np.testing.assert_allclose(flow.uv, there - np.stack((x, y), axis=-1), atol=2e-4)  # depth is float32
    assert 0.3 < flow.valid.mean() <= 1


@pytest.mark.parametrize(("keys", "gap"), [("W", 30), ("A", 40), ("R", 30)])
def test_a_frame_warped_by_the_flow_is_the_other_frame(keys: str, gap: int) -> None:
    world = small(keys, size=(320, 192))
    first, later, flow = world.view(0), world.view(gap), world.flow(0, gap)
    y, x = np.mgrid[:192, :320]
    to = np.stack((x, y), axis=-1) + flow.uv
    column, row = np.rint(to[..., 0]).astype(int), np.rint(to[..., 1]).astype(int)
    valid = flow.valid & (column >= 0) & (column < 320) & (row >= 0) & (row < 192)
    assert valid.mean() > 0.5
    same = later.identities[row[valid], column[valid]] == first.identities[valid]
    assert same.mean() > 0.985  # half a pixel off at edges
    _, z = reprojected(world, 0, gap)
    assert np.mean(np.abs(later.depth[row[valid], column[valid]] / z[valid] - 1) < 0.05) > 0.97
    difference = np.abs(later.rgb[row[valid], column[valid]].astype(float) - first.rgb[valid]).mean()
    shuffled = np.abs(later.rgb.astype(float) - first.rgb).mean()
    assert difference < 0.55 * shuffled


def test_hidden_points_are_not_valid() -> None:
    """Where a pixel's point is hidden in the later frame, something nearer stands there."""
    world = small("D", size=(320, 192), seconds=18)
    flow, (_, z) = world.flow(0, 280), reprojected(world, 0, 280)
    y, x = np.mgrid[:192, :320]
    to = np.stack((x, y), axis=-1) + flow.uv
    column, row = np.rint(to[..., 0]).astype(int), np.rint(to[..., 1]).astype(int)
    inside = (column >= 0) & (column < 320) & (row >= 0) & (row < 192)
    hidden = inside & ~flow.valid
    assert hidden.sum() > 200
    nearer = world.depth(280)[row[hidden], column[hidden]] < z[hidden] * 0.999
    assert nearer.mean() > 0.95


def test_flow_of_a_turn_is_a_homography() -> None:
    world = small("L")
    flow = world.flow(0, 10)
    k = world.intrinsics
    h = k @ world.poses[10, :3, :3].T @ world.poses[0, :3, :3] @ np.linalg.inv(k)
    y, x = np.mgrid[:64, :96]
    moved = np.einsum("ij,jhw->ihw", h, np.stack((x, y, np.ones_like(x))))
    np.testing.assert_allclose(flow.uv[..., 0], moved[0] / moved[2] - x, atol=1e-9)
    np.testing.assert_allclose(flow.uv[..., 1], moved[1] / moved[2] - y, atol=1e-9)


def test_a_grid_is_the_frame_resized() -> None:
    """On a grid of twice the size, a pixel's depth and flow are those of the frame at half its coordinates."""
    world = small("W", size=(96, 64))
    fine, coarse = world.flow(0, 8, grid=(288, 192)), world.flow(0, 8)
    np.testing.assert_allclose(fine.uv[1::3, 1::3], 3 * coarse.uv, atol=1e-9)  # the middle of 3 is the centre
    np.testing.assert_allclose(world.depth(0, grid=(288, 192))[1::3, 1::3], world.depth(0), rtol=1e-6)
    wide = world.flow(0, 8, grid=(288, 64))
    np.testing.assert_allclose(wide.uv[:, 1::3], coarse.uv * (3, 1), atol=1e-9)


def test_flow_backwards_and_to_itself() -> None:
    world = small("A")
    still: Flow = world.flow(7, 0)
    np.testing.assert_allclose(still.uv, 0, atol=1e-12)
    assert still.valid.mean() > 0.999
    assert world.flow(20, -5).uv[..., 0].mean() < 0


def test_no_flow_into_another_room() -> None:
    world = small("L", hard_cut=0.5)
    cut = world.events[0].frame
    across = world.flow(cut - 1, 1)
    assert not across.valid.any()
    assert np.isnan(across.uv).all()
    assert world.flow(cut, 1).valid.mean() > 0.9


def test_walls_in_view() -> None:
    scene, world = default_scene(0), small("L", seconds=20, size=(320, 192))
    assert wall_ahead(world.poses[0]) == 5
    seen = [wall_in_view(scene, pose, 5, (320, 192)) for pose in world.poses]
    truly = [bool((truth.measure(scene, pose, world.intrinsics, (320, 192))[1] == 5).any()) for pose in world.poses]
    assert seen[0]
    assert not seen[-1]
    assert all(s for s, t in zip(seen, truly, strict=True) if t)


def test_same_shape() -> None:
    scene = default_scene(0)
    assert same_shape(scene, scene.repapered(2, default_scene(1).walls[3]))
    assert not same_shape(scene, default_scene(1))


@pytest.mark.parametrize("frame", [-1, 49])
def test_frames_that_are_not_there(frame: int) -> None:
    with pytest.raises(ArgumentError, match="World: frame must be in 0 to 48, got"):
        small("L").view(frame)
