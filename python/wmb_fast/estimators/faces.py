# SPDX-License-Identifier: Apache-2.0
"""Finds faces, and the five points by which they are aligned: a cascade of three small networks (MTCNN).

The first looks at every place of a pyramid of pictures, the second and the third at ever fewer crops; each says how
likely a face is and how its box must move.

Source: Zhang et al., "Joint face detection and alignment using multitask cascaded convolutional networks", IEEE SPL
23(10), 2016, section II.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .registry import Frame
from .resize import area_resized, bilinear_resized
from .session import Session

Reals = npt.NDArray[np.float64]
_CELL, _STEP = 12, 2  # what the first network looks at, and how far apart, in pixels of its picture
_CROPS = {"second": 24, "third": 48}
_THRESHOLDS = (0.6, 0.7, 0.7)
_PYRAMID = 0.709


class Faces(NamedTuple):
    """The faces of one picture, the likeliest first.

    Attributes:
        boxes: (M, 4) left, top, right, bottom in pixels.
        scores: (M,) from 0 to 1.
        points: (M, 5, 2) x, y in pixels of left eye, right eye, nose, left and right corner of the mouth, as seen.
    """

    boxes: Reals
    scores: Reals
    points: Reals


class FaceDetector:
    """The cascade.

    Args:
        first, second, third: Sessions of P-, R- and O-net.
        smallest: The least side of a face that is looked for, in pixels.
    """

    def __init__(self, first: Session, second: Session, third: Session, *, smallest: int = 20) -> None:
        self._first, self._second, self._third = first, second, third
        self._smallest = smallest

    def detect(self, picture: Frame) -> Faces:
        """The faces of a picture, (H, W, 3) uint8 RGB."""
        boxes, _ = self._proposed(picture)
        boxes, _, _ = self._refined(picture, boxes, self._second, _CROPS["second"], _THRESHOLDS[1])
        boxes, scores, points = self._refined(picture, boxes, self._third, _CROPS["third"], _THRESHOLDS[2])
        kept = suppressed(boxes, scores, 0.7, of_smaller=True)
        return Faces(boxes[kept], scores[kept], points[kept])

    def _proposed(self, picture: Frame) -> tuple[Reals, Reals]:
        height, width = picture.shape[:2]
        scale = _CELL / self._smallest
        boxes, scores = [np.zeros((0, 4))], [np.zeros(0)]
        while min(height, width) * scale >= _CELL:
            found, how_likely = self._at_scale(picture, scale)
            boxes.append(found)
            scores.append(how_likely)
            scale *= _PYRAMID
        every, likely = np.concatenate(boxes), np.concatenate(scores)
        kept = suppressed(every, likely, 0.7)
        return every[kept], likely[kept]

    def _at_scale(self, picture: Frame, scale: float) -> tuple[Reals, Reals]:
        height, width = picture.shape[:2]
        small = area_resized(picture, int(np.ceil(width * scale)), int(np.ceil(height * scale)))
        out = self._first.run({"pictures": _normalised(small[None])})
        likely = out["likely"][0, 1].astype(np.float64)
        moves = out["moves"][0].transpose(1, 2, 0).astype(np.float64)
        row, column = np.nonzero(likely >= _THRESHOLDS[0])
        corner = np.stack([column, row], axis=1) * _STEP
        boxes = np.concatenate([corner + 0.5, corner + _CELL + 0.5], axis=1) / scale
        scores = likely[row, column]
        kept = suppressed(boxes, scores, 0.5)
        return _moved(boxes[kept], moves[row, column][kept]), scores[kept]

    def _refined(
        self, picture: Frame, boxes: Reals, session: Session, side: int, threshold: float
    ) -> tuple[Reals, Reals, Reals]:
        """Looks again at boxes, made square: those that are faces, with their moved boxes, scores and points."""
        square = _squared(boxes)
        out = _in_batches(session, picture, square, side)
        likely, moves = out["likely"][:, 1], out["moves"]
        points = out.get("points", np.zeros((len(square), 10)))
        found = np.flatnonzero(likely > threshold)
        square, scores = square[found], likely[found]
        sides = (square[:, 2:] - square[:, :2])[:, None, :]
        places = np.stack([points[found, :5], points[found, 5:]], axis=2) * sides + square[:, None, :2]
        moved = _moved(square, moves[found])
        if "points" in out:
            return moved, scores, places
        kept = suppressed(square, scores, 0.7)
        return moved[kept], scores[kept], places[kept]


def _in_batches(session: Session, picture: Frame, boxes: Reals, side: int) -> dict[str, Reals]:
    """What a network says of the crops of boxes."""
    crops = np.zeros((len(boxes), side, side, 3), dtype=np.uint8)
    for k, box in enumerate(boxes):
        crops[k] = crop(picture, box, side)
    out = session.run_padded("crops", _normalised(crops))
    return {name: values.astype(np.float64) for name, values in out.items()}


def crop(picture: Frame, box: Reals, side: int) -> Frame:
    """A box of a picture, rounded to whole pixels, black where it reaches beyond, as a square of a given side."""
    left, top = (int(v) for v in np.floor(box[:2]))
    right, bottom = (max(int(v), low + 1) for v, low in zip(np.ceil(box[2:]), (left, top), strict=True))
    height, width = picture.shape[:2]
    patch = np.zeros((bottom - top, right - left, 3), dtype=np.uint8)
    inside = np.s_[max(top, 0) : min(bottom, height), max(left, 0) : min(right, width)]
    found = picture[inside]
    if found.size:
        y, x = max(-top, 0), max(-left, 0)
        patch[y : y + found.shape[0], x : x + found.shape[1]] = found
    shrinks = patch.shape[0] >= side and patch.shape[1] >= side
    if shrinks:
        return area_resized(patch, side, side)
    return np.floor(bilinear_resized(patch, side, side) + 0.5).astype(np.uint8)


def _normalised(pictures: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """(B, H, W, 3) from 0 to 255 to (B, 3, H, W) about 0."""
    values = (pictures.astype(np.float32) - np.float32(127.5)) * np.float32(1 / 128)
    return np.ascontiguousarray(values.transpose(0, 3, 1, 2))


def _moved(boxes: Reals, moves: Reals) -> Reals:
    """Boxes whose corners moved by shares of their sides."""
    sides = boxes[:, 2:] - boxes[:, :2]
    moved: Reals = boxes + moves * np.concatenate([sides, sides], axis=1)
    return moved


def _squared(boxes: Reals) -> Reals:
    """Squares about the same centres, as large as the longer sides."""
    centre = (boxes[:, :2] + boxes[:, 2:]) / 2
    half = (boxes[:, 2:] - boxes[:, :2]).max(axis=1, initial=0)[:, None] / 2
    return np.concatenate([centre - half, centre + half], axis=1)


def suppressed(boxes: Reals, scores: Reals, most: float, *, of_smaller: bool = False) -> npt.NDArray[Any]:
    """Which boxes stay, the likeliest first, when none may overlap a likelier one by more than a share.

    The share is of their union, or of the smaller of both. Ties go to the earlier box.
    """
    order = np.argsort(-scores, kind="stable")
    area = np.maximum(boxes[:, 2:] - boxes[:, :2], 0).prod(axis=1)
    kept = []
    while len(order):
        best, rest = order[0], order[1:]
        kept.append(best)
        low = np.maximum(boxes[best, :2], boxes[rest, :2])
        high = np.minimum(boxes[best, 2:], boxes[rest, 2:])
        shared = np.maximum(high - low, 0).prod(axis=1)
        whole = np.minimum(area[best], area[rest]) if of_smaller else area[best] + area[rest] - shared
        order = rest[shared <= most * whole]
    return np.array(kept, dtype=np.int64)
