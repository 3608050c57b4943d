# SPDX-License-Identifier: Apache-2.0
"""The worlds that several tests look at."""

from __future__ import annotations

from wmb_fast.rollout.plan import Plan
from wmb_fast.rollout.plans import named_plan, plan_names, plan_of_keys
from wmb_fast.world import World, render_world

PLANS = plan_names()


def plan_of(keys: str) -> Plan:
    """A published plan, or L alone, which no benchmark has."""
    return plan_of_keys("turn left", keys) if keys == "L" else named_plan(keys)


def small(
    keys: str, *, seconds: float = 3.0, size: tuple[int, int] = (96, 64), seed: int = 0, **faults: float
) -> World:
    """A short world of few pixels."""
    return render_world(plan_of(keys), seconds_per_step=seconds, size=size, seed=seed, faults=faults)
