# SPDX-License-Identifier: Apache-2.0
"""Turns faces into vectors whose cosine tells whether they are of one person.

One official network, ``arcface-w600k-r50``: 112x112, aligned to its template, (x - 127.5) / 127.5; 512 numbers. And two
packaged ones, neither of them ArcFace:

- ``mobileface``: 112x112, aligned by the five points to the template that ArcFace networks use; 256 numbers;
- ``faceres``: 224x224, a loose square about the box, no alignment; the mean over 49 places of 1,024 numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..ops.align import umeyama
from .faces import Faces, Reals, crop
from .registry import Frame
from .session import Session

# Where the five points lie in an aligned face of 112x112 (x, y).
TEMPLATE = np.array(
    [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]]
)
_SIDE = 112
_LOOSE = 1.4  # of a box's longer side

Embeddings = npt.NDArray[np.float32]


class Aligned:
    """An embedder that wants aligned faces."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def embed(self, picture: Frame, faces: Faces) -> Embeddings:
        crops = np.zeros((len(faces.boxes), _SIDE, _SIDE, 3), dtype=np.float32)
        for k, points in enumerate(faces.points):
            crops[k] = aligned(picture, points)
        return self._session.run_padded("faces", crops)["embedding"]


class ArcFace:
    """The official embedder: aligned faces about 0, one a run, for its file leaves the batch open."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def embed(self, picture: Frame, faces: Faces) -> Embeddings:
        (name,), (gives,) = self._session.inputs, self._session.outputs
        rows = np.zeros((len(faces.boxes), int(self._session.outputs[gives][1])), dtype=np.float32)
        for k, points in enumerate(faces.points):
            values = (aligned(picture, points).astype(np.float32) - np.float32(127.5)) / np.float32(127.5)
            rows[k] = self._session.run({name: np.ascontiguousarray(values.transpose(2, 0, 1))[None]})[gives][0]
        return rows


class Loose:
    """An embedder that takes the surroundings of a face as they are."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def embed(self, picture: Frame, faces: Faces) -> Embeddings:
        side = self._session.inputs["faces"][1]
        crops = np.zeros((len(faces.boxes), side, side, 3), dtype=np.float32)
        for k, box in enumerate(faces.boxes):
            centre, half = (box[:2] + box[2:]) / 2, _LOOSE * (box[2:] - box[:2]).max() / 2
            crops[k] = crop(picture, np.concatenate([centre - half, centre + half]), side)
        places = self._session.run_padded("faces", crops)["map"].astype(np.float64)
        count, high, wide, depth = places.shape
        flat = places.reshape(count, high * wide, depth)
        total = np.zeros((len(flat), flat.shape[2]))
        for k in range(flat.shape[1]):  # in this order: a library's mean is a matter of its threads
            total += flat[:, k]
        return (total / flat.shape[1]).astype(np.float32)


def aligned(picture: Frame, points: Reals) -> Frame:
    """A face moved, turned and scaled so that its five points come to lie on the template: 112x112.

    The similarity is the least-squares one; pixels are sampled bilinearly, black outside of the picture.
    """
    flat = np.zeros((5, 1))
    fit = umeyama(np.hstack([TEMPLATE, flat]), np.hstack([points, flat]))
    grid = np.stack(np.meshgrid(np.arange(_SIDE), np.arange(_SIDE)), axis=-1).reshape(-1, 2)
    matrix = fit.scale * fit.rotation[:2, :2]
    # In a fixed order, without a library's matrix product.
    x = grid[:, 0] * matrix[0, 0] + grid[:, 1] * matrix[0, 1] + fit.translation[0]
    y = grid[:, 0] * matrix[1, 0] + grid[:, 1] * matrix[1, 1] + fit.translation[1]
    return _sampled(picture, x, y).reshape(_SIDE, _SIDE, 3)


def _sampled(picture: Frame, x: Reals, y: Reals) -> Frame:
    height, width = picture.shape[:2]
    padded = np.zeros((height + 2, width + 2, 3))
    padded[1:-1, 1:-1] = picture
    x, y = np.clip(x, -1, width) + 1, np.clip(y, -1, height) + 1
    left, top = np.minimum(x.astype(np.int64), width), np.minimum(y.astype(np.int64), height)
    right, down = (x - left)[:, None], (y - top)[:, None]
    above = padded[top, left] * (1 - right) + padded[top, left + 1] * right
    below = padded[top + 1, left] * (1 - right) + padded[top + 1, left + 1] * right
    rounded: Frame = np.floor(above * (1 - down) + below * down + 0.5).astype(np.uint8)
    return rounded
