# SPDX-License-Identifier: Apache-2.0
"""OPIS from evidence to records to a board: known answers, ablations and intervals."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import opis_cases as synthetic
import pytest
from opis_cases import COMPONENTS, Fault, evidence, scored, whole

from wmb_fast import ArgumentError, board
from wmb_fast.protocols import opis
from wmb_fast.protocols.record import Score


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
