# SPDX-License-Identifier: Apache-2.0
"""The 36 numbers by which BRISQUE tells natural pictures from damaged ones, as its regression was trained on them.

At two scales, the grey picture and its half: what is left of a pixel after its neighbourhood's mean, in units of the
neighbourhood's spread, is near a Gaussian in natural pictures, and damage changes its shape. An asymmetric generalised
Gaussian is fitted to these values (its shape, and the mean of both variances), and to their products with the pixel to
the right, below, below right and above right (shape, mean, variance at the left, at the right).

The support vectors of LIVE's model say how their features were made: shapes lie on a grid that counts up from 0.2 by
0.001 in float32, as LIVE's C++ release steps, not its MATLAB code. So here, with that release: the same fit for the
values as for the products; zeros belong to neither side, but are counted in the moments, and so are the pixels at the
border that have no neighbour; borders held; half the size by cubic convolution without antialiasing. One thing differs:
grey is 0.299 R + 0.587 G + 0.114 B as in the paper, where the release reads its BGR pictures as RGB.

Numerics: grey levels are whole numbers, the Gaussian's weights of 2**-17, halves of 2**-10, so that neighbourhoods'
means are exact and a flat patch has values of exactly 0, on no side of it; elsewhere rounding would say which, and
decide about the fit of pictures with bars or burnt-out skies. Sums have one order: the same bits for any threads and
vector instructions.

Source: Mittal, Moorthy and Bovik, IEEE TIP 21(12), 2012, sections III-A and III-B; Lasmar, Stitou and Berthoumieu, ICIP
2009, for the fit.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .registry import Frame
from .resize import cubic_resized

SMALLEST = 14  # pixels a side, so that the window fits into the half
_RADIUS, _SIGMA, _GRAIN = 3, 7 / 6, 2**17
_BAND = 64  # rows
Reals = npt.NDArray[np.float64]


class Shape(NamedTuple):
    """An asymmetric generalised Gaussian about 0: its shape, its mean, and the variances of either side."""

    shape: float
    mean: float
    left: float
    right: float


def features(picture: Frame) -> Reals:
    """The statistics of a picture.

    Args:
        picture: (H, W, 3) uint8 RGB.

    Returns:
        (36,): for each scale the shape and the mean variance of the values, then shape, mean, left and right variance
        of the four products. NaN where a side of a distribution is empty, as in a picture of one level; all NaN where a
        side of the picture is shorter than 14 pixels.

    Example:
        >>> checks = np.indices((16, 16)).sum(0, dtype=np.uint8) % 2 * 50
        >>> features(np.repeat(checks[..., None], 3, axis=2)).shape
        (36,)
        >>> bool(np.isnan(features(np.zeros((16, 16, 3), np.uint8))).any())
        True
    """
    height, width = picture.shape[:2]
    if min(height, width) < SMALLEST:
        return np.full(36, np.nan)
    grey = _grey(picture)
    return np.array([*_of_scale(grey), *_of_scale(cubic_resized(grey, width // 2, height // 2))])


def normalised(held: Reals) -> Reals:
    """Of each pixel, (level - mean) / (spread + 1) of the 7x7 pixels around it, weighted by a Gaussian of 7/6 pixels.

    Args:
        held: (H + 6, W + 6) levels from 0 to 255, whole numbers of 2**-10, with three more pixels at each border.

    Returns:
        (H, W).
    """
    mean = _blurred(held)
    variance = _blurred(held * held) - mean * mean
    inner = held[_RADIUS:-_RADIUS, _RADIUS:-_RADIUS]
    values: Reals = (inner - mean) / (np.sqrt(np.maximum(variance, 0)) + 1)
    return values


def moments(values: Reals) -> Reals:
    """(6,): how many values are below 0 and how many above; their sums; the sums of their squares.

    Sums by adding the second half to the first, until one number is left.
    """
    parts = np.empty((4, values.size))
    np.minimum(values.ravel(), 0, out=parts[0])
    np.maximum(values.ravel(), 0, out=parts[1])
    np.multiply(parts[:2], parts[:2], out=parts[2:])
    counts = [np.count_nonzero(parts[0]), np.count_nonzero(parts[1])]
    left = values.size
    while left > 1:
        half = (left + 1) // 2
        parts[:, : left - half] += parts[:, half:left]
        left = half
    return np.array([*counts, *parts[:, 0]])


def fitted(sums: Reals, count: int) -> Shape:
    """The distribution that has these moments.

    Args:
        sums: (6,), as :func:`moments` gives them.
        count: Of how many values, zeros included.

    Returns:
        The shape is the grid's nearest, from 0.2 to 9.9994. NaN without a value below 0, or without one above.
    """
    n_below, n_above, below, above, squares_below, squares_above = sums.tolist()
    if not n_below or not n_above:
        return Shape(math.nan, math.nan, math.nan, math.nan)
    left, right = squares_below / n_below, squares_above / n_above
    ratio = math.sqrt(left / right)
    found = (above - below) ** 2 / (count * (squares_below + squares_above))
    wanted = found * (ratio**3 + 1) * (ratio + 1) / (ratio * ratio + 1) ** 2
    shapes, ratios, means = _grid()
    k = int(np.searchsorted(ratios, wanted))
    if k == len(ratios) or (k and wanted - ratios[k - 1] < ratios[k] - wanted):
        k -= 1
    return Shape(float(shapes[k]), float((math.sqrt(right) - math.sqrt(left)) * means[k]), left, right)


def _of_scale(grey: Reals) -> list[float]:
    """18 numbers; in bands of rows, which stay in the cache, each with the row above it for the products."""
    held = np.pad(grey, _RADIUS, mode="edge")
    total = np.zeros((5, 6))
    for top in range(0, len(grey), _BAND):
        first, end = max(top - 1, 0), min(top + _BAND, len(grey))
        values = normalised(held[first : end + 2 * _RADIUS])
        own, upper, lower = values[top - first :], values[:-1], values[1:]
        total += [
            moments(own),
            moments(own[:, :-1] * own[:, 1:]),
            moments(upper * lower),
            moments(upper[:, :-1] * lower[:, 1:]),
            moments(lower[:, :-1] * upper[:, 1:]),
        ]
    own_shape, *products = (fitted(sums, grey.size) for sums in total)
    return [own_shape.shape, (own_shape.left + own_shape.right) / 2, *(v for shape in products for v in shape)]


def _grey(picture: Frame) -> Reals:
    red, green, blue = (picture[..., c].astype(np.int32) for c in range(3))
    return ((299 * red + 587 * green + 114 * blue + 500) // 1000).astype(np.float64)


def _blurred(held: Reals) -> Reals:
    """The Gaussian mean of 7x7, where all are there; exact where values are whole numbers of 2**-10 below 512."""
    for axis in (0, 1):
        size = held.shape[axis] - 2 * _RADIUS
        lines = [held[k : k + size] if axis == 0 else held[:, k : k + size] for k in range(2 * _RADIUS + 1)]
        mean = lines[_RADIUS] * _weights()[0]
        for away in range(1, _RADIUS + 1):
            both = lines[_RADIUS - away] + lines[_RADIUS + away]
            both *= _weights()[away]
            mean += both
        held = mean
    return held


@functools.cache
def _weights() -> tuple[float, ...]:
    """Of the pixel itself and of those 1, 2 and 3 away."""
    bell = [math.exp(-d * d / (2 * _SIGMA**2)) for d in range(_RADIUS + 1)]
    around = [round(_GRAIN * b / (bell[0] + 2 * sum(bell[1:]))) for b in bell[1:]]
    return tuple(whole / _GRAIN for whole in (_GRAIN - 2 * sum(around), *around))


@functools.cache
def _grid() -> tuple[Reals, Reals, Reals]:
    """Shapes, what E|x|^2 / E x^2 is of each, and what a difference of the sides' deviations makes of the mean.

    The ratio grows with the shape.
    """
    steps = np.full(9800, 0.001, dtype=np.float32)
    steps[0] = 0.2
    shapes = np.add.accumulate(steps).astype(np.float64)
    first, second, third = (np.array([math.gamma(k / shape) for shape in shapes.tolist()]) for k in (1, 2, 3))
    return shapes, second * second / (first * third), second / np.sqrt(first * third)
