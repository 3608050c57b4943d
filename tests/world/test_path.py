# SPDX-License-Identifier: Apache-2.0
"""Paths: inside the room, at the pace asked for, back to the bit, and with WorldMark's signs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from small_worlds import PLANS, plan_of, small

from wmb_fast._walls.errors import ArgumentError
from wmb_fast.rollout.plan import Action, Plan, Step
from wmb_fast.world import Pace, default_scene, render_world
from wmb_fast.world.path import Units, command, first_return, poses_along, units_for

SIGNS = {"W": ("radial", 1), "S": ("radial", -1), "A": ("horizontal", 1), "L": ("horizontal", 1),
         "D": ("horizontal", -1), "R": ("horizontal", -1)}  # fmt: skip


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("faults", [{}, {"wrong_direction": 1.0}, {"wrong_direction": 0.4}], ids=str)
def test_every_plan_stays_inside(name: str, faults: dict[str, float]) -> None:
    world = render_world(plan_of(name), faults=faults)
    reach = np.abs(world.poses[:, (0, 2), 3]).max(axis=0)
    assert (reach <= np.array(default_scene(0).walkable) + 1e-9).all()
    forward = world.poses[:, :3, 2]
    assert np.abs(np.degrees(np.arcsin(forward[:, 1]))).max() <= 30 + 1e-9
    rotations = world.poses[:, :3, :3]
    np.testing.assert_allclose(
        rotations @ rotations.transpose(0, 2, 1), np.broadcast_to(np.eye(3), rotations.shape), atol=1e-14
    )
    np.testing.assert_allclose(np.linalg.det(rotations), 1, atol=1e-14)


@pytest.mark.parametrize("keys", ["LR", "WS", "AD", "translate_square", "lrlr", "lrlrlr", "lrud", "lr_hold"])
@pytest.mark.parametrize("ease", [0.0, 0.5])
def test_a_way_back_ends_where_it_began_to_the_bit(keys: str, ease: float) -> None:
    world = render_world(plan_of(keys), seconds_per_step=4, pace=Pace(ease_seconds=ease))
    np.testing.assert_array_equal(world.poses[0], world.poses[-1])


@pytest.mark.parametrize("keys", ["LR", "WS", "AD"])
@pytest.mark.parametrize("ease", [0.0, 0.5])
def test_the_way_back_is_the_way_out_to_the_bit(keys: str, ease: float) -> None:
    world = render_world(plan_of(keys), seconds_per_step=4, pace=Pace(ease_seconds=ease))
    np.testing.assert_array_equal(world.poses, world.poses[::-1])
    assert len(np.unique(world.poses, axis=0)) == len(world) // 2 + 1


def test_frames_of_equal_pose_are_equal() -> None:
    world = small("LRL", seconds=2)
    views = [world.view(i) for i in (10, 54, 74)]
    for other in views[1:]:
        np.testing.assert_array_equal(world.poses[10], world.poses[54])
        np.testing.assert_array_equal(views[0].rgb, other.rgb)
        np.testing.assert_array_equal(views[0].depth, other.depth)


def test_pace() -> None:
    world = render_world(plan_of("WR"), seconds_per_step=5, fps=10)
    assert len(world) == 101
    np.testing.assert_allclose(world.poses[50, :3, 3], (0, -1.5, 0.75), atol=1e-12)
    np.testing.assert_allclose(world.poses[25, 2, 3], 0.375, atol=1e-12)
    forward = world.poses[100, :3, 2]
    assert np.degrees(np.arctan2(forward[0], forward[2])) == pytest.approx(30, abs=1e-9)
    assert world.speed == pytest.approx({"metres": 0.15, "turn_deg": 6, "look_deg": 6})


def test_a_long_walk_is_slower_and_reaches_the_end_of_the_room() -> None:
    world = render_world(plan_of("W"), seconds_per_step=100)
    assert world.poses[-1, 2, 3] == pytest.approx(3.2, rel=1e-12)
    assert world.speed["metres"] == pytest.approx(0.032)


def test_an_eased_step_begins_and_ends_slowly() -> None:
    pace = Pace(ease_seconds=0.25)
    drive = command(plan_of("W"), plan_of("W").lay(21).steps, 21, pace, 16)
    assert drive[:, 0].tolist() == [1, 2, 3, 4, *[5] * 12, 4, 3, 2, 1]
    assert units_for([drive], (3, 3), pace, 16).metres == pytest.approx(0.15 / 16 / 5)


def test_headings_are_kept_apart() -> None:
    """Forward, turn right by 90 degrees, forward, back, and forward's undoing sideways."""
    moves = [[1, 0, 0, 0], [0, 0, 1, 0], [2, 0, 0, 0], [0, 0, 0, 1], [-2, 0, 0, -1], [0, 1, 0, 0]]
    poses = poses_along(np.array(moves), Units(0.5, 90.0, 10.0))
    np.testing.assert_array_equal(poses[:, 0, 3], (0, 0, 0, 1, 1, 0, 0))
    np.testing.assert_array_equal(poses[:, 2, 3], (0, 0.5, 0.5, 0.5, 0.5, 0.5, 0))


@pytest.mark.parametrize("keys", list(SIGNS))
def test_signs_are_worldmarks(keys: str) -> None:
    world = small(keys, size=(160, 96))
    x, y = np.meshgrid(np.arange(64.0), np.arange(43.0))
    dx, dy = x - 32, y - 21.5
    radius = np.hypot(dx, dy) + 1e-6
    for frame in (0, 20, 40):
        uv = world.flow(frame, 2, grid=(64, 43)).uv
        means = {"horizontal": uv[..., 0].mean(), "radial": ((uv[..., 0] * dx + uv[..., 1] * dy) / radius).mean()}
        channel, sign = SIGNS[keys]
        other = "radial" if channel == "horizontal" else "horizontal"
        assert sign * means[channel] > 0.05
        assert abs(means[other]) < 0.1 * abs(means[channel])


def test_looking_up_moves_the_image_down() -> None:
    plan = Plan("up", (Step(Action.LOOK_UP),))
    assert render_world(plan, seconds_per_step=2, size=(64, 48)).flow(0, 2).uv[..., 1].mean() > 0.1


def test_boundaries_of_the_plan_are_kept() -> None:
    plan = Plan(
        "mine", (Step(Action.TURN_LEFT), Step(Action.HOLD), Step(Action.TURN_RIGHT)), boundaries=(0, 10, 15, 30)
    )
    world = render_world(plan)
    assert len(world) == 30
    turned = np.abs(np.diff(world.poses[:, 0, 2])) > 0
    assert turned.nonzero()[0].tolist() == [*range(10), *range(15, 29)]
    open_end = Plan("mine", plan.steps, boundaries=(0, 10, 15))
    assert len(render_world(open_end, seconds_per_step=2, fps=8)) == 15 + 16 + 1


def test_shares() -> None:
    plan = Plan("mine", (Step(Action.FORWARD, Fraction(1, 2)), Step(Action.HOLD, Fraction(3, 2))))
    world = render_world(plan, seconds_per_step=4, fps=4)
    assert len(world) == 33
    assert (np.diff(world.poses[:, 2, 3]) > 0).nonzero()[0].tolist() == list(range(8))


def test_first_return() -> None:
    assert first_return(plan_of("WSW")) == 1
    assert first_return(plan_of("WR")) is None
    assert first_return(plan_of("lr_hold")) == 2
    assert first_return(plan_of("translate_square")) == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"fps": 0}, "world: fps must be above 0, got 0"),
        ({"seconds_per_step": float("nan")}, "world: seconds_per_step must be finite, got nan"),
        ({"size": (8, 192)}, "world: size must be at least 16, got 8"),
        ({"seconds_per_step": 0.01}, "world: plan must give 2 to 1000000 frames (0.01 s a step, 16 fps), got 1"),
    ],
)
def test_bad_arguments(arguments: dict, sentence: str) -> None:
    with pytest.raises(ArgumentError) as error:
        render_world(plan_of("LR"), **arguments)
    assert str(error.value) == sentence
