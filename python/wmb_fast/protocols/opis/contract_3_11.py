# SPDX-License-Identifier: Apache-2.0
"""Contract ``3.11-strict-frame-presence-provisional``: what the released code computes, not the paper's formula.

Identity is the mean over instances of their means, without a gate; structure is drawn towards 0.5 where little was
measured, and has no coverage; the score is a product of powers, in which one component of 0 makes all 0. Where there is
no evidence the released code answers 0, and says so in a status.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._walls.errors import bad_value
from .association import Flags
from .bank import Bank, Observations
from .constants import PRIOR_MEAN, PRIOR_STRENGTH, WEIGHTS
from .described import Floats
from .rows import Rows
from .visibility import State

NAME = "3.11-strict-frame-presence-provisional"
NO_EVIDENCE = "no_evidence_zero_fallback"
Metrics = dict[str, Any]


def metrics(rows: Rows, bank: Bank, observations: Observations) -> Metrics:
    """The metrics of one case, by the names that the released code gives them.

    Args:
        rows: Of :func:`~.rows.observe`.
        bank, observations: What they were made of.

    Returns:
        Counts are ints, statuses text, scores floats or ``None``. The ``v3_…structur…`` scores are there only where
        dynamic structure was measured.

    Source:
        The released evaluator, SSStarain/OPIS at e1fb0e98.
    """
    found = _presence(rows) | _identity(rows, bank, observations)
    found["core_2d_score"] = 100.0 * math.sqrt(found["presence_score"] * found["identity_score"])
    found["v3_reference_projective_score"] = _mean(_instance_means(rows.geometry))
    return found | (_structure(rows, bank) if rows.dynamic_wanted else {})


def _presence(rows: Rows) -> Metrics:
    has_rows = rows.presence.shape[1] > 0
    evaluable = rows.evaluable if has_rows else rows.evaluable[:0]
    known = ~np.isnan(rows.presence)
    tp, fn = int((rows.presence == 1.0).sum()), int((rows.presence == 0.0).sum())
    fp = int(rows.extras.sum())
    accounted = rows.sighting.among(State.OUTSIDE_VIEW, State.OCCLUDED)
    missing = int((~known & ~accounted).sum())
    extra = int(rows.n_unmatched[~rows.evaluable].sum()) if has_rows else 0
    f1 = _ratio(2 * tp, 2 * tp + fp + fn + missing + extra)
    all_evaluable = bool(evaluable.all())
    strict = _mean(_strict_frames(rows))
    strict_f1 = f1 if all_evaluable else None
    evidence = bool(known.any())
    status = NO_EVIDENCE if not evidence else "partial_fp_evidence" if strict_f1 is None else "complete_fp_evidence"
    return {
        "presence_true_positive": tp,
        "presence_false_negative": fn,
        "presence_false_positive": fp,
        "presence_unverified_missing": missing,
        "presence_unverified_extra": extra,
        "presence_recall": _ratio(tp, tp + fn + missing),
        "presence_precision": _ratio(tp, tp + fp + extra) if all_evaluable else None,
        "presence_f1": f1 or 0.0,
        "presence_score": strict or 0.0,
        "presence_score_known_evidence": _ratio(2 * tp, 2 * tp + fp + fn) or 0.0,
        "presence_f1_strict": strict_f1,
        "presence_score_status": status,
        "presence_f1_frame_macro": _mean(_frame_f1(rows)),
        "presence_strict_frame_macro": strict,
        "presence_evidence_coverage": _ratio(int(known.sum()), known.size),
        "false_positive_evidence_coverage": _ratio(int(evaluable.sum()), len(evaluable)),
        "presence_recall_instance_macro": _mean(_instance_means(rows.presence)),
    }


def _strict_frames(rows: Rows) -> Floats:
    """1 where nothing is missing and no extra confirmed; of the frames of which anything is known."""
    known = (~np.isnan(rows.presence)).any(axis=1)
    bad = (rows.presence == 0.0).any(axis=1) | (rows.extras > 0)
    return np.where(bad, 0.0, 1.0)[known | (rows.extras > 0)]


def _frame_f1(rows: Rows) -> Floats:
    tp, fn = (rows.presence == 1.0).sum(axis=1), (rows.presence == 0.0).sum(axis=1)
    of = 2 * tp + fn + rows.extras
    counts = rows.evaluable & (of > 0)
    return np.asarray(2 * tp[counts] / of[counts])


def _identity(rows: Rows, bank: Bank, observations: Observations) -> Metrics:
    measured = ~np.isnan(rows.identity)
    sure = measured & ~rows.association.ambiguous
    by_instance = _instance_means(rows.identity)
    score = _mean(by_instance)
    certain = _instance_means(np.where(sure, rows.identity, np.nan))
    return {
        "identity_score": score or 0.0,
        "identity_score_unambiguous": _mean(certain),
        "identity_unambiguous_rows": int(sure.sum()),
        "identity_unambiguous_instances": len(certain),
        "identity_score_status": NO_EVIDENCE if score is None else "observed",
        "set_identity_score": _set_identity(rows.identity, bank),
        "identity_evidence_coverage": _ratio(int(measured.sum()), int(rows.present.sum())),
        "identity_ambiguity_rate": _ratio(int((measured & rows.association.ambiguous).sum()), int(measured.sum())),
        "identity_swap_rate": _swap_rate(rows, measured, bank, observations),
    }


def _set_identity(identity: Floats, bank: Bank) -> float | None:
    """Of each ambiguity group, the mean over frames of the means over its members; their mean over groups."""
    groups = sorted({group for group in bank.groups if group})
    means = []
    for group in groups:
        members = np.array([one == group for one in bank.groups])
        by_frame = _instance_means(identity[:, members].T)
        if len(by_frame):
            means.append(float(by_frame.sum() / len(by_frame)))
    return _mean(np.array(means))


def _swap_rate(rows: Rows, measured: Flags, bank: Bank, observations: Observations) -> float | None:
    """How often a track of the observer's goes over from one reference (or group) to another."""
    last: dict[str, str] = {}
    steps = swaps = 0
    for frame, row in np.argwhere(measured).tolist():
        track = observations.tracks[int(rows.observed[frame, row])]
        if track is None or not track:
            continue
        group = bank.groups[row]
        name = f"group:{group}" if group else bank.ids[row]
        if track in last:
            steps += 1
            swaps += last[track] != name
        last[track] = name
    return _ratio(swaps, steps)


def _structure(rows: Rows, bank: Bank) -> Metrics:
    dynamic = bank.is_dynamic
    candidates = dynamic | bank.projectable
    quality = np.where(dynamic, rows.structure, rows.geometry)
    found: Metrics = {}
    for name, coverage, prior_only, chosen in (
        ("v3_input_structure_score", "v3_structure_coverage", "v3_structure_prior_only_instances", dynamic),
        (
            "v3_structural_quality_score",
            "v3_structural_quality_coverage",
            "v3_quality_prior_only_instances",
            candidates,
        ),
    ):
        values = quality[:, chosen]
        count = (~np.isnan(values)).sum(axis=0)
        total = np.nansum(values, axis=0)
        shrunk = (total + PRIOR_STRENGTH * PRIOR_MEAN) / (count + PRIOR_STRENGTH)
        has_rows = values.shape[0] > 0
        found[f"{name}_raw"] = _mean(_instance_means(values))
        found[name] = _mean(shrunk) if has_rows else None
        found[f"{name}_coverage_adjusted"] = _mean(total / values.shape[0]) if has_rows else None
        found[coverage] = _ratio(int(count.sum()), values.size)
        found[prior_only] = int((count == 0).sum()) if has_rows else 0
    return found


def full_igm(found: Mapping[str, Any]) -> Metrics:
    """The released code's overall score: ``100 P^.2 I^.4 Q^.4``.

    Q is the structural quality where dynamic structure was measured, else the static geometry; without either the score
    is ``100 P^.2 I^.8``. A component that is ``None`` counts as 0.

    Args:
        found: Of :func:`metrics`, or as much of it as matters.

    Returns:
        ``full_igm_score``, ``full_igm_score_mode`` and ``effective_score_weights``.

    Raises:
        ArgumentError: A component outside [0, 1], or NaN.

    Example:
        >>> found = full_igm({"presence_score": 1.0, "identity_score": 0.25, "v3_reference_projective_score": None})
        >>> round(found["full_igm_score"], 4)
        32.9877
    """
    w_presence, w_identity, w_third = WEIGHTS
    name = "v3_structural_quality_score"
    mode, label = "presence_identity_structural_quality", "structural_quality"
    if found.get(name) is None:
        name, mode, label = "v3_reference_projective_score", "presence_identity_geometry", "geometry"
    third = found.get(name)
    weights = {"presence": w_presence, "identity": w_identity, label: w_third}
    if third is None:
        mode = "presence_identity_fallback"
        weights = {"presence": w_presence, "identity": w_identity + w_third, label: 0.0}
    score = 100.0
    for key, value, weight in zip(
        ("presence_score", "identity_score", name),
        (found.get("presence_score"), found.get("identity_score"), third),
        weights.values(),
        strict=True,
    ):
        if value is not None and not 0 <= value <= 1:
            raise bad_value("full_igm", key, "lie between 0 and 1", value)
        if weight > 0:
            score *= (value or 0.0) ** weight
    return {"full_igm_score": score, "full_igm_score_mode": mode, "effective_score_weights": weights}


def _instance_means(values: Floats) -> Floats:
    """The mean of each column over what is not NaN; columns without any are left out."""
    there = ~np.isnan(values)
    count = there.sum(axis=0)
    total = np.where(there, values, 0.0).sum(axis=0)
    return np.asarray(total[count > 0] / count[count > 0])


def _mean(values: Floats) -> float | None:
    return float(values.sum() / len(values)) if len(values) else None


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
