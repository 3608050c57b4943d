# SPDX-License-Identifier: Apache-2.0
"""The renderer: against the plain statement of it, against geometry done by hand, and against itself."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wmb_fast as wmb
from wmb_fast._walls.ext import core
from wmb_fast.reference import raycast
from wmb_fast.world import default_scene, truth
from wmb_fast.world.bake import Baked, bake
from wmb_fast.world.exact import Dice, cos_sin, uniform
from wmb_fast.world.scene import FLOOR, FRONT, HEIGHT, RIGHT

SIZE = (96, 64)
PLACES = [(0, 0, 0, 0), (37, 10, 1.2, -2.0), (-100, -20, -2.5, 1.0), (180, 0, 2.9, 3.1), (217.5, 5, -1.0, 2.6)]


def pose_at(yaw_deg: float, pitch_deg: float, x: float, z: float) -> np.ndarray:
    c, s = cos_sin(yaw_deg)
    up, lift = cos_sin(pitch_deg)
    return np.array([[c, lift * s, s * up, x], [0, up, -lift, -1.5], [-s, lift * c, c * up, z], [0, 0, 0, 1.0]])


def plain(baked: Baked) -> raycast.World:
    return raycast.World(baked.room, baked.boxes, baked.texels, baked.table, baked.density)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("samples", [1, 3])
def test_agrees_with_the_plain_statement(place: tuple[float, ...], samples: int) -> None:
    scene, pose, intrinsics = default_scene(5), pose_at(*place), truth.intrinsics_for(SIZE)
    view = truth.look(scene, pose, intrinsics, SIZE, samples)
    four = np.array([intrinsics[0, 0], intrinsics[1, 1], intrinsics[0, 2], intrinsics[1, 2]])
    rgb, depth, identities = raycast.render(plain(bake(scene)), pose, four, SIZE, samples)
    np.testing.assert_array_equal(view.identities, identities)
    np.testing.assert_allclose(view.depth, depth, rtol=1e-7)  # half a unit of float32
    # float32 weights of 8 texels, and one rounding to a whole level
    assert np.abs(view.rgb - rgb).max() <= 0.5 + 0.01


def test_depth_of_a_wall_and_the_floor_in_closed_form() -> None:
    scene, intrinsics = default_scene(0), truth.intrinsics_for((320, 192))
    depth, identities = truth.measure(scene, pose_at(0, 0, 0, 0.5), intrinsics, (320, 192))
    front = identities == FRONT
    assert front.sum() > 5000
    np.testing.assert_array_equal(depth[front], np.float32(4.5))
    y = np.broadcast_to(np.arange(192)[:, None], depth.shape)
    expected = 1.5 * intrinsics[1, 1] / (y - intrinsics[1, 2])
    floor = identities == FLOOR
    assert floor.sum() > 3000
    np.testing.assert_allclose(depth[floor], expected[floor], rtol=1e-6)


def test_depth_of_a_turned_box_in_closed_form() -> None:
    faces = np.zeros(4 * 2 * 2, np.uint8)
    table, density = np.tile(np.array([[0, 2, 2, 1]]), (12, 1)), np.ones(12)
    c, s = cos_sin(45)
    box = np.array([[0.0, -1.5, 3.0, 0.5, 0.5, 0.5, c, s]])
    room = np.array([-5.0, -3, -5, 5, 0, 5])
    world = core.World(room, box, faces, table.astype(np.int64), density)
    rays = np.array([[0, -1.5, 0, 0, 0, 1.0], [0, -1.5, 0, 1.0, 0, 1.0], [0.1, -1.5, 0, 0, 0, 2.0]])
    t, identities = np.empty(3), np.empty(3, np.int32)
    world.trace(rays, t, identities)
    assert identities.tolist() == [6, RIGHT, 6]  # of two walls reached at once, the one of the lower axis
    assert t[0] == pytest.approx(3 - math.sqrt(0.5), rel=1e-12)
    assert t[1] == pytest.approx(5.0, rel=1e-12)
    assert t[2] == pytest.approx((3 - math.sqrt(0.5) + 0.1) / 2, rel=1e-12)


def digest(threads: int) -> str:
    wmb.set_num_threads(threads)
    view = truth.look(default_scene(1), pose_at(33, 7, 0.4, 0.2), truth.intrinsics_for((161, 97)), (161, 97), 3)
    points = uniform(0, np.arange(9001)[:, None], np.arange(3)[None]).astype(np.float64) - 0.5
    t, identities = truth.trace(default_scene(1), np.array([0.0, -1.5, 0.0]), points)
    parts = (view.rgb, view.depth, view.identities, t, identities)
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def test_same_bits_for_any_number_of_threads() -> None:
    threads = wmb.get_num_threads()
    try:
        assert len({digest(n) for n in (1, 2, 7)}) == 1
    finally:
        wmb.set_num_threads(threads)


def test_same_bits_as_ever() -> None:
    """Compilers, flags and machines must not change a frame; nor may anyone without meaning to."""
    assert digest(2)[:16] == "ae9c3557934e6c62"


@settings(max_examples=60, deadline=None)
@given(st.floats(-720, 720), st.floats(-40, 40), st.floats(-3, 3), st.floats(-3.2, 3.2))
def test_every_pixel_of_every_view_is_of_something(yaw: float, pitch: float, x: float, z: float) -> None:
    depth, identities = truth.measure(
        default_scene(2), pose_at(yaw, pitch, x, z), truth.intrinsics_for((32, 24)), (32, 24)
    )
    assert (depth > 0.05).all()
    assert (depth < 15).all()
    assert ((identities >= 0) & (identities < 6 + len(default_scene(2).boxes))).all()


@pytest.mark.parametrize("seed", range(4))
def test_nothing_as_high_as_the_eyes_stands_where_the_camera_may_be(seed: int) -> None:
    scene = default_scene(seed)
    for box in scene.boxes:
        top, foot = box.center[1] - box.size[1] / 2, box.center[1] + box.size[1] / 2
        c, s = cos_sin(box.yaw_deg)
        reach_x = abs(c) * box.size[0] / 2 + abs(s) * box.size[2] / 2
        reach_z = abs(s) * box.size[0] / 2 + abs(c) * box.size[2] / 2
        beside = abs(box.center[0]) - reach_x > scene.walkable[0] or abs(box.center[2]) - reach_z > scene.walkable[1]
        assert beside or top > -1.2 or foot < -2.5, box.name
        for axis, reach in ((0, reach_x), (2, reach_z)):
            assert abs(box.center[axis]) + reach <= scene.size[axis] / 2 + 1e-9, box.name
        assert top >= -HEIGHT - 1e-9, box.name


@given(st.floats(-1e4, 1e4))
def test_cosine_and_sine(degrees: float) -> None:
    cosine, sine = cos_sin(degrees)
    turned = math.radians(math.fmod(degrees, 360))
    assert cosine == pytest.approx(math.cos(turned), abs=2e-15)
    assert sine == pytest.approx(math.sin(turned), abs=2e-15)


def test_half_the_view() -> None:
    assert math.isclose(truth.TAN_HALF_VIEW, math.tan(math.radians(35)), rel_tol=1e-15)


def test_dice_fall_evenly() -> None:
    dice = Dice(3)
    throws = [dice.between(0, 1) for _ in range(2000)]
    assert 0.47 < np.mean(throws) < 0.53
    assert min(throws) >= 0
    assert max(throws) < 1
    assert {dice.below(6) for _ in range(200)} == set(range(6))


def test_the_core_refuses_textures_that_are_not_there() -> None:
    baked = bake(default_scene(0))
    table = baked.table.copy()
    table[3, 0] = len(baked.texels) - 16
    with pytest.raises(ValueError, match="table must stay within texels"):
        core.World(baked.room, baked.boxes, baked.texels, table, baked.density)
    with pytest.raises(ValueError, match="a row for each face"):
        core.World(baked.room, baked.boxes, baked.texels, table[:-1], baked.density[:-1])
