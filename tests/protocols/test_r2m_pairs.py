# SPDX-License-Identifier: Apache-2.0
"""Revisits and pairs of commanded trajectories: known answers, the published loop, and what the default mends."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from protocols.trips import THERE_AND_BACK, out_and_back, poses

from wmb_fast._walls.errors import ArgumentError
from wmb_fast.protocols import r2m
from wmb_fast.protocols.r2m import nearby
from wmb_fast.rollout.plan import Action, Plan, Step
from wmb_fast.rollout.plans import named_plan

REPO = Path(__file__).resolve().parents[2]


@pytest.fixture
def published_loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], Any]]:
    """The detector as frame-by-frame Python, which the bench keeps as its rival."""
    pytest.importorskip("threadpoolctl")
    monkeypatch.syspath_prepend(str(REPO))
    from bench import bench_r2m

    yield bench_r2m._published_revisits
    for name in [name for name in sys.modules if name.split(".")[0] == "bench"]:
        del sys.modules[name]


def wandering(seed: int, n: int = 160) -> np.ndarray:
    """Walks and turns in stretches, with returns, on a coarse grid of places and headings: full of ties."""
    rng = np.random.default_rng(seed)
    stretches = rng.integers(5, 25, 20)
    kinds = np.repeat(rng.integers(0, 5, 20), stretches)[: n - 1]
    x = np.append(0, np.cumsum((kinds == 0) * 1.0 - (kinds == 1))) * 0.05
    yaw = np.append(0, np.cumsum((kinds == 2) * 1.0 - (kinds == 3)))
    return poses(x=x, z=0.3 * x, yaw_deg=yaw)


@pytest.mark.parametrize("seed", range(12))
def test_as_the_loop_over_frames_finds_them(published_loop: Callable[[Any], Any], seed: int) -> None:
    walk = wandering(seed)
    assert [tuple(p) for p in r2m.detect_revisits(r2m.trajectory_of(walk), compat=True).pairs.tolist()] == (
        published_loop(walk)
    )


@pytest.mark.parametrize("block", [1, 7, 100, 1 << 20])
def test_the_size_of_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    walk = r2m.trajectory_of(wandering(3))
    before = r2m.detect_revisits(walk).pairs
    monkeypatch.setattr(nearby, "BLOCK", block)
    assert (r2m.detect_revisits(walk).pairs == before).all()
    still = r2m.trajectory_of(poses(n=40))
    assert len(r2m.detect_revisits(still, compat=True).pairs) == 30 * 31 // 2


def test_a_metre_counts_ten_degrees() -> None:
    """Of two frames near a later one, the nearer in yaw + 10 x distance wins: 0.5 degrees against 0.06 m."""
    n = 60
    x, yaw = np.zeros(n), np.zeros(n)
    x[:20] = np.arange(20) * 0.02 - 0.38
    yaw[20:40] = np.arange(1, 21) * 0.6
    yaw[40:] = 12 - np.arange(1, 21) * 0.6
    found = r2m.detect_revisits(r2m.trajectory_of(poses(x=x, yaw_deg=yaw)), metres=0.2, degrees=5.0)
    to_walk = {int(later): int(earlier) for later, earlier in found.groups["Seg2(L)↔Seg0(W)"]}
    assert to_walk[59] == 19  # yaw 0 and place 0: the very pose
    assert set(to_walk.values()) == {19}  # yaw is the same for all of the walk, so the place decides


def test_yaw_wraps_by_default() -> None:
    """A turn through 180 degrees is one motion; the published detector sees a jump of -359 degrees there."""
    turn = poses(yaw_deg=np.concatenate([np.arange(150, 211), np.arange(209, 149, -1)]))
    trajectory = r2m.trajectory_of(turn)
    assert [s.letter for s in r2m.detect_revisits(trajectory).segments] == ["R", "L"]
    assert [s.letter for s in r2m.detect_revisits(trajectory, compat=True).segments] == ["R", "L", "R", "L", "R", "L"]


def test_a_still_camera_revisits_nothing_by_default() -> None:
    still = r2m.trajectory_of(poses(n=60))
    assert len(r2m.detect_revisits(still, compat=True).pairs) == 1275
    found = r2m.sample_pairs(still, 60)
    assert found.reason.startswith("no_motion")
    assert not any(len(pairs) for pairs in found.kinds().values())


def test_a_matrix_that_is_not_orthonormal_stands_still_by_default() -> None:
    walk = out_and_back(41)
    walk[-10:] = walk[-1]
    walk[-10:, :3, :3] = (poses(yaw_deg=[0.0])[0, :3, :3] + poses(yaw_deg=[3.0])[0, :3, :3]) / 2
    trajectory = r2m.trajectory_of(walk)
    assert r2m.static_tail(trajectory, compat=True) == 0
    assert r2m.static_tail(trajectory) == 9


def test_the_pitch_must_agree_by_default() -> None:
    plan = Plan("up", (Step(Action.HOLD), Step(Action.LOOK_UP), Step(Action.LOOK_DOWN)))
    trajectory = r2m.trajectory_of(r2m.poses_of_plan(plan, 181))
    found = r2m.detect_revisits(trajectory)
    pitch = dict(zip(trajectory.frames.tolist(), trajectory.pitch_deg.tolist(), strict=True))
    assert all(abs(pitch[u] - pitch[v]) <= found.tolerances.degrees for u, v in found.pairs.tolist())


def test_a_pose_that_is_not_finite_is_in_no_pair_and_changes_no_tolerance() -> None:
    walk = out_and_back(121, step=0.2)
    broken = walk.copy()
    broken[[30, 31], :3, 3] = np.nan
    trajectory = r2m.trajectory_of(broken)
    whole = r2m.tolerances_of(r2m.trajectory_of(walk)).metres
    assert r2m.tolerances_of(trajectory).metres == whole == pytest.approx(0.4)
    assert r2m.tolerances_of(trajectory, compat=True).metres == 0.1
    kept = trajectory.where(trajectory.finite)
    found = r2m.sample_pairs(kept, 121)
    frames = {int(frame) for pairs in found.kinds().values() for frame in pairs.ravel()}
    assert frames
    assert frames.isdisjoint({30, 31})
    assert found.meta["effective_frames"] == 121


def test_frames_have_their_own_numbers() -> None:
    """Poses of every other frame: pairs carry frame numbers, and the last frame still counts."""
    walk, frames = out_and_back(241)[::2], np.arange(0, 241, 2)
    found = r2m.sample_pairs(r2m.trajectory_of(walk, frames), 241)
    assert found.meta["effective_frames"] == 241
    assert all((pairs % 2 == 0).all() for pairs in found.kinds().values())
    assert found.revisit[:, 1].max() > 200
    short = found.short[:, 1] - found.short[:, 0]
    assert short.min() >= 2
    assert len(found.short) > 0


@pytest.mark.parametrize("frames", [[0, 1, 1], [2, 1, 0], [0, 1]])
def test_frames_that_do_not_rise_are_refused(frames: list[int]) -> None:
    with pytest.raises(ArgumentError, match=r"^trajectory_of: frames must be 3 rising numbers, got"):
        r2m.trajectory_of(poses(n=3), frames)


def test_pairs_are_what_they_are_called() -> None:
    walk = r2m.trajectory_of(out_and_back(481))
    found = r2m.sample_pairs(walk, 481)
    place = walk.place[:, 2]
    u, v = found.revisit.T
    assert (np.abs(place[u] - place[v]) <= found.meta["translation_tolerance_m"]).all()
    assert (v - u >= 96).all()
    taken, radius = set(found.revisit.ravel().tolist()), found.meta["exclusion_radius"]
    assert taken.isdisjoint(found.baseline.ravel().tolist())
    for a, b in found.baseline.tolist():
        assert not ((np.abs(u - a) <= radius) & (np.abs(v - b) <= radius)).any()
    gaps = found.short[:, 1] - found.short[:, 0]
    assert (gaps.min(), gaps.max()) >= (2, 3)
    assert gaps.max() <= 9
    assert len(np.unique(found.short[:, 0])) == len(found.short)


def test_the_same_seed_draws_the_same_pairs_and_another_draws_others() -> None:
    walk = r2m.trajectory_of(out_and_back(481))
    a, b, other = (r2m.sample_pairs(walk, 481, seed=seed) for seed in (42, 42, 7))
    for kind in ("revisit", "baseline", "short"):
        assert (a.kinds()[kind] == b.kinds()[kind]).all()
        assert a.kinds()[kind].tolist() != other.kinds()[kind].tolist()


def test_a_plan_comes_back_to_the_bit_and_goes_round_no_circle() -> None:
    for name in ("WS", "LR", "LRL", "WSW", "translate_square", "lrlrlr"):
        walk = r2m.poses_of_plan(named_plan(name), 641)
        found = r2m.sample_pairs(r2m.trajectory_of(walk), 641)
        assert not found.reason, name
        assert len(found.revisit)
    once_round = r2m.trajectory_of(r2m.poses_of_plan(Plan("round", (Step(Action.TURN_LEFT),)), 2000))
    assert r2m.sample_pairs(once_round, 2000).reason.startswith("no_revisit")


@pytest.mark.parametrize("name", ["W", "R", "WR", "SL"])
def test_a_plan_that_never_returns(name: str) -> None:
    found = r2m.sample_pairs(r2m.trajectory_of(r2m.poses_of_plan(named_plan(name), 641)), 641)
    assert found.reason.startswith("no_revisit")


def test_kinds_of_trajectory() -> None:
    assert r2m.template_of(r2m.trajectory_of(out_and_back())) == "out_and_back"
    kinds = {"LR": "translation_rotation", "WS": "out_and_back", "translate_square": "closed_loop"}
    for name, kind in kinds.items():
        assert r2m.template_of(r2m.trajectory_of(r2m.poses_of_plan(named_plan(name), 321))) == kind


def test_poses_of_one_frame() -> None:
    assert r2m.poses_of_plan(Plan("one", (Step(Action.FORWARD),)), 1).tolist() == [np.eye(4).tolist()]
    with pytest.raises(ArgumentError):
        r2m.poses_of_plan(THERE_AND_BACK, 1)


def test_released_poses_are_read_and_scored(shared: Path, oracles: Path) -> None:
    """The released JSON snippets pass the file reader and give a trajectory."""
    cases = json.loads((oracles / "B_r2m" / "B6_released_template_snippets.json").read_text())["cases"]
    for case in cases:
        trajectory = r2m.trajectory_of(case["inputs"]["extrinsic_c2w"], case["inputs"]["frame_keys"])
        assert r2m.static_tail(trajectory) == case["expected"]["trimmed"]
