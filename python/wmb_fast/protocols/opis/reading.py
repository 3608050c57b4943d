# SPDX-License-Identifier: Apache-2.0
"""From what a rollout's files say, read as plain data, to a case of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._walls.checks import real
from ..._walls.errors import bad_value
from .bank import Bank, Observations
from .claims import Claim, Judgement, Verdict, claim_structure
from .constants import FIRST_SECOND, MIN_CLAIM_CONFIDENCE, STRIDE
from .pose import Landmarks, landmarks, pose_structure
from .records import check_projection, check_structure, frames_of, mapping
from .rows import Case, Measured
from .structure import Correspondences
from .visibility import Projections

Record = Mapping[str, Any]
IN_PIXELS = "source_pixels"


def sampled_frames(n_frames: int, fps: float) -> range:
    """The frames that the paper evaluates: every eighth after the first second.

    Source:
        OPIS (arXiv 2609.35052), sections 5.1 and F.1, table 12.

    Example:
        >>> len(sampled_frames(300, 30.0)), sampled_frames(160, 16.0)
        (34, range(16, 160, 8))
    """
    return range(round(FIRST_SECOND * real("sampled_frames", "fps", fps, above=0)), n_frames, STRIDE)


def case_of(
    reference: Record, observation: Record, geometry: Record | None = None, structure: Record | None = None
) -> Case:
    """A case of the records in OPIS's own files.

    Args:
        reference: Of ``reference_scene.json``.
        observation: Of ``video_observation.json``.
        geometry: A geometry artefact of schema version 3: frames by index, with correspondences and the projections of
            the reference objects.
        structure: A structure artefact of schema version 1: claims, judgements, landmarks.

    Raises:
        ArgumentError: Ids that stand twice, records that do not go together, numbers that are none.
    """
    objects: Any = mapping("reference", reference).get("objects")
    windows: Any = mapping("observation", observation).get("windows")
    bank = Bank.of_records(objects)
    seen = Observations.of_records(windows, bank.vocabulary)
    dynamic = None if structure is None else dynamic_structure(structure, bank, seen)
    if geometry is None:
        return Case.without_geometry(bank, seen, dynamic)
    frames = frames_of(geometry, seen.frames.tolist())
    at = {name: i for i, name in enumerate(bank.ids)}
    told = [
        (t, at[name], one)
        for t, frame in enumerate(frames)
        for name, one in ((frame or {}).get("instance_visibility") or {}).items()
        if name in at
    ]
    for t, i, one in told:
        check_projection(f"geometry.frames.{seen.frames[t]}.instance_visibility.{bank.ids[i]}", one)
    scored = np.array([frame is not None and frame["status"] == "scored" for frame in frames], dtype=bool)
    matches = [None if frame is None else correspondences(frame) for frame in frames]
    return Case(bank, seen, scored, Projections.of_records(told), matches, dynamic)


def correspondences(frame: Record) -> Correspondences:
    """The matches of one frame of a geometry artefact; ``None`` in place of a number is one that was not finite."""
    told = ([] if frame.get(name) is None else frame[name] for name in ("reference_pixels", "current_pixels"))
    reference, current = (np.array(pixels, dtype=np.float64).reshape(-1, 2) for pixels in told)
    if len(reference) != len(current):
        raise bad_value("opis", "current_pixels", f"be as many as reference_pixels ({len(reference)})", len(current))
    in_pixels = frame.get("error_space") == IN_PIXELS
    errors = frame.get("reprojection_errors")
    if errors is None and frame.get("homography") is not None:
        found = Correspondences.by_homography(reference, current, frame["homography"])
        return Correspondences(found.reference, found.current, found.residual, in_pixels)
    residual = np.full(len(reference), np.inf) if errors is None else np.array(errors, dtype=np.float64)
    if len(residual) != len(reference):
        raise bad_value("opis", "reprojection_errors", f"be as many as the pixels ({len(reference)})", len(residual))
    return Correspondences(reference, current, residual, in_pixels)


def dynamic_structure(structure: Record, bank: Bank, seen: Observations) -> Measured:
    """Scores of a structure artefact: landmarks where an object has them, claims where not, or where they give none.

    Claims stand in for landmarks only where the artefact's configuration says so (``articulated_fallback: vlm``).
    """
    check_structure(structure)
    config = (structure.get("metadata") or {}).get("structure_config") or {}
    sure = float(config.get("min_confidence", MIN_CLAIM_CONFIDENCE))
    may_fall_back = config.get("articulated_fallback") == "vlm"
    bodies = {str(name): _body(record) for name, record in (structure.get("pose_references") or {}).items()}
    scores: dict[tuple[str, str, str], float] = {}
    for item in structure.get("pose_measurements") or ():
        reference = bodies.get(str(item["reference_id"]))
        if reference is None:
            raise bad_value("opis", "pose_measurements", "be of objects with landmarks", repr(item["reference_id"]))
        score = pose_structure(reference, _body(item["record"])).score
        if score is not None:
            scores[_key(item)] = score
    claims: dict[str, list[Claim]] = {}
    for claim in structure.get("claims") or ():
        one = Claim(str(claim["fact_id"]), str(claim["family"]), float(claim["confidence"]))
        claims.setdefault(str(claim["reference_id"]), []).append(one)
    answers: dict[tuple[str, str, str], list[Judgement]] = {}
    for item in structure.get("judgments") or ():
        answers.setdefault(_key(item), []).append(_judgement(item))
    for key, said in answers.items():
        if key not in scores and (may_fall_back or key[1] not in bodies):
            found = claim_structure(claims.get(key[1], []), said, min_confidence=sure).score
            if found is not None:
                scores[key] = found
    return _measured(scores, bank, seen)


def _key(item: Record) -> tuple[str, str, str]:
    return str(item["window_id"]), str(item["reference_id"]), str(item["observed_id"])


def _body(record: Record) -> Landmarks:
    return landmarks(record["profile"], record["points"], record["edges"], record.get("reason") or "ok")


def _judgement(item: Record) -> Judgement:
    said = item.get("status")
    if said not in set(Verdict):
        raise bad_value("opis", f"status of {item['fact_id']}", "be one of " + ", ".join(Verdict), repr(said))
    return Judgement(str(item["fact_id"]), Verdict(said), float(item["confidence"]), bool(item.get("visible", True)))


def _measured(scores: Mapping[tuple[str, str, str], float], bank: Bank, seen: Observations) -> Measured:
    window = {name: t for t, name in enumerate(seen.windows)}
    instance = {name: i for i, name in enumerate(bank.ids)}
    at = {(t, seen.ids[k]): k for t in range(len(seen)) for k in range(*seen.starts[t : t + 2].tolist())}
    rows: list[tuple[int, int, int, float]] = []
    for (w, r, o), score in scores.items():
        if w not in window or r not in instance or (window[w], o) not in at:
            raise bad_value(
                "opis", "structure", "be of windows, objects and observations of this case", f"{w}, {r}, {o}"
            )
        rows.append((window[w], instance[r], at[window[w], o], score))
    return Measured.of_rows(rows)
