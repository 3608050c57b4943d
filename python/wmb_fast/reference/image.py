# SPDX-License-Identifier: Apache-2.0
"""How far two images are from each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
K1, K2 = 0.01, 0.03
GREY = (0.299, 0.587, 0.114)  # of red, green, blue
GREY_BYTES = (9798, 19235, 3735)  # the same in 15 bits, as OpenCV rounds them: their sum is 2^15


def mse(a: npt.ArrayLike, b: npt.ArrayLike, *, layout: str = "hwc") -> Array:
    """Mean squared difference of images (..., H, W, C), over all that belongs to a pair; NaN where not finite."""
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    image = tuple(range(-len(layout), 0))
    samples = np.prod([difference.shape[axis] for axis in image])
    mean = (difference**2).sum(axis=image) / (samples or np.nan)
    return np.where(np.isfinite(mean), mean, np.nan)


def psnr(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    data_range: float | tuple[float, float],
    identical: float = np.inf,
    layout: str = "hwc",
) -> Array:
    """``10 log10(data_range^2 / mse)`` in decibels; ``identical`` where the images are the same."""
    error = mse(a, b, layout=layout)
    _, extent = _lowest_and_extent(data_range)
    return np.where(error == 0, identical, 10 * np.log10(extent**2 / np.where(error == 0, 1, error)))


def ssim(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    data_range: float | tuple[float, float],
    variant: str,
    layout: str = "hwc",
    order: str = "rgb",
) -> Array:
    """Mean structural similarity of images (..., H, W, C), over windows and channels; NaN where not finite.

    ``(2 ma mb + C1)(2 cov + C2) / ((ma^2 + mb^2 + C1)(va + vb + C2))`` of every window, ``Ck = (Kk data_range)^2``.
    A range (low, high) makes it that of a - low and b - low.
    """
    lowest, extent = _lowest_and_extent(data_range)
    images = [_colours_last(image, layout) for image in (a, b)]
    if variant == "gaussian11_gray":
        images = [_grey(image, order) for image in images]
    first, second = (image.astype(np.float64) - lowest for image in images)
    weights, sample = np.exp(-(np.arange(-5, 6.0) ** 2) / (2 * 1.5**2)), 1.0
    if variant == "uniform7":
        weights, sample = np.ones(7), 49 / 48  # the covariance of a sample
    weights = weights / weights.sum()
    mirror = variant in ("gaussian11", "gaussian11_gray")
    mean_a, mean_b = (_windowed(image, weights, mirror) for image in (first, second))
    variances = sum(_windowed(image**2, weights, mirror) for image in (first, second)) - mean_a**2 - mean_b**2
    covariance = _windowed(first * second, weights, mirror) - mean_a * mean_b
    c1, c2 = (K1 * extent) ** 2, (K2 * extent) ** 2
    luminance = (2 * mean_a * mean_b + c1) / (mean_a**2 + mean_b**2 + c1)
    structure = (2 * sample * covariance + c2) / (sample * variances + c2)
    mean = (luminance * structure).mean(axis=(-3, -2, -1))
    return np.where(np.isfinite(mean), mean, np.nan)


def _lowest_and_extent(data_range: float | tuple[float, float]) -> tuple[float, float]:
    low, high = data_range if isinstance(data_range, tuple) else (0.0, data_range)
    return low, high - low


def _colours_last(image: npt.ArrayLike, layout: str) -> Array:
    array = np.asarray(image)
    if layout == "hw":
        array = array[..., None]
    elif layout == "chw":
        array = np.moveaxis(array, -3, -1)
    return array if array.dtype == np.uint8 else array.astype(np.float64)


def _grey(image: Array, order: str) -> Array:
    """Of bytes rounded; one channel is grey already."""
    if image.shape[-1] == 1:
        return image
    rgb = image if order == "rgb" else image[..., ::-1]
    if image.dtype == np.uint8:
        return np.asarray((rgb @ np.array(GREY_BYTES) + 2**14) >> 15)[..., None]
    return np.asarray(rgb @ np.array(GREY))[..., None]


def _windowed(image: Array, weights: Array, mirror: bool) -> Array:
    """Weighted means along rows, then columns, of every window inside the image, or of the mirrored image."""
    values = image
    for axis in (-3, -2):
        if mirror:
            pad = [(0, 0)] * values.ndim
            pad[axis] = (len(weights) // 2,) * 2
            values = np.pad(values, pad, mode="reflect")
        values = np.lib.stride_tricks.sliding_window_view(values, len(weights), axis=axis) @ weights
    return values
