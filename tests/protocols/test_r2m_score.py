# SPDX-License-Identifier: Apache-2.0
"""From evidence to records and boards: known answers, bad input with its reasons, the rest scored."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from protocols.trips import THERE_AND_BACK, channel, evidence, out_and_back, poses, seen, views

from wmb_fast import board
from wmb_fast.protocols import r2m
from wmb_fast.protocols.evidence import Evidence, Need
from wmb_fast.protocols.record import Score, Status
from wmb_fast.rollout.plan import Action, Plan, Step
from wmb_fast.rollout.plans import named_plan


def of(records: list[Score], metric: str) -> Score:
    [record] = [record for record in records if record.metric == metric]
    return record


def test_perfect_memory_and_none() -> None:
    values = {}
    for memory in (True, False):
        record = of(r2m.score(evidence(dino=seen(memory=memory))), "dino_similarity")
        values[memory] = record.value
        detail = record.detail
        assert record.value == (detail["revisit"] - detail["baseline"]) / (detail["short"] - detail["baseline"] + 1e-8)
        assert detail["memory_gain"] == detail["revisit"] - detail["baseline"]
        assert record.n_used == record.n_total == sum(detail["pairs"].values())
    assert values[True] == pytest.approx(1.0, abs=0.06)
    # What forgets gains nothing; below 0, because of long gaps there are fewer baselines than revisits.
    assert -0.4 < values[False] < 0.0


def test_every_metric_has_a_record_and_a_reason() -> None:
    records = r2m.score(evidence(dino=seen()))
    assert [record.metric for record in records] == [*r2m.METRICS, "place_similarity", "overall"]
    for record in records:
        assert (record.value is None) == bool(record.reason)
        assert record.part == {"template": "out_and_back"}
    assert of(records, "psnr").status is Status.MISSING
    assert of(records, "overall").reason.startswith("families: 1 of 5 have a value")
    assert of(records, "dino_similarity").estimators[0]["id"] == "dino"


def whole(n: int = 241) -> dict[str, Any]:
    """A channel for every metric, all of perfect memory."""
    pairs = np.array(r2m.sample_pairs(r2m.trajectory_of(r2m.poses_of_plan(THERE_AND_BACK, n)), n).unique())
    alike = r2m.cosine_similarity(views(n, memory=True), np.arange(n), pairs)
    judged = np.round(1 + 4 * np.clip(alike, 0, 1), 1)
    return {
        **{role: seen(n) for role in ("dino", "boq", "mvpr")},
        "fidelity": channel("fidelity", "official", pairs=pairs, psnr=20 + 10 * alike, ssim=alike),
        "lpips": channel("lpips", pairs=pairs, lpips=1 - alike),
        "matches": channel(
            "matches",
            pairs=pairs,
            n_matches=np.round(500 + 400 * alike),
            n_a=np.full(len(pairs), 1000),
            n_b=np.full(len(pairs), 1024),
            n_inliers=np.round((500 + 400 * alike) * (alike + 1) / 2),
        ),
        "states": channel("states", pairs=pairs, state_score=judged),
        "persistence": channel("persistence", pairs=pairs, appearance=alike, semantic=alike),
    }


def test_all_eleven_and_overall() -> None:
    records = r2m.score(evidence(**whole()))
    for name in r2m.METRICS:
        record = of(records, name)
        assert record.status is Status.OK
        assert record.value == pytest.approx(1.0, abs=0.15), name
    assert of(records, "lpips").detail["memory_gain"] > 0
    total = of(records, "overall")
    expected = r2m.overall({name: of(records, name).value for name in r2m.METRICS})
    assert (total.value, total.n_used, total.n_total) == (expected, 5, 5)
    assert of(records, "place_similarity").status is Status.MISSING
    assert not any(record.proxy for record in records)


def test_a_judge_that_failed_is_left_out_and_counted() -> None:
    channels = whole()
    judge = channels["states"].values
    pairs = r2m.sample_pairs(r2m.trajectory_of(r2m.poses_of_plan(THERE_AND_BACK, 241)), 241)
    failed = int(np.flatnonzero((judge["pairs"] == pairs.revisit[0]).all(axis=1))[0])
    scores = judge["state_score"].copy()
    scores[failed] = -1
    given = evidence(**{**channels, "states": channel("states", **{**judge, "state_score": scores})})
    record = of(r2m.score(given), "state_score")
    assert record.detail["revisit_judge_failed"] == 1
    assert record.n_used == record.n_total - 1
    compat = of(r2m.score(given, compat=True), "state_score")
    assert compat.detail["revisit"] < record.detail["revisit"]


def test_pairs_without_evidence_are_counted() -> None:
    values = {"frames": np.arange(200), "features": views(241, memory=True)[:200]}
    record = of(r2m.score(evidence(dino=channel("dino", **values))), "dino_similarity")
    assert record.status is Status.OK
    assert 0 < record.n_used < record.n_total


@pytest.mark.parametrize("n", [1, 2, 10])
def test_too_few_frames(n: int) -> None:
    for record in r2m.score(evidence(n, dino=seen(n))):
        assert record.status is Status.NOT_EVALUABLE
        assert record.reason.startswith("too_short")


@pytest.mark.parametrize("fps", [None, 0.0, -5.0, 1e9, math.nan])
def test_the_rate_of_frames_does_not_count(fps: float | None) -> None:
    assert r2m.score(evidence(dino=seen(), fps=fps)) == r2m.score(evidence(dino=seen()))


@pytest.mark.parametrize(
    ("plan", "token"),
    [
        (Plan("on", (Step(Action.FORWARD),)), "no_revisit"),
        (Plan("still", (Step(Action.HOLD),)), "no_motion"),
        (None, "commanded"),
        (THERE_AND_BACK.realised([0, 100, 500]), "plan"),
    ],
)
def test_plans_that_give_no_pair(plan: Plan | None, token: str) -> None:
    records = r2m.score(evidence(plan=plan, dino=seen()))
    assert {record.reason.split(":")[0] for record in records} == {token}
    assert {record.value for record in records} == {None}


def test_a_frozen_video_has_no_dynamic_range() -> None:
    same = channel("dino", frames=np.arange(241), features=np.ones((241, 4)))
    record = of(r2m.score(evidence(dino=same)), "dino_similarity")
    assert record.status is Status.NOT_EVALUABLE
    assert record.reason.startswith("no_dynamic_range")
    assert record.detail["revisit"] == pytest.approx(1.0)
    compat = of(r2m.score(evidence(dino=same), compat=True), "dino_similarity")
    assert (compat.value, compat.status) == (0.0, Status.OK)
    assert r2m.leaderboard([record]).balanced["mine"]["dino_similarity"].n == 0


@pytest.mark.parametrize(("n_poses", "token"), [(200, "poses_and_frames"), (300, "poses_and_frames"), (241, "")])
def test_more_or_fewer_poses_than_frames(n_poses: int, token: str) -> None:
    told = channel("commanded", frames=np.arange(n_poses), cam_to_world=out_and_back(241)[:n_poses])
    if n_poses > 241:
        told = channel("commanded", frames=np.arange(n_poses), cam_to_world=out_and_back(n_poses))
    records = r2m.score(evidence(plan=None, dino=seen(), commanded=told))
    record = of(records, "dino_similarity")
    assert record.status is Status.OK
    assert record.reason.startswith(token)
    assert bool(record.reason) == bool(token)
    assert of(records, "overall").detail["sampling"]["effective_frames"] == min(n_poses, 241)
    assert of(records, "overall").detail["trajectory"] == "poses"


def test_frames_without_a_pose_are_told() -> None:
    kept = np.delete(np.arange(241), [17, 100])
    told = channel("commanded", frames=kept, cam_to_world=out_and_back(241)[kept])
    record = of(r2m.score(evidence(plan=None, dino=seen(), commanded=told)), "dino_similarity")
    assert record.status is Status.OK
    assert record.reason.startswith("poses_missing: 2 of 241 frames")
    broken = out_and_back(241)
    broken[40, 0, 3] = np.inf
    told = channel("commanded", frames=np.arange(241), cam_to_world=broken)
    record = of(r2m.score(evidence(plan=None, dino=seen(), commanded=told)), "dino_similarity")
    assert record.reason.startswith("poses_not_finite: 1 of 241")


def test_a_pose_file_that_cannot_be_used_is_not_passed_over() -> None:
    given = evidence(dino=seen())
    refused = Evidence(given.facts, given.channels, {"commanded": "read_trajectory: file must …"})
    for record in r2m.score(refused):
        assert (record.status, record.value) == (Status.MISSING, None)
        assert record.reason == "commanded: read_trajectory: file must …"
    falling = channel("commanded", frames=np.arange(241)[::-1], cam_to_world=out_and_back(241))
    assert {r.status for r in r2m.score(evidence(dino=seen(), commanded=falling))} == {Status.ERROR}


def test_needs_are_of_the_pairs_alone() -> None:
    needs = r2m.needs(evidence())
    pairs = r2m.sample_pairs(r2m.trajectory_of(r2m.poses_of_plan(THERE_AND_BACK, 241)), 241).unique()
    assert Need("fidelity", pairs=pairs) in needs
    frames = tuple(sorted({frame for pair in pairs for frame in pair}))
    assert Need("dino", frames) in needs
    assert Need("features", frames) in needs
    assert "features" not in {need.channel for need in r2m.needs(evidence(), compat=True)}
    assert "dino" not in {need.channel for need in r2m.needs(evidence(dino=seen()))}
    assert r2m.needs(evidence(plan=Plan("on", (Step(Action.FORWARD),)))) == []
    assert r2m.needs(evidence(plan=None)) == []


def test_compat_rounds_as_published() -> None:
    records = r2m.score(evidence(**whole()), compat=True)
    record = of(records, "ssim")
    detail = record.detail
    assert detail["revisit"] == round(detail["revisit"], 6)
    span = detail["short"] - detail["baseline"]
    assert record.value == round((detail["revisit"] - detail["baseline"]) / span, 6)
    assert [r.metric for r in records] == [*r2m.METRICS, "overall"]
    alone = r2m.score(evidence(dino=seen()), compat=True)
    assert of(alone, "overall").value == of(alone, "dino_similarity").value  # families without a value are left out


def test_infinities_under_compat_and_by_default() -> None:
    pairs = np.array(r2m.needs(evidence())[0].pairs)
    values = channel("fidelity", "official", pairs=pairs, psnr=np.full(len(pairs), np.inf), ssim=np.ones(len(pairs)))
    record = of(r2m.score(evidence(fidelity=values), compat=True), "psnr")
    assert (record.value, record.detail["published_nan"]) == (None, True)
    default = of(r2m.score(evidence(fidelity=values)), "psnr")
    assert default.reason.startswith("no_dynamic_range")
    assert default.detail["revisit"] == 100.0
    assert default.detail["revisit_identical"] == default.detail["pairs"]["revisit"]
    record.to_json()


def of_places(plan: Plan, n: int) -> np.ndarray:
    """A vector a frame that follows from where the commanded camera is, and where it looks."""
    walk = r2m.trajectory_of(r2m.poses_of_plan(plan, n))
    angles = np.stack([walk.place[:, 0], walk.place[:, 2], np.radians(walk.yaw_deg)])
    return np.concatenate([np.cos(angles), np.sin(angles)]).T


def rollouts() -> list[Score]:
    """Two models, three kinds of trajectory, several cases; the second model forgets."""
    records = []
    for model, memory in (("good", True), ("bad", False)):
        for name in ("WS", "LR", "translate_square"):
            for case in range(3):
                n = 241 + 40 * case
                plan = named_plan(name)
                features = of_places(plan, n) if memory else views(n, memory=False)
                dino = channel("dino", frames=np.arange(n), features=features)
                records += r2m.score(evidence(n, plan, f"{model}/{name}{case}", dino=dino))
    return records


def test_the_board_gives_the_published_summary() -> None:
    records = rollouts()
    summary = r2m.leaderboard(records)
    assert list(summary.by_template["good"]) == ["closed_loop", "out_and_back", "translation_rotation"]
    [table] = board.tables(records, {"r2m": r2m.COLUMNS})
    for row in table.rows:
        gain = summary.balanced[str(row.model)]["dino_similarity"]
        assert row.cells["NMR DINO"].value == pytest.approx(gain.nmr, rel=1e-12)
        assert row.cells["MG DINO"].value == pytest.approx(gain.mg, rel=1e-12)
        assert row.cells["NMR DINO"].n_used == gain.n == 9
        assert row.cells["Overall"].value is None
        assert "families" in row.cells["Overall"].reason
        assert row.cells["NMR SSIM"].value is None
    by_model = {row.model: row.cells["NMR DINO"].value for row in table.rows}
    assert by_model["good"] > 0.8
    assert by_model["bad"] < 0.2


def test_overall_on_the_board() -> None:
    records = r2m.score(evidence(**whole()))
    [table] = board.tables(records, {"r2m": r2m.COLUMNS})
    assert table.rows[0].cells["Overall"].value == pytest.approx(of(records, "overall").value, rel=1e-9)
    compat = r2m.score(evidence(dino=seen()), compat=True)
    [table] = board.tables(compat, {"r2m": r2m.COLUMNS})
    assert table.rows[0].cells["Overall"].value == pytest.approx(of(compat, "overall").value, abs=1e-6)


def test_a_sequence_of_evidence_is_scored_in_order() -> None:
    several = [evidence(name=f"m/{k}", dino=seen()) for k in range(3)]
    assert r2m.score(several) == [record for one in several for record in r2m.score(one)]
    assert r2m.score([]) == []


def test_poses_and_the_plan_of_the_same_motion_agree() -> None:
    told = channel("commanded", frames=np.arange(241), cam_to_world=r2m.poses_of_plan(THERE_AND_BACK, 241))
    by_plan, by_poses = (r2m.score(evidence(dino=seen(), **more)) for more in ({}, {"commanded": told}))
    assert of(by_plan, "dino_similarity").value == of(by_poses, "dino_similarity").value
    assert poses(n=2).shape == (2, 4, 4)


def test_a_kind_of_pair_without_any_value() -> None:
    pairs = r2m.sample_pairs(r2m.trajectory_of(r2m.poses_of_plan(THERE_AND_BACK, 241)), 241)
    judged = channel("states", pairs=pairs.revisit, state_score=np.full(len(pairs.revisit), 4.0))
    record = of(r2m.score(evidence(states=judged)), "state_score")
    assert record.status is Status.NOT_EVALUABLE
    assert record.reason == f"no_value: none of the {len(pairs.baseline)} baseline pairs has a value"
    assert record.detail["revisit"] == 4.0


def test_no_baseline_can_be_drawn() -> None:
    """As published, a camera that stands still revisits all frames with all frames, and leaves none for a baseline."""
    still = Plan("still", (Step(Action.HOLD),))
    record = of(r2m.score(evidence(60, still, dino=seen(60)), compat=True), "dino_similarity")
    assert record.status is Status.NOT_EVALUABLE
    assert record.reason == "no_baseline: too_few_available_frames"
    assert record.detail["revisit"] is not None
