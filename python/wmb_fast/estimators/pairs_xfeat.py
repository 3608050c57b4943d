# SPDX-License-Identifier: Apache-2.0
"""How many local features pairs of frames share, by XFeat: a stand-in for SuperPoint with LightGlue.

Features are found once a frame; a pair's are matched as mutual nearest neighbours. Inliers are the matches that one
fundamental matrix explains to within ``threshold`` pixels (OpenCV's RANSAC, which draws the same samples every time).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .home import session_of
from .match_xfeat import Keypoints, Reals, XFeat
from .opencv import opencv
from .registry import Frame, Pairs, Settings
from .session import CPU
from .workers import InOrder

VERSION = 1
NETWORK = "xfeat"
_FEWEST = 8  # matches that a fundamental matrix needs


def settings(model: str | None) -> Settings:
    """Limits; the same for every model."""
    return {
        "most": 4096,
        "likelihood": 0.05,
        "min_score": 0.82,
        "threshold": 3.0,
        "confidence": 0.999,
    }


def start(settings: Settings, pairs: Pairs) -> MatchedPairs:
    return MatchedPairs(settings, pairs)


class MatchedPairs:
    """Keeps the features of the frames, and compares at the end."""

    def __init__(self, settings: Settings, pairs: Pairs) -> None:
        self._cv2 = opencv(NETWORK)
        self._set = settings
        self._pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self._matcher = XFeat(
            session_of(NETWORK, settings.get("provider", CPU)),
            most=settings["most"],
            threshold=settings["likelihood"],
            min_score=settings["min_score"],
        )
        self._frames: list[int] = []
        self._features = InOrder[Keypoints]()

    def feed(self, index: int, frame: Frame) -> None:
        self._frames.append(index)
        self._features.put(self._matcher.keypoints, frame.copy())

    def finish(self) -> dict[str, Any]:
        features = dict(zip(self._frames, self._features.results(), strict=True))
        counts = InOrder[tuple[int, ...]]()
        for first, second in self._pairs.tolist():
            counts.put(self._counted, features[first], features[second])
        columns = np.array(counts.results(), dtype=np.int64).reshape(-1, 4).T
        names = ("n_matches", "n_a", "n_b", "n_inliers")
        return {"pairs": self._pairs, **{name: column.copy() for name, column in zip(names, columns, strict=True)}}

    def _counted(self, a: Keypoints, b: Keypoints) -> tuple[int, ...]:
        in_a, in_b, _ = self._matcher.match(a, b)
        return len(in_a), len(a.places), len(b.places), self._inliers(in_a, in_b)

    def _inliers(self, in_a: Reals, in_b: Reals) -> int:
        """-1 where no fundamental matrix could be estimated."""
        if len(in_a) < _FEWEST:
            return -1
        matrix, inside = self._cv2.findFundamentalMat(
            in_a, in_b, self._cv2.FM_RANSAC, self._set["threshold"], self._set["confidence"]
        )
        return -1 if matrix is None or inside is None else int(np.count_nonzero(inside))
