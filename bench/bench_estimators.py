# SPDX-License-Identifier: Apache-2.0
"""A clip through flow, features and cuts: one pass whose work is spread over threads, against a loop an estimator.

The networks are the packaged ones; where they are not in WMB_FAST_HOME there is nothing to measure. Both sides run the
same sessions, the same search and the same resizing. What the loop lacks: it decodes the clip once for each estimator,
and waits for each result before it begins the next. Decoding is 3 % of the work: on one thread there is next to
nothing to gain, so both sides are given two.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wmb_fast.estimators import cuts_transnet, features_lite0, flow_dis
from wmb_fast.estimators.choice import chosen
from wmb_fast.estimators.home import ModelHome, session_of
from wmb_fast.estimators.session import Session
from wmb_fast.evidence.make import gather
from wmb_fast.evidence.store import Store
from wmb_fast.protocols.evidence import Evidence, Need
from wmb_fast.rollout.discover import Rollout
from wmb_fast.rollout.planfile import plan_of
from wmb_fast.rollout.video import open_video, write_video
from wmb_fast.world import render_world

from ._harness import Case, Contender

SIZE = (576, 316)
Answer = dict[str, dict[str, Any]]


def cases(full: bool) -> Iterator[Case]:
    if all(ModelHome().find(name) for name in ("transnetv2", "efficientnet-lite0")):
        yield _clip(640 if full else 100)


class _Everything:
    """A protocol that wants all three, of every frame."""

    @staticmethod
    def needs(evidence: Evidence, *, compat: bool = False) -> list[Need]:
        return [Need("flow"), Need("features"), Need("cuts")]


def _clip(n: int) -> Case:
    folder = Path(tempfile.mkdtemp(prefix="wmb-fast-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    world = render_world(plan_of("worldmark/06"), seconds_per_step=n / 32, size=SIZE)
    path = folder / "clip.mp4"
    write_video(path, list(world.frames())[:n], fps=16)
    rollout = Rollout("clip", path, "bench", "clip", None)
    tools = chosen("packaged")

    def ours() -> Answer:
        with tempfile.TemporaryDirectory(dir=folder) as fresh:  # nothing comes from a cache
            evidence = gather(rollout, [_Everything()], store=Store(fresh), estimators=tools)
        return {name: dict(channel.values) for name, channel in evidence.channels.items()}

    def loops() -> Answer:
        return {
            "flow": _flow(path),
            "features": _features(path, session_of("efficientnet-lite0")),
            "cuts": _cuts(path, session_of("transnetv2")),
        }

    expected = loops()

    def verify(answer: Answer) -> str:
        for channel, values in expected.items():
            for name, value in values.items():
                if not np.array_equal(answer[channel][name], value):
                    return f"{channel} {name} differs"
        return ""

    sides = [Contender("wmb_fast", ours, verify), Contender("a loop an estimator", loops, verify)]
    name = f"{n} frames {SIZE[0]}x{SIZE[1]}: flow, features, cuts"
    return Case("estimators", name, sides, float(n), "calls/s", threads=2)


def _flow(path: Path) -> dict[str, Any]:
    settings = flow_dis.settings(None)
    search = flow_dis.Search(settings)
    frames = [search.prepared(frame) for frame in open_video(path).frames()]
    found = [search.channels(a, b) for a, b in zip(frames[:-2], frames[2:], strict=True)]
    return {"horizontal": np.array([h for h, _ in found]), "radial": np.array([r for _, r in found])}


def _features(path: Path, session: Session) -> dict[str, Any]:
    network = features_lite0.PooledFeatures(session)
    return {"mean": np.stack([network.mean(frame) for frame in open_video(path).frames()])}


def _cuts(path: Path, session: Session) -> dict[str, Any]:
    frames = [cuts_transnet.small(frame) for frame in open_video(path).frames()]
    n, window, step = len(frames), cuts_transnet.FRAMES, 50
    logits = []
    for first in range(0, n, step):
        places = np.clip(np.arange(first - 25, first - 25 + window), 0, n - 1)
        logits.append(cuts_transnet.middle_logits(session, np.stack([frames[i] for i in places])))
    starts, shots = cuts_transnet.cuts_in(np.concatenate(logits)[:n])
    return {"frames": np.array(starts), "n_scenes": shots}
