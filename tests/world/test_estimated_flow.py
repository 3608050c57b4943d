# SPDX-License-Identifier: Apache-2.0
"""The room is papered so that an ordinary optical flow finds what is true, at the pace the camera moves."""

from __future__ import annotations

import numpy as np
import pytest
from small_worlds import plan_of

from wmb_fast.world import World, render_world

cv2 = pytest.importorskip("cv2")
GRID = (640, 432)


def channels(uv: np.ndarray) -> dict[str, float]:
    """WorldMark's two: mean flow to the right, mean flow outwards."""
    x, y = np.meshgrid(np.arange(GRID[0]) - GRID[0] / 2, np.arange(GRID[1]) - GRID[1] / 2)
    radius = np.hypot(x, y) + 1e-6
    return {"horizontal": uv[..., 0].mean(), "radial": ((uv[..., 0] * x + uv[..., 1] * y) / radius).mean()}


def estimated(world: World, frame: int) -> dict[str, float]:
    grey = [cv2.cvtColor(cv2.resize(world.view(i).rgb, GRID), cv2.COLOR_RGB2GRAY) for i in (frame, frame + 2)]
    return channels(cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM).calc(*grey, None))


@pytest.mark.parametrize(
    ("keys", "channel"), [*((key, "radial") for key in "WS"), *((key, "horizontal") for key in "ADLR")]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_estimated_flow_is_near_the_exact_one(keys: str, channel: str, seed: int) -> None:
    world = render_world(plan_of(keys), seed=seed)
    frames = (4, 120, 300)
    exact = [channels(world.flow(frame, 2, grid=GRID).uv) for frame in frames]
    found = [estimated(world, frame) for frame in frames]
    other = "radial" if channel == "horizontal" else "horizontal"
    for truth, guess in zip(exact, found, strict=True):
        assert guess[channel] == pytest.approx(truth[channel], rel=0.15)
        assert abs(guess[other]) < 0.15 * abs(guess[channel])
