# SPDX-License-Identifier: Apache-2.0
"""How sharp and how well exposed frames are, from 0 to 100: no model of what people like, and none of beauty.

The rating is 100 x sharpness x exposure of the grey picture, 256 pixels wide:

- sharpness: the share of the contrast that lives between neighbouring pixels, sqrt(mean squared step / (2 variance)),
  against 0.35, that of a sharp photograph; 1 at most;
- exposure: the share of pixels that are neither black (below 8) nor blown out (above 247).

A picture without contrast (variance below 1) has no sharpness: 0. ``aesthetic`` is NaN: nothing here rates it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .opencv import opencv
from .registry import Frame, Settings
from .workers import InOrder

if TYPE_CHECKING:
    from .roles import Quality

VERSION = 2
_WHO = "sharpness-exposure"
_TALLEST = 8  # heights to a width


def settings(model: str | None) -> Settings:
    """The same for every model."""
    return {"width": 256, "sharp": 0.35, "black": 8, "white": 247}


def start(settings: Settings) -> RatedFrames:
    return RatedFrames(Exposure(settings))


class Exposure:
    """Rates pictures."""

    def __init__(self, settings: Settings) -> None:
        self._cv2 = opencv(_WHO)
        self._set = settings

    def rate(self, picture: Frame) -> float:
        """From 0 to 100, of a picture (H, W, 3) uint8 RGB."""
        width = int(self._set["width"])
        height = round(picture.shape[0] * width / picture.shape[1])
        height = min(max(2, height), _TALLEST * width)  # a strip would fill the memory
        small = self._cv2.resize(picture, (width, height), interpolation=self._cv2.INTER_AREA)
        grey = self._cv2.cvtColor(small, self._cv2.COLOR_RGB2GRAY).astype(np.int64)
        # Whole numbers: their sums are exact in any order.
        n = grey.size
        variance = (n * int((grey * grey).sum()) - int(grey.sum()) ** 2) / (n * n)
        if variance < 1:
            return 0.0
        across, down = np.diff(grey, axis=1), np.diff(grey, axis=0)
        step = (int((across * across).sum()) + int((down * down).sum())) / (across.size + down.size)
        sharpness = min(1.0, float(np.sqrt(step / (2 * variance))) / self._set["sharp"])
        fair = int(((grey >= self._set["black"]) & (grey <= self._set["white"])).sum()) / n
        return float(100.0 * sharpness * fair)


class RatedFrames:
    """Keeps a number a frame.

    Args:
        rater: What makes it.
    """

    def __init__(self, rater: Quality) -> None:
        self._rater = rater
        self._frames: list[int] = []
        self._ratings = InOrder[float]()

    def feed(self, index: int, frame: Frame) -> None:
        self._frames.append(index)
        self._ratings.put(self._rater.rate, frame.copy())

    def finish(self) -> dict[str, Any]:
        ratings = np.array(self._ratings.results(), dtype=np.float64)
        frames = np.array(self._frames, dtype=np.int64)
        return {"frames": frames, "imaging": ratings, "aesthetic": np.full(len(ratings), np.nan)}
