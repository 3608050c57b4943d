# SPDX-License-Identifier: Apache-2.0
"""Faults do what they say, when they say, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_worlds import plan_of, small

from wmb_fast._walls.errors import ArgumentError, ArgumentTypeError
from wmb_fast.world import FAULTS, World, render_world
from wmb_fast.world.scene import FRONT
from wmb_fast.world.truth import FIRST_BOX, look


def moves(world: World) -> np.ndarray:
    """Which intervals move."""
    return (np.diff(world.poses, axis=0) != 0).any(axis=(1, 2))


def events(world: World) -> list[int]:
    return [event.frame for event in world.events]


def test_no_faults_nothing_happens() -> None:
    world = small("LR")
    assert world.events == ()
    assert world.faults == {}
    assert moves(world).all()
    assert len(world.timeline) == 1
    np.testing.assert_array_equal(world.poses, world.commanded_poses)


def test_slow_response_stands_after_each_switch() -> None:
    world = small("LRL", slow_response=0.5)
    assert events(world) == [48, 96]
    still = np.flatnonzero(~moves(world))
    assert still.tolist() == [*range(48, 56), *range(96, 104)]
    np.testing.assert_array_equal(world.poses[:49], world.commanded_poses[:49])
    np.testing.assert_array_equal(world.poses[56:97], world.commanded_poses[48:89])


def test_wrong_direction_of_all_and_of_the_last() -> None:
    world = small("LR", wrong_direction=1)
    mirrored = small("R").poses
    np.testing.assert_array_equal(world.poses[:49], mirrored)
    assert events(world) == [0, 48]
    half = small("LR", wrong_direction=0.5)
    assert events(half) == [48]
    np.testing.assert_array_equal(half.poses, small("L", seconds=6).poses)


def test_stall_stands_for_its_share() -> None:
    world = small("L", seconds=8, stall=0.25)
    moving = moves(world)
    assert (~moving).sum() == 4 * 8
    starts = np.flatnonzero(np.diff(moving.astype(int)) == -1) + 1
    assert events(world) == starts.tolist() == [12, 44, 76, 108]
    round_trip = small("LR", seconds=4, stall=0.5)
    np.testing.assert_array_equal(round_trip.poses[0], round_trip.poses[-1])


def test_hard_cut_is_another_room_from_its_frame_on() -> None:
    good, world = small("L"), small("L", hard_cut=0.4)
    assert events(world) == [20]
    np.testing.assert_array_equal(world.view(19).rgb, good.view(19).rgb)
    assert np.abs(world.view(20).rgb.astype(int) - good.view(20).rgb).mean() > 30
    np.testing.assert_array_equal(world.poses, good.poses)


def test_repainted_wall_changes_out_of_view_and_only_that_wall() -> None:
    good, world = small("LR", seconds=20), small("LR", seconds=20, repainted_wall=1)
    [at] = events(world)
    assert 150 < at < 320
    for frame in (at - 1, at, at + 1):
        np.testing.assert_array_equal(world.view(frame).rgb, good.view(frame).rgb)
        assert not (good.view(frame).identities == FRONT).any() or frame < at
    old, new = good.view(640), world.view(640)
    changed = (old.rgb != new.rgb).any(axis=-1)
    assert changed[old.identities == FRONT].mean() > 0.95
    np.testing.assert_array_equal(old.identities, new.identities)
    elsewhere = old.identities != FRONT
    edge = elsewhere & (np.roll(old.identities, (1, 1), (0, 1)) == old.identities)
    assert changed[edge].mean() < 0.05  # of pixels that also see a bit of the wall
    assert np.abs(old.rgb.astype(int) - new.rgb)[old.identities == FRONT].mean() > 25


def test_a_displaced_wall_is_further_away_and_nothing_else_moves() -> None:
    good, world = small("LR", seconds=20), small("LR", seconds=20, displaced_wall=2)
    [at] = events(world)
    np.testing.assert_array_equal(world.view(at - 1).rgb, good.view(at - 1).rgb)
    old, new = good.view(640), world.view(640)
    wall = (old.identities == FRONT) & (new.identities == FRONT)
    assert wall.mean() > 0.3
    np.testing.assert_allclose(new.depth[wall] - old.depth[wall], 2, atol=1e-4)
    boxes = (old.identities > FRONT) & (new.identities == old.identities)
    np.testing.assert_array_equal(new.depth[boxes], old.depth[boxes])
    back = good.view(300), world.view(300)  # turned away: the wall behind is where it was
    np.testing.assert_allclose(back[1].depth, back[0].depth, atol=1e-4)


def test_a_squashed_box_keeps_its_foot_and_a_retextured_one_its_shape() -> None:
    good = small("LR", seconds=20, size=(192, 128))
    squashed, painted = (
        small("LR", seconds=20, size=(192, 128), **fault) for fault in ({"squashed_box": 0.5}, {"retextured_box": 1})
    )
    old, low, other = good.view(640), squashed.view(640), painted.view(640)
    [box] = np.unique(old.identities[(old.rgb != other.rgb).any(axis=-1) & (old.identities > FRONT)])
    rows = [np.flatnonzero((view.identities == box).any(axis=1)) for view in (old, low)]
    assert rows[1].max() == rows[0].max()
    assert rows[1].min() > rows[0].min() + 10
    np.testing.assert_array_equal(other.identities, old.identities)
    np.testing.assert_array_equal(other.depth, old.depth)
    assert np.abs(old.rgb.astype(int) - other.rgb)[old.identities == box].mean() > 20
    assert "the cabinet keeps 0.5 of its height" in [event.what for event in squashed.events]
    for world in (squashed, painted):
        [at] = events(world)
        assert not (world.view(at).identities == box).any()
        np.testing.assert_array_equal(world.view(at - 1).rgb, good.view(at - 1).rgb)


def test_a_missing_box_leaves_nothing_behind_not_even_its_shadow() -> None:
    good, world = (small("LR", seconds=20, size=(192, 128), **fault) for fault in ({}, {"missing_box": 1}))
    [event] = world.events
    assert event.what == "the cabinet has sunk by 1 of its height"
    box = FIRST_BOX + [one.name for one in good.scene(0).boxes].index("cabinet")
    old, new = good.view(640), world.view(640)
    assert (old.identities == box).sum() > 500
    assert not (new.identities == box).any()
    there = old.identities == box
    assert (new.depth[there] > old.depth[there]).all()
    np.testing.assert_array_equal(world.view(event.frame - 1).rgb, good.view(event.frame - 1).rgb)
    sunk = world.scene(640)
    emptied = replace(sunk, boxes=tuple(b for b in sunk.boxes if b.name != "cabinet"))
    bare = look(emptied, world.poses[640], world.intrinsics, world.size, 2)
    np.testing.assert_array_equal(new.rgb, bare.rgb)


def test_a_weaker_coat_of_paint_changes_less() -> None:
    def change(**faults: float) -> float:
        good, world = small("WS"), small("WS", **faults)
        assert [event.frame for event in world.events] == [48]  # never out of view: where the way back begins
        return float(np.abs(good.view(96).rgb.astype(int) - world.view(96).rgb).mean())

    assert 5 < change(repainted_wall=0.3) < 0.6 * change(repainted_wall=1)


def test_faults_go_together() -> None:
    world = small("LR", seconds=20, slow_response=1, stall=0.2, hard_cut=0.9, repainted_wall=1)
    assert {event.fault for event in world.events} == {"slow_response", "stall", "hard_cut", "repainted_wall"}
    assert events(world) == sorted(events(world))
    assert [first for first, _ in world.timeline] == sorted({first for first, _ in world.timeline})
    early = small("LR", seconds=20, hard_cut=0.1, repainted_wall=1)
    assert len(early.timeline) == 3


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_says_what_must_follow(name: str) -> None:
    fault = FAULTS[name]
    assert fault.must_lower
    assert not set(fault.must_lower) & set(fault.must_not_move)
    assert fault.low < fault.default <= fault.high
    good, world = (render_world(plan_of("LR"), faults=f, size=(64, 48)) for f in ({}, {name: fault.default}))
    assert world.events
    frames = range(0, 641, 16)
    assert any((good.view(i).rgb != world.view(i).rgb).any() for i in frames)


@pytest.mark.parametrize(
    ("keys", "faults", "sentence"),
    [
        ("LR", {"rust": 1}, "world: fault must be one of slow_response, wrong_direction, stall, hard_cut, "
         "repainted_wall, displaced_wall, squashed_box, retextured_box, missing_box, got 'rust'"),
        ("LR", {"stall": 0}, "world: stall must be above 0 and at most 0.9 (share of the time it stands), got 0"),
        ("LR", {"hard_cut": float("nan")}, "world: hard_cut must be finite, got nan"),
        ("LR", {"slow_response": 3}, "world: slow_response must leave some of step 1 (3 s), got 3 s"),
        ("W", {"slow_response": 1}, "world: plan must have a command that differs from the one before for the fault "
         "slow_response to show, got worldmark/1"),
        ("W", {"repainted_wall": 1}, "world: plan must have a departure from the wall at the start, or a way back for "
         "the fault repainted_wall to show, got worldmark/1"),
    ],
)  # fmt: skip
def test_faults_that_cannot_be(keys: str, faults: dict[str, float], sentence: str) -> None:
    with pytest.raises(ArgumentError) as error:
        small(keys, **faults)
    assert str(error.value) == sentence


def test_a_strength_is_a_number() -> None:
    with pytest.raises(ArgumentTypeError, match="world: stall must be a real number, got 'much'"):
        small("LR", stall="much")  # type: ignore[arg-type]
