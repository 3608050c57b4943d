# SPDX-License-Identifier: Apache-2.0
"""Local features by XFeat: where two pictures show the same point.

A picture is resized to sides divisible by 32, made grey and normalised; the network says for each pixel how likely it
is a keypoint, for each cell of 8x8 how reliable, and gives it 64 numbers. Keypoints are pixels above the threshold that
are the largest of the 5x5 around them; their descriptors are interpolated between cells.

Source: Potje et al., "XFeat: Accelerated Features for Lightweight Image Matching", CVPR 2024, section 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..ops.match import Matches, mutual_matches
from .registry import Frame
from .resize import bilinear_resized
from .session import Session

Reals = npt.NDArray[np.float64]
_CELL, _MULTIPLE, _RADIUS, _LONG = 8, 32, 2, 64


class Keypoints(NamedTuple):
    """Points of a picture, the best first.

    Attributes:
        places: (N, 2) float64 x, y in its pixels.
        scores: (N,) float64.
        descriptors: (N, 64) float32, of length one.
    """

    places: Reals
    scores: Reals
    descriptors: npt.NDArray[np.float32]


class XFeat:
    """Finds keypoints and matches them.

    Args:
        session: Of the converted network.
        most: How many keypoints a picture keeps.
        threshold: How likely a keypoint must be.
        min_score: The least cosine of a match.
    """

    def __init__(self, session: Session, *, most: int = 4096, threshold: float = 0.05, min_score: float = 0.82) -> None:
        self._session = session
        self._most, self._threshold, self._min_score = most, threshold, min_score

    def keypoints(self, picture: Frame) -> Keypoints:
        """Of a picture, (H, W, 3) uint8 RGB. One that is less than 32 pixels wide or high has none."""
        if min(picture.shape[:2]) < _MULTIPLE:
            return Keypoints(np.zeros((0, 2)), np.zeros(0), np.zeros((0, _LONG), dtype=np.float32))
        height, width = (side // _MULTIPLE * _MULTIPLE for side in picture.shape[:2])
        out = self._session.run({"grey": _grey(picture, width, height)[None, None]})
        likely = _per_pixel(out["keypoints"][0].astype(np.float64))
        places = _peaks(likely, self._threshold)
        scores = likely[places[:, 1], places[:, 0]] * _between(out["reliability"][0], places)[:, 0]
        best = np.argsort(-scores, kind="stable")[: self._most]
        descriptors = _between(out["features"][0], places[best])
        length = np.sqrt(_summed(descriptors * descriptors))
        unit = (descriptors / np.maximum(length, 1e-12)[:, None]).astype(np.float32)
        scale = np.array([picture.shape[1] / width, picture.shape[0] / height])
        return Keypoints((places[best] + 0.5) * scale - 0.5, scores[best], unit)

    def match_pictures(self, a: Frame, b: Frame) -> tuple[Reals, Reals, Reals]:
        """The same of two pictures."""
        return self.match(self.keypoints(a), self.keypoints(b))

    def match(self, a: Keypoints, b: Keypoints) -> tuple[Reals, Reals, Reals]:
        """Matches of two pictures: (M, 2) places in each, and (M,) cosines."""
        found = mutual_matches(a.descriptors, b.descriptors, min_score=self._min_score)
        assert isinstance(found, Matches)  # of one pair, not of a batch
        return a.places[found.index_a], b.places[found.index_b], np.asarray(found.score, dtype=np.float64)


def _grey(picture: Frame, width: int, height: int) -> npt.NDArray[np.float32]:
    """(height, width), mean 0 and variance 1; sums of whole rows, then of those, in a fixed order."""
    mean = _summed(bilinear_resized(picture, width, height)) / picture.shape[2]
    centred = mean - _summed(_summed(mean)[None])[0] / mean.size
    variance = _summed(_summed(centred * centred)[None])[0] / mean.size
    # The network divides values from 0 to 1 by sqrt(variance + 1e-5).
    normal: npt.NDArray[np.float32] = (centred / 255 / np.sqrt(variance / 255**2 + 1e-5)).astype(np.float32)
    return normal


def _summed(values: Reals) -> Reals:
    """Sums along the last axis, from left to right."""
    sums: Reals = np.cumsum(values, axis=-1)[..., -1]
    return sums


def _per_pixel(logits: Reals) -> Reals:
    """(65, h, w) logits of the 64 pixels of a cell, and of none, to (8 h, 8 w) probabilities."""
    powers = np.exp(logits - logits.max(axis=0))
    shares = powers[:64] / _summed(np.moveaxis(powers, 0, -1))
    _, h, w = shares.shape
    pixels: Reals = shares.reshape(_CELL, _CELL, h, w).transpose(2, 0, 3, 1).reshape(_CELL * h, _CELL * w)
    return pixels


def _peaks(likely: Reals, threshold: float) -> npt.NDArray[np.int64]:
    """(N, 2) x, y of pixels above the threshold that none within two pixels exceeds."""
    padded = np.pad(likely, _RADIUS, constant_values=-1.0)
    for axis in (0, 1):
        size = likely.shape[axis]
        shifted = [padded.take(range(k, k + size), axis) for k in range(2 * _RADIUS + 1)]
        padded = np.maximum.reduce(shifted)
    row, column = np.nonzero((likely == padded) & (likely > threshold))
    return np.stack([column, row], axis=1)


def _between(cells: npt.NDArray[np.float32], places: npt.NDArray[np.int64]) -> Reals:
    """(C, h, w) values of cells, interpolated bilinearly at pixels: (N, C)."""
    _, h, w = cells.shape
    at = np.clip((places + 0.5) / _CELL - 0.5, 0, [w - 1, h - 1])
    low = np.minimum(at.astype(np.int64), [max(w - 2, 0), max(h - 2, 0)])
    right, down = (at - low).T[:, :, None]
    rows = np.moveaxis(cells, 0, -1).astype(np.float64)
    x, y = low.T
    far_x, far_y = np.minimum(x + 1, w - 1), np.minimum(y + 1, h - 1)
    above = rows[y, x] * (1 - right) + rows[y, far_x] * right
    below = rows[far_y, x] * (1 - right) + rows[far_y, far_x] * right
    values: Reals = above * (1 - down) + below * down
    return values
