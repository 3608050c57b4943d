# SPDX-License-Identifier: Apache-2.0
"""PSNR and SSIM of pairs of a rollout's frames, as scikit-image has them.

No network and no stand-in for one: it is the benchmarks' own arithmetic, so what it makes is no proxy. A frame is kept
from its first pair to its last, and no longer; each pair is compared when its later frame comes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.image import psnr, ssim
from .registry import Frame, Pairs, Settings

VERSION = 1
WINDOW = 7


def settings(model: str | None) -> Settings:
    """The variant; the same for every model."""
    return {"data_range": 255, "ssim": "uniform7"}


def start(settings: Settings, pairs: Pairs) -> Appearance:
    return Appearance(settings, pairs)


class Appearance:
    """Holds the frames whose pairs are not complete yet."""

    def __init__(self, settings: Settings, pairs: Pairs) -> None:
        self._set = settings
        self._pairs = [(min(u, v), max(u, v)) for u, v in pairs]
        self._given = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self._values = np.full((len(pairs), 2), np.nan)
        self._ending: dict[int, list[int]] = {}
        self._last: dict[int, int] = {}
        for row, (earlier, later) in enumerate(self._pairs):
            self._ending.setdefault(later, []).append(row)
            self._last[earlier] = max(later, self._last.get(earlier, later))
        self._held: dict[int, Frame] = {}

    def feed(self, index: int, frame: Frame) -> None:
        rows = self._ending.pop(index, [])
        for row in rows:
            earlier = self._pairs[row][0]
            self._values[row] = self._compared(frame if earlier == index else self._held[earlier], frame)
        for earlier in {self._pairs[row][0] for row in rows}:
            if self._last[earlier] <= index:
                self._held.pop(earlier, None)
        if self._last.get(index, index) > index:
            self._held[index] = frame.copy()

    def finish(self) -> dict[str, Any]:
        return {"pairs": self._given, "psnr": self._values[:, 0].copy(), "ssim": self._values[:, 1].copy()}

    def _compared(self, a: Frame, b: Frame) -> tuple[float, float]:
        reach = float(self._set["data_range"])
        alike = ssim(a, b, data_range=reach, variant=self._set["ssim"]) if min(a.shape[:2]) >= WINDOW else np.nan
        return float(psnr(a, b, data_range=reach)), float(alike)
