# SPDX-License-Identifier: Apache-2.0
"""From evidence to score records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..._walls.errors import ArgumentError
from ..evidence import Evidence, Need
from ..measure import Measure, NotThereError, missing, plain
from ..record import Score
from .checklist import judged_frames
from .constants import (
    CAMERA,
    CERTAINTY,
    DYNAMIC,
    ENVIRONMENT,
    NAME,
    QUALITY,
    STATIC,
    VERSIONS,
)
from .options import Options
from .quality import quality_frames
from .revisits import Revisits
from .view import Rollout

_CHANNELS = {
    "human_identity": ("tracks", "faces"),
    "human_appearance": ("tracks", "appearance"),
    "object_appearance": ("tracks", "appearance"),
    "object_geometry": ("tracks",),
    "environment_visible": ("features",),
    "environment_depth": ("depth", "geometry"),
    "environment_reconstruction": ("geometry",),
    **dict.fromkeys(CAMERA, ("poses",)),
    **dict.fromkeys(QUALITY, ("frame_quality",)),
    **dict.fromkeys(DYNAMIC, ("checklist", "judge")),
}


def needs(evidence: Evidence, *, compat: bool = False, options: Options | None = None) -> list[Need]:
    """What this protocol wants to know of a rollout, given its plan and category.

    Features and depth of the reference and the returns alone; faces of V and the returns; ratings of every fourth
    frame; tracks, appearance, geometry, poses, a checklist and a judge's reply where the category has a use for them.
    """
    rollout = Rollout(evidence, options or Options())
    names = dict.fromkeys(name for metric in rollout.metrics for name in _CHANNELS[metric])
    wanted = []
    for name in names:
        if name in ("features", "depth", "faces"):
            try:
                wanted.append(Need(name, rollout.face_frames() if name == "faces" else rollout.wanted_frames()))
            except NotThereError:
                continue
        elif name == "frame_quality":
            wanted.append(Need(name, quality_frames(evidence.facts.n_frames)))
        elif name == "judge":
            wanted.append(Need(name, judged_frames(evidence.facts.n_frames)))
        else:
            wanted.append(Need(name))
    return wanted


def score(
    evidence: Evidence | Sequence[Evidence], *, compat: bool = False, options: Options | None = None
) -> list[Score]:
    """The score records of one rollout, or of a set.

    Args:
        evidence: Of one rollout, or of several.
        compat: Marks the records; there is no published evaluator to be compatible with, so the numbers are the same.
        options: How what the paper leaves open is settled.

    Returns:
        For every metric that the rollout's category has (all static ones where it is not known) a record of the whole
        video, and for static memory and Camera Following one of each revisit. Memory and quality are in [0, 1], camera
        errors in the target's unit and in degrees a step. Every record's ``detail`` says in ``certainty`` what of it is
        EXACT and what RECONSTRUCTED.

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols import worldmembench
        >>> from wmb_fast.protocols.evidence import Channel, Evidence, Maker
        >>> from wmb_fast.rollout.plan import Facts
        >>> from wmb_fast.rollout.plans import named_plan
        >>> facts = Facts("mine/a", "mine", "environment/lrlr/case_1", named_plan("lrlr"), 101, 16.0, 832, 464)
        >>> view = {"frames": np.array([0, 60, 100]), "mean": np.float32([[1, 0], [1, 0], [0.6, 0.8]])}
        >>> maker = Maker("features", "dinov2", "external", "by hand")
        >>> records = worldmembench.score(Evidence(facts, {"features": Channel(view, maker)}))
        >>> [(r.part.get("revisit"), round(r.value, 6)) for r in records if r.metric == "environment_visible"]
        [(None, 0.8), (1, 1.0), (2, 0.6)]
        >>> records[3].metric, records[3].reason
        ('environment_depth', 'depth: not in the evidence')
    """
    chosen = options or Options()
    rollouts = [Rollout(item, chosen) for item in ([evidence] if isinstance(evidence, Evidence) else evidence)]
    return [record for rollout in rollouts for record in _Maker(rollout, compat).records()]


@dataclass(frozen=True)
class _Maker:
    """Makes the records of one rollout."""

    rollout: Rollout
    compat: bool

    def records(self) -> list[Score]:
        made: list[Score] = []
        for metric in self.rollout.metrics:
            if metric in STATIC:
                made += self._static(metric)
            elif metric in CAMERA:
                made += self._camera(metric)
            elif metric in QUALITY:
                made.append(self._one(metric, None, lambda metric=metric: self.rollout.quality(metric)))
            else:
                made.append(self._one(metric, None, lambda metric=metric: self._dynamic(metric)))
        return made

    def _static(self, metric: str) -> list[Score]:
        try:
            numbers = [revisit.number for revisit in self.rollout.course.revisits]
            found = self._revisits(metric)
        except NotThereError as absent:
            why = absent.measure
            return [self._one(metric, None, lambda: why)]
        records = [self._one(metric, None, found.video)]
        for k, number in enumerate(numbers):
            measure = self._with_angles(found.measure(k), k) if metric in ENVIRONMENT else found.measure(k)
            records.append(self._one(metric, number, lambda measure=measure: measure))
        return records

    def _revisits(self, metric: str) -> Revisits:
        rollout = self.rollout
        ways = dict(zip(ENVIRONMENT, (rollout.visible, rollout.depth, rollout.reconstruction), strict=True))
        try:
            return ways[metric]() if metric in ways else rollout.entity(metric)
        except ArgumentError as error:  # evidence of a shape that no metric takes
            raise NotThereError(missing(f"{_CHANNELS[metric][-1]}: {error}")) from error

    def _with_angles(self, measure: Measure, k: int) -> Measure:
        """Departure and return beside a score of the environment, where there are poses."""
        try:
            angles, _ = self.rollout.angles
        except NotThereError:
            return measure
        said = {"departure_deg": float(angles.departure_deg[k]), "return_deg": float(angles.return_deg[k])}
        detail = {**measure.detail, **said}
        return Measure(measure.value, measure.reason, measure.n_used, measure.n_total, detail, measure.status)

    def _camera(self, metric: str) -> list[Score]:
        try:
            found = self.rollout.following
        except NotThereError as absent:
            why = absent.measure
            return [self._one(metric, None, lambda: why)]
        which = CAMERA.index(metric)
        records = [self._one(metric, None, lambda: (found.translation, found.rotation)[which])]
        for revisit, window in zip(self.rollout.revisits, found.windows, strict=True):
            records.append(self._one(metric, revisit.number, lambda window=window: window[which]))
        return records

    def _dynamic(self, metric: str) -> Measure:
        found = self.rollout.dynamic
        if metric == "event_started":
            return found.started
        return found.overall if metric == "dynamic_overall" else found.aspects[metric.removeprefix("dynamic_")]

    def _one(self, metric: str, revisit: int | None, measure: Any) -> Score:
        """One record; ``measure`` is called, and may find that something is not there."""
        try:
            found = measure()
        except NotThereError as absent:
            found = absent.measure
        facts, there = self.rollout.facts, self.rollout.evidence.channels
        spoke = _CHANNELS[metric]
        if metric == "human_identity" and self.rollout.finds_faces and not len(self.rollout.followed_people):
            spoke = ("faces",)  # a tracker that follows no people has no part in it
        makers = [there[name].maker for name in spoke if name in there]
        part: Mapping[str, Any] = {"trajectory": self.rollout.trajectory}
        part = part if revisit is None else {**part, "revisit": revisit}
        return Score(
            rollout=facts.rollout,
            model=facts.model,
            case=facts.case,
            protocol=NAME,
            metric=metric,
            part=part,
            value=found.value,
            status=found.status,
            reason=found.reason,
            n_used=found.n_used,
            n_total=found.n_total,
            definition=f"{NAME}.{metric}/{VERSIONS[metric]}",
            compat=self.compat,
            estimators=[{"role": m.role, "id": m.id, "tier": m.tier, "fingerprint": m.fingerprint} for m in makers],
            detail={"certainty": CERTAINTY[metric], **self.rollout.options.said(metric), **plain(found.detail)},
        )
