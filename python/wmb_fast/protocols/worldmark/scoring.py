# SPDX-License-Identifier: Apache-2.0
"""From evidence to score records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._walls.errors import bad_value
from ..evidence import Evidence, Need
from ..measure import NotThereError, plain
from ..record import Score, Status
from .constants import COMPAT_FPS, LOCAL_FEWEST_FRAMES
from .following import action_metrics
from .local import local_delta, local_frames, local_memory, own_step
from .measure import Measure, Signal, in_words, missing, without
from .report import PUBLISHED_NAN
from .revisit import revisit_frames
from .segments import KEYS
from .view import Rollout, cuts_of

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

    Flow and cuts at first; once flow is there, features of exactly the frames that Local and Revisit sample. Under
    ``compat`` features of the whole rollout, for the frames Local samples depend on the other rollouts of the set.
    ``parallax`` and ``quality`` are used where they are there.
    """
    wanted = [Need("flow"), Need("cuts")]
    if "flow" not in evidence.channels:
        return wanted
    frames = None if compat else _sampled_frames(Rollout(evidence, compat))
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
        local_delta = _set_delta([r.flow for r in rollouts if "flow" in r.evidence.channels])
    return [record for rollout in rollouts for record in _records(rollout, local_delta)]


def _set_delta(flows: Sequence[tuple[Signal, Signal]]) -> float:
    return local_delta((h, r, np.arange(len(h)) / COMPAT_FPS) for h, r in flows)


def local_curves(evidence: Evidence) -> dict[str, np.ndarray]:
    """What Local needs of a rollout when its set is complete: a few arrays, to be stored. Empty without flow."""
    if "flow" not in evidence.channels:
        return {}
    flow = evidence.channels["flow"].values
    kept = {"horizontal": flow["horizontal"], "radial": flow["radial"], "n_frames": evidence.facts.n_frames}
    if "features" in evidence.channels:
        features = evidence.channels["features"].values
        kept |= {"feature_frames": features["frames"], "feature_mean": features["mean"]}
    if "cuts" in evidence.channels:
        cuts = evidence.channels["cuts"].values
        kept |= {"cut_frames": cuts["frames"], "n_scenes": cuts["n_scenes"]}
    return {name: np.asarray(value) for name, value in kept.items()}


def local_over_set(records: Sequence[Score], curves: Mapping[str, Mapping[str, np.ndarray]]) -> list[Score]:
    """Under ``compat`` Local depends on the whole set: its records again, with the set's sampling step.

    Args:
        records: Any records; those of ``compat`` Local memory are scored again, the others are returned as they are.
        curves: Rollout to :func:`local_curves`, of every rollout of the set, whatever records there are.
    """
    flows = [(c["horizontal"], c["radial"]) for c in curves.values() if c]
    delta = _set_delta(flows)
    return [_over_set(record, curves.get(record.rollout) or {}, delta) for record in records]


def _over_set(record: Score, curve: Mapping[str, np.ndarray], delta: float) -> Score:
    wanted = record.protocol == NAME and record.metric == "local_memory" and record.compat
    if not wanted or "feature_mean" not in curve:
        return record
    cuts = {"frames": curve["cut_frames"], "n_scenes": curve["n_scenes"]} if "cut_frames" in curve else {}
    measure = local_memory(
        curve["horizontal"],
        curve["radial"],
        curve["feature_frames"],
        curve["feature_mean"],
        cuts_of(cuts),
        n_frames=int(curve["n_frames"]),
        step=delta,
        compat=True,
    )
    return replace(record, **_as_fields(measure))


def _records(rollout: Rollout, delta: float | None) -> list[Score]:
    make = _Maker(rollout)
    records = make.segments()
    records.append(make.one("local_memory", {}, ("flow", "cuts", "features"), lambda: rollout.local(delta)))
    records.append(make.one("revisit_memory", {}, ("flow", "features"), rollout.revisit))
    not_built = "not_built: this version has no Global memory"
    records.append(make.one("global_memory", {}, (), lambda: missing(not_built)))
    for metric, name in _QUALITIES:
        records.append(make.one(metric, {}, ("quality",), lambda name=name: _quality(rollout, name)))
    return records


def _quality(rollout: Rollout, name: str) -> Measure:
    value = float(rollout.channel("quality")[name])
    return Measure(value, "", 1, 1) if math.isfinite(value) else without(f"not_finite: {name} is {value}", 1)


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
            **_as_fields(found),
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
        records = []
        for j, (action, key) in enumerate(zip(actions, self.rollout.keys, strict=True)):
            part = {"segment": j, "action": str(action)}
            if key is not None:
                part |= {"key": key, "family": KEYS[key].family, "axis": KEYS[key].axis}
            sideways = key is not None and KEYS[key].family != "fwd"
            for metric in SEGMENT_METRICS:
                if metric == "response_latency" and j == 0:
                    continue
                measure = found[metric].get(j) or without(f"no_key: WorldMark has no key for {action}")
                with_depth = ("parallax",) if sideways and metric.startswith("direction") else ()
                records.append(self.one(metric, part, ("flow", *with_depth), lambda measure=measure: measure))
        return records

    def _action_metrics(self) -> dict[str, dict[int, Measure]]:
        rollout = self.rollout
        horizontal, radial = rollout.flow
        parallax = rollout.parallax() if "parallax" in rollout.evidence.channels else None
        metrics = action_metrics(
            horizontal, radial, rollout.keys, rollout.timeline(), parallax=parallax, compat=rollout.compat
        )
        return {metric: getattr(metrics, metric) for metric in SEGMENT_METRICS}


def _as_fields(measure: Measure) -> dict[str, Any]:
    """The fields of a record that come from a measure, as strict JSON."""
    detail = {name: plain(value) for name, value in measure.detail.items()}
    value, status, reason = measure.value, measure.status, in_words(measure.reason)
    if measure.is_nan:
        value, status, reason = None, Status.NOT_EVALUABLE, "not_finite: the published evaluator gives NaN"
        detail[PUBLISHED_NAN] = True
    return {
        "value": value,
        "status": status,
        "reason": reason,
        "n_used": measure.n_used,
        "n_total": measure.n_total,
        "detail": detail,
    }
