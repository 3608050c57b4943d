# SPDX-License-Identifier: Apache-2.0
"""Pictures made smaller or larger, with the same bits everywhere.

A weight is a fraction of two sizes, so weights can be written in whole numbers over one divisor. Sums of bytes times
whole weights are whole numbers, exact in int64, and in float64 as far as 2**53, whatever order and instructions they
are added with. One division and one rounding follow.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

Picture = npt.NDArray[np.uint8]
_CUBIC = -0.75


def area_resized(picture: Picture, width: int, height: int) -> Picture:
    """Each new pixel is the mean of the rectangle of old ones it covers; without antialiasing where it enlarges.

    Args:
        picture: (H, W) or (H, W, C) uint8.

    Returns:
        (height, width[, C]) uint8, halves rounded up.

    Example:
        >>> import numpy as np
        >>> area_resized(np.array([[0, 10, 20]], dtype=np.uint8), 2, 1).tolist()
        [[3, 17]]
    """
    sums = _covered(_covered(picture, 0, height, np.int32), 1, width, np.int64)
    whole = picture.shape[0] * picture.shape[1]
    rounded: Picture = ((2 * sums + whole) // (2 * whole)).astype(np.uint8)
    return rounded


def bilinear_resized(picture: Picture, width: int, height: int) -> npt.NDArray[np.float64]:
    """Linear interpolation between the centres of old pixels, edges held; no antialiasing.

    Args:
        picture: (H, W) or (H, W, C) uint8.

    Returns:
        (height, width[, C]) float64, from 0 to 255, not rounded.

    Example:
        >>> import numpy as np
        >>> bilinear_resized(np.array([[0, 100]], dtype=np.uint8), 4, 1).tolist()
        [[0.0, 25.0, 75.0, 100.0]]
    """
    values = picture.astype(np.float64)
    for axis, new in ((0, height), (1, width)):
        below, share = _neighbours(values.shape[axis], new)
        upper = np.minimum(below + 1, values.shape[axis] - 1)
        share = share.reshape(-1, *([1] * (values.ndim - axis - 1)))
        values = values.take(below, axis) * (2 * new - share) + values.take(upper, axis) * share
    scaled: npt.NDArray[np.float64] = values / (4 * width * height)
    return scaled


def cubic_resized(values: npt.NDArray[np.float64], width: int, height: int) -> npt.NDArray[np.float64]:
    """Cubic convolution (a = -3/4) at the centres of new pixels, edges held; no antialiasing.

    Args:
        values: (H, W) whole numbers of 2**-10.
        width, height: At most W and H.

    Returns:
        (height, width), to the nearest whole number of 2**-10: what is flat stays exactly as flat.

    Source:
        Keys, "Cubic convolution interpolation for digital image processing", IEEE TASSP 29(6), 1981, with OpenCV's a.

    Example:
        >>> import numpy as np
        >>> cubic_resized(np.array([[0.0, 32, 64, 96, 96, 96]]), 3, 1).tolist()
        [[13.0, 83.0, 96.0]]
    """
    for axis, new in ((0, height), (1, width)):
        below, share = _neighbours(values.shape[axis], new)
        share = (share / (2 * new)).reshape(-1, *([1] * (values.ndim - axis - 1)))
        last = values.shape[axis] - 1
        taps = [values.take(np.clip(below + k, 0, last), axis) for k in (-1, 0, 1, 2)]
        far = [_CUBIC * (d * (d * (d - 5) + 8) - 4) for d in (1 + share, 2 - share)]
        near = [d * d * ((_CUBIC + 2) * d - (_CUBIC + 3)) + 1 for d in (share, 1 - share)]
        values = far[0] * taps[0] + near[0] * taps[1] + near[1] * taps[2] + far[1] * taps[3]
    rounded: npt.NDArray[np.float64] = np.rint(values * 1024) / 1024
    return rounded


def _covered(values: npt.NDArray[Any], axis: int, new: int, kind: type[np.signedinteger[Any]]) -> npt.NDArray[Any]:
    """Sums over what each of ``new`` pixels covers along an axis, times ``new``; of bytes they fit into 32 bits.

    Added one covered pixel after the other, all new pixels at once.
    """
    places, weights = _cover(values.shape[axis], new)
    tail = (-1, *([1] * (values.ndim - axis - 1)))
    shape = (*values.shape[:axis], new, *values.shape[axis + 1 :])
    sums = np.zeros(shape, dtype=kind)
    for place, weight in zip(places, weights, strict=True):
        sums += values.take(place, axis) * weight.reshape(tail).astype(kind)
    return sums


@functools.lru_cache(maxsize=64)
def _cover(old: int, new: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(most, new) each: the old pixels that each new one covers, and how much of them, in units of 1 / new."""
    starts = np.arange(new) * old
    ends = starts + old
    first = starts // new
    most = int((-(-ends // new) - first).max())
    places = first + np.arange(most)[:, None]
    weights = np.minimum(ends, (places + 1) * new) - np.maximum(starts, places * new)
    return np.minimum(places, old - 1), np.maximum(weights, 0)


@functools.lru_cache(maxsize=64)
def _neighbours(old: int, new: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Of each new centre the old one before it, and how far behind, in units of 1 / (2 new) of their distance."""
    # The new centre lies at (2 i + 1) old / (2 new) - 1/2 = place / (2 new).
    place = np.clip((2 * np.arange(new) + 1) * old - new, 0, 2 * new * (old - 1))
    below = place // (2 * new)
    return below, (place - below * 2 * new).astype(np.float64)
