# SPDX-License-Identifier: Apache-2.0
"""From evidence to score records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ..._walls.errors import bad_value
from ..evidence import Evidence, Need
from ..measure import NotThereError
from ..record import Score
from .action import NO_DEPTH
from .constants import LOCAL_FEWEST_FRAMES
from .following import action_metrics
from .kept import set_delta
from .local import local_frames, own_step
from .measure import Measure, without
from .ratings import quality_frames
from .records import as_fields
from .revisit import revisit_frames
from .segments import KEYS
from .view import Rollout

NAME = "worldmark"
SEGMENT_METRICS = ("direction_accuracy", "direction_purity", "motion_stability", "response_latency")
VERSIONS = {
    **dict.fromkeys(SEGMENT_METRICS, 1),
    "local_memory": 1,
    "revisit_memory": 1,
    "global_memory": 1,
    "perceptual_quality": 1,
    "aesthetic_quality": 1,
}
_QUALITIES = (("perceptual_quality", "quality"), ("aesthetic_quality", "aesthetic"))


def needs(evidence: Evidence, *, compat: bool = False) -> list[Need]:
    """What this protocol wants to know of a rollout, given what is known.

    Flow, cuts, geometry and ratings of one frame a second, and the depth of the frames that tell sideways motion from
    turning; once that is there, the flow of every pixel of these; once flow is there, features of exactly the frames
    that Local and Revisit sample. Under ``compat`` features of the whole rollout, for the frames Local samples depend
    on the other rollouts of the set.
    """
    rollout, n = Rollout(evidence, compat), evidence.facts.n_frames
    wanted = [Need("flow"), Need("cuts")]
    with suppress(NotThereError):
        wanted.append(Need("quality", tuple(quality_frames(n, rollout.fps))))
    with suppress(NotThereError):
        wanted.append(Need("geometry", tuple(rollout.global_frames)))
    with suppress(NotThereError):
        wanted.extend(parallax_needs(rollout))
    if "flow" not in evidence.channels:
        return wanted
    with suppress(NotThereError):
        frames = None if compat else _sampled_frames(rollout)
        if compat or frames:
            wanted.append(Need("features", frames))
    return wanted


def _sampled_frames(rollout: Rollout) -> tuple[int, ...]:
    horizontal, radial = rollout.flow
    frames: set[int] = set()
    if len(horizontal):
        with suppress(NotThereError):
            walked = local_frames(horizontal, radial, own_step(horizontal, radial, rollout.fps))
            frames.update(walked if len(walked) >= LOCAL_FEWEST_FRAMES else ())
        with suppress(NotThereError):
            frames.update(revisit_frames(rollout.reversals))
    return tuple(sorted({min(frame, rollout.facts.n_frames - 1) for frame in frames}))


def parallax_needs(rollout: Rollout) -> list[Need]:
    """Depth and the flow fields that go with it; a field runs from a frame to the one a stride later."""
    frames = sorted({frame for chosen in rollout.parallax_frames.values() for frame in chosen})
    if not frames or "parallax" in rollout.evidence.channels:
        return []
    if rollout.depth_channel() is None:
        return [Need("depth", tuple(frames))]
    ends = {frame + rollout.stride for frame in frames}
    return [Need("flow_fields", tuple(sorted({*frames, *ends})))]


def score(
    evidence: Evidence | Sequence[Evidence], *, compat: bool = False, local_delta: float | None = None
) -> list[Score]:
    """The score records of one rollout, or of a set.

    Args:
        evidence: Of one rollout, or of several.
        compat: The published evaluator's numbers, bugs included.
        local_delta: Under ``compat``, Local's sampling step in pixels; ``None`` takes, as published, the median over
            the rollouts given. See :func:`local_over_set` for a set that is not at hand in one call.

    Returns:
        For every segment direction accuracy, purity and stability, for every switch latency, for every rollout local,
        revisit and global memory, perceptual and aesthetic quality. Direction accuracy is in [-1, 1], purity, stability
        and latency in [0, 1], memory in [0, 100], quality in [1, 5].

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols import worldmark
        >>> from wmb_fast.protocols.evidence import Channel, Evidence, Maker
        >>> from wmb_fast.rollout.plan import Action, Facts, Plan, Step
        >>> plan = Plan("ahead", (Step(Action.FORWARD),))
        >>> facts = Facts("mine/000_001", "mine", "000_001", plan, 322, 16.0, 1280, 720)
        >>> maker = Maker("flow", "external", "external", "by hand")
        >>> values = {"horizontal": np.zeros(320), "radial": np.ones(320), "stride": 2, "grid": (640, 432)}
        >>> records = worldmark.score(Evidence(facts, {"flow": Channel(values, maker)}))
        >>> records[0].metric, round(records[0].value, 6), records[0].part["axis"]
        ('direction_accuracy', 1.0, 'translation')
        >>> records[3].metric, records[3].reason
        ('local_memory', 'cuts: no detector ran')
    """
    if local_delta is not None and not compat:
        raise bad_value("score", "local_delta", "be None unless compat is true", local_delta)
    rollouts = [Rollout(item, compat) for item in ([evidence] if isinstance(evidence, Evidence) else evidence)]
    if compat and local_delta is None:
        local_delta = set_delta([r.flow for r in rollouts if "flow" in r.evidence.channels])
    return [record for rollout in rollouts for record in _records(rollout, local_delta)]


def _records(rollout: Rollout, delta: float | None) -> list[Score]:
    make = _Maker(rollout)
    records = make.segments()
    records.append(make.one("local_memory", {}, ("flow", "cuts", "features"), lambda: rollout.local(delta)))
    records.append(make.one("revisit_memory", {}, ("flow", "features"), rollout.revisit))
    records.append(make.one("global_memory", {}, ("geometry",), rollout.global_memory))
    for metric, name in _QUALITIES:
        records.append(make.one(metric, {}, ("quality",), lambda name=name: rollout.quality(name)))
    return records


@dataclass(frozen=True)
class _Maker:
    """Makes the records of one rollout."""

    rollout: Rollout

    def one(self, metric: str, part: Mapping[str, Any], channels: Sequence[str], measure: Any) -> Score:
        """One record; ``measure`` is called, and may find that something is not there."""
        try:
            found = measure()
        except NotThereError as absent:
            found = absent.measure
        facts, there = self.rollout.facts, self.rollout.evidence.channels
        makers = [there[name].maker for name in channels if name in there]
        return Score(
            rollout=facts.rollout,
            model=facts.model,
            case=facts.case,
            protocol=NAME,
            metric=metric,
            part=part,
            definition=f"{NAME}.{metric}/{VERSIONS[metric]}",
            compat=self.rollout.compat,
            estimators=[{"role": m.role, "id": m.id, "tier": m.tier, "fingerprint": m.fingerprint} for m in makers],
            **as_fields(found),
        )

    def segments(self) -> list[Score]:
        """The action metrics, by segment in the order of time."""
        try:
            actions = self.rollout.actions
        except NotThereError as absent:
            why = absent.measure
            return [self.one(metric, {}, ("flow",), lambda: why) for metric in SEGMENT_METRICS]
        try:
            found = self._action_metrics()
        except NotThereError as absent:
            found = dict.fromkeys(SEGMENT_METRICS, dict.fromkeys(range(len(actions)), absent.measure))
        records, by_depth = [], self.rollout.parallax_makers()
        for j, (action, key) in enumerate(zip(actions, self.rollout.keys, strict=True)):
            part = {"segment": j, "action": str(action)}
            if key is not None:
                part |= {"key": key, "family": KEYS[key].family, "axis": KEYS[key].axis}
            sideways = key is not None and KEYS[key].family != "fwd"
            for metric in SEGMENT_METRICS:
                if metric == "response_latency" and j == 0:
                    continue
                measure = found[metric].get(j) or without(f"no_key: WorldMark has no key for {action}")
                with_depth = by_depth if sideways and metric.startswith("direction") else ()
                records.append(self.one(metric, part, ("flow", *with_depth), lambda measure=measure: measure))
        return records

    def _action_metrics(self) -> dict[str, dict[int, Measure]]:
        rollout = self.rollout
        horizontal, radial = rollout.flow
        metrics = action_metrics(
            horizontal, radial, rollout.keys, rollout.timeline(), parallax=rollout.parallax(), compat=rollout.compat
        )
        why = rollout.no_depth()
        found = {metric: dict(getattr(metrics, metric)) for metric in SEGMENT_METRICS}
        for measures in found.values() if why else ():
            for j, measure in measures.items():
                if measure.reason == NO_DEPTH:
                    measures[j] = replace(measure, reason=f"{NO_DEPTH}, and {why}")
        return found
