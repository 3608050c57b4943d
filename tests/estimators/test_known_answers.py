# SPDX-License-Identifier: Apache-2.0
"""The builtin estimators on the known-answer world, where flow and cuts are exact."""

from __future__ import annotations

import numpy as np
import pytest
from estimators.pictures import fed

from wmb_fast.ops.flow import flow_channels
from wmb_fast.rollout.planfile import plan_of
from wmb_fast.world import render_world

PAIRS = (8, 26, 40)


@pytest.mark.parametrize("plan", ["worldmark/1", "worldmark/3", "worldmark/5"])  # forward, strafe, turn
def test_flow_is_near_the_exact_one(plan: str) -> None:
    world = render_world(plan_of(plan), seconds_per_step=4, size=(576, 320))
    for i in PAIRS:
        exact = flow_channels(world.flow(i, 2, grid=(640, 432)).uv)
        found = fed("flow", [world.view(frame).rgb for frame in (i, i + 1, i + 2)])
        motion = np.hypot(exact.horizontal, exact.radial)
        assert motion > 0.5
        assert abs(found["horizontal"][0] - exact.horizontal) < 0.05 * motion
        assert abs(found["radial"][0] - exact.radial) < 0.05 * motion


@pytest.mark.parametrize("plan", ["worldmark/1", "worldmark/6", "worldmark/7"])  # forward; and back; left and right
@pytest.mark.parametrize("seed", [0, 3])
def test_a_cut_is_found_where_the_world_has_one_and_nowhere_else(plan: str, seed: int) -> None:
    whole = render_world(plan_of(plan), seed=seed, seconds_per_step=2)
    assert fed("cuts", whole.frames())["frames"].tolist() == []
    cut = render_world(plan_of(plan), seed=seed, seconds_per_step=2, faults={"hard_cut": 0.4})
    assert fed("cuts", cut.frames())["frames"].tolist() == [event.frame for event in cut.events]


def test_the_same_room_with_other_walls_is_a_cut() -> None:
    """The window and the boxes keep their places, so half of the structure stays; the colours tell."""
    world = render_world(plan_of("worldmark/7"), seconds_per_step=20, fps=8, faults={"hard_cut": 0.4})
    [event] = world.events
    frames = range(event.frame - 8, event.frame + 8)
    assert fed("cuts", (world.view(frame).rgb for frame in frames))["frames"].tolist() == [8]
