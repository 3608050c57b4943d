# SPDX-License-Identifier: Apache-2.0
"""Features of frames by EfficientNet-Lite0, a small network trained on ImageNet: a stand-in for DINOv2, and no more.

A frame is resized to 224x224, each new pixel the mean of what it covers; the network gives 1,280 numbers at each of 7x7
places, and their mean is the frame's vector. Cosines of two views of one place are about 0.9 and of two places 0.1 to
0.3, other numbers than DINOv2's: thresholds that a paper set for that do not carry over.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .home import session_of
from .registry import Frame, Settings
from .resize import area_resized
from .session import CPU, Session
from .workers import InOrder

VERSION = 1
NETWORK = "efficientnet-lite0"
_SIDE = 224
Vector = npt.NDArray[np.float32]


def settings(model: str | None) -> Settings:
    """The same for every model."""
    return {"side": _SIDE, "resize": "area", "pool": "mean of 7x7 places, row by row"}


def start(settings: Settings) -> FeaturesByNetwork:
    return FeaturesByNetwork(PooledFeatures(session_of(NETWORK, settings.get("provider", CPU))))


class PooledFeatures:
    """The network, and the mean over its places.

    Args:
        session: Of the converted network.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def mean(self, picture: Frame) -> Vector:
        """(1280,), not normalised."""
        small = area_resized(picture, _SIDE, _SIDE).astype(np.float32)
        values = (small - np.float32(127)) * np.float32(1 / 128)
        places = self._session.run({"pictures": np.ascontiguousarray(values.transpose(2, 0, 1))[None]})["map"][0]
        # From left to right and from top to bottom: a library's mean is a matter of its threads and instructions.
        flat = places.reshape(len(places), -1).astype(np.float64)
        mean: Vector = (np.cumsum(flat, axis=1)[:, -1] / flat.shape[1]).astype(np.float32)
        return mean


class FeaturesByNetwork:
    """Keeps one row a frame."""

    def __init__(self, network: PooledFeatures) -> None:
        self._network = network
        self._frames: list[int] = []
        self._means = InOrder[Vector]()

    def feed(self, index: int, frame: Frame) -> None:
        self._frames.append(index)
        self._means.put(self._network.mean, frame.copy())

    def finish(self) -> dict[str, Any]:
        means = self._means.results()
        return {
            "frames": np.array(self._frames, dtype=np.int64),
            "mean": np.stack(means) if means else np.zeros((0, 1280), dtype=np.float32),
        }
