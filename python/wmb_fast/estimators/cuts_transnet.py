# SPDX-License-Identifier: Apache-2.0
"""Hard cuts by TransNetV2, the network that WorldMark counts them with.

Frames of 48x27 go through the network in windows of 100, 50 further each time, of which the middle 50 count; the clip
is continued by 25 copies of its first frame, and of its last as far as the windows reach. A shot ends where the logit
rises above 0, and the next begins at the first frame after that run; neither is taken note of at frame 0.

The published evaluator scales frames with FFmpeg's bicubic filter; here each pixel is the mean of what it covers.

Source: Soucek and Lokoc, "TransNet V2", 2020, section 3; WorldMark, definition of the hard-cut rate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .convert.transnetv2 import FRAMES, HEIGHT, LOOKUP, WIDTH
from .home import session_of
from .registry import Frame, Settings
from .resize import area_resized
from .session import CPU, Session
from .workers import InOrder

VERSION = 1
NETWORK = "transnetv2"
_STEP = 50
_BEFORE = (FRAMES - _STEP) // 2
Small = npt.NDArray[np.uint8]
Logits = npt.NDArray[np.float32]


def settings(model: str | None) -> Settings:
    """The same for every model."""
    return {"size": [WIDTH, HEIGHT], "resize": "area", "window": FRAMES, "step": _STEP, "threshold": 0.5}


def start(settings: Settings) -> CutsByNetwork:
    return CutsByNetwork(session_of(NETWORK, settings.get("provider", CPU)))


class CutsByNetwork:
    """Holds the clip at 48x27; a window is looked at as soon as its last frame is there."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._small = InOrder[Small]()
        self._logits = InOrder[Logits]()
        self._fed = self._begun = 0

    def feed(self, index: int, frame: Frame) -> None:
        self._small.put(small, frame.copy())
        self._fed += 1
        if self._fed == self._begun * _STEP + FRAMES - _BEFORE:
            self._begin(self._small.results())

    def finish(self) -> dict[str, Any]:
        frames = self._small.results()
        while self._begun * _STEP < len(frames):
            self._begin(frames)
        if not frames:
            return {"frames": np.zeros(0, dtype=np.int64), "n_scenes": 1}
        starts, shots = cuts_in(np.concatenate(self._logits.results())[: len(frames)])
        return {"frames": np.array(starts, dtype=np.int64), "n_scenes": shots}

    def _begin(self, frames: list[Small]) -> None:
        """Has the next window looked at; beyond its ends the clip is continued by its first and last frame."""
        first = self._begun * _STEP - _BEFORE
        window = np.stack([frames[min(max(i, 0), len(frames) - 1)] for i in range(first, first + FRAMES)])
        self._logits.put(middle_logits, self._session, window)
        self._begun += 1


def middle_logits(session: Session, window: Small) -> Logits:
    """How surely a shot ends at each of the middle frames of a window: logits."""
    logits: Logits = session.run(_prepared(window))["logits"][0, _BEFORE : _BEFORE + _STEP]
    return logits


def cuts_in(logits: Logits) -> tuple[list[int], int]:
    """The first frame after each hard cut, and the number of shots.

    Example:
        >>> cuts_in(np.array([-3, -3, 2, 1, -3, -3], dtype=np.float32))
        ([4], 2)
    """
    ends = logits > 0
    starts: list[int] = []
    shots, inside = 0, False
    for i, end in enumerate(ends.tolist()):
        if inside and not end:
            starts.append(i)
        if end and not inside and i > 0:
            shots += 1
        inside = end
    if not inside:
        shots += 1
    # A run that reaches the last frame ends a shot after which there is none.
    return starts[-(shots - 1) :] if shots > 1 else [], max(shots, 1)


def small(frame: Frame) -> Small:
    """A frame as the network sees it."""
    return area_resized(frame, WIDTH, HEIGHT)


def _prepared(window: Small) -> dict[str, npt.NDArray[np.float32]]:
    values = window.astype(np.float32) / np.float32(255)
    return {
        "frames": np.ascontiguousarray(values.transpose(3, 0, 1, 2))[None],
        "histogram_likeness": _histogram_likeness(window)[None],
    }


def _histogram_likeness(window: Small) -> npt.NDArray[np.float32]:
    """(T, 101): cosines of the frames' colour histograms, 8 levels a channel, with those up to 50 before and after.

    Counts are whole numbers, and so are their products' sums: exact in float64 in any order.
    """
    levels = (window >> 5).astype(np.int64)
    colour = (levels[..., 0] << 6) + (levels[..., 1] << 3) + levels[..., 2]
    counts = np.stack([np.bincount(frame.ravel(), minlength=512) for frame in colour]).astype(np.float64)
    products = counts @ counts.T
    length = np.sqrt(np.diagonal(products))
    reach = LOOKUP // 2
    padded = np.pad(products / (length[:, None] * length[None, :]), ((0, 0), (reach, reach)))
    place = np.arange(len(window))[:, None] + np.arange(LOOKUP)
    return np.take_along_axis(padded, place, axis=1).astype(np.float32)
