# SPDX-License-Identifier: Apache-2.0
"""C_opis: the published OPIS evaluator, part by part. Its contract as a whole stands in :mod:`.opis_contract`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._walls.errors import ArgumentError
from ..ops.assign import assign, assignment
from ..ops.visibility import sampled_visibility
from ..protocols import opis
from .libs_stats import matrix
from .runner import Adapter, Case, Outcome

Result = dict[str, Any]


def hungarian(case: Case) -> Outcome:
    """C2: the public solver's assignment, its choice among ties included. What it should have refused, we refuse."""
    cost, outcome = case.inputs["cost"], Outcome()
    if case.raises is not None and case.raises["type"] == "ValueError":
        try:
            outcome.got = assign([np.asarray(row, dtype=np.float64) for row in cost], ties="opis")
            outcome.problems.append("rows of unequal length must raise an ArgumentError")
        except ArgumentError as error:
            outcome.got = str(error)
        return outcome
    found = assignment(matrix(cost), ties="opis")
    pairs = [[i, int(j)] for i, j in enumerate(found.columns) if j >= 0]
    outcome.got = {"assignment": pairs, "total": float(found.total), "reason": found.reason()}
    if case.recommended is not None:
        outcome.expect(found.status == 2 and not pairs, "costs that are not numbers must be refused, with a reason")
        return outcome
    outcome.expect(found.status == 0, f"status is {found.status}: {found.reason()}")
    outcome.same("assignment", pairs, case.expected["assignment"])
    if "total" in case.expected:
        outcome.close("total", found.total, case.expected["total"], abs_=case.tolerance["total"]["abs"])
    return outcome


def association(case: Case) -> Outcome:
    """C1: affinities, assignment, margins and ambiguity of one frame."""
    outcome = Outcome()
    references = [{**one, "object_id": one["id"]} for one in case.inputs["references"]]
    window = {"window_id": "w", "objects": [{**one, "observed_id": one["id"]} for one in case.inputs["observations"]]}
    if case.raises is not None:
        return _refused(lambda: opis.Observations.of_records([window], {}), "twice")
    bank = opis.Bank.of_records(references)
    seen = opis.Observations.of_records([window], bank.vocabulary)
    found = opis.associate(bank.described, seen.described, seen.starts)
    scores = opis.affinities(bank.described, seen.described).scores
    column = found.observed[0].tolist()
    there = bool(bank.ids) and bool(seen.ids)
    outcome.got = {
        "pairs": {bank.ids[i]: seen.ids[j] for i, j in enumerate(column) if j >= 0},
        "unmatched_reference_ids": [bank.ids[i] for i, j in enumerate(column) if j < 0],
        "unmatched_observed_ids": [name for name, alone in zip(seen.ids, found.unmatched, strict=True) if alone],
        "ref_order": list(bank.ids),
        "obs_order": list(seen.ids),
        "ambiguous": [name for name, unsure in zip(bank.ids, found.ambiguous[0], strict=True) if unsure],
        "scores": scores,
        "margins": dict(zip(bank.ids, found.margin[0].tolist(), strict=True)) if there else {},
        "identity": {
            bank.ids[i]: None if math.isnan(cosine) else max(0.0, cosine)
            for i, cosine in enumerate(found.cosine[0].tolist())
            if column[i] >= 0
        },
    }
    _compare(outcome, case, case.tolerance["scores/margins"])
    return outcome


def _compare(outcome: Outcome, case: Case, tolerance: Mapping[str, float], skip: Sequence[str] = ()) -> None:
    """Every field of what is expected: numbers within the tolerance, the rest exactly."""
    rel, abs_ = tolerance.get("rel", 0.0), tolerance.get("abs", 0.0)

    def check(where: str, got: Any, expected: Any) -> None:
        if isinstance(expected, Mapping):
            outcome.same(f"{where} keys", sorted(got), sorted(expected))
            for name in expected:
                check(f"{where}.{name}", got.get(name), expected[name])
        elif isinstance(expected, float) or (isinstance(expected, list) and _are_numbers(expected)):
            outcome.close(where, got, expected, rel=rel, abs_=abs_)
        elif isinstance(expected, list):
            outcome.same(where, list(got), expected)
        else:
            outcome.same(where, got, expected)

    for name, value in case.expected.items():
        if name not in skip:
            check(name, outcome.got.get(name), value)


def _are_numbers(values: Sequence[Any]) -> bool:
    return bool(values) and isinstance(values[0], (list, float))


def _refused(call: Any, about: str) -> Outcome:
    """What the published code refuses, we refuse, and say what is wrong."""
    outcome = Outcome()
    try:
        outcome.got = str(call())
        outcome.problems.append("must raise an ArgumentError")
    except ArgumentError as error:
        outcome.got = str(error)
        outcome.expect(about in str(error), f"the message must say {about!r}: {error}")
    return outcome


def visibility(case: Case) -> Outcome:
    """C3: the state of one object in one frame, and why."""
    inputs, outcome = case.inputs, Outcome()
    size = inputs["frame_size"] or (np.nan, np.nan)
    told, box = inputs["evidence"], inputs["observed_bbox"]
    projections = opis.Projections.of_records([(0, 0, told)] if told else [])
    projected = opis.project(projections, 1, 1, [size])
    scored = [inputs["frame_status"] == "scored"]
    area = opis.direct_areas([np.nan] * 4 if box is None else box, size)
    found = opis.classify(projected, [inputs["geometry_required"]], scored, [[float(area)]], [[box is not None]])
    state = opis.State(int(found.state[0, 0]))
    outcome.got = {
        "state": state.name.lower(),
        "presence_eligible": bool(found.presence_eligible[0, 0]),
        "geometry_eligible": bool(found.geometry_eligible[0, 0]),
        "confidence": float(found.confidence[0, 0]),
        "reason": found.reason(0, 0),
        "diagnostics": _diagnostics(found, projected, projections, size, float(area), inputs),
    }
    areas = ("projected_area_px",)
    for name in ("state", "presence_eligible", "geometry_eligible", "confidence", "reason"):
        outcome.same(name, outcome.got[name], case.expected[name])
    expected, got = case.expected["diagnostics"], outcome.got["diagnostics"]
    outcome.same("diagnostics", sorted(got), sorted(expected))
    for name, value in expected.items():
        tolerance = case.tolerance["areas" if name in areas else "fractions"]
        if isinstance(value, float):
            outcome.close(name, got.get(name), value, rel=tolerance.get("rel", 0.0), abs_=tolerance.get("abs", 0.0))
        else:
            outcome.same(name, got.get(name), value)
    return outcome


def _diagnostics(
    found: opis.Sighting,
    projected: opis.Sighting,
    at: opis.Projections,
    size: Any,
    area: float,
    inputs: Mapping[str, Any],
) -> Result:
    """What the published code reports beside the state, from the same functions."""
    reason = opis.Why(found.reason(0, 0))
    if reason is opis.Why.OBSERVED_SMALL:
        return {"observed_area_px": area}
    if reason is opis.Why.OBSERVED:
        told = inputs["evidence"] is not None and inputs["geometry_required"]
        state = opis.State(int(projected.state[0, 0])).name.lower() if told else None
        return {"observed_area_px": area, "visibility_evidence": "direct_observation", "projection_state": state}
    if found.state[0, 0] in (opis.State.EVALUATOR_FAILURE, opis.State.UNRELIABLE_CAMERA_POSE):
        return {}
    seen = sampled_visibility(at.pixels, at.depth, at.seen_depth, size, confidence=at.confidence, with_area=True)
    said: Result = {"visibility_evidence": "input_only_projection", "projected_inside_fraction": float(seen.inside[0])}
    if reason is not opis.Why.OUTSIDE:
        said["projected_area_px"] = float(seen.area[0])
        if reason is not opis.Why.PROJECTED_SMALL:
            said |= {"occluded_fraction": float(seen.occluded[0]), "visible_fraction": float(seen.visible[0])}
    return said


def static_geometry(case: Case) -> Outcome:
    """C4: the static structure of one object in one frame; the batched form must agree to the bit."""
    inputs, outcome = case.inputs, Outcome()
    names = "reference_pixels", "current_pixels"
    reference, current = (np.asarray(inputs[name], dtype=np.float64).reshape(-1, 2) for name in names)
    if inputs["homography"] is not None:
        matches = opis.Correspondences.by_homography(reference, current, inputs["homography"])
    else:
        residual = np.asarray(inputs["residual_px"], dtype=np.float64)
        matches = opis.Correspondences(reference, current, residual, inputs["error_space"] == "source_pixels")
    boxes = inputs["reference_bbox"], inputs["observed_bbox"]
    found = opis.static_structure(matches, *boxes)
    outcome.got = {
        "selected": found.selected.tolist(),
        "coverage": found.coverage,
        "n_selected": int(found.selected.sum()),
        "raw_px": found.median_px,
        "rho": found.rho,
        "score": found.score,
    }
    for name, value in case.expected.items():
        if name in ("selected", "n_selected"):
            outcome.same(name, outcome.got[name], value)
        else:
            rel = case.tolerance["coverage" if name == "coverage" else "rho/score"]["rel"]
            outcome.close(name, outcome.got[name], value, rel=rel)
    if boxes[1] is not None:
        box = [[np.nan] * 4 if boxes[0] is None else boxes[0]]
        batched = opis.static_scores([matches], box, [[boxes[1]]], [[True]])[0][0, 0]
        same = math.isnan(batched) if found.score is None else batched == found.score
        outcome.expect(same, f"the batched form gives {batched}, the single one {found.score}")
    return outcome


def pose_structure(case: Case) -> Outcome:
    """C5: the proportions of a body; the batched form of Eq. 5 must agree."""
    reference, current = case.inputs["reference"], case.inputs["current"]

    def run() -> opis.PoseStructure:
        bodies = [opis.landmarks(b["profile"], b["points"], b["edges"], b["reason"]) for b in (reference, current)]
        return opis.pose_structure(*bodies)

    if case.raises is not None:
        about = {"profiles": "profile", "skeletons": "skeleton", "finite": "finite"}
        return _refused(run, next(word for key, word in about.items() if key in case.raises["message"]))
    found, outcome = run(), Outcome()
    errors = {f"{a}:{b}": error for (a, b), error in found.errors.items()}
    outcome.got = {
        "score": found.score,
        "coverage": found.coverage,
        "family_scores": {} if found.score is None else {"landmark_proportions": found.score},
        "reason": found.reason,
        "n_reference_eligible": found.n_reference,
        "n_evaluable": found.n_shared,
        "n_template_edges": found.n_template,
        "reference_coverage": found.reference_coverage,
        "edge_log_errors": errors,
        "evidence_type": "pose_moge_landmark_proportions",
        "profile": reference["profile"],
    }
    if found.log_scale is not None:
        outcome.got["log_scale"] = found.log_scale
    outcome.same("fields", sorted(outcome.got), sorted(case.expected))
    _compare(outcome, case, case.tolerance["score"])
    return outcome


def paper_formula(case: Case) -> Outcome:
    """C7: the paper's formula from what was measured in each frame, in both readings of Eq. 5."""
    outcome = Outcome()
    if "frames" not in case.inputs:
        parts = (case.inputs[f"{name}_percent"] / 100 for name in "PIS")
        outcome.got = {"OPIS": opis.opis_score(*parts)}
        outcome.close("OPIS", outcome.got["OPIS"], case.expected["OPIS"], abs_=case.tolerance["OPIS"]["abs"])
        return outcome
    frames = case.inputs["frames"]
    found = opis.case_components(*_frames(frames, "log"))
    plain = opis.case_components(*_frames(frames, "ratio"))
    outcome.got = {
        "P": found.presence,
        "I": found.identity,
        "C_S": found.coverage,
        "S_mean": found.structure_mean,
        "S": found.structure,
        "OPIS": found.opis,
        "n_FP": found.n_presence,
        "n_FI": found.n_identity,
        "n_FS": found.n_structure,
        "S_plain_ratio_variant": plain.structure,
        "OPIS_plain_ratio_variant": plain.opis,
        "S_mean_plain_ratio_variant": plain.structure_mean,
    }
    for name, value in case.expected.items():
        tolerance = case.tolerance.get(name.split("_", 1)[0], case.tolerance["S"])
        outcome.close(name, outcome.got[name], value, abs_=0.0 if name.startswith("n_") else tolerance["abs"])
    return outcome


def _frames(frames: Sequence[Mapping[str, Any]], form: Any) -> tuple[Any, ...]:
    """Expected, matched, extras, cosines and structures as arrays."""
    names = sorted({name for frame in frames for name in (*frame["expected"], *frame["matched"])})
    shape = len(frames), len(names)
    flags = (
        np.array([[name in frame[key] for name in names] for frame in frames], dtype=bool).reshape(shape)
        for key in ("expected", "matched")
    )
    structures = [
        [
            math.exp(-one["rho"] / 0.05) if "rho" in one else float(opis.proportion_scores(one["ratios"], form=form))
            for one in frame["structure"]
        ]
        for frame in frames
    ]
    extras = np.array([frame["extras"] for frame in frames], dtype=np.int64)
    return *flags, extras, _padded([frame["cos"] for frame in frames]), _padded(structures)


def _padded(rows: Sequence[Sequence[float]]) -> np.ndarray:
    out = np.full((len(rows), max([len(row) for row in rows], default=0)), np.nan)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


ADAPTERS: dict[str, Adapter] = {
    "C_opis/C1_association": association,
    "C_opis/C2_hungarian": hungarian,
    "C_opis/C3_visibility": visibility,
    "C_opis/C4_static_geometry": static_geometry,
    "C_opis/C5_pose_structure": pose_structure,
    "C_opis/C7_paper_formula": paper_formula,
}
