# SPDX-License-Identifier: Apache-2.0
"""WorldMark: Global memory of a clip, and scoring 125 rollouts again with one constant moved, from what a run keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wmb_fast.protocols import worldmark
from wmb_fast.protocols.evidence import Channel, Evidence, Maker
from wmb_fast.rollout.plan import Facts
from wmb_fast.rollout.plans import named_plan

from ._harness import Case, Contender
from ._rivals import numpy_global
from .bench_reproject import turning

ROLLOUTS = 125  # a model's in one split
AGAIN = ("motion_stability", "stall_s"), ("response_latency", "response_smoothing_s"), ("local_memory", "cut_guard_s")


def cases(full: bool) -> Iterator[Case]:
    yield clip(64 if full else 16, 288, 512)
    rollouts = split()
    for metric, constant in AGAIN:
        yield again(rollouts, metric, constant)


def clip(k: int, height: int, width: int) -> Case:
    """One rollout as a multi-view network of 512 pixels gives it."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:height, 0:width]
    scene = 3 + np.sin(x / 97) + np.cos(y / 71)
    depth = (scene + 0.05 * rng.standard_normal((k, height, width))).astype(np.float32)
    confidence = rng.uniform(1, 10, depth.shape).astype(np.float32)
    poses = np.linalg.inv(turning(k))[:, :3]
    camera = np.array([[0.7 * width, 0, (width - 1) / 2], [0, 0.7 * width, (height - 1) / 2], [0, 0, 1]])
    arrays = depth, poses, np.tile(camera, (k, 1, 1)), confidence
    expected = numpy_global(depth, confidence, *arrays[1:3])

    def verify(residual: float) -> str:
        return "" if abs(residual - expected) < 2e-5 else f"residual {residual}, expected {expected}"

    sides = [
        Contender("wmb_fast", lambda: worldmark.global_residual(*arrays).median, verify),
        Contender("wmb_fast compat", lambda: worldmark.global_residual(*arrays, compat=True).median, verify),
        Contender(
            "numpy, a loop over pairs", lambda: numpy_global(depth, confidence, *arrays[1:3]), verify, np.__version__
        ),
    ]
    name = f"{k} frames {height}x{width} float32 with confidence, {k * (k - 1)} ordered pairs"
    return Case("worldmark.global_memory", name, sides, k * (k - 1), "calls/s")


def split() -> list[Evidence]:
    """125 rollouts of the fifteen sequences, 20 s a segment at 16 frames a second."""
    rng = np.random.default_rng(1)
    made = []
    for i in range(ROLLOUTS):
        action = i % len(worldmark.SEQUENCES) + 1
        keys = worldmark.SEQUENCES[action]
        n = 320 * len(keys)
        channels: dict[str, dict[str, Any]] = {
            "flow": {"horizontal": rng.normal(0.5, 2, n - 2), "radial": rng.normal(0.5, 2, n - 2)},
            "cuts": {"frames": np.empty(0, dtype=np.int64), "n_scenes": 1},
            "features": {"frames": np.arange(n), "mean": unit(np.cumsum(rng.normal(0, 0.05, (n, 64)), axis=0) + 1)},
        }
        facts = Facts(f"m/{i:03d}", "m", f"{i:03d}", named_plan(f"worldmark/{action}"), n, 16.0, 640, 432)
        made.append(Evidence(facts, {k: Channel(v, Maker(k, "bench", "external", "1")) for k, v in channels.items()}))
    return made


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def again(rollouts: list[Evidence], metric: str, constant: str) -> Case:
    """One setting of the sweep, records and leaderboard column, against scoring everything anew from its evidence."""
    scores = worldmark.score(rollouts)
    rescorer = worldmark.Rescorer(scores, {r.facts.rollout: worldmark.curves(r) for r in rollouts})
    columns = [c for c in worldmark.COLUMNS if c.name in worldmark.COLUMNS_OF[metric]]
    expected = worldmark.leaderboard(scores, columns=columns)

    def verify(found: dict[str, dict[str, float]]) -> str:
        return "" if found == expected else f"{found}, expected {expected}"

    def ours() -> dict[str, dict[str, float]]:
        return worldmark.leaderboard(rescorer(worldmark.PUBLISHED, (metric,)), columns=columns)

    def anew() -> dict[str, dict[str, float]]:
        return worldmark.leaderboard(worldmark.score(rollouts), columns=columns)

    sides = [Contender("wmb_fast", ours, verify), Contender("wmb_fast, all anew from the evidence", anew, verify)]
    name = f"{ROLLOUTS} rollouts, one setting of {constant}"
    return Case("worldmark.rescore", name, sides, ROLLOUTS, "calls/s")
