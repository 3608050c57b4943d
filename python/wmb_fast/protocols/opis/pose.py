# SPDX-License-Identifier: Apache-2.0
"""Dynamic structure by landmarks: are the proportions of a body's segments those of the input?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..._walls.checks import one_of, real, shape_text
from ..._walls.errors import bad_value
from .constants import (
    FEWEST_SEGMENTS,
    MIN_LANDMARK_CONFIDENCE,
    MIN_SEGMENT_COVERAGE,
    POSE_TOLERANCE,
    SHORTEST_SEGMENT,
)
from .described import Floats
from .records import check_body

Form = Literal["log", "ratio"]

# The segments of the two bodies that pose networks are at hand for. COCO's 17 landmarks give ten between joints of a
# limb and across the trunk, AP-10K's eight along the four legs: RECONSTRUCTED, the paper counts them, and names none.
HUMAN = (
    ("left_shoulder", "right_shoulder"), ("left_shoulder", "left_elbow"), ("left_elbow", "left_wrist"),
    ("right_shoulder", "right_elbow"), ("right_elbow", "right_wrist"), ("left_hip", "right_hip"),
    ("left_hip", "left_knee"), ("left_knee", "left_ankle"), ("right_hip", "right_knee"), ("right_knee", "right_ankle"),
)  # fmt: skip
ANIMAL = (
    ("left_shoulder", "left_elbow"), ("left_elbow", "left_front_paw"), ("right_shoulder", "right_elbow"),
    ("right_elbow", "right_front_paw"), ("left_hip", "left_knee"), ("left_knee", "left_back_paw"),
    ("right_hip", "right_knee"), ("right_knee", "right_back_paw"),
)  # fmt: skip


@dataclass(frozen=True)
class Landmarks:
    """One body in one image.

    Attributes:
        profile: Whose skeleton it is: ``human``, ``animal``, …
        names: (L,): of the landmarks.
        points: (L, 3): where they are, lifted by the image's depth, in any unit; NaN rows where there is no depth.
        confidence: (L,).
        edges: Pairs of names: the segments.
        reason: Why there are no landmarks, where there are none.
    """

    profile: str
    names: Sequence[str]
    points: Floats
    confidence: Floats
    edges: Sequence[tuple[str, str]]
    reason: str = "ok"

    def lengths(self) -> dict[tuple[str, str], float]:
        """The segments that can be measured: both ends trusted and with depth, longer than nothing, not infinite."""
        at = {name: i for i, name in enumerate(self.names)}
        found = {}
        for edge in self.edges:
            ends = [at[name] for name in edge if name in at]
            if len(ends) == 2 and (self.confidence[ends] >= MIN_LANDMARK_CONFIDENCE).all():
                length = math.hypot(*(self.points[ends[0]] - self.points[ends[1]]).tolist())
                if SHORTEST_SEGMENT < length < math.inf:
                    found[edge] = length
        return found


@dataclass(frozen=True)
class PoseStructure:
    """What :func:`pose_structure` returns.

    Attributes:
        score: ``None`` where there is none; then ``reason`` says why.
        reason: ``scored``, ``insufficient_landmark_evidence``, or why an image has no landmarks.
        coverage: Shared segments over those that the input allows to measure.
        reference_coverage: These over all segments of the skeleton.
        n_template, n_reference, n_shared: How many there are of each.
        log_scale: The instance's one scale factor, removed; ``None`` without a score.
        errors: Segment to its deviation ``|r_e - median r|``.
    """

    score: float | None
    reason: str
    coverage: float
    reference_coverage: float
    n_template: int
    n_reference: int
    n_shared: int
    log_scale: float | None = None
    errors: Mapping[tuple[str, str], float] = field(default_factory=dict)


def proportion_scores(ratios: npt.ArrayLike, *, tolerance: float = POSE_TOLERANCE, form: Form = "log") -> Floats:
    """``mean_e exp(-|r_e - median r| / tau)`` over the last axis: Eq. 5.

    Args:
        ratios: (..., E): each segment's length now over its length in the input; NaN takes no part.
        tolerance: Tau of Eq. 5.
        form: ``log``: r is the ratio's logarithm, as the equation has it; ``ratio``: the ratio itself.

    Returns:
        (...): NaN where no ratio takes part.

    Example:
        >>> proportion_scores([[2.0, 2.0, 2.0], [1.0, 1.0, 3.0]]).round(6)
        array([1.      , 0.668038])
    """
    op = "proportion_scores"
    one_of(op, "form", form, ("log", "ratio"))
    real(op, "tolerance", tolerance, above=0)
    values = np.asarray(ratios, dtype=np.float64)
    if not values.ndim or (values < 0).any():
        got = shape_text(values) if not values.ndim else float(values.min())
        raise bad_value(op, "ratios", "be of shape (..., E), and no number below 0", got)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.log(values) if form == "log" else values
    r = np.where(np.isfinite(r), r, np.nan)
    there = np.isfinite(r)
    count = there.sum(axis=-1)
    middle = _median(r, count)
    kept = np.where(there, np.exp(-np.abs(r - middle[..., None]) / tolerance), 0.0)
    return np.where(count > 0, kept.sum(axis=-1) / np.maximum(count, 1), np.nan)


def _median(values: Floats, count: npt.NDArray[np.int64]) -> Floats:
    if values.shape[-1] == 0:
        return np.full(values.shape[:-1], np.nan)
    ranked = np.sort(values, axis=-1)  # NaN come last
    low, high = (np.maximum(count - 1, 0) // 2)[..., None], (count // 2)[..., None]
    high = np.minimum(high, values.shape[-1] - 1)
    low_value, high_value = (np.take_along_axis(ranked, k, axis=-1)[..., 0] for k in (low, high))
    return (low_value + high_value) / 2


def pose_structure(reference: Landmarks, current: Landmarks, *, tolerance: float = POSE_TOLERANCE) -> PoseStructure:
    """How well a body keeps the proportions that it has in the input: Eq. 5.

    Segments need ends of confidence 0.5 or more, with depth, and a length above 1e-8, in both images; there must be
    three of them, and half of those that the input allows to measure.

    Raises:
        ArgumentError: Two profiles, two skeletons, a landmark whose coordinates are not finite though it has depth.

    Source:
        OPIS (arXiv 2609.35052), Eq. 5, and its released evaluator.

    Example:
        >>> import numpy as np
        >>> names, edges = ("a", "b", "c", "d"), (("a", "b"), ("b", "c"), ("c", "d"))
        >>> body = Landmarks("human", names, np.diag([1.0, 2.0, 3.0])[[0, 1, 2, 0]], np.ones(4), edges)
        >>> larger = Landmarks("human", names, 2 * body.points, np.ones(4), edges)
        >>> pose_structure(body, larger).score
        1.0
    """
    real("pose_structure", "tolerance", tolerance, above=0)
    if reference.profile != current.profile:
        raise bad_value("pose_structure", "current", f"have the profile {reference.profile!r}", repr(current.profile))
    if len(current.names) and len(reference.names) and list(reference.edges) != list(current.edges):
        raise bad_value("pose_structure", "current", "have the skeleton of reference", "other segments")
    fixed, now = reference.lengths(), current.lengths()
    shared = [edge for edge in reference.edges if edge in fixed and edge in now]
    without = PoseStructure(
        score=None,
        reason="insufficient_landmark_evidence",
        coverage=len(shared) / len(fixed) if fixed else 0.0,
        reference_coverage=len(fixed) / len(reference.edges) if reference.edges else 0.0,
        n_template=len(reference.edges),
        n_reference=len(fixed),
        n_shared=len(shared),
    )
    for body in (reference, current):
        if not len(body.names):
            return replace(without, reason=body.reason)
    if len(shared) < FEWEST_SEGMENTS or without.coverage < MIN_SEGMENT_COVERAGE:
        return without
    r = np.log(np.array([now[edge] / fixed[edge] for edge in shared]))
    middle = float(np.median(r))
    errors = np.abs(r - middle)
    score = float(np.exp(-errors / tolerance).mean())
    named = dict(zip(shared, errors.tolist(), strict=True))
    return replace(without, score=score, reason="scored", log_scale=middle, errors=named)


def landmarks(
    profile: str,
    points: Sequence[Mapping[str, object]],
    edges: Sequence[Sequence[str]],
    reason: str = "ok",
) -> Landmarks:
    """Landmarks of the form ``{name, xyz or null, confidence}``.

    Raises:
        ArgumentError: A coordinate that is not finite, with the landmark's name; a landmark without a name or
            confidence, or twice; an edge that is no pair.
    """
    check_body("landmarks", {"profile": profile, "points": points, "edges": edges})
    names = [str(point["name"]) for point in points]
    xyz = np.full((len(points), 3), np.nan)
    for i, point in enumerate(points):
        for key in ("xyz", "xy"):
            where = point.get(key)
            if where is not None and not np.isfinite(np.asarray(where, dtype=np.float64)).all():
                raise bad_value("landmarks", f"{key} of {names[i]}", "be finite", where)
        if point.get("xyz") is not None:
            xyz[i] = np.asarray(point["xyz"], dtype=np.float64)
    confidence = np.array([float(point["confidence"]) for point in points], dtype=np.float64)  # type: ignore[arg-type]
    pairs = [(str(a), str(b)) for a, b in edges]
    return Landmarks(profile, names, xyz, confidence, pairs, reason)
