# SPDX-License-Identifier: Apache-2.0
"""Finds things of the 80 classes of COCO in a picture: NanoDet, a small detector.

A picture is brought to 416x416 with its sides in proportion, black around it. At every place of three grids, 8, 16 and
32 pixels apart, the network says of each class how likely it is there, and how far the four sides of its box are: as
shares of 0 to 10 steps of the grid, whose mean is taken. Of boxes of one class that overlap, the likeliest stays.

Source: RangiLyu's NanoDet, after Li et al., "Generalized Focal Loss", NeurIPS 2020, section 3.2 (distances as shares).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .faces import Reals, suppressed
from .registry import Frame
from .resize import area_resized, bilinear_resized
from .session import Session

NETWORK = "nanodet"
_NAMES = """
person bicycle car motorcycle airplane bus train truck boat traffic_light fire_hydrant stop_sign parking_meter bench
bird cat dog horse sheep cow elephant bear zebra giraffe backpack umbrella handbag tie suitcase frisbee skis
snowboard sports_ball kite baseball_bat baseball_glove skateboard surfboard tennis_racket bottle wine_glass cup fork
knife spoon bowl banana apple sandwich orange broccoli carrot hot_dog pizza donut cake chair couch potted_plant bed
dining_table toilet tv laptop mouse remote keyboard cell_phone microwave oven toaster sink refrigerator book clock
vase scissors teddy_bear hair_drier toothbrush
"""
CLASSES = tuple(_NAMES.split())
_SIDE, _GRIDS, _STEPS = 416, (8, 16, 32), 11
# Of blue, green and red, as it was trained.
_MEAN = np.array([103.53, 116.28, 123.675], dtype=np.float32)
_SPREAD = np.array([57.375, 57.12, 58.395], dtype=np.float32)


class Objects(NamedTuple):
    """The things of one picture, the likeliest first.

    Attributes:
        boxes: (M, 4) left, top, right, bottom in pixels.
        scores: (M,) from 0 to 1.
        labels: (M,) places in :data:`CLASSES`.
    """

    boxes: Reals
    scores: Reals
    labels: npt.NDArray[np.int64]


class NanoDet:
    """The detector.

    Args:
        session: Of the converted network.
        likelihood: How likely a thing must be.
        overlap: The most that two boxes of a class may share, of their union.
    """

    def __init__(self, session: Session, *, likelihood: float = 0.35, overlap: float = 0.6) -> None:
        self._session, self._likelihood, self._overlap = session, likelihood, overlap

    def detect(self, picture: Frame) -> Objects:
        """The things of a picture, (H, W, 3) uint8 RGB."""
        shown, scale, corner = _framed(picture)
        values = (shown[..., ::-1].astype(np.float32) - _MEAN) / _SPREAD
        out = self._session.run({"pictures": np.ascontiguousarray(values.transpose(2, 0, 1))[None]})
        boxes, scores, labels = (
            np.concatenate(parts) for parts in zip(*(self._of(out, g) for g in _GRIDS), strict=True)
        )
        boxes = np.clip((boxes - np.tile(corner, 2)) / scale, 0, np.tile(picture.shape[1::-1], 2))
        # Classes do not meet: each has a place of its own.
        apart = boxes + labels[:, None] * (2.0 * max(picture.shape))
        kept = suppressed(apart, scores, self._overlap)
        return Objects(boxes[kept], scores[kept], labels[kept])

    def _of(self, out: dict[str, npt.NDArray[np.float32]], grid: int) -> tuple[Reals, Reals, npt.NDArray[np.int64]]:
        """The boxes of one grid, in pixels of what the network was shown."""
        likely = out[f"classes_{grid}"][0].astype(np.float64)
        place, label = np.nonzero(likely >= self._likelihood)
        shares = np.exp(out[f"distances_{grid}"][0][place].astype(np.float64).reshape(-1, 4, _STEPS))
        far = np.cumsum(shares * np.arange(_STEPS), axis=-1)[..., -1] / np.cumsum(shares, axis=-1)[..., -1] * grid
        row, column = np.divmod(place, _SIDE // grid)
        centre = (np.stack([column, row], axis=1) + 0.5) * grid
        return np.concatenate([centre - far[:, :2], centre + far[:, 2:]], axis=1), likely[place, label], label


def _framed(picture: Frame) -> tuple[Frame, float, Reals]:
    """The picture in the middle of a black square, its scale there, and where its corner lies."""
    height, width = picture.shape[:2]
    scale = _SIDE / max(height, width)
    inner = [max(1, round(side * scale)) for side in (width, height)]
    if scale <= 1:
        small = area_resized(picture, *inner)
    else:
        small = np.floor(bilinear_resized(picture, *inner) + 0.5).astype(np.uint8)
    left, top = ((_SIDE - side) // 2 for side in inner)
    square = np.zeros((_SIDE, _SIDE, 3), dtype=np.uint8)
    square[top : top + inner[1], left : left + inner[0]] = small
    return square, scale, np.array([left, top], dtype=np.float64)
