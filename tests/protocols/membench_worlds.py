# SPDX-License-Identifier: Apache-2.0
"""Worlds whose evidence is exact, as WorldMemBench takes them."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from wmb_fast.estimators import descriptor
from wmb_fast.protocols import worldmembench as wb
from wmb_fast.protocols.evidence import Channel, Evidence, Maker
from wmb_fast.protocols.record import Score
from wmb_fast.rollout.plan import Facts
from wmb_fast.rollout.plans import named_plan
from wmb_fast.world import Pace, exact_evidence, render_world

PACE = Pace(degrees_per_second=30, max_pitch_deg=40)
SIZE, FPS = (160, 96), 8.0


def channel(name: str, values: dict[str, Any], tier: str = "external") -> Channel:
    return Channel(values, Maker(name, "exact", tier, "0"))


@functools.cache
def exact(plan: str, fault: str = "", strength: float = 0.0, case: str | None = None) -> Evidence:
    """The exact evidence of a world; the whole view's features are the builtin descriptor's."""
    faults = {fault: strength} if fault else {}
    world = render_world(named_plan(plan), seconds_per_step=3, fps=FPS, size=SIZE, pace=PACE, faults=faults)
    channels = {name: channel(name, dict(arrays)) for name, arrays in exact_evidence(world).items()}
    looking = descriptor.start(descriptor.settings(None))
    for frame in channels["geometry"].values["frames"]:
        looking.feed(int(frame), world.view(int(frame)).rgb)
    channels["features"] = channel("features", looking.finish(), "builtin")
    return Evidence(Facts(f"world/{plan}", "world", case, world.plan, len(world), FPS, *SIZE), channels)


def without(evidence: Evidence, *names: str) -> Evidence:
    kept = {name: c for name, c in evidence.channels.items() if name not in names}
    return replace(evidence, channels=kept)


def having(evidence: Evidence, name: str, **changes: Any) -> Evidence:
    """The evidence with some arrays of a channel replaced."""
    before = evidence.channels[name].values if name in evidence.channels else {}
    return replace(evidence, channels={**evidence.channels, name: channel(name, {**before, **changes})})


def values(evidence: Evidence, revisit: int | None = None, **options: Any) -> dict[str, float | None]:
    """Metric to value, of the whole video or of one revisit."""
    return {r.metric: r.value for r in scores(evidence, **options) if r.part.get("revisit") == revisit}


def scores(evidence: Evidence, **options: Any) -> list[Score]:
    return wb.score(evidence, options=wb.Options(**options))


def one(evidence: Evidence, metric: str, revisit: int | None = None, **options: Any) -> Score:
    found = [r for r in scores(evidence, **options) if r.metric == metric and r.part.get("revisit") == revisit]
    assert len(found) == 1, f"{len(found)} records of {metric}, revisit {revisit}"
    return found[0]
