# SPDX-License-Identifier: Apache-2.0
"""What was found of every reference object in every frame: the table that both contracts score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .association import Association, Flags, Indices, associate
from .bank import Bank, Observations
from .described import Floats
from .structure import Correspondences, static_scores
from .visibility import Projections, Sighting, State, classify, direct_areas, project

Texts = npt.NDArray[np.str_]


@dataclass(frozen=True)
class Measured:
    """Dynamic structure: M scores, each of a frame, a reference and the observation that was compared with it.

    Attributes:
        frame, instance, observed: (M,) int64; ``observed`` counts over all observations.
        score: (M,): NaN where the evidence leaves none.
    """

    frame: Indices
    instance: Indices
    observed: Indices
    score: Floats

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[int, int, int, float]]) -> Measured:
        """Of (frame, instance, observed, score), one a measurement."""
        table = np.array(rows, dtype=np.float64).reshape(-1, 4)
        frame, instance, observed = table[:, :3].T.astype(np.int64)
        return cls(frame, instance, observed, table[:, 3])


@dataclass(frozen=True)
class Case:
    """All that is known of one rollout.

    Attributes:
        bank: R reference objects.
        observations: In T frames.
        frame_scored: (T,) bool: whether the frame's camera was found.
        projections: Reference points taken into frames, or what :func:`~.visibility.look` made of depth maps; ``None``
            where there is no geometry.
        matches: (T): each frame's correspondences with the input, or ``None``.
        dynamic: Structure of the dynamic track; ``None`` where none was measured.
    """

    bank: Bank
    observations: Observations
    frame_scored: Flags
    projections: Projections | Sighting | None = None
    matches: Sequence[Correspondences | None] = ()
    dynamic: Measured | None = None

    @classmethod
    def without_geometry(cls, bank: Bank, observations: Observations, dynamic: Measured | None = None) -> Case:
        """A case that detections alone speak of."""
        return cls(bank, observations, np.zeros(len(observations), dtype=bool), dynamic=dynamic)


@dataclass(frozen=True)
class Rows:
    """T frames by R references.

    Attributes:
        observed: (T, R) int64: the matched observation, -1 for none.
        presence: (T, R): 1 matched, 0 missed, NaN where nothing can be said.
        identity: (T, R): of what is present; NaN else.
        geometry: (T, R): static structure; structure: dynamic structure; NaN where there is none.
        sighting: What is known of each object's visibility.
        measured: (T, R): what measuring static structure came to; empty where it was not tried.
        association: The assignment.
        n_unmatched: (T,) int64: observations without a reference.
        evaluable: (T,) bool: whether these are confirmed extras: no object of the frame is unaccounted for.
        projectable: (R,) bool: of the static track.
        dynamic_wanted: Whether dynamic structure was measured at all.
    """

    observed: Indices
    presence: Floats
    identity: Floats
    geometry: Floats
    structure: Floats
    sighting: Sighting
    measured: Texts
    association: Association
    n_unmatched: Indices
    evaluable: Flags
    projectable: Flags
    dynamic_wanted: bool

    @property
    def extras(self) -> Indices:
        """(T,): confirmed extras."""
        return np.where(self.evaluable, self.n_unmatched, 0)

    @property
    def present(self) -> Flags:
        """(T, R): matched where presence counts."""
        return np.asarray(self.presence == 1.0)

    @property
    def structures(self) -> Floats:
        """(T, R): static or dynamic, as each object is judged."""
        return np.where(np.isnan(self.geometry), self.structure, self.geometry)

    def reason(self, frame: int, instance: int) -> str:
        """Why this object's row in this frame is as it is."""
        if self.presence[frame, instance] == 0.0:
            return "expected_visible_missing"
        if self.present[frame, instance] and self.projectable[instance]:
            return str(self.measured[frame, instance]) or "geometry_unavailable_for_visible_instance"
        return self.sighting.reason(frame, instance)

    @property
    def unknown(self) -> Flags:
        """(T, R): neither present, missed, outside, occluded nor too small."""
        return np.isnan(self.presence) & ~self.sighting.gone


def observe(case: Case) -> Rows:
    """Associates, decides visibility and measures structure, all frames at once: sections 4.1 to 4.3.

    In each frame objects that projection shows outside, occluded or too small are set aside; the others are associated
    with what was detected; then detection and projection together say what should be seen.

    Args:
        case: Of one rollout.

    Returns:
        :class:`Rows`.

    Raises:
        ArgumentError: Parts of the case that do not go together.
    """
    bank, seen = case.bank, case.observations
    shape = (len(seen), len(bank))
    projected = _projected(case, shape)
    first = classify(projected, bank.projectable, case.frame_scored)
    candidates = ~first.gone
    found = associate(bank.described, seen.described, seen.starts, candidates=None if candidates.all() else candidates)
    matched = found.observed >= 0
    boxes = seen.boxes.take(found.observed, axis=0) if len(seen.boxes) else np.empty((*shape, 4))
    boxes[~matched] = np.nan
    areas = direct_areas(boxes, seen.sizes[:, None, :])
    sighting = classify(projected, bank.projectable, case.frame_scored, areas, matched)
    presence = np.where(sighting.presence_eligible, matched.astype(np.float64), np.nan)
    present = presence == 1.0
    identity = np.where(present, np.maximum(found.cosine, 0.0), np.nan)
    wanted = present & bank.projectable & sighting.geometry_eligible & case.frame_scored[:, None]
    geometry, why = static_scores(case.matches or [None] * shape[0], bank.boxes, boxes, wanted)
    counts = np.diff(seen.starts)
    accounted = ~np.isnan(presence) | sighting.among(State.OUTSIDE_VIEW, State.OCCLUDED)
    return Rows(
        observed=found.observed,
        presence=presence,
        identity=identity,
        geometry=geometry,
        structure=_dynamic(case, found, present),
        sighting=sighting,
        measured=why,
        association=found,
        n_unmatched=counts - matched.sum(axis=1),
        evaluable=np.asarray(accounted.all(axis=1) & (shape[1] > 0)),
        projectable=bank.projectable,
        dynamic_wanted=case.dynamic is not None,
    )


def _projected(case: Case, shape: tuple[int, int]) -> Sighting:
    if isinstance(case.projections, Sighting):
        return case.projections
    return project(case.projections or _no_projections(), *shape, case.observations.sizes)


def _no_projections() -> Projections:
    none, nothing = np.empty(0, dtype=np.int64), np.empty((0, 1))
    flags = np.empty(0, dtype=bool)
    return Projections(none, none, np.empty((0, 1, 2)), nothing, nothing, nothing, none, np.empty(0), flags, flags)


def _dynamic(case: Case, found: Association, present: Flags) -> Floats:
    """Scores of the pairs that were associated; an ambiguous association is no ground for one."""
    structure = np.full(present.shape, np.nan)
    if case.dynamic is not None:
        frame, instance = case.dynamic.frame, case.dynamic.instance
        fits = found.observed[frame, instance] == case.dynamic.observed
        fits &= (present & case.bank.is_dynamic & ~found.ambiguous)[frame, instance]
        structure[frame[fits], instance[fits]] = case.dynamic.score[fits]
    return structure
