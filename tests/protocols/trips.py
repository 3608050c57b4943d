# SPDX-License-Identifier: Apache-2.0
"""Commanded trajectories and evidence of rollouts with known answers, for R2M-Bench."""

from __future__ import annotations

from typing import Any

import numpy as np

from wmb_fast.protocols.evidence import Channel, Evidence, Maker
from wmb_fast.rollout.plan import Action, Facts, Plan, Step

THERE_AND_BACK = Plan("there and back", (Step(Action.FORWARD), Step(Action.BACK)))


def poses(x: Any = 0.0, z: Any = 0.0, yaw_deg: Any = 0.0, n: int | None = None) -> np.ndarray:
    """Camera-to-world poses (N, 4, 4) of places and headings."""
    x, z, yaw = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (x, z, yaw_deg)))
    made = np.tile(np.eye(4), (x.size if n is None else n, 1, 1))
    c, s = np.cos(np.radians(yaw)), np.sin(np.radians(yaw))
    made[:, 0, 0], made[:, 0, 2], made[:, 2, 0], made[:, 2, 2] = c, s, -s, c
    made[:, 0, 3], made[:, 2, 3] = x, z
    return made


def out_and_back(n: int = 241, step: float = 1 / 60) -> np.ndarray:
    frames = np.arange(n)
    return poses(z=step * np.minimum(frames, n - 1 - frames))


def views(n: int, *, memory: bool) -> np.ndarray:
    """A vector a frame, turning on; with memory back to where it was, without it ever on."""
    frames = np.arange(n)
    angle = (np.minimum(frames, n - 1 - frames) if memory else frames) * (2.0 / n)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def channel(role: str, tier: str = "external", **values: Any) -> Channel:
    return Channel(values, Maker(role, role, tier, "0"))


def evidence(
    n: int = 241,
    plan: Plan | None = THERE_AND_BACK,
    name: str = "mine/1",
    fps: float | None = 16.0,
    **channels: Channel,
) -> Evidence:
    model, _, case = name.partition("/")
    return Evidence(Facts(name, model, case, plan, n, fps, 64, 48), channels)


def seen(n: int = 241, *, memory: bool = True) -> Channel:
    """DINO-like vectors of all frames."""
    return channel("dino", frames=np.arange(n), features=views(n, memory=memory))
