# SPDX-License-Identifier: Apache-2.0
"""Clips whose motion and cuts are known because they are made here."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from wmb_fast.estimators.registry import BUILTIN

Frame = npt.NDArray[np.uint8]
WIDTH, HEIGHT = 640, 432


@cache
def place(seed: int, width: int = 1600, height: int = 900) -> Frame:
    """A picture with structure at all scales, and colours of its own."""
    rng = np.random.default_rng(seed)
    picture = np.full((height, width, 3), rng.uniform(40, 200, 3), dtype=np.float32)
    for cells in (4, 12, 40, 120):
        noise = rng.normal(0, 1, (cells * height // width + 1, cells, 3)).astype(np.float32)
        picture += 28 * cv2.resize(noise, (width, height), interpolation=cv2.INTER_CUBIC)
    return np.clip(picture, 0, 255).astype(np.uint8)


def view(
    picture: Frame, x: float = 0.0, y: float = 0.0, zoom: float = 1.0, size: tuple[int, int] = (640, 432)
) -> Frame:
    """What a camera that looks at the picture's middle, moved by (x, y) pixels and zoomed about its own, sees."""
    width, height = size
    middle_x, middle_y = picture.shape[1] / 2 + x, picture.shape[0] / 2 + y
    move = np.array([[zoom, 0, width / 2 - zoom * middle_x], [0, zoom, height / 2 - zoom * middle_y]])
    seen: Frame = cv2.warpAffine(picture, move, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT)
    return seen


def fed(role: str, frames: Iterable[Frame], *, model: str | None = None, threads: int = 1) -> dict[str, Any]:
    """The values that a builtin estimator makes of a clip."""
    estimator = BUILTIN[role]
    consumer = estimator.start(estimator.settings(model))
    cv2.setNumThreads(threads)
    for index, frame in enumerate(frames):
        consumer.feed(index, frame)
    cv2.setNumThreads(1)
    return consumer.finish()


def same_bits(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Whether two channels' values are the same bytes."""
    return a.keys() == b.keys() and all(np.asarray(a[k]).tobytes() == np.asarray(b[k]).tobytes() for k in a)
