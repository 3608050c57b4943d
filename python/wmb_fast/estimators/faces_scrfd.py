# SPDX-License-Identifier: Apache-2.0
"""Finds faces and their five points as InsightFace does: SCRFD, the detector of its model pack, which the user brings.

A picture is brought to 640x640 with its sides in proportion, bilinearly, black at the right and below. At every place
of three grids, 8, 16 and 32 pixels apart, two anchors say how likely a face is, how far the sides of its box are and
where its points lie, in steps of the grid. Of boxes that overlap, the likeliest stays.

Source: Guo et al., "Sample and Computation Redistribution for Efficient Face Detection", ICLR 2022; sizes, thresholds
and the way of feeding are those of InsightFace's Python package.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .faces import Faces, Reals, suppressed
from .registry import Frame
from .resize import bilinear_resized
from .session import Session

NETWORK = "scrfd-det-10g"
_SIDE, _ANCHORS = 640, 2
# Of each grid the names that the file gives to scores, boxes and points.
OUTPUTS = {8: ("448", "451", "454"), 16: ("471", "474", "477"), 32: ("494", "497", "500")}


class Scrfd:
    """The detector.

    Args:
        session: Of the network.
        likelihood: How likely a face must be.
        overlap: The most that two boxes may share, of their union.
    """

    def __init__(self, session: Session, *, likelihood: float = 0.5, overlap: float = 0.4) -> None:
        self._session, self._likelihood, self._overlap = session, likelihood, overlap

    def detect(self, picture: Frame) -> Faces:
        """The faces of a picture, (H, W, 3) uint8 RGB."""
        shown, scale = _framed(picture)
        values = (shown.astype(np.float32) - np.float32(127.5)) * np.float32(1 / 128)
        out = self._session.run({"input.1": np.ascontiguousarray(values.transpose(2, 0, 1))[None]})
        found = [self._of(out, grid) for grid in OUTPUTS]
        boxes, scores, points = (np.concatenate(parts) for parts in zip(*found, strict=True))
        kept = suppressed(boxes, scores, self._overlap)
        return Faces(boxes[kept] / scale, scores[kept], points[kept] / scale)

    def _of(self, out: dict[str, npt.NDArray[np.float32]], grid: int) -> tuple[Reals, Reals, Reals]:
        """The faces of one grid, in pixels of what the network was shown."""
        likely, sides, points = (out[name].astype(np.float64) for name in OUTPUTS[grid])
        at = np.flatnonzero(likely[:, 0] >= self._likelihood)
        row, column = np.divmod(at // _ANCHORS, _SIDE // grid)
        centre = np.stack([column, row], axis=1) * float(grid)
        far = sides[at] * grid
        boxes = np.concatenate([centre - far[:, :2], centre + far[:, 2:]], axis=1)
        return boxes, likely[at, 0], centre[:, None] + points[at].reshape(-1, 5, 2) * grid


def _framed(picture: Frame) -> tuple[Frame, float]:
    """The picture in the upper left corner of a black square, and its scale there."""
    height, width = picture.shape[:2]
    if height > width:
        inner = max(1, _SIDE * width // height), _SIDE
    else:
        inner = _SIDE, max(1, _SIDE * height // width)
    square = np.zeros((_SIDE, _SIDE, 3), dtype=np.uint8)
    square[: inner[1], : inner[0]] = np.floor(bilinear_resized(picture, *inner) + 0.5)
    return square, inner[1] / height
