# SPDX-License-Identifier: Apache-2.0
"""Camera Following: the prescribed poses, and errors of cameras whose faults are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wmb_fast import ArgumentError, ArgumentTypeError, rotation_angle_deg, rpe
from wmb_fast.protocols import worldmembench as wb
from wmb_fast.rollout.plan import Span
from wmb_fast.rollout.plans import named_plan, plan_from_filename
from wmb_fast.world import Pace, render_world

PLANS = ("translate_square", "lrlr", "lrlrlr", "lrud", "lr_hold")
N = 121


def target(name: str, n: int = N, rate: float = 1.0) -> np.ndarray:
    return wb.target_poses(named_plan(name), n, degrees_per_frame=rate, distance_per_frame=0.05)


def rotated(poses: np.ndarray, degrees: float) -> np.ndarray:
    """Every step turns by some more about the vertical."""
    more = wb.target_poses(named_plan("R"), len(poses), degrees_per_frame=degrees)
    return poses @ more


@pytest.mark.parametrize("name", PLANS)
def test_the_prescribed_poses_are_those_of_the_world(name: str) -> None:
    """The world's drive and Q_t are written apart, and agree on every plan."""
    fps = 8.0
    pace = Pace(degrees_per_second=30, max_pitch_deg=90)
    world = render_world(named_plan(name), seconds_per_step=3, fps=fps, size=(16, 16), pace=pace)
    made = wb.target_poses(
        world.plan, len(world), degrees_per_frame=30 / fps, distance_per_frame=world.speed["metres"] / fps
    )
    relative = np.linalg.inv(world.poses[0]) @ world.commanded_poses
    np.testing.assert_allclose(made, relative, atol=1e-12)


@pytest.mark.parametrize("name", PLANS)
def test_every_return_is_exactly_where_it_began(name: str) -> None:
    plan = named_plan(name)
    n = 17 * len(plan.steps) + 1
    poses, course = target(name, n), wb.course_of(plan, n)
    assert course is not None
    for revisit in course.revisits:
        np.testing.assert_array_equal(poses[revisit.window.start], poses[0])
        assert (poses[revisit.departure.stop] != poses[0]).any()


@pytest.mark.parametrize(
    ("folder", "rate"), [("lrlrlr_sym_1dpf", 1.0), ("lr_hold_sym_0p5dpf", 0.5), ("lrud", None), ("lrlr_2dpf", 2.0)]
)
def test_degrees_a_frame_are_in_the_folders_name(folder: str, rate: float | None) -> None:
    found = plan_from_filename(f"data/human/m/{folder}/case_1/video.mp4")
    assert found is not None
    assert found.plan.degrees_per_frame == rate
    if rate is None:
        with pytest.raises(ArgumentError, match="target_poses: degrees_per_frame must be given for a plan that turns"):
            wb.target_poses(found.plan, N)
        return
    poses = wb.target_poses(found.plan, N)
    steps = rotation_angle_deg(np.ascontiguousarray(poses[:-1, :3, :3]), np.ascontiguousarray(poses[1:, :3, :3]))
    moving = steps[steps > 1e-9]
    np.testing.assert_allclose(moving, rate, atol=1e-9)


def test_a_frozen_camera_errs_by_the_rate_while_the_target_turns() -> None:
    """Definitions 1.5: at 1 degree a frame a frozen camera gives about 1 per moving step."""
    found = wb.camera_following(target("lrlr"), {"frozen": np.tile(np.eye(4), (N, 1, 1))})
    assert found.rotation.value == pytest.approx(96 / 120)
    assert found.translation.status.value == "not_evaluable"


@pytest.mark.parametrize("scale", ["lstsq", "umeyama_sim3", "path_ratio"])
def test_scale_and_origin_do_not_matter(scale: str) -> None:
    poses, turned = target("translate_square"), np.eye(4)
    turned[:3, :3] = rotated(np.tile(np.eye(4), (2, 1, 1)), 40.0)[1, :3, :3]
    turned[:3, 3] = (3, 1, -2)
    estimate = turned @ poses
    estimate[:, :3, 3] *= 7.5
    found = wb.camera_following(poses, {"e": estimate}, how=wb.Following(scale=scale))
    assert found.translation.value == pytest.approx(0, abs=1e-9)
    assert found.rotation.value == pytest.approx(0, abs=1e-9)
    assert found.translation.detail["scales"]["e"] == pytest.approx(1 / 7.5)
    none = wb.camera_following(poses, {"e": estimate}, how=wb.Following(scale="none"))
    assert none.translation.value == pytest.approx(6.5 * 0.05 * 96 / 120, rel=1e-6)


def test_estimators_are_averaged_and_recorded() -> None:
    poses = target("translate_square")
    one, two = rotated(poses, 0.2), rotated(poses, 0.6)
    found = wb.camera_following(poses, {"vipe": one, "da3": two})
    assert found.rotation.value == pytest.approx(0.4)
    assert found.rotation.detail["values"] == pytest.approx({"vipe": 0.2, "da3": 0.6})
    settings = {key: found.rotation.detail[key] for key in ("delta", "reduce", "scale", "unit")}
    assert settings == {"delta": 1, "reduce": "mean", "scale": "lstsq", "unit": "deg"}
    radians = wb.camera_following(poses, {"vipe": one}, how=wb.Following(unit="rad", delta=5))
    assert radians.rotation.value == pytest.approx(math.radians(1.0))


def test_it_is_the_librarys_rpe() -> None:
    rng = np.random.default_rng(0)
    poses = target("lrud")
    estimate = rotated(poses, 0.1)
    estimate[:, :3, 3] += rng.normal(size=(N, 3)) * 0.01
    for reduce, field in (("mean", "mean"), ("rmse", "rmse")):
        how = wb.Following(delta=2, reduce=reduce, scale="none")
        found = wb.camera_following(poses, {"e": estimate}, how=how)
        want = rpe(estimate, poses, delta=2)
        assert found.rotation.value == pytest.approx(float(getattr(want.rotation_deg, field)), rel=1e-12)
        assert found.translation.value == pytest.approx(float(getattr(want.translation, field)), rel=1e-12)


def test_windows_hold_their_own_errors() -> None:
    poses, plan = target("lrlr"), named_plan("lrlr")
    course = wb.course_of(plan, N)
    assert course is not None
    wrong = poses.copy()
    late = course.revisits[1].departure.start
    wrong[late:] = poses[late] @ np.linalg.inv(rotated(poses, 0.5)[late]) @ rotated(poses, 0.5)[late:]
    spans = [revisit.motion for revisit in course.revisits]
    found = wb.camera_following(poses, {"e": wrong}, windows=spans)
    assert found.windows[0][1].value == pytest.approx(0, abs=1e-6)
    assert found.windows[1][1].value == pytest.approx(0.5, abs=1e-6)
    nothing = wb.camera_following(poses, {"e": wrong}, windows=[Span(3, 4)])
    assert nothing.windows[0][1].status.value == "missing"


def test_poses_that_are_missing_are_left_out_and_estimators_without_any_counted() -> None:
    poses = target("translate_square")
    holes, nothing = rotated(poses, 0.2), np.full_like(poses, np.nan)
    holes[10:20] = np.nan
    found = wb.camera_following(poses, {"a": holes, "b": nothing})
    assert found.rotation.value == pytest.approx(0.2)
    assert (found.rotation.n_used, found.rotation.n_total) == (1, 2)
    assert wb.camera_following(poses, {"b": nothing}).rotation.status.value == "missing"
    short = wb.camera_following(poses[:1], {"a": holes[:1]})
    assert short.rotation.value is None


def test_cameras_that_cannot_be() -> None:
    poses = target("lrlr")
    with pytest.raises(ArgumentError, match="estimates must hold at least one estimator"):
        wb.camera_following(poses, {})
    with pytest.raises(ArgumentError, match=r"estimates\['e'\] must have shape \(121, 4, 4\)"):
        wb.camera_following(poses, {"e": poses[:-1]})
    with pytest.raises(ArgumentError, match="Following: scale must be one of lstsq, umeyama_sim3, path_ratio, none"):
        wb.Following(scale="sim3")


@pytest.mark.parametrize(
    ("rate", "said"),
    [
        ({"degrees_per_frame": float("nan")}, "degrees_per_frame must be finite, got nan"),
        ({"degrees_per_frame": -1.0}, "degrees_per_frame must be above 0, got -1.0"),
        ({"degrees_per_frame": "1"}, "degrees_per_frame must be a real number, got '1'"),
        ({"degrees_per_frame": 1.0, "distance_per_frame": 0.0}, "distance_per_frame must be above 0, got 0.0"),
    ],
)
def test_rates_that_are_none(rate, said) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError)) as caught:
        wb.target_poses(named_plan("lrlr"), 101, **rate)
    assert str(caught.value) == f"target_poses: {said}"
