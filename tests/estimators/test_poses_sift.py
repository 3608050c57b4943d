# SPDX-License-Identifier: Apache-2.0
"""Poses from features on the known-answer world, whose poses are exact and whose pictures are 70 degrees wide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wmb_fast as wmb
from wmb_fast.estimators import poses_sift
from wmb_fast.rollout.planfile import plan_of
from wmb_fast.world import World, render_world

pytest.importorskip("cv2")


STEP = poses_sift.settings(None)["step"]


def found_in(world: World, stop: int, step: int = STEP) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    consumer = poses_sift.start({**poses_sift.settings(None), "step": step})
    for index in range(0, stop, step):
        consumer.feed(index, world.view(index).rgb)
    found = consumer.finish()
    return found, np.linalg.inv(world.poses[0]) @ world.poses[found["frames"]]


def degrees_off(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(wmb.rotation_angle_deg(a[:, :3, :3], b[:, :3, :3]))


def test_a_camera_that_turns_stands_still() -> None:
    found, exact = found_in(render_world(plan_of("worldmark/5"), seconds_per_step=4, size=(576, 320)), 64, step=8)
    poses = found["sift_essential"]
    assert poses.shape == (8, 4, 4)
    assert found["frames"].tolist() == list(range(0, 64, 8))
    turned = degrees_off(exact, np.broadcast_to(np.eye(4), exact.shape))[-1]
    assert turned > 20
    assert degrees_off(poses, exact).max() < 0.05
    assert (poses[:, :3, 3] == 0).all()


@pytest.mark.parametrize(("plan", "rotation", "direction"), [("worldmark/3", 1.0, 12.0), ("worldmark/1", 2.0, 20.0)])
def test_a_camera_that_walks_keeps_its_direction_and_pace(plan: str, rotation: float, direction: float) -> None:
    """To the side, and ahead. Among ways to go wrong are a mirrored pose (180 degrees) and a scale that runs away."""
    found, exact = found_in(render_world(plan_of(plan), seconds_per_step=20, size=(576, 320)), 8 * STEP + 1)
    poses = found["sift_essential"]
    assert degrees_off(poses, exact).max() < rotation
    steps, true = (np.diff(p[:, :3, 3], axis=0) for p in (poses, exact))
    cosines = (steps * true).sum(axis=1) / np.linalg.norm(steps, axis=1) / np.linalg.norm(true, axis=1)
    assert np.rad2deg(np.arccos(cosines)).max() < direction
    pace = np.linalg.norm(steps, axis=1) / np.linalg.norm(true, axis=1)
    assert pace.max() / pace.min() < 1.2  # one unknown scale for all


def test_the_same_bits_for_one_thread_and_two() -> None:
    world = render_world(plan_of("worldmark/3"), seconds_per_step=4, size=(320, 192))
    before, bits = wmb.get_num_threads(), set()
    try:
        for threads in (1, 2):
            wmb.set_num_threads(threads)
            bits.add(found_in(world, 60)[0]["sift_essential"].tobytes())
    finally:
        wmb.set_num_threads(before)
    assert len(bits) == 1


def test_where_nothing_is_seen_poses_are_missing() -> None:
    consumer = poses_sift.start(poses_sift.settings(None))
    for index in range(0, 3 * STEP, STEP):
        consumer.feed(index, np.full((96, 128, 3), 90, np.uint8))
    poses = consumer.finish()["sift_essential"]
    assert (poses[0] == np.eye(4)).all()
    assert np.isnan(poses[1:]).all()


def test_no_frames_and_one() -> None:
    for n in (0, 1):
        consumer = poses_sift.start(poses_sift.settings(None))
        if n:
            consumer.feed(0, np.zeros((96, 128, 3), np.uint8))
        assert consumer.finish()["frames"].shape == (n,)


def test_a_strip_is_not_blown_up() -> None:
    """At the width that is worked at, 4,000 rows of one pixel would be 1.6 gigapixels."""
    consumer = poses_sift.start(poses_sift.settings(None))
    rng = np.random.default_rng(0)
    for index in (0, STEP):
        consumer.feed(index, rng.integers(0, 256, (4000, 1, 3), dtype=np.uint8))
    poses = consumer.finish()["sift_essential"]
    assert np.isnan(poses[1]).all()


def test_depths_of_known_points() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform([-1, -1, 3], [1, 1, 6], (20, 3))
    angle = 0.1
    rotation = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    direction = np.array([0.8, 0.0, 0.6])
    moved = points @ rotation.T + direction
    depth_a, depth_b = poses_sift._depths(
        points[:, :2] / points[:, 2:], moved[:, :2] / moved[:, 2:], rotation, direction
    )
    np.testing.assert_allclose(depth_a, points[:, 2], rtol=1e-9)
    np.testing.assert_allclose(depth_b, moved[:, 2], rtol=1e-9)
