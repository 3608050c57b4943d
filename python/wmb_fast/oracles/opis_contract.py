# SPDX-License-Identifier: Apache-2.0
"""C_opis/C6: the contract of the published code as a whole, its overall score, and the hierarchy of cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._walls.errors import ArgumentError
from ..protocols import opis
from .runner import Adapter, Case, Outcome

Result = dict[str, Any]
HIERARCHY = ("core_2d_score", "full_igm_diagnostic_score", "full_igm_score")


def contract(case: Case) -> Outcome:
    """C6: rows and metrics of a case, the score of given metrics, or the hierarchy of given cases."""
    if "metrics" in case.inputs:
        return _tracks(case)
    return _hierarchy(case) if "cases" in case.inputs else _whole(case)


def _whole(case: Case) -> Outcome:
    outcome = Outcome()
    made = _case(case.inputs)
    rows = opis.observe(made)
    metrics = opis.contract_metrics(rows, made.bank, made.observations)
    outcome.got = {"rows": _rows(rows, made), "metrics": metrics, "tracks": opis.full_igm(metrics)}
    outcome.same("number of rows", len(outcome.got["rows"]), len(case.expected["rows"]))
    abs_ = case.tolerance["scores"]["abs"]
    for mine, theirs in zip(outcome.got["rows"], case.expected["rows"], strict=False):
        _same(outcome, f"row {theirs['frame_index']} {theirs['reference_id']}", mine, theirs, abs_)
    for part in ("metrics", "tracks"):
        _same(outcome, part, outcome.got[part], case.expected[part], abs_)
    return outcome


def _same(outcome: Outcome, where: str, got: Mapping[str, Any], expected: Mapping[str, Any], abs_: float) -> None:
    for name, value in expected.items():
        outcome.expect(name in got, f"{where}.{name}: not there")
        if isinstance(value, Mapping):
            _same(outcome, f"{where}.{name}", got.get(name, {}), value, abs_)
        elif isinstance(value, float):
            outcome.close(f"{where}.{name}", got.get(name), value, abs_=abs_)
        else:
            outcome.same(f"{where}.{name}", got.get(name), value)


def _case(inputs: Mapping[str, Any]) -> opis.Case:
    kinds = {"static_geometry": ("rigid", "world_static"), "dynamic_identity": ("articulated", "independent_motion")}
    objects = []
    for one in inputs["objects"]:
        kinematic, motion = kinds[one["track"]]
        mobility = {"kinematic_class": kinematic, "motion_expectation": motion, "evaluation_track": one["track"]}
        metadata = {"mobility": {**mobility, "geometry_eligible": True}, "ambiguity_group": one.get("group")}
        objects.append({**one, "object_id": one["id"], "metadata": metadata})
    windows = [
        {**window, "objects": [{**one, "observed_id": one["id"]} for one in window["objects"]]}
        for window in inputs["windows"]
    ]
    bank = opis.Bank.of_records(objects)
    seen = opis.Observations.of_records(windows, bank.vocabulary)
    geometry = [inputs["geometry_frames"].get(str(index)) for index in seen.frames.tolist()]
    told = [
        (t, bank.ids.index(name), one)
        for t, frame in enumerate(geometry)
        for name, one in (frame["vis"] if frame else {}).items()
    ]
    return opis.Case(
        bank=bank,
        observations=seen,
        frame_scored=np.array([frame is not None and frame["status"] == "scored" for frame in geometry], dtype=bool),
        projections=opis.Projections.of_records(told),
        matches=[_matches(frame) if frame else None for frame in geometry],
        dynamic=None if inputs["structure"] is None else _dynamic(inputs["structure"], bank, seen),
    )


def _matches(frame: Mapping[str, Any]) -> opis.Correspondences:
    reference, current = (np.asarray(frame[name], dtype=np.float64).reshape(-1, 2) for name in ("ref", "cur"))
    return opis.Correspondences(reference, current, np.asarray(frame["err"], dtype=np.float64))


def _dynamic(structure: Any, bank: opis.Bank, seen: opis.Observations) -> opis.Measured:
    rows = []
    for (window, reference, observed), score, _ in structure:
        t = seen.windows.index(window)
        first, last = seen.starts[t : t + 2].tolist()
        rows.append((t, bank.ids.index(reference), first + seen.ids[first:last].index(observed), score))
    return opis.Measured.of_rows(rows)


def _rows(rows: opis.Rows, case: opis.Case) -> list[Result]:
    """The rows as the published code writes them, from the arrays of ours."""
    dynamic = case.bank.is_dynamic
    made = []
    for t, i in np.ndindex(rows.presence.shape):
        presence, observed = _none(rows.presence[t, i]), int(rows.observed[t, i])
        state, missed = opis.State(int(rows.sighting.state[t, i])), presence == 0.0
        unseen = state in (opis.State.EVALUATOR_FAILURE, opis.State.UNRELIABLE_CAMERA_POSE)
        said = (
            ("evaluator_failure" if unseen else "not_observable")
            if presence is None
            else "generation_failure"
            if missed
            else "dynamic_identity"
            if dynamic[i]
            else "scored"
            if not np.isnan(rows.geometry[t, i])
            else "evaluator_failure"
        )
        made.append(
            {
                "frame_index": int(case.observations.frames[t]),
                "reference_id": case.bank.ids[i],
                "observed_id": case.observations.ids[observed] if observed >= 0 else None,
                "state": said,
                "identity": 0.0 if missed else _none(rows.identity[t, i]),
                "presence": presence,
                "visible_surface_geometry": _none(rows.geometry[t, i]),
                "input_structure": _none(rows.structure[t, i]),
                "reason": rows.reason(t, i),
                "visibility_state": state.name.lower(),
                "false_positive_evaluable": bool(rows.evaluable[t]),
                "unmatched_observed_count": int(rows.extras[t]),
                "unmatched_observed_candidate_count": int(rows.n_unmatched[t]),
                "ambiguous_match": bool(rows.association.ambiguous[t, i]),
            }
        )
    return made


def _none(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def _tracks(case: Case) -> Outcome:
    outcome = Outcome()
    try:
        outcome.got = opis.full_igm(case.inputs["metrics"])
    except ArgumentError as error:
        outcome.got = str(error)
        outcome.expect(case.raises is not None, f"must not raise: {error}")
        return outcome
    outcome.expect(case.raises is None, "components outside 0 to 1 must be refused")
    _same(outcome, "tracks", outcome.got, case.expected, case.tolerance["scores"]["abs"])
    return outcome


def _hierarchy(case: Case) -> Outcome:
    outcome = Outcome()
    cases = [opis.CaseScores(c["case_id"], c["subcategory"], c["domain"], c["metrics"]) for c in case.inputs["cases"]]
    try:
        found = opis.aggregate(cases, HIERARCHY)
    except ArgumentError as error:
        outcome.got = str(error)
        outcome.expect(case.raises is not None, f"must not raise: {error}")
        return outcome
    outcome.expect(case.raises is None, "repeated cases and NaN must be refused")
    outcome.got = {
        "subcategories": [_group(group) for group in found.subcategories],
        "domains": [_group(group) for group in found.domains],
        "overall": _group(found.overall),
    }
    abs_ = case.tolerance["scores"]["abs"]
    _same(outcome, "overall", outcome.got["overall"], case.expected["overall"], abs_)
    for level in ("subcategories", "domains"):
        outcome.same(level, len(outcome.got[level]), len(case.expected[level]))
        for mine, theirs in zip(outcome.got[level], case.expected[level], strict=False):
            _same(outcome, level, mine, theirs, abs_)
    return outcome


def _group(group: opis.Group) -> Result:
    missing = {name: {"n_valid": n, "n_missing": group.n_cases - n} for name, n in group.n_valid.items()}
    said: Result = {"metrics": dict(group.metrics), "n_cases": group.n_cases, "missingness": missing}
    return said | {"n_children": group.n_children} | dict(zip(("domain", "subcategory"), group.name, strict=False))


ADAPTERS: dict[str, Adapter] = {"C_opis/C6_contract_3_11": contract}
