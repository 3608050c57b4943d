# SPDX-License-Identifier: Apache-2.0
"""The known-answer world: perfect memory scores 1, and each fault lowers what it must and leaves what it must."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from protocols.membench_worlds import channel, exact, having, one, scores, values, without
from protocols.test_worldmembench_dynamic import items, reply, said

from wmb_fast import board
from wmb_fast.protocols import worldmembench as wb
from wmb_fast.protocols.record import Score, Status
from wmb_fast.world import FAULTS

PLANS = ("translate_square", "lrlr", "lrlrlr", "lrud", "lr_hold")
SEEN = ("object_appearance", "object_geometry", "environment_visible", "environment_depth",
        "environment_reconstruction")  # fmt: skip
MOVED = 0.05


@pytest.mark.parametrize("plan", PLANS)
def test_perfect_memory_is_one_on_every_plan(plan: str) -> None:
    evidence = exact(plan)
    count = wb.REVISITS[plan]
    for revisit in (None, *range(1, count + 1)):
        found = values(evidence, revisit)
        for metric in SEEN:
            assert found[metric] == pytest.approx(1, abs=1e-6), (metric, revisit)
        assert found["camera_rotation_rpe"] == pytest.approx(0, abs=1e-9)
    if plan == "translate_square":
        assert values(evidence)["camera_translation_rpe"] == pytest.approx(0, abs=1e-12)
    assert max(r.part.get("revisit", 0) for r in scores(evidence)) == count


FALLS = {
    fault: [m.split(".")[1] for m in f.must_lower if m.startswith("worldmembench.")] for fault, f in FAULTS.items()
}
STAYS = {
    fault: [m.split(".")[1] for m in f.must_not_move if m.startswith("worldmembench.")] for fault, f in FAULTS.items()
}


def test_the_faults_of_this_protocol() -> None:
    assert FALLS["squashed_box"] == ["object_geometry"]
    assert FALLS["retextured_box"] == ["object_appearance"]
    assert FALLS["repainted_wall"] == ["environment_visible"]
    assert "environment_depth" in STAYS["repainted_wall"]
    assert FALLS["displaced_wall"] == ["environment_depth", "environment_reconstruction"]


@pytest.mark.parametrize("plan", ["lrlr", "lrud"])
@pytest.mark.parametrize("fault", [fault for fault, metrics in FALLS.items() if metrics])
def test_each_fault_lowers_its_own(plan: str, fault: str) -> None:
    faulty = exact(plan, fault, FAULTS[fault].default)
    for revisit in (None, *range(1, wb.REVISITS[plan] + 1)):
        found = values(faulty, revisit)
        for metric in FALLS[fault]:
            assert found[metric] < 1 - MOVED, (metric, revisit)
        for metric in STAYS[fault]:
            assert found[metric] == pytest.approx(1, abs=0.01), (metric, revisit)


def test_a_retextured_box_lowers_object_appearance_alone() -> None:
    found = values(exact("lrlr", "retextured_box", 1.0))
    lower = {metric for metric in SEEN if found[metric] < 1 - MOVED}
    assert lower == {"object_appearance"}


def test_stronger_faults_lower_more() -> None:
    for fault, metric, strengths in (
        ("squashed_box", "object_geometry", (0.2, 0.5, 0.8)),
        ("displaced_wall", "environment_depth", (0.5, 2.0, 6.0)),
        ("displaced_wall", "environment_reconstruction", (0.1, 2.0)),
        ("repainted_wall", "environment_visible", (0.2, 0.6, 1.0)),
        ("retextured_box", "object_appearance", (0.3, 1.0)),
    ):
        found = [values(exact("lrlr", fault, strength))[metric] for strength in strengths]
        assert (np.diff(found) < 0).all(), (fault, metric, found)


def test_a_camera_that_does_not_come_back_makes_reconstruction_invalid() -> None:
    """Appendix G.1: the zero rule. The other metrics ask for no return."""
    stuck = exact("lrlr", "wrong_direction", 0.2)  # the last step turns on, not back
    record = one(stuck, "environment_reconstruction", 2)
    assert record.detail["return_deg"] > 30
    assert (record.value, record.detail["valid"]) == (0, False)
    assert record.reason.startswith("invalid_return: ")
    assert values(stuck, 2)["environment_visible"] > 0
    good = one(stuck, "environment_reconstruction", 1)
    assert good.value == 1
    assert (good.detail["valid"], good.detail["departure_deg"], good.detail["return_deg"]) == (
        True,
        pytest.approx(90),
        0,
    )


def test_every_record_says_how_certain_it_is() -> None:
    evidence = exact("lr_hold")
    found = {r.metric: r.detail["certainty"] for r in scores(evidence)}
    assert found["environment_depth"] == found["camera_rotation_rpe"] == "RECONSTRUCTED"
    assert found["event_started"] == "EXACT"
    for record in scores(evidence):
        assert Score.from_json(record.to_json()) == record


def test_categories_say_what_is_scored() -> None:
    for case, metrics in (
        ("object/lrlr_sym_1dpf/case_001", {"object_appearance", "object_geometry"}),
        ("environment/lrlr/case_001", set(SEEN[2:])),
        ("human/lrlr/case_001", {"human_identity", "human_appearance"}),
    ):
        found = {r.metric for r in scores(exact("lrlr", case=case))}
        assert found & (set(SEEN) | {"human_identity", "human_appearance"}) == metrics
        assert "camera_rotation_rpe" in found
        assert "event_started" not in found


def test_people_are_scored_by_their_faces() -> None:
    base = exact("lrlr")
    faces = np.tile(np.eye(1, 8)[0], (1, 6, 1))
    valid = np.ones((1, 6), bool)
    frames = base.channels["tracks"].values["frames"]
    humans = having(base, "tracks", kinds=np.array([0]))
    people = having(humans, "faces", frames=frames, embedding=faces, valid=valid)
    assert values(people)["human_identity"] == 1
    assert values(people)["human_appearance"] == pytest.approx(1)
    assert one(people, "object_appearance").reason.startswith("no_target")
    turned = valid.copy()
    turned[0, 3] = False  # no face at the first return
    assert [values(having(people, "faces", valid=turned), k)["human_identity"] for k in (1, 2)] == [0, 1]
    none = having(people, "faces", valid=np.zeros((1, 6), bool))
    assert one(none, "human_identity").status is Status.NOT_EVALUABLE
    broken = having(people, "faces", embedding=np.full((1, 6, 8), np.nan))
    assert one(broken, "human_identity").value is None
    more = having(people, "faces", embedding=np.tile(faces, (2, 1, 1)), valid=np.tile(valid, (2, 1)))
    assert (
        one(more, "human_identity").reason == "faces: one embedding a target of tracks is needed, got 2 for 1 targets"
    )


def test_support_of_the_tracker_is_recorded() -> None:
    assert one(exact("lrlr"), "object_geometry", 1).detail["supported"] is True
    assert one(exact("translate_square"), "object_geometry", 1).detail["supported"] is False  # in view throughout


def test_evidence_that_lacks_the_frames_of_a_return_is_missing_not_zero() -> None:
    base = exact("lrlr")
    tracks = base.channels["tracks"].values
    keep = np.array([0, 1, 2, 3, 4])
    shorter = having(base, "tracks", frames=tracks["frames"][keep], found=tracks["found"][:, keep],
                     masks=tracks["masks"][:, keep])  # fmt: skip
    assert one(shorter, "object_geometry", 1).value == 1
    late = one(shorter, "object_geometry", 2)
    assert (late.value, late.status) == (None, Status.MISSING)
    assert late.reason == "tracks: no frame of the return to be scored"
    assert one(shorter, "object_geometry").value is None
    headless = having(base, "features", frames=base.channels["features"].values["frames"][2:],
                      mean=base.channels["features"].values["mean"][2:])  # fmt: skip
    assert one(headless, "environment_visible").reason == "features: no frame of V, frames 0 to 23"


def test_a_lost_object_is_zero() -> None:
    base = exact("lrlr")
    found = base.channels["tracks"].values["found"].copy()
    found[:, 3] = False
    lost = having(having(base, "tracks", found=found), "appearance", valid=found)
    assert [values(lost, k)["object_geometry"] for k in (1, 2)] == [0, 1]
    assert [values(lost, k)["object_appearance"] for k in (1, 2)] == [0, pytest.approx(1)]
    told = one(lost, "object_geometry", 1)
    assert (told.status, told.reason) == (Status.OK, "lost: 1 of 1 targets not found after the return count 0")
    assert one(lost, "object_geometry", 2).reason == ""


def test_what_has_no_channel_says_so_and_nothing_raises() -> None:
    for names in (
        ("tracks",),
        ("geometry",),
        ("poses",),
        ("features",),
        ("appearance",),
        tuple(exact("lrlr").channels),
    ):
        left = without(exact("lrlr"), *names)
        records = scores(left)
        gone = [r for r in records if r.value is None]
        assert gone
        assert all(r.reason for r in gone)
    planless = replace(exact("lrlr"), facts=replace(exact("lrlr").facts, plan=None))
    nothing = scores(planless)
    assert {r.reason.split(":")[0] for r in nothing if r.metric in SEEN} == {"plan"}


def test_without_geometry_the_poses_say_what_returned() -> None:
    record = one(without(exact("lrlr"), "geometry"), "environment_visible", 1)
    assert record.detail["departure_deg"] == pytest.approx(90)


def test_needs_ask_for_the_frames_that_are_compared() -> None:
    asked = {need.channel: need.frames for need in wb.needs(exact("lrlr", case="environment/lrlr/case_1"))}
    assert asked["features"] == (0, 72, 120)
    assert asked["frame_quality"] == tuple(range(0, 121, 4))
    assert "tracks" not in asked
    assert "judge" in {need.channel for need in wb.needs(exact("lr_hold"))}


def test_the_leaderboard_and_tables_of_worlds() -> None:
    """Two models over two trajectories: one forgets the wall, one does not."""

    def as_model(evidence, model, case):
        return replace(evidence, facts=replace(evidence.facts, model=model, case=case, rollout=f"{model}/{case}"))

    rollouts = [
        as_model(exact(plan, *fault), model, f"environment/{plan}/case_{n}")
        for model, fault in (("keeps", ()), ("forgets", ("displaced_wall", 2.0)))
        for plan in ("lrlr", "lrud", "translate_square")
        for n in (1, 2)
    ]
    records = wb.score(rollouts)
    board = wb.leaderboard(records, trajectories=wb.ROTATIONS)
    assert board["keeps"]["EnvDepth"] == pytest.approx(1)
    assert board["forgets"]["EnvDepth"] < 0.95
    assert np.isnan(board["keeps"]["HumanID"])
    tables = {t: wb.revisit_scores(records, "environment_depth", t) for t in ("lrlr", "lrud")}
    names, rows = tables["lrlr"]["forgets"]
    assert names == ["environment/case_1", "environment/case_2"]
    assert rows.shape == (2, 2)
    excess = wb.cross_axis_excess(*({m: r for m, (_, r) in tables[t].items()} for t in ("lrlr", "lrud")))
    assert (excess.n, excess.models) == (4, 2)
    assert excess.by_model["keeps"] == pytest.approx(0, abs=1e-9)
    seconds = {model: dict.fromkeys(range(6), time) for model, time in (("keeps", 2.0), ("forgets", 1.0))}
    policies = wb.compare_policies(wb.case_scores(records), seconds, baseline="keeps")
    assert policies["forgets"].n["environment_depth"] == 6
    assert policies["forgets"].speedup == 2
    assert policies["keeps"].scores["environment_depth"] == pytest.approx(1)
    assert policies["forgets"].scores["environment_depth"] < 0.95
    kept = wb.qualified_cases(records, "environment_depth", "lrlr")
    assert {m: f.tolist() for m, f in kept.items()} == {"forgets": [True, True], "keeps": [True, True]}
    assert wb.multi_revisit_decrease({m: r for m, (_, r) in tables["lrlr"].items()}, kept).n == 4
    angles = wb.case_angles(records, "lrud")
    assert wb.pose_coverage(angles["keeps"]) == wb.Coverage(100.0, 100.0, 100.0, 4)
    objects = {m: r for m, (_, r) in wb.revisit_scores(records, "object_geometry", "lrlr").items()}
    assert objects == {}  # these cases are of the environment
    walks = [as_model(exact("lrlr"), "m", "a"), as_model(exact("translate_square", "displaced_wall", 2.0), "m", "b")]
    both = wb.score(walks)
    assert wb.leaderboard(both, trajectories=wb.ROTATIONS)["m"]["EnvDepth"] == pytest.approx(1)
    assert wb.leaderboard(both)["m"]["EnvDepth"] < 0.97  # the square counts, too


def test_dynamic_records_and_table_5() -> None:

    base = exact("lr_hold", case="dynamic_memory/lr_hold_sym_0p5dpf/case_1")

    def judged(text, i):
        facts = replace(base.facts, rollout=f"m/{i}")
        with_list = having(replace(base, facts=facts), "checklist", document={"questions": items()})
        return having(with_list, "judge", text=text)

    rollouts = [judged(json.dumps(reply()), 0), judged(json.dumps(reply(said("no"))), 1), judged("I think so.", 2)]
    records = wb.score(rollouts)
    assert [r.value for r in records if r.metric == "dynamic_overall"] == [1, 0, None]
    told = [r.reason.split(":")[0] for r in records if r.metric == "dynamic_overall"]
    assert told == ["", "not_started", "not_json"]
    table = wb.dynamic_table(records)["world"]
    assert (table.started, table.videos, table.gated, table.conditional) == (1, 2, 0.5, 1)
    board = wb.leaderboard(records)["world"]
    assert (board["Start"], board["Dynamic"], board["DynCond"]) == (0.5, 0.5, 1)
    zero = wb.score(rollouts, options=wb.Options(missing_answer="zero"))
    assert [r.value for r in zero if r.metric == "dynamic_overall"] == [1, 0, 0]
    seven = having(rollouts[0], "checklist", document={"questions": items()[:7]})
    assert one(seven, "dynamic_overall").reason == "checklist: checklist: questions must be 8, got 7"


def test_objects_qualify_by_the_tracker() -> None:
    """Table 11 and 12 from records: one object leaves and returns, one stays in view throughout, one is lost."""
    base, square = exact("lrlr"), exact("translate_square")
    found = base.channels["tracks"].values["found"].copy()
    found[:, 3] = False
    lost = replace(having(base, "tracks", found=found), facts=replace(base.facts, rollout="lost", case="lost"))
    records = wb.score([base, lost, square])
    assert wb.qualified_cases(records, "object_geometry", "lrlr")["world"].tolist() == [False, True]
    assert wb.qualified_cases(records, "object_geometry", "translate_square")["world"].tolist() == [False]
    supports = wb.case_supports(records, "object_geometry", "lrlr")["world"]
    assert [s.tolist() for s in supports] == [[[False], [True]], [[True], [True]]]
    assert wb.tracking_coverage(supports) == 75


def test_the_board_shows_three_decimals() -> None:
    [table] = board.tables(scores(exact("lrlr", "displaced_wall", 2.0)), {"worldmembench": wb.COLUMNS})
    cell = table.rows[0].cells["EnvDepth"]
    assert board.value_text(cell) == f"{cell.value:.3f}"
    assert f"{cell.value:.3f}" in board.to_markdown([table])


@pytest.mark.parametrize(
    ("name", "changes", "metric", "reason"),
    [
        ("geometry", {"intrinsics": np.ones((6, 2))}, "environment_reconstruction",
         "geometry: intrinsics must have shape (K=6, 3, 3), got shape (6, 2)"),
        ("geometry", {"cam_from_world": np.ones((6, 3, 3))}, "environment_reconstruction",
         "geometry: cam_from_world must have shape (K=6, R, 4), got shape (6, 3, 3)"),
        ("geometry", {"cam_from_world": np.array(["x"])}, "environment_reconstruction",
         "geometry: cam_from_world must hold numbers, got <U1"),
        ("geometry", {"depth": np.ones((6, 5))}, "environment_depth",
         "geometry: depth must have shape (K=6, H, W), got shape (6, 5)"),
        ("geometry", {"depth": np.ones((5, 8, 8))}, "environment_depth", "geometry: depth must have shape (K=6, H, W)"),
        ("features", {"mean": np.ones((6, 2, 2, 2))}, "environment_visible", "features: mean must have shape (K=6, D)"),
        ("features", {"mean": np.float64(3)}, "environment_visible", "features: mean must have shape (K=6, D), got"),
        ("features", {"frames": np.arange(6.0)}, "environment_visible", "features: frames must be integers in rising"),
        ("features", {"frames": np.arange(6)[::-1]}, "environment_visible", "features: frames must be integers in ris"),
        ("tracks", {"masks": np.ones((1, 6, 4), bool)}, "object_geometry", "tracks: masks must have shape (T="),
        ("poses", {"exact": np.array(["x"])}, "camera_rotation_rpe", "poses: exact must hold numbers, got <U1"),
        ("poses", {"frames": np.float64(3)}, "camera_rotation_rpe", "poses: frames must have shape (K), got shape ()"),
        ("poses", {"exact": np.full((121, 4, 4), 3.0)}, "camera_rotation_rpe", "poses: rpe: estimate"),
    ],
)  # fmt: skip
def test_evidence_of_another_shape_costs_its_own_metric_alone(name, changes, metric, reason) -> None:
    records = scores(having(exact("lrlr"), name, **changes))
    broken = {r.metric for r in records if r.reason.startswith(reason)}
    assert metric in broken
    assert "object_appearance" in {r.metric for r in records if r.value is not None}


@pytest.mark.parametrize(
    ("name", "changes", "reason"),
    [
        ("tracks", {"found": np.ones((3, 3, 3))}, "tracks: found must have shape (T="),
        ("tracks", {"kinds": np.ones((3, 3))}, "tracks: kinds must have shape (T), got shape (3, 3)"),
        ("appearance", {"embedding": np.float64(1)}, "appearance: embedding must have shape (T, K=6, D), got shape ()"),
        ("appearance", {"valid": np.ones((1, 1))}, "appearance: valid must have shape (T="),
        ("appearance", {"valid": np.full((2, 6), np.nan)}, "appearance: valid must h"),
        ("appearance", {"frames": np.array([], int)}, "appearance: embedding must have shape (T, K=0, D)"),
    ],
)
def test_targets_of_another_shape_are_missing(name, changes, reason) -> None:
    record = one(having(exact("lrlr"), name, **changes), "object_appearance")
    assert (record.value, record.status) == (None, Status.MISSING)
    assert record.reason.startswith(reason)


def test_a_first_view_without_a_pose_is_missing_and_no_invalid_return() -> None:
    base = exact("lrlr")
    poses = np.array(base.channels["geometry"].values["cam_from_world"], dtype=np.float64)
    poses[0] = np.nan
    record = one(having(base, "geometry", cam_from_world=poses), "environment_reconstruction")
    assert (record.value, record.status) == (None, Status.MISSING)
    assert record.reason == "geometry: the reference has no pose"


def test_what_the_rule_made_0_stands_beside_the_videos_value_too() -> None:
    record = one(exact("lrlr", "missing_box", 1.0), "object_geometry")
    assert record.value == 0
    assert record.reason == "lost: 1 of 1 targets not found after the return count 0"


@pytest.mark.parametrize("n_frames", [1, 4])
def test_a_video_of_fewer_frames_than_steps_is_too_short(n_frames: int) -> None:
    base = exact("lrlr")
    exact_poses = {name: poses[:n_frames] for name, poses in base.channels["poses"].values.items() if name != "target"}
    short = replace(base, facts=replace(base.facts, n_frames=n_frames))
    poses = {**short.channels, "poses": channel("poses", exact_poses)}
    short = replace(short, channels=poses)
    for record in scores(short):
        if record.metric in (*SEEN, "human_identity", "human_appearance", "camera_rotation_rpe"):
            assert (record.status, record.value) == (Status.NOT_EVALUABLE, None), record.metric
            assert record.reason == f"too_short: {n_frames} frames for the plan's 5 steps"
    assert wb.needs(short)


def test_boundaries_beyond_the_video_are_an_error_of_the_record() -> None:
    base = exact("lrlr")
    plan = base.facts.plan.realised([0, 10, 20, 30, 400])
    record = one(replace(base, facts=replace(base.facts, plan=plan)), "environment_visible")
    assert (record.status, record.value) == (Status.ERROR, None)
    assert record.reason == "plan: lay: plan must end within the video's 121 frames, got frame 401"
