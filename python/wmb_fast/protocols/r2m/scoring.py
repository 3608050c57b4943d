# SPDX-License-Identifier: Apache-2.0
"""From evidence to score records: one a pair metric, and the rollout's overall score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..evidence import Evidence, Need
from ..record import Score, Status
from .constants import EPS, FAMILIES, KINDS, METRICS, PER_VIDEO_EPS, PLACE, Metric
from .gain import Means, dynamic_range, family_means, memory_gain, nan_mean, pair_mean
from .pairs import Pairs
from .view import NotThereError, Rollout

NAME = "r2m"
OVERALL = "overall"
VERSION = 1
PUBLISHED_NAN = "published_nan"  # in a record's detail: the published evaluator gives NaN or an infinity here


def needs(evidence: Evidence, *, compat: bool = False) -> list[Need]:
    """What this protocol wants to know of a rollout: each frame's and each pair's evidence, once.

    The pairs follow from what was commanded; without a pair nothing is asked for. Channels that the user handed in are
    taken as they are: a pair that they lack counts as missing.
    """
    try:
        pairs = Rollout(evidence, compat).pairs.unique()
    except NotThereError:
        return []
    frames = tuple(sorted({frame for pair in pairs for frame in pair}))
    wanted = []
    for metric in _metrics(compat):
        have = evidence.channels.get(metric.channel)
        if have is None or have.maker.tier != "external":
            by_frame = metric.value in ("features", "mean")
            need = Need(metric.channel, frames) if by_frame else Need(metric.channel, pairs=pairs)
            if need not in wanted:
                wanted.append(need)
    return wanted


def pairs_of(evidence: Evidence, *, compat: bool = False) -> tuple[Pairs | None, str]:
    """The pairs that a rollout is judged by, and an empty text; or ``None``, and why there are none."""
    try:
        return Rollout(evidence, compat).pairs, ""
    except NotThereError as absent:
        return None, absent.reason


def _metrics(compat: bool) -> tuple[Metric, ...]:
    return tuple(METRICS.values()) if compat else (*METRICS.values(), PLACE)


def score(evidence: Evidence | Sequence[Evidence], *, compat: bool = False) -> list[Score]:
    """The score records of one rollout, or of several.

    Args:
        evidence: Of one rollout, or of several.
        compat: The published evaluator's numbers, bugs included.

    Returns:
        For every rollout one record a pair metric (the eleven published ones, and by default ``place_similarity`` from
        the builtin descriptor) and ``overall``. A value is the rollout's own NMR; ``detail`` has the means over
        revisits, baselines and short pairs, MemoryGain and dynamic range. ``overall`` is the mean over the five
        families of the mean NMR of a family's metrics; by default it is missing unless all five have one, under
        ``compat`` families without a value are left out, as published.

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols import r2m
        >>> from wmb_fast.protocols.evidence import Channel, Evidence, Maker
        >>> from wmb_fast.rollout.plan import Action, Facts, Plan, Step
        >>> plan = Plan("there and back", (Step(Action.FORWARD), Step(Action.BACK)))
        >>> facts = Facts("mine/1", "mine", "1", plan, 241, 16.0, 848, 480)
        >>> frames = np.arange(241)
        >>> away = np.minimum(frames, 240 - frames) / 120
        >>> features = np.stack([np.cos(away), np.sin(away)], axis=1)
        >>> dino = Channel({"frames": frames, "features": features}, Maker("dino", "mine", "external", "1"))
        >>> records = {record.metric: record for record in r2m.score(Evidence(facts, {"dino": dino}))}
        >>> record = records["dino_similarity"]
        >>> record.status.value, record.part["template"], record.detail["revisit"] > record.detail["baseline"]
        ('ok', 'out_and_back', True)
        >>> records["psnr"].reason
        'fidelity: not in the evidence'
    """
    rollouts = [Rollout(item, compat) for item in ([evidence] if isinstance(evidence, Evidence) else evidence)]
    return [record for rollout in rollouts for record in _records(rollout)]


@dataclass(frozen=True)
class _Measure:
    """A value or the reason there is none, and what stands beside it."""

    value: float | None
    status: Status
    reason: str = ""
    n_used: int = 0
    n_total: int = 0
    detail: Mapping[str, Any] = field(default_factory=dict)


def _records(rollout: Rollout) -> list[Score]:
    measures = {metric.name: _measure(rollout, metric) for metric in _metrics(rollout.compat)}
    channels: dict[str, tuple[str, ...]] = {metric.name: (metric.channel,) for metric in _metrics(rollout.compat)}
    channels[OVERALL] = tuple(dict.fromkeys(m.channel for m in METRICS.values() if measures[m.name].value is not None))
    measures[OVERALL] = _overall(rollout, measures)
    return [_record(rollout, name, measure, channels[name]) for name, measure in measures.items()]


def _measure(rollout: Rollout, metric: Metric) -> _Measure:
    try:
        by_kind = rollout.pairs.kinds()
        n_total = sum(map(len, by_kind.values()))
        values = rollout.values(metric, np.concatenate(list(by_kind.values())))
    except NotThereError as absent:
        return _Measure(None, absent.status, absent.reason)
    found: dict[str, float | None] = {}
    n_used, told = 0, {}
    ends = np.cumsum([len(pairs) for pairs in by_kind.values()])[:-1]
    for kind, part in zip(KINDS, np.split(values, ends), strict=True):
        # A pair without evidence took no part in the published evaluator either; NaN is what evidence says.
        there = part if rollout.compat and metric.name in ("psnr", "ssim") else part[~np.isnan(part)]
        found[kind], n, left = pair_mean(there, metric.name, compat=rollout.compat)
        n_used += n
        told.update({f"{kind}_{name}": count for name, count in left.items()})
    detail: dict[str, Any] = {**found, "pairs": {kind: len(pairs) for kind, pairs in by_kind.items()}, **told}
    return _judged(rollout, metric, Means(**found), n_used, n_total, detail)


def _judged(
    rollout: Rollout, metric: Metric, means: Means, n_used: int, n_total: int, detail: dict[str, Any]
) -> _Measure:
    """NMR from the means of the three kinds of pair."""
    if means.revisit is None or means.baseline is None or means.short is None:
        kind = next(kind for kind in KINDS if getattr(means, kind) is None)
        n = len(rollout.pairs.kinds()[kind])
        drawn = rollout.pairs.meta["baseline_stats"].get("reason", "no pair could be drawn")
        why = f"no_value: none of the {n} {kind} pairs has a value" if n else f"no_{kind}: {drawn}"
        return _Measure(None, Status.NOT_EVALUABLE, why, n_used, n_total, detail)
    lower = metric.lower_is_better
    gain = memory_gain(means.revisit, means.baseline, lower_is_better=lower)
    span = dynamic_range(means.short, means.baseline, lower_is_better=lower)
    detail |= {"memory_gain": gain, "dynamic_range": span}
    if rollout.compat:
        value = 0.0 if span <= PER_VIDEO_EPS else round(gain / span, 6)
        if not math.isfinite(value):
            detail[PUBLISHED_NAN] = True
            why = f"not_finite: the published evaluator gives {value}"
            return _Measure(None, Status.NOT_EVALUABLE, why, n_used, n_total, detail)
        return _Measure(value, Status.OK, "", n_used, n_total, detail)
    if span <= EPS:
        why = f"no_dynamic_range: short pairs are no more alike than baselines, by {span:.3g}"
        return _Measure(None, Status.NOT_EVALUABLE, why, n_used, n_total, detail)
    if span <= PER_VIDEO_EPS:
        detail["tiny_range"] = True
    return _Measure(gain / (span + EPS), Status.OK, "; ".join(rollout.remarks), n_used, n_total, detail)


def _overall(rollout: Rollout, measures: Mapping[str, _Measure]) -> _Measure:
    try:
        meta: dict[str, Any] = dict(rollout.pairs.meta)
    except NotThereError as absent:
        return _Measure(None, absent.status, absent.reason, 0, len(FAMILIES))
    families = family_means(
        {name: math.nan if measures[name].value is None else float(measures[name].value or 0.0) for name in METRICS}
    )
    there = [name for name, value in families.items() if not math.isnan(value)]
    detail = {"families": families, "trajectory": rollout.source, "remarks": list(rollout.remarks), "sampling": meta}
    if len(there) == len(FAMILIES) or (rollout.compat and there):
        reason = "" if rollout.compat else "; ".join(rollout.remarks)
        return _Measure(nan_mean(families.values()), Status.OK, reason, len(there), len(FAMILIES), detail)
    lacking = ", ".join(name for name in FAMILIES if name not in there)
    why = f"families: {len(there)} of {len(FAMILIES)} have a value, these have none: {lacking}"
    return _Measure(None, Status.MISSING, why, len(there), len(FAMILIES), detail)


def _record(rollout: Rollout, metric: str, measure: _Measure, channels: Sequence[str]) -> Score:
    facts, there = rollout.evidence.facts, rollout.evidence.channels
    makers = [there[name].maker for name in channels if name in there]
    return Score(
        rollout=facts.rollout,
        model=facts.model,
        case=facts.case,
        protocol=NAME,
        metric=metric,
        part=_part(rollout),
        value=measure.value,
        status=measure.status,
        reason=measure.reason,
        n_used=measure.n_used,
        n_total=measure.n_total,
        definition=f"{NAME}.{metric}/{VERSION}",
        compat=rollout.compat,
        estimators=[{"role": m.role, "id": m.id, "tier": m.tier, "fingerprint": m.fingerprint} for m in makers],
        detail=_plain(measure.detail),
    )


def _part(rollout: Rollout) -> dict[str, Any]:
    try:
        return {"template": rollout.template}
    except NotThereError:
        return {}


def _plain(value: Any) -> Any:
    """A value as strict JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
