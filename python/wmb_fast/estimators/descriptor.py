# SPDX-License-Identifier: Apache-2.0
"""A dense descriptor of a frame, for telling whether two frames show the same: colour, texture and place, jointly.

A 128x80 picture is cut into 160 patches of 8x8. A patch's token is the square root of a joint histogram with soft bins:

    token[place, brightness, chroma, texture] = sqrt(place x colour[brightness, chroma] x texture)

- place: 4x3 cells of the picture, weights linear in the patch's centre;
- colour: 5 levels of brightness x (grey, red, blue, green, yellow), the mean over the patch's pixels;
- texture: the gradient's magnitude in 4 orientations and, for flat patches, none.

Each factor sums to one, so a token has length one, and 1 - cos of two tokens is their squared Hellinger distance. The
mean over patches is a kernel mean of the picture's colour, texture and place; 1 - cos of two means is small while a
camera moves the content by less than a cell (on eight real rollouts 90 % of the steps of half a second's motion are
below 0.05), and large for another place (0.7 in the median; 0.4 and above across hard cuts). The limit of 0.10 that
WorldMark puts between the two was set for a network, and falls in between here as well.

Sums run in a fixed order and only + - x / sqrt are used: the bits do not depend on threads or vector instructions,
given the bits of OpenCV's resized picture.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .opencv import opencv
from .registry import Frame, Settings

VERSION = 1
_WHO = "colour-texture-place"
Real = npt.NDArray[np.float64]


def settings(model: str | None) -> Settings:
    """Sizes, bins and widths; the same for every model."""
    return {
        "size": [128, 80],
        "patch": 8,
        "cells": [4, 3],
        "brightness_levels": 5,
        "full_chroma": 32.0,
        "texture_floor": 6.0,
    }


def start(settings: Settings) -> Descriptor:
    return Descriptor(settings)


class Descriptor:
    """Keeps one row a frame."""

    def __init__(self, settings: Settings) -> None:
        self._cv2 = opencv(_WHO)
        self._set = settings
        self._frames: list[int] = []
        self._means: list[npt.NDArray[np.float32]] = []
        width, height = settings["size"]
        across, down = settings["cells"]
        patch = settings["patch"]
        self._columns = np.sqrt(_soft_bins((np.arange(width // patch) + 0.5) * patch, width, across))
        self._rows = np.sqrt(_soft_bins((np.arange(height // patch) + 0.5) * patch, height, down))

    def feed(self, index: int, frame: Frame) -> None:
        width, height = self._set["size"]
        small = self._cv2.resize(frame, (width, height), interpolation=self._cv2.INTER_AREA)
        self._frames.append(index)
        self._means.append(self._mean_token(small))

    def finish(self) -> dict[str, Any]:
        means = np.stack(self._means) if self._means else np.zeros((0, 1), dtype=np.float32)
        return {"frames": np.array(self._frames, dtype=np.int64), "mean": means}

    def _mean_token(self, small: Frame) -> npt.NDArray[np.float32]:
        rgb = small.astype(np.float64)
        brightness = (77 * rgb[..., 0] + 150 * rgb[..., 1] + 29 * rgb[..., 2]) / 256
        patch = self._set["patch"]
        levels = _soft_bins(brightness, 256, self._set["brightness_levels"])
        chroma = _chroma(rgb, brightness, self._set["full_chroma"])
        colour = _patch_means(levels[..., :, None] * chroma[..., None, :], patch)
        texture = self._texture(brightness)
        appearance = np.sqrt(colour[..., None]) * np.sqrt(texture[..., None, None, :])
        mean = self._over_places(appearance).ravel()
        length = math.sqrt(math.fsum((mean * mean).tolist()))
        return (mean / length).astype(np.float32)

    def _texture(self, brightness: Real) -> Real:
        edges = _patch_means(_oriented_gradients(brightness), self._set["patch"])
        strength = edges[..., 0] + edges[..., 1] + edges[..., 2] + edges[..., 3]
        floor = self._set["texture_floor"]
        flat = np.full_like(strength, floor)
        shares: Real = np.concatenate([edges, flat[..., None]], axis=-1) / (strength + floor)[..., None]
        return shares

    def _over_places(self, appearance: Real) -> Real:
        """Sums patches into cells, first along rows, then down: (rows, columns, ...) to (down, across, ...)."""
        tail = (1,) * (appearance.ndim - 2)
        along = _sum_in_order(
            appearance[:, x, None] * self._columns[x].reshape(1, -1, *tail) for x in range(appearance.shape[1])
        )
        return _sum_in_order(along[y, None] * self._rows[y].reshape(-1, 1, *tail) for y in range(len(along)))


def _sum_in_order(terms: Any) -> Real:
    total: Real = next(iterator := iter(terms))
    for term in iterator:
        total = total + term
    return total


def _soft_bins(values: Real, span: float, n: int) -> Real:
    """Weights of ``n`` bins that share out [0, span]: linear between their centres, summing to one."""
    place = np.clip(values * (n / span) - 0.5, 0, n - 1)
    weights: Real = np.maximum(1 - np.abs(place[..., None] - np.arange(n)), 0)
    return weights


def _chroma(rgb: Real, brightness: Real, full: float) -> Real:
    """Weights of grey, red, blue, green and yellow, summing to one."""
    blue = 0.564 * (rgb[..., 2] - brightness)
    red = 0.713 * (rgb[..., 0] - brightness)
    amount = np.abs(blue) + np.abs(red)
    share = np.minimum(amount / full, 1) / np.where(amount > 0, amount, 1)
    hues = [np.maximum(red, 0), np.maximum(blue, 0), np.maximum(-red, 0), np.maximum(-blue, 0)]
    return np.stack([1 - amount * share, *(hue * share for hue in hues)], axis=-1)


def _oriented_gradients(brightness: Real) -> Real:
    """The gradient's magnitude, shared out over the orientations 0, 45, 90 and 135 degrees."""
    padded = np.pad(brightness, 1, mode="edge")
    x = (padded[1:-1, 2:] - padded[1:-1, :-2]) / 2
    y = (padded[2:, 1:-1] - padded[:-2, 1:-1]) / 2
    straight, slanted = x * x - y * y, 2 * x * y  # the squared magnitude times cos and sin of the doubled angle
    spread = np.abs(straight) + np.abs(slanted)
    share = np.sqrt(x * x + y * y) / np.where(spread > 0, spread, 1)
    parts = [np.maximum(straight, 0), np.maximum(slanted, 0), np.maximum(-straight, 0), np.maximum(-slanted, 0)]
    return np.stack([part * share for part in parts], axis=-1)


def _patch_means(picture: Real, patch: int) -> Real:
    """Means over patches, summed in a fixed order: (H, W, ...) to (H / patch, W / patch, ...)."""
    height, width = picture.shape[:2]
    tail = picture.shape[2:]
    rows = picture.reshape(height // patch, patch, width, *tail)
    summed = _sum_in_order(rows[:, k] for k in range(patch))
    columns = summed.reshape(height // patch, width // patch, patch, *tail)
    return _sum_in_order(columns[:, :, k] for k in range(patch)) / (patch * patch)
