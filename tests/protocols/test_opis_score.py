# SPDX-License-Identifier: Apache-2.0
"""OPIS from evidence to records to a board: known answers, ablations, intervals, and every kind of bad input."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import opis_cases as synthetic
import pytest

from wmb_fast import ArgumentError, board
from wmb_fast.protocols import opis
from wmb_fast.protocols.evidence import Channel, Evidence, Maker
from wmb_fast.protocols.record import Score, Status
from wmb_fast.rollout.plan import Facts

MAKER = Maker("objects", "external", "external", "synthetic")
COMPONENTS = ("presence", "identity", "structure", "structure_coverage", "opis")


def evidence(values: dict[str, Any] | None, rollout: str = "m/home/1", model: str = "m") -> Evidence:
    facts = Facts(rollout, model, rollout.split("/", 1)[1], None, 80, 8.0, *synthetic.SIZE)
    return Evidence(facts, {} if values is None else {"objects": Channel(values, MAKER)})


def whole(records: list[Score]) -> dict[str, float | None]:
    return {r.metric: r.value for r in records if not set(r.part) - {"subcategory", "domain"}}


def scored(values: dict[str, Any], **options: Any) -> dict[str, float | None]:
    return whole(opis.score(evidence(values), **options))


def test_a_perfect_memory_is_100() -> None:
    records = opis.score(evidence(synthetic.records()))
    assert {r.value for r in records if r.metric in (*COMPONENTS, "ablation")} == {100.0}
    assert whole(records)["identity_failure"] == 0.0
    assert whole(records)["no_structure"] == 0.0
    shares = {r.part["of"]: r.value for r in records if r.metric == "coverage"}
    assert shares == {"presence": 100.0, "identity": 100.0, "static": 100.0, "dynamic": 100.0, "unknown": 0.0}
    assert {r.part["domain"] for r in records} == {"real_world"}
    assert all(r.to_json() for r in records)
    assert not any(r.compat for r in records)


Fault = Callable[[dict[str, Any]], None]


def lose(values: dict[str, Any]) -> None:
    """One object is gone in a third of the frames, though its place is in view."""
    for window in values["observation"]["windows"][:3]:
        window["objects"].pop(0)


def add(values: dict[str, Any]) -> None:
    """Something that the input does not show is there in a third of the frames."""
    for window in values["observation"]["windows"][:3]:
        window["objects"].append({"observed_id": "new", "category": "dog", "bbox": [1.0, 1.0, 9.0, 9.0]})


def change(values: dict[str, Any]) -> None:
    """One object looks otherwise in a third of the frames: its cosine is 0.6."""
    for window in values["observation"]["windows"][:3]:
        window["objects"][0]["embedding"] = [0.6, 0.0, 0.0, 0.0, 0.8]


def swap(values: dict[str, Any]) -> None:
    """One object looks so different in a third of the frames that it fails the gate: its cosine is 0.3."""
    for window in values["observation"]["windows"][:3]:
        window["objects"][0]["embedding"] = [0.3, 0.0, 0.0, 0.0, (1 - 0.09) ** 0.5]


def bend(values: dict[str, Any]) -> None:
    """In a third of the frames the geometry is off by a twentieth of the boxes' diagonal."""
    for index in synthetic.FRAMES[:3]:
        frame = values["geometry"]["frames"][str(index)]
        frame["reprojection_errors"] = [1.7] * len(frame["reprojection_errors"])


def break_apart(values: dict[str, Any]) -> None:
    """The judge contradicts three of four claims about the moving object."""
    values["structure"] = synthetic.structure(values["reference"], values["observation"], supported=1)


def five(values: dict[str, Any]) -> dict[str, Any]:
    """Room for a fifth direction in every embedding."""
    for one in [*values["reference"]["objects"], *(o for w in values["observation"]["windows"] for o in w["objects"])]:
        one["embedding"] = [*one["embedding"], 0.0]
    return values


@pytest.mark.parametrize(
    ("fault", "lowered"),
    [
        (lose, {"presence": 100 * 6 / 9}),
        (add, {"presence": 100 * 6 / 9}),
        (change, {"identity": 100 * (6 + 3 * (3 + 0.6) / 4) / 9}),
        (swap, {"identity": 100 * 6 / 9}),
        (bend, {"structure": 100 * (6 + 3 * (1 + 3 * np.exp(-1.7 / np.hypot(16, 30) / 0.05)) / 4) / 9}),
        (break_apart, {"structure": 0.0}),  # a quarter is below the gate, in every frame
    ],
)
def test_each_fault_lowers_its_own_component(fault: Fault, lowered: dict[str, float]) -> None:
    values = five(synthetic.records())
    fault(values)
    found = scored(values)
    expected = {"presence": 100.0, "identity": 100.0, "structure": 100.0} | lowered
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-9)
    assert found["structure_coverage"] == 100.0
    mean = 0.2 * expected["presence"] + 0.4 * expected["identity"] + 0.4 * expected["structure"]
    assert found["opis"] == pytest.approx(mean, abs=1e-9)


def test_a_missing_object_lowers_presence_and_never_identity() -> None:
    values = synthetic.records()
    for window in values["observation"]["windows"]:
        window["objects"].pop(0)
    found = scored(values)
    assert (found["presence"], found["identity"]) == (0.0, 100.0)


def test_the_gate_counts_failures() -> None:
    values = five(synthetic.records())
    swap(values)
    assert scored(values)["identity_failure"] == pytest.approx(100 / 3)


def test_ablations_are_of_the_same_measurements() -> None:
    values = five(synthetic.records())
    change(values)
    break_apart(values)
    for frame in list(values["geometry"]["frames"].values())[3:]:
        frame["reference_pixels"] = frame["current_pixels"] = frame["reprojection_errors"] = []
    records = opis.score(evidence(values))
    strict = whole(records)["opis"]
    variants = {r.part["variant"]: r.value for r in records if r.metric == "ablation"}
    identity = (6 + 3 * 3.6 / 4) / 9
    ungated = (3 * (3 + 0.25) / 4 + 6 * 0.25) / 9
    expected = {
        "no_gate": 20 + 40 * identity + 40 * ungated,
        "no_coverage": 20 + 40 * identity,  # every frame has a measurement below the gate
        "minimum": 20 + 40 * (6 + 3 * 0.6) / 9,
        "uniform": 100 / 3 * (1 + identity + 0.0),
    }
    assert strict == pytest.approx(20 + 40 * identity)
    assert variants == pytest.approx(expected, abs=1e-9)


def test_coverage_multiplies_structure() -> None:
    values = synthetic.records()
    values["structure"] = None
    for index in synthetic.FRAMES[:6]:
        values["geometry"]["frames"][str(index)]["status"] = "evaluator_failure"
    found = scored(values)
    assert found["structure"] == found["structure_coverage"] == pytest.approx(100 / 3)


def test_intervals_are_scored_by_themselves() -> None:
    values = synthetic.records()  # frames 8 to 72 at 8 fps: 1 to 9 s
    for window in values["observation"]["windows"]:
        if window["timestamp"] >= 7:
            window["objects"].pop(0)
    records = opis.score(evidence(values))
    presence = {r.part["interval_s"]: r.value for r in records if r.metric == "presence" and "interval_s" in r.part}
    assert presence == {"1-4": 100.0, "4-7": 100.0, "7-10": 0.0}
    n = {r.part["interval_s"]: r.n_total for r in records if r.metric == "presence" and "interval_s" in r.part}
    assert n == {"1-4": 3, "4-7": 3, "7-10": 3}
    for window in values["observation"]["windows"]:
        del window["timestamp"]
    again = opis.score(evidence(values))  # by the rollout's rate
    assert [r.value for r in again] == [r.value for r in records]


def test_contract_3_11() -> None:
    values = synthetic.records()
    by_flag, by_name = (opis.score(evidence(values), **{k: v}) for k, v in (("compat", True), ("contract", "3.11")))
    assert by_flag == by_name
    found = whole(by_flag)
    assert found["presence_score"] == found["identity_score"] == found["core_2d_score"] == 100.0
    shrunk = (9 + 1) / (9 + 2)  # nine perfect measurements an instance, drawn towards one half
    assert found["v3_structural_quality_score"] == pytest.approx(100 * shrunk)
    assert found["full_igm_score"] == pytest.approx(100 * shrunk**0.4)
    assert all(r.compat and "3.11-strict" in r.definition for r in by_flag)
    lose(values)
    assert scored(values, compat=True)["presence_score"] == pytest.approx(100 * 6 / 9)


def test_contracts_that_contradict() -> None:
    with pytest.raises(ArgumentError, match=r"contract must be 3\.11 under compat, got 'paper'"):
        opis.score([], compat=True, contract="paper")
    with pytest.raises(ArgumentError, match=r"contract must be one of paper, 3\.11"):
        opis.score([], contract="3.10")


def no_windows(values: dict[str, Any]) -> None:
    values["observation"]["windows"] = []


def no_objects(values: dict[str, Any]) -> None:
    values["reference"]["objects"] = []


def never_seen(values: dict[str, Any]) -> None:
    """Nothing is detected, and nothing is known of the camera."""
    values["geometry"] = values["structure"] = None
    for window in values["observation"]["windows"]:
        window["objects"] = []


@pytest.mark.parametrize(
    ("spoil", "reasons", "structure"),
    [
        (no_windows, dict.fromkeys(COMPONENTS, "no_frames"), None),
        (no_objects, {"presence": "nothing_expected", "identity": "no_appearance", "opis": "component_missing"}, 0.0),
        (never_seen, {"presence": "nothing_expected", "identity": "no_appearance", "opis": "component_missing"}, 0.0),
    ],
)
def test_empty_sets_are_missing_and_never_zero(spoil: Fault, reasons: dict[str, str], structure: float | None) -> None:
    """E_t, A_t empty: no value and a reason. B_t empty: the paper's formula gives coverage, and so structure, of 0."""
    values = synthetic.records()
    if spoil is not never_seen:
        values["structure"] = None
    spoil(values)
    records = {r.metric: r for r in opis.score(evidence(values)) if not set(r.part) - {"subcategory", "domain"}}
    for metric, reason in reasons.items():
        assert (records[metric].value, records[metric].status) == (None, Status.NOT_EVALUABLE)
        assert records[metric].reason.startswith(reason)
    assert records["structure"].value == structure
    compat = {r.metric: r for r in opis.score(evidence(values), compat=True)}
    assert compat["presence_score"].value == 0.0  # the released code's, and it says so
    assert compat["presence_score"].detail["presence_score_status"] == "no_evidence_zero_fallback"


def test_a_target_never_seen_again_is_missed_where_it_should_be() -> None:
    """The camera proves that its place is in view: presence 0, and no identity."""
    values = synthetic.records(n=1, dynamic=())
    values["structure"] = None
    for window in values["observation"]["windows"]:
        window["objects"] = []
    records = {r.metric: r for r in opis.score(evidence(values)) if not set(r.part) - {"subcategory", "domain"}}
    assert records["presence"].value == 0.0
    assert (records["identity"].value, records["opis"].value) == (None, None)


def twice(values: dict[str, Any]) -> None:
    values["reference"]["objects"][1]["object_id"] = "o0"


def twice_in_a_window(values: dict[str, Any]) -> None:
    for one in values["observation"]["windows"][2]["objects"][:2]:
        one["observed_id"] = "x"


def window_twice(values: dict[str, Any]) -> None:
    values["observation"]["windows"][1]["window_id"] = "w8"


def prose(values: dict[str, Any]) -> None:
    values["structure"]["judgments"][0]["status"] = "it looks fine to me"


def foreign_fact(values: dict[str, Any]) -> None:
    values["structure"]["judgments"][0]["fact_id"] = "f99"


def other_case(values: dict[str, Any]) -> None:
    values["structure"]["judgments"][0]["window_id"] = "elsewhere"


def unequal(values: dict[str, Any]) -> None:
    values["geometry"]["frames"]["8"]["reprojection_errors"] = [0.0]


def no_id(values: dict[str, Any]) -> None:
    del values["reference"]["objects"][0]["object_id"]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (twice, "object_id must be unique, got 'o0' twice"),
        (twice_in_a_window, "observed_id of window w24 must be unique, got 'x' twice"),
        (window_twice, "window_id must be unique, got 'w8' twice"),
        (prose, "status of f0 must be one of supported, contradicted, unknown, got 'it looks fine to me'"),
        (foreign_fact, "judgements must be of facts that were claimed, got 'f99'"),
        (other_case, "structure must be of windows, objects and observations of this case, got elsewhere, o3, 8_o3"),
        (unequal, "reprojection_errors must be as many as the pixels"),
        (no_id, "reference.objects[0].object_id must be text, got None"),
    ],
)
def test_evidence_that_cannot_be_used(spoil: Fault, said: str) -> None:
    values = synthetic.records()
    spoil(values)
    records = opis.score(evidence(values))
    assert [r.metric for r in records] == list(COMPONENTS)
    for record in records:
        assert (record.value, record.status) == (None, Status.MISSING)
        assert record.reason.startswith("objects: unusable_evidence")
        assert said in record.reason


def test_no_evidence() -> None:
    for compat in (False, True):
        records = opis.score(evidence(None), compat=compat)
        assert {(r.value, r.status, r.reason) for r in records} == {
            (None, Status.MISSING, "objects: nobody handed any in")
        }


def test_nan_embeddings_match_nothing() -> None:
    """One object's embedding is broken in every frame: it cannot be identified, and its detection is an extra."""
    values = synthetic.records()
    for window in values["observation"]["windows"]:
        window["objects"][0]["embedding"][1] = float("nan")
    found = scored(values)
    assert (found["presence"], found["identity"]) == (0.0, 100.0)


def test_a_geometry_of_nulls() -> None:
    """JSON has no NaN: what was not finite is null, and leaves that object without a score, not the others."""
    values = synthetic.records()
    for frame in values["geometry"]["frames"].values():
        frame["reprojection_errors"][0] = None
    found = scored(values)
    assert found["structure"] == 100.0
    shares = {r.part["of"]: r.value for r in opis.score(evidence(values)) if r.metric == "coverage"}
    assert shares["static"] == pytest.approx(100 * 2 / 3)


def cases(model: str, fault: Fault | None = None) -> list[Score]:
    records = []
    for subcategory in ("home_indoor", "robot_lab_setup"):
        for k in range(3 if subcategory == "home_indoor" else 1):
            values = five(synthetic.records()) | {"subcategory": subcategory}
            if fault is not None and k == 0:
                fault(values)
            records += opis.score(evidence(values, f"{model}/{subcategory}/{k}", model))
    return records


def test_the_board_goes_through_the_hierarchy() -> None:
    """Three cases of one subcategory weigh as much as the one of the other."""
    records = [*cases("good"), *cases("bad", lose)]
    [table] = board.tables(records, {"opis": opis.COLUMNS})
    bad, good = (row.cells for row in table.rows)
    each = 100 * 6 / 9
    assert bad["P"].value == pytest.approx(((each + 200) / 3 + each) / 2)
    assert (good["P"].value, good["OPIS"].value) == (100.0, 100.0)
    interval = bad["P"].interval
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low == pytest.approx(each)  # all three draws may be the bad case
    assert interval.high == pytest.approx((100 + each) / 2)
    assert [c.name for c in table.columns] == ["P", "I", "S", "C_S", "OPIS", "Fail-I", "No-S"]
    assert opis.leaderboard(records)["bad"]["P"] == pytest.approx(bad["P"].value)
    own = opis.by_domain([r for r in records if r.model == "bad"], "presence")
    assert own.overall.metrics["presence"] == pytest.approx(bad["P"].value)
    paired = board.compare(records, table.columns, "good", "bad").differences[0]
    assert paired.difference == pytest.approx(100 - bad["P"].value)
    assert paired.interval.high == pytest.approx(100 - each)


def test_compat_and_default_boards_have_their_own_columns() -> None:
    records = opis.score(evidence(synthetic.records()), compat=True)
    [table] = board.tables(records, {"opis": opis.COLUMNS})
    assert [c.name for c in table.columns] == ["P", "I", "core_2d", "full_igm"]
    assert table.rows[0].cells["P"].value == 100.0


def test_a_case_of_no_known_domain_is_scored_and_not_averaged() -> None:
    values = synthetic.records() | {"subcategory": "my_own"}
    records = opis.score(evidence(values))
    assert whole(records)["opis"] == 100.0
    [table] = board.tables(records, {"opis": opis.COLUMNS})
    cell = table.rows[0].cells["OPIS"]
    assert (cell.value, cell.n_used, cell.n_total) == (None, 0, 1)
    placed = opis.score(evidence(values | {"domain": "game"}))
    assert board.tables(placed, {"opis": opis.COLUMNS})[0].rows[0].cells["OPIS"].value == 100.0


def test_tables_of_loads_intervals_and_missing_subcategories() -> None:
    records = cases("m", lose)
    loads = opis.by_load(records)
    assert list(loads) == ["<=20"]
    assert loads["<=20"]["P"] == pytest.approx(opis.leaderboard(records)["m"]["P"])
    assert list(opis.by_interval(records)) == ["1-4", "4-7", "7-10"]
    assert opis.by_interval(records)["4-7"]["P"] == 100.0
    assert opis.missing_subcategories(records) == [
        "public", "natural", "urban", "industrial", "simulated", "cartoon", "pixel", "realistic",
    ]  # fmt: skip
    assert opis.leaderboard(records, opis.ABLATION_COLUMNS)["m"]["uniform"] < 100
    assert opis.leaderboard(records, opis.COVERAGE_COLUMNS)["m"]["C_P"] == 100.0


def test_the_bootstrap_of_cases_is_that_of_the_board() -> None:
    """One interval, whether asked for by cases or by records; the subcategories are the strata."""
    records = cases("m", lose)
    made = opis.by_domain(records, "presence").overall.metrics["presence"]
    scores = [
        opis.CaseScores(r.rollout, r.part["subcategory"], r.part["domain"], {"presence": r.value})
        for r in records
        if r.metric == "presence" and "interval_s" not in r.part
    ]
    found = opis.interval(scores, "presence")
    assert float(found.estimate) == pytest.approx(made)
    [table] = board.tables(records, {"opis": opis.COLUMNS})
    cell = table.rows[0].cells["P"].interval
    assert (cell.low, cell.high) == pytest.approx((float(found.low), float(found.high)))


def test_evidence_is_not_changed_and_records_are_the_same_again() -> None:
    values = synthetic.records()
    before = copy.deepcopy(values)
    first = opis.score(evidence(values))
    assert values == before
    shuffled = json.loads(json.dumps(values))
    shuffled["observation"]["windows"].reverse()
    again = opis.score(evidence(shuffled))
    assert [r.value for r in again] == [r.value for r in first]


def _put(*path: str | int, value: Any) -> Fault:
    def fault(values: dict[str, Any]) -> None:
        place: Any = values
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return fault


SCENE, WINDOW = ("reference", "objects", 0), ("observation", "windows", 0)
FRAME = ("geometry", "frames", str(synthetic.FRAMES[0]))


@pytest.mark.parametrize(
    ("fault", "key"),
    [
        (_put(*SCENE, "metadata", value="static"), "reference.objects[0].metadata"),
        (_put(*SCENE, "metadata", value={"mobility": "rigid"}), "reference.objects[0].metadata.mobility"),
        (_put(*SCENE, "object_id", value=None), "reference.objects[0].object_id"),
        (_put(*SCENE, "points", value=[[1.0, 2.0]]), "reference.objects[0].points"),
        (_put(*WINDOW, "frame_index", value=10**30), "observation.windows[0].frame_index"),
        (_put(*WINDOW, "timestamp", value="soon"), "observation.windows[0].timestamp"),
        (_put(*WINDOW, "objects", 0, "embedding", value=[[1.0], [2.0, 3.0]]), "windows[0].objects[0].embedding"),
        (_put("geometry", "frames", value=[]), "geometry.frames"),
        (_put(*FRAME, "instance_visibility", value=["a"]), "instance_visibility"),
        (_put(*FRAME, "homography", value=[[1.0]]), "homography"),
        (_put("structure", value={"metadata": "v1"}), "structure.metadata"),
        (_put("structure", value={"metadata": {"structure_config": "vlm"}}), "structure_config"),
        (_put("structure", value={"claims": ["it has legs"]}), "structure.claims[0]"),
        (_put("structure", value={"judgments": [{"status": ["supported"]}]}), "structure.judgments[0].window_id"),
        (_put("structure", value={"pose_references": {"a": {"profile": "human"}}}), "pose_references.a.points"),
    ],
)
def test_a_record_of_another_form_is_named_by_its_key(fault: Fault, key: str) -> None:
    values = synthetic.records()
    fault(values)
    for record in opis.score(evidence(values)):
        assert record.value is None
        assert record.status is Status.MISSING
        assert record.reason.startswith("objects: unusable_evidence: opis: ")
        assert f"{key} must " in record.reason


def test_a_fault_of_ours_is_not_taken_for_bad_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(case: object) -> None:
        raise KeyError("a mistake in this library")

    monkeypatch.setattr("wmb_fast.protocols.opis.scoring.observe", broken)
    with pytest.raises(KeyError, match="a mistake"):
        opis.score(evidence(synthetic.records()))


def test_where_a_case_belongs_may_be_told_by_anything_with_a_text() -> None:
    records = opis.score(evidence(synthetic.records() | {"subcategory": 5}))
    assert {r.part["subcategory"] for r in records} == {"5"}
