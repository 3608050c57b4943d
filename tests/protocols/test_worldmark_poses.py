# SPDX-License-Identifier: Apache-2.0
"""Action metrics from poses: exact motion has exact answers, and the world's own poses agree with its flow."""

from __future__ import annotations

import numpy as np
import pytest

import wmb_fast as wmb
from wmb_fast.protocols import worldmark
from wmb_fast.rollout.plans import named_plan
from wmb_fast.world import FAULTS, render_world

N, FPS = 640, 16.0
BOUNDS = (0, 320, 640)


def moving(forward: np.ndarray, right: np.ndarray, turn_deg: np.ndarray) -> np.ndarray:
    """Camera-to-world of steps along the camera's own axes; turning right turns z towards x."""
    poses = np.tile(np.eye(4), (len(forward), 1, 1))
    for i in range(1, len(forward)):
        a = np.radians(turn_deg[i])
        step = np.eye(4)
        step[0, 0] = step[2, 2] = np.cos(a)
        step[0, 2], step[2, 0] = np.sin(a), -np.sin(a)
        step[:3, 3] = right[i], 0, forward[i]
        poses[i] = poses[i - 1] @ step
    return poses


def there_and_back(speed: float) -> np.ndarray:
    return np.where(np.arange(N) < 320, speed, -speed)


ZERO = np.zeros(N)
MOTIONS = {
    "WS": (there_and_back(0.05), ZERO, ZERO),
    "DA": (ZERO, there_and_back(0.05), ZERO),
    "RL": (ZERO, ZERO, there_and_back(0.3)),
}


@pytest.mark.parametrize("keys", MOTIONS)
def test_what_is_done_as_commanded_is_right_and_pure_and_steady(keys: str) -> None:
    poses = moving(*MOTIONS[keys])
    found = worldmark.pose_action_metrics(poses, list(keys), BOUNDS, fps=FPS, distance=4.0)
    for j in (0, 1):
        assert found.direction_accuracy[j].value == pytest.approx(1)
        assert found.direction_purity[j].value == pytest.approx(1, abs=1e-3)
        assert found.motion_stability[j].value > 0.95
    assert found.response_latency[1].detail["latency_s"] <= 0.2
    wrong = worldmark.pose_action_metrics(poses, list(keys[::-1]), BOUNDS, fps=FPS, distance=4.0)
    assert [wrong.direction_accuracy[j].value for j in (0, 1)] == pytest.approx([-1, -1])


def test_walking_while_turning_is_impure_by_the_distance() -> None:
    poses = moving(np.full(N, 0.05), ZERO, np.full(N, 0.3))
    pure = [
        worldmark.pose_action_metrics(poses, ["W"], (0, N), fps=FPS, distance=d).direction_purity[0].value
        for d in (1.0, 10.0, 100.0)
    ]
    assert pure[0] > pure[1] > pure[2]
    assert pure[1] == pytest.approx(0.05 / (0.05 + 10 * np.radians(0.3)), abs=0.03)
    blind = worldmark.pose_action_metrics(poses, ["W"], (0, N), fps=FPS)
    assert blind.direction_purity[0].reason.startswith("distance: ")
    assert blind.direction_accuracy[0].value == pytest.approx(1)


def test_a_change_of_world_or_unit_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    poses = moving(there_and_back(0.05) + rng.normal(0, 0.01, N), rng.normal(0, 0.01, N), rng.normal(0, 0.1, N))
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    turned = np.eye(4)
    turned[:3, :3], turned[:3, 3] = q * np.sign(np.linalg.det(q)), (5, -3, 100)
    elsewhere = turned @ poses
    elsewhere[:, :3, 3] *= 1000
    a = worldmark.pose_action_metrics(poses, ["W", "S"], BOUNDS, fps=FPS, distance=4.0)
    b = worldmark.pose_action_metrics(elsewhere, ["W", "S"], BOUNDS, fps=FPS, distance=4000.0)
    for name in ("direction_accuracy", "direction_purity", "motion_stability"):
        for j in (0, 1):
            assert getattr(a, name)[j].value == pytest.approx(getattr(b, name)[j].value, abs=1e-6)


def test_frozen_short_and_broken() -> None:
    frozen = worldmark.pose_action_metrics(np.tile(np.eye(4), (N, 1, 1)), ["W", "S"], BOUNDS, fps=FPS, distance=1.0)
    assert frozen.direction_accuracy[0].reason == "no_motion"
    assert frozen.direction_purity[1].reason == "no_motion"
    for n in (1, 2, 3, 10):
        short = worldmark.pose_action_metrics(np.tile(np.eye(4), (n, 1, 1)), ["W"], (0, n), fps=FPS)
        assert short.direction_accuracy[0].value is None
    broken = moving(*MOTIONS["WS"])
    broken[50] = np.nan
    found = worldmark.pose_action_metrics(broken, ["W", "S"], BOUNDS, fps=FPS)
    assert found.direction_accuracy[0].reason.startswith("not_finite: 2 of")
    assert found.direction_accuracy[1].value == pytest.approx(1)
    with pytest.raises(wmb.ArgumentError, match=r"cam_to_world must have shape \(T, 4, 4\), got \(3, 3\)"):
        worldmark.pose_signals(np.eye(3))
    with pytest.raises(wmb.ArgumentError, match="first_frames must bound 2 segments, got 1"):
        worldmark.pose_action_metrics(broken, ["W", "S"], (0, 640), fps=FPS)


@pytest.mark.parametrize(("plan", "fault"), [("WS", "slow_response"), ("WS", "wrong_direction"), ("LR", "stall")])
def test_the_worlds_poses_see_its_faults(plan: str, fault: str) -> None:
    """As commanded all is well; the fault shows in its own metric."""
    metric = {"slow_response": "response_latency", "wrong_direction": "direction_accuracy", "stall": "motion_stability"}

    def scored(faults: dict[str, float]) -> list[float]:
        world = render_world(named_plan(plan), faults=faults, seconds_per_step=10, size=(64, 48))
        n = len(world)
        found = worldmark.pose_action_metrics(world.poses, list(plan), (0, n // 2, n), fps=world.fps, distance=3.0)
        return [m.value for m in getattr(found, metric[fault]).values()]

    good, bad = scored({}), scored({fault: FAULTS[fault].default})
    assert min(good) > 0.9
    assert min(bad) < min(good) - 0.05
