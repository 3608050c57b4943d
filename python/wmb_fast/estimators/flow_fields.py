# SPDX-License-Identifier: Apache-2.0
"""The whole horizontal flow at single frames, by the search that :mod:`.flow_dis` makes its channels with.

What depth is compared with to tell strafing from turning. Asked for frames i and i + 2, it gives the field of i.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .flow_dis import VERSION, Search, settings
from .registry import Frame, Settings

__all__ = ["VERSION", "settings", "start"]


def start(settings: Settings) -> FieldsByDis:
    return FieldsByDis(settings)


class FieldsByDis:
    """Holds the frames that a later one may go with, and the fields."""

    def __init__(self, settings: Settings) -> None:
        self._search = Search(settings)
        self._stride = int(settings["stride"])
        self._behind: dict[int, Frame] = {}
        self._fields: dict[int, npt.NDArray[np.float32]] = {}

    def feed(self, index: int, frame: Frame) -> None:
        grey = self._search.prepared(frame)
        first = index - self._stride
        self._behind = {i: kept for i, kept in self._behind.items() if i >= first}
        if first in self._behind:
            self._fields[first] = self._search.between(self._behind[first], grey)[..., 0].copy()
        self._behind[index] = grey

    def finish(self) -> dict[str, Any]:
        width, height = self._search.grid
        fields = np.stack(list(self._fields.values())) if self._fields else np.empty((0, height, width), np.float32)
        frames = np.array(list(self._fields), dtype=np.int64)
        return {"frames": frames, "horizontal": fields, "stride": self._stride, "grid": self._search.grid}
