# SPDX-License-Identifier: Apache-2.0
"""OPIS on evidence that is empty, broken or of another form: the protocol's own rule, a status and a reason."""

from __future__ import annotations

from typing import Any

import opis_cases as synthetic
import pytest
from opis_cases import COMPONENTS, Fault, evidence, scored

from wmb_fast.protocols import opis
from wmb_fast.protocols.record import Status


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
        (twice, "opis: reference.objects[1].object_id must be unique, got 'o0' twice"),
        (twice_in_a_window, "opis: observation.windows[2].objects[1].observed_id must be unique, got 'x' twice"),
        (window_twice, "opis: observation.windows[1].window_id must be unique, got 'w8' twice"),
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
    records = {r.metric: r for r in opis.score(evidence(values)) if not set(r.part) - {"subcategory", "domain"}}
    assert (records["presence"].value, records["identity"].value) == (0.0, 100.0)
    said = "not_finite: 9 of 36 observations have such an embedding, and match nothing"
    assert (records["presence"].reason, records["identity"].reason, records["opis"].reason) == (said, said, "")


def test_a_structure_of_0_for_want_of_evidence_says_so() -> None:
    values = synthetic.records()
    values["geometry"] = values["structure"] = None
    [record] = [r for r in opis.score(evidence(values)) if r.metric == "structure" and "interval_s" not in r.part]
    assert record.value == 0.0
    lacking = "(not handed in: geometry, structure)"
    assert record.reason == f"no_structure: no frame has a measurement, which counts 0 {lacking}"


def test_a_geometry_of_nulls() -> None:
    """JSON has no NaN: what was not finite is null, and leaves that object without a score, not the others."""
    values = synthetic.records()
    for frame in values["geometry"]["frames"].values():
        frame["reprojection_errors"][0] = None
    found = scored(values)
    assert found["structure"] == 100.0
    shares = {r.part["of"]: r.value for r in opis.score(evidence(values)) if r.metric == "coverage"}
    assert shares["static"] == pytest.approx(100 * 2 / 3)


def _put(*path: str | int, value: Any) -> Fault:
    def fault(values: dict[str, Any]) -> None:
        place: Any = values
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return fault


def _body(**first: Any) -> dict[str, Any]:
    """Four landmarks in a row, the first of them changed."""
    points = [{"name": name, "xyz": [i, 2.0 * i, 1.0], "confidence": 0.9} for i, name in enumerate("abcd")]
    points[0] |= first
    return {"profile": "human", "points": points, "edges": [["a", "b"], ["b", "c"], ["c", "d"]]}


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
        (_put("structure", value={"metadata": {"structure_config": {"min_confidence": None}}}), "min_confidence"),
        (_put("structure", "claims", 0, "confidence", value=None), "structure.claims[0].confidence"),
        (_put("structure", "judgments", 0, "confidence", value=None), "structure.judgments[0].confidence"),
        (_put(*FRAME, "instance_visibility", "o0", "current_depth", value=None), "o0.current_depth"),
        (_put(*FRAME, "instance_visibility", "o0", "projected_depth", value=None), "o0.projected_depth"),
        (_put("structure", value={"pose_references": {"o3": _body(confidence=None)}}), "points[0].confidence"),
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


def test_a_box_with_a_number_that_was_not_finite_is_no_box() -> None:
    """The object is matched all the same, and every correspondence in its observed box counts."""
    values = synthetic.records()
    values["reference"]["objects"][0]["bbox"][0] = None
    assert scored(values)["identity"] == 100.0


def test_a_landmark_out_of_all_bounds_measures_nothing() -> None:
    reference = opis.landmarks(**_body())
    far = opis.landmarks(**_body(xyz=[1.7e308, -1.7e308, 0.0]))
    assert opis.pose_structure(reference, far).reason == "insufficient_landmark_evidence"
