# SPDX-License-Identifier: Apache-2.0
"""A small rollout, estimators that count what they are given, and protocols that ask for what they are told to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from wmb_fast.protocols.evidence import Evidence, Need
from wmb_fast.rollout.discover import Rollout
from wmb_fast.rollout.encode import write_video

N = 12


def rollout(folder: Path, name: str = "a", n: int = N, seed: int = 0) -> Rollout:
    """A clip of noise in blocks, every frame its own."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (n, 6, 8, 3), dtype=np.uint8)
    path = folder / f"{name}.mp4"
    write_video(path, [np.kron(frame, np.ones((16, 16, 1), np.uint8)) for frame in small], fps=8)
    return Rollout(name, path, "model", name, None)


class Counter:
    """An estimator that keeps each frame's mean, and how often it was started and fed."""

    def __init__(self, role: str, *, by_frame: bool, fails_at: int | str | None = None, print_: str = "0") -> None:
        self.role, self.id, self.tier, self.by_frame = role, f"count-{role}", "builtin", by_frame
        self.by_pair = False
        self.fails_at, self.print = fails_at, print_
        self.starts, self.seen = 0, []  # type: int, list[int]

    def settings(self, model: str | None) -> Mapping[str, Any]:
        return {"model": model}

    def fingerprint(self, settings: Mapping[str, Any]) -> str:
        return f"{self.role}-{self.print}"

    def start(self, settings: Mapping[str, Any]) -> Any:
        if self.fails_at == "start":
            raise RuntimeError("no weights")
        self.starts += 1
        means: list[float] = []
        frames: list[int] = []

        def feed(index: int, frame: np.ndarray[Any, Any]) -> None:
            if index == self.fails_at:
                raise RuntimeError(f"frame {index} is odd")
            self.seen.append(index)
            frames.append(index)
            means.append(float(frame.mean()))

        def finish() -> dict[str, Any]:
            if self.fails_at == "finish":
                raise RuntimeError("nothing to say")
            return {"frames": np.array(frames, dtype=np.int64), "means": np.array(means), "stride": 2, "grid": (4, 3)}

        return SimpleNamespace(feed=feed, finish=finish)


def asks(*needs: Need | Callable[[Evidence], list[Need]]) -> Any:
    """A protocol with these needs; a function gives more, once it is shown what is known."""

    def all_of(evidence: Evidence, *, compat: bool = False) -> list[Need]:
        told: list[Need] = []
        for need in needs:
            told.extend(need(evidence) if callable(need) else [need])
        return told

    return SimpleNamespace(NAME="asks", needs=all_of)
