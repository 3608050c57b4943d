# SPDX-License-Identifier: Apache-2.0
"""Whether a reference object should be seen in a frame: by projecting it, or because it was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.checks import trailing
from ..._walls.errors import bad_value
from ...ops.reproject import project as project_points
from ...ops.visibility import Visibility, sampled_visibility, visibility
from .association import Flags, Indices
from .constants import (
    FEWEST_QUERIES,
    MIN_AREA_PX,
    MIN_CAMERA_CONFIDENCE,
    MIN_DEPTH_CONFIDENCE,
    MIN_DEPTH_COVERAGE,
    MIN_INSIDE,
    MIN_OCCLUDED,
    MIN_VISIBLE,
    OCCLUSION,
)
from .described import Array, Floats

Codes = npt.NDArray[np.uint8]
_LIMITS: dict[str, Any] = {
    "min_inside": MIN_INSIDE,
    "min_area": MIN_AREA_PX,
    "occlusion": OCCLUSION,
    "min_visible": MIN_VISIBLE,
    "min_occluded": MIN_OCCLUDED,
    "min_coverage": MIN_DEPTH_COVERAGE,
    "min_confidence": MIN_DEPTH_CONFIDENCE,
}


class State(IntEnum):
    """What is known of an object in a frame."""

    EVALUATOR_FAILURE = 0
    UNRELIABLE_CAMERA_POSE = 1
    OUTSIDE_VIEW = 2
    TOO_SMALL = 3
    OCCLUDED = 4
    INSUFFICIENT_BASELINE = 5
    EXPECTED_VISIBLE = 6


class Why(StrEnum):
    """Why an object has its state."""

    NO_EVIDENCE = "missing_instance_visibility_evidence"
    NOT_INPUT_ONLY = "reference_projection_not_input_only"
    CAMERA = "unreliable_camera_pose"
    NO_BOUNDS = "missing_frame_bounds"
    FEW_QUERIES = "insufficient_projection_queries"
    NOT_FINITE = "invalid_projection_values"
    OUTSIDE = "projected_outside_view"
    PROJECTED_SMALL = "projected_instance_too_small"
    DEPTH = "insufficient_depth_evidence"
    OCCLUDED = "depth_occluded"
    UNDECIDED = "neither_visible_nor_occluded"
    BASELINE = "insufficient_baseline"
    PROJECTED = "projected_expected_visible"
    BAD_BOX = "invalid_observed_bbox"
    OBSERVED_SMALL = "observed_instance_too_small"
    OBSERVED = "direct_observation"


REASONS = tuple(Why)
_AT = {why: i for i, why in enumerate(REASONS)}
_GONE = (State.OUTSIDE_VIEW, State.OCCLUDED, State.TOO_SMALL)  # these leave the assignment


@dataclass(frozen=True)
class Projections:
    """Reference points taken into frames, for M pairs of a frame and an object, with up to Q points each.

    Attributes:
        frame, instance: (M,) int64: which frame, and which reference.
        pixels: (M, Q, 2); depth: (M, Q), in the frame's camera; seen_depth: (M, Q), the frame's own, on one scale.
        confidence: (M, Q): of ``seen_depth``.
        lengths: (M,) int64: how many points there are.
        camera_confidence: (M,).
        input_only: (M,) bool: whether the points come from the input image alone.
        baseline_sufficient: (M,) bool.
    """

    frame: Indices
    instance: Indices
    pixels: Array
    depth: Array
    seen_depth: Array
    confidence: Array
    lengths: Indices
    camera_confidence: Floats
    input_only: Flags
    baseline_sufficient: Flags

    @classmethod
    def of_records(cls, told: Sequence[tuple[int, int, Mapping[str, Any]]]) -> Projections:
        """Projections of (frame, instance, record), records being like those of a geometry artefact.

        A record has ``projected_pixels`` and ``projected_depth``, or ``reference_points_3d``, ``world_to_camera`` and
        ``intrinsics``; ``current_depth``, ``depth_confidence``, ``camera_confidence``, ``reference_source``, and
        perhaps ``baseline_sufficient``. ``None`` in place of a number is one that was not finite.
        """
        at = [_projected(one) for _, _, one in told]
        longest = max([len(z) for _, z in at], default=1)

        def padded(rows: Sequence[Any], *tail: int) -> Floats:
            out = np.zeros((len(rows), longest, *tail))
            for i, row in enumerate(rows):
                out[i, : len(row)] = np.array(row, dtype=np.float64)
            return out

        confidence = [one.get("depth_confidence", [1.0] * len(one["current_depth"])) for _, _, one in told]
        return cls(
            np.array([t for t, _, _ in told], dtype=np.int64),
            np.array([i for _, i, _ in told], dtype=np.int64),
            padded([pixels for pixels, _ in at], 2),
            padded([z for _, z in at]),
            padded([one["current_depth"] for _, _, one in told]),
            padded(confidence),
            np.array([len(z) for _, z in at], dtype=np.int64),
            np.array([one.get("camera_confidence") for _, _, one in told], dtype=np.float64),
            np.array([one.get("reference_source") == "input_only" for _, _, one in told], dtype=bool),
            np.array([one.get("baseline_sufficient", True) for _, _, one in told], dtype=bool),
        )


def _projected(one: Mapping[str, Any]) -> tuple[Floats, Floats]:
    if "projected_pixels" in one:
        pixels = np.array(one["projected_pixels"], dtype=np.float64).reshape(-1, 2)
        return pixels, np.array(one["projected_depth"], dtype=np.float64)
    arrays = (np.array(one[k], dtype=np.float64) for k in ("reference_points_3d", "intrinsics", "world_to_camera"))
    points, intrinsics, to_camera = arrays
    found = project_points(points, intrinsics, to_camera)
    depth = points @ to_camera[2, :3] + to_camera[2, 3]
    # A point behind the camera is outside, and not invalid: any finite pixel says so.
    return np.where((depth <= 0)[:, None], -1.0, found.pixels), depth


@dataclass(frozen=True)
class Sighting:
    """What is known of R objects in T frames; all (T, R).

    Attributes:
        state: uint8, a :class:`State`.
        why: uint8: the place of the reason in ``REASONS``.
        confidence: Of the state; 0 where the evaluator failed.
        presence_eligible: Whether an object may be missed there.
        geometry_eligible: Whether its geometry may be judged there.
        known: Whether there was any evidence to project.
    """

    state: Codes
    why: Codes
    confidence: Floats
    presence_eligible: Flags
    geometry_eligible: Flags
    known: Flags

    @property
    def gone(self) -> Flags:
        """Confirmed outside, occluded or too small."""
        return self.among(*_GONE)

    def among(self, *states: State) -> Flags:
        """(T, R): whether the state is one of these."""
        is_one = np.zeros(len(State), dtype=bool)
        is_one[list(states)] = True
        return is_one.take(self.state)

    def reason(self, frame: int, instance: int) -> str:
        """Why this object has its state in this frame."""
        return str(REASONS[int(self.why[frame, instance])])


def _decided(shape: tuple[int, ...], rules: Mapping[Why, tuple[State, Flags]]) -> tuple[Codes, Codes]:
    """States and the places of their reasons: of reasons in rising precedence, the last that holds."""
    state, why = np.zeros(shape, np.uint8), np.full(shape, _AT[Why.NO_EVIDENCE], np.uint8)
    for reason, (what, where) in rules.items():
        state[where], why[where] = what, _AT[reason]
    return state, why


def _sighting(state: Codes, why: Codes, trust: Floats, known: Flags) -> Sighting:
    failed = (state == State.EVALUATOR_FAILURE) | (state == State.UNRELIABLE_CAMERA_POSE)
    visible = state == State.EXPECTED_VISIBLE
    eligible = visible | (state == State.INSUFFICIENT_BASELINE)
    return Sighting(state, why, np.where(failed, 0.0, trust), eligible, visible, known)


def project(projections: Projections, n_frames: int, n_references: int, frame_sizes: npt.ArrayLike) -> Sighting:
    """What projected points say.

    An object is outside where fewer than 30 % of its points fall into the frame in front of the camera, too small where
    their hull has fewer than 16 square pixels, and not decided where fewer than 70 % of those inside have a trusted
    depth. It is to be seen where at least 30 % of all points are not hidden by something at 95 % of their depth or
    nearer, and occluded where at least 70 % are. Before that: the points must come from the input alone, the camera be
    trusted to 0.65, the frame have a size, and there be four points, all finite.

    Args:
        projections: At most one a frame and object.
        n_frames, n_references: T and R.
        frame_sizes: (T, 2): width and height; 0 or NaN where they are not known.

    Returns:
        A :class:`Sighting`; pairs without a projection are an evaluator's failure, without evidence.

    Raises:
        ArgumentError: Sizes that do not fit, a frame or reference that is not there.

    Source:
        OPIS (arXiv 2609.35052), section 4.1; thresholds of its released evaluator.
    """
    shape = n_frames, n_references
    sizes = np.asarray(frame_sizes, dtype=np.float64)
    if sizes.shape != (n_frames, 2):
        raise bad_value("project", "frame_sizes", f"have shape {(n_frames, 2)}", sizes.shape)
    at = projections.frame, projections.instance
    _check_places(at, shape)
    with np.errstate(invalid="ignore"):
        trust = np.clip(np.where(np.isfinite(projections.camera_confidence), projections.camera_confidence, 0.0), 0, 1)
        bounded = np.asarray((sizes > 0).all(axis=1))[projections.frame]
    found = sampled_visibility(
        projections.pixels, projections.depth, projections.seen_depth, sizes.take(projections.frame, axis=0),
        confidence=projections.confidence, lengths=projections.lengths, **_LIMITS,
    )  # fmt: skip
    unknown = found.state == Visibility.UNKNOWN
    with np.errstate(invalid="ignore"):
        uncovered = unknown & (found.known < MIN_DEPTH_COVERAGE)
    told = _of_states(found.state) | {
        Why.UNDECIDED: (State.EVALUATOR_FAILURE, unknown),
        Why.DEPTH: (State.EVALUATOR_FAILURE, uncovered),
        Why.BASELINE: (
            State.INSUFFICIENT_BASELINE,
            (found.state == Visibility.VISIBLE) & ~projections.baseline_sufficient,
        ),
        Why.NOT_FINITE: (State.EVALUATOR_FAILURE, unknown & np.isnan(found.inside)),
        Why.FEW_QUERIES: (State.EVALUATOR_FAILURE, projections.lengths < FEWEST_QUERIES),
        Why.NO_BOUNDS: (State.EVALUATOR_FAILURE, ~bounded),
        Why.CAMERA: (State.UNRELIABLE_CAMERA_POSE, trust < MIN_CAMERA_CONFIDENCE),
        Why.NOT_INPUT_ONLY: (State.EVALUATOR_FAILURE, ~projections.input_only),
    }
    return _spread(*_decided(trust.shape, told), trust, at, shape)


def look(
    points: Array | Sequence[Array],
    depth: Array,
    intrinsics: Array,
    T_cam_reference: Array,
    *,
    confidence: Array | None = None,
    camera_confidence: npt.ArrayLike = 1.0,
) -> Sighting:
    """The same where each frame's camera and depth map are at hand: :func:`~wmb_fast.visibility` of all objects.

    Args:
        points: (R, Q, 3): points on each object, in the reference camera's coordinates; or R arrays (Q_i, 3).
        depth: (T, H, W): of each frame, on the scale of ``points``.
        intrinsics: (T, 3, 3) or (T, 4), or one for all.
        T_cam_reference: (T, 4, 4): maps the reference camera's coordinates into the frame's.
        confidence: (T, H, W): of ``depth``.
        camera_confidence: (T,), or one for all.

    Raises:
        ArgumentError, ArgumentTypeError: As :func:`~wmb_fast.visibility`.
    """
    if isinstance(points, np.ndarray):
        states = visibility(points, depth, intrinsics, T_cam_reference, confidence=confidence, **_LIMITS)
    else:
        states = np.full((len(depth), len(points)), Visibility.UNKNOWN, dtype=np.uint8)
        counts = np.array([len(each) for each in points], dtype=np.int64)
        for count in np.unique(counts).tolist():  # those of as many points go together
            some = np.flatnonzero(counts == count)
            stack = np.stack([np.asarray(points[i], dtype=depth.dtype) for i in some.tolist()])
            states[:, some] = visibility(stack, depth, intrinsics, T_cam_reference, confidence=confidence, **_LIMITS)
    given = np.asarray(camera_confidence, dtype=np.float64)
    if given.shape not in ((), (len(depth),)):
        raise bad_value("look", "camera_confidence", f"be one number, or have shape ({len(depth)},)", given.shape)
    trust = np.broadcast_to(given, len(depth))
    trust = np.clip(np.where(np.isfinite(trust), trust, 0.0), 0, 1)[:, None] * np.ones(len(points))
    told = _of_states(states) | {
        Why.UNDECIDED: (State.EVALUATOR_FAILURE, states == Visibility.UNKNOWN),
        Why.CAMERA: (State.UNRELIABLE_CAMERA_POSE, trust < MIN_CAMERA_CONFIDENCE),
    }
    return _sighting(*_decided(states.shape, told), trust, np.ones(states.shape, dtype=bool))


def _of_states(states: Codes) -> dict[Why, tuple[State, Flags]]:
    return {
        Why.PROJECTED: (State.EXPECTED_VISIBLE, states == Visibility.VISIBLE),
        Why.OCCLUDED: (State.OCCLUDED, states == Visibility.OCCLUDED),
        Why.PROJECTED_SMALL: (State.TOO_SMALL, states == Visibility.TOO_SMALL),
        Why.OUTSIDE: (State.OUTSIDE_VIEW, states == Visibility.OUTSIDE),
    }


def _spread(state: Codes, why: Codes, trust: Floats, at: tuple[Indices, Indices], shape: tuple[int, int]) -> Sighting:
    """What is known of M pairs, over all T x R."""
    states, whys = _decided(shape, {})
    known, everywhere = np.zeros(shape, dtype=bool), np.zeros(shape)
    flat = at[0] * shape[1] + at[1]
    for table, told in ((states, state), (whys, why), (known, True), (everywhere, trust)):
        table.reshape(-1)[flat] = told
    return _sighting(states, whys, everywhere, known)


def _check_places(at: tuple[Indices, Indices], shape: tuple[int, int]) -> None:
    for name, where, size in zip(("frame", "instance"), at, shape, strict=True):
        if len(where) and (where.min() < 0 or where.max() >= size):
            raise bad_value("project", name, f"lie within 0 to {size - 1}", f"{where.min()} to {where.max()}")
    if len(at[0]) and np.bincount(at[0] * shape[1] + at[1]).max() > 1:
        raise bad_value("project", "projections", "name each frame and object once", "one of them twice")


def direct_areas(boxes: npt.ArrayLike, frame_sizes: npt.ArrayLike) -> Floats:
    """The area (...) of boxes (..., 4) x0, y0, x1, y1 within frames of width and height (..., 2), in square pixels.

    A frame whose size is not known (0 or NaN) does not clip. NaN for a box that is not finite; 0 for one turned inside
    out.

    Example:
        >>> float(direct_areas([-50, -50, 3, 5], [100, 80])), float(direct_areas([-50, -50, 3, 5], [np.nan, np.nan]))
        (15.0, 2915.0)
    """
    box, size = np.asarray(boxes, dtype=np.float64), np.asarray(frame_sizes, dtype=np.float64)
    trailing("direct_areas", "boxes", box, (4,))
    trailing("direct_areas", "frame_sizes", size, (2,))
    x0, y0, x1, y1 = np.ascontiguousarray(np.moveaxis(box, -1, 0))  # NumPy is slow along an axis of four
    with np.errstate(invalid="ignore"):
        known = (size[..., 0] > 0) & (size[..., 1] > 0)
        sides = []
        for low, high, limit in ((x0, x1, size[..., 0]), (y0, y1, size[..., 1])):
            low, high = np.where(known, np.maximum(low, 0.0), low), np.where(known, np.minimum(high, limit), high)
            sides.append(np.maximum(high - low, 0.0))
    finite = np.isfinite(x0) & np.isfinite(y0) & np.isfinite(x1) & np.isfinite(y1)
    return np.where(finite, sides[0] * sides[1], np.nan)


def classify(
    projected: Sighting,
    required: npt.ArrayLike,
    frame_scored: npt.ArrayLike,
    areas: npt.ArrayLike | None = None,
    seen: npt.ArrayLike | None = None,
) -> Sighting:
    """What projection and detection say together.

    Only objects of the static track may be projected, and only into frames whose camera was found; there, what is
    confirmed outside, occluded or too small stays so even where something was matched to it. Otherwise a matched box of
    at least 16 square pixels proves that the object is to be seen, and a smaller one that it is too small.

    Args:
        projected: Of :func:`project` or :func:`look`.
        required: (R,) bool: of the static track.
        frame_scored: (T,) bool: the frame's camera was found.
        areas: (T, R): of the matched boxes, NaN where one is not finite; see :func:`direct_areas`.
        seen: (T, R) bool: where a box was matched.

    Source:
        OPIS (arXiv 2609.35052), section 4.1, and its released evaluator.
    """
    shape = projected.state.shape
    usable = np.asarray(required, bool)[None, :] & np.asarray(frame_scored, bool)[:, None] & projected.known
    seen = np.zeros(shape, dtype=bool) if seen is None else np.asarray(seen, bool)
    area = np.full(shape, np.nan) if areas is None else np.asarray(areas, dtype=np.float64)
    direct = seen & ~(usable & projected.gone)
    with np.errstate(invalid="ignore"):
        shown, small, broken = direct & (area >= MIN_AREA_PX), direct & (area < MIN_AREA_PX), direct & np.isnan(area)
    by_projection = usable & ~direct
    state = np.where(by_projection, projected.state, np.uint8(State.EVALUATOR_FAILURE))
    why = np.where(by_projection, projected.why, np.uint8(_AT[Why.NO_EVIDENCE]))
    confidence = np.where(by_projection, projected.confidence, 0.0)
    for where, what, reason, trust in (
        (shown, State.EXPECTED_VISIBLE, Why.OBSERVED, 1.0),
        (small, State.TOO_SMALL, Why.OBSERVED_SMALL, 1.0),
        (broken, State.EVALUATOR_FAILURE, Why.BAD_BOX, 0.0),
    ):
        state[where], why[where], confidence[where] = what, _AT[reason], trust
    vouched = np.asarray(required, bool)[None, :] & np.asarray(frame_scored, bool)[:, None]
    geometry = (by_projection & projected.geometry_eligible) | (
        shown & vouched & (~projected.known | projected.geometry_eligible)
    )
    presence = (by_projection & projected.presence_eligible) | shown
    return Sighting(state, why, confidence, presence, geometry, projected.known)
