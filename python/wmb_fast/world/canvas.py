# SPDX-License-Identifier: Apache-2.0
"""A surface to paint on, measured in metres from its upper left corner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .exact import Floats, uniform

Colour = Sequence[float]
_f = np.float32


def noise(height: int, width: int, cell: tuple[float, float], seed: int) -> Floats:
    """Smooth value noise in [0, 1), (height, width); ``cell`` is its grain in texels, down and right."""
    rows, down = _lattice(height, cell[0])
    columns, right = _lattice(width, cell[1])
    values = uniform(seed, np.arange(rows[-1] + 2)[:, None], np.arange(columns[-1] + 2)[None, :])
    between = values[rows] + down[:, None] * (values[rows + 1] - values[rows])
    return between[:, columns] + right[None, :] * (between[:, columns + 1] - between[:, columns])


def _lattice(n: int, cell: float) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Floats]:
    at = np.arange(n, dtype=np.float64) / max(cell, 1.0)
    whole = np.floor(at)
    part = (at - whole).astype(np.float32)
    return whole.astype(np.int64), part * part * (_f(3) - _f(2) * part)


class Canvas:
    """Colours from 0 to 255, (height, width, 3), and what paints on them.

    Attributes:
        rgb: The colours.
        width_m, height_m: Its size in metres.
        density: Texels a metre.
    """

    def __init__(self, width_m: float, height_m: float, density: float, colour: Colour) -> None:
        self.width_m, self.height_m, self.density = width_m, height_m, density
        rows, columns = max(2, round(height_m * density)), max(2, round(width_m * density))
        self.rgb: Floats = np.empty((rows, columns, 3), dtype=np.float32)
        self.rgb[:] = np.asarray(colour, dtype=np.float32)

    @property
    def x(self) -> Floats:
        """The texels' distances from the left edge, (1, width)."""
        n = self.rgb.shape[1]
        return ((np.arange(n, dtype=np.float32) + _f(0.5)) * _f(self.width_m / n))[None, :]

    @property
    def y(self) -> Floats:
        """The texels' distances from the upper edge, (height, 1)."""
        n = self.rgb.shape[0]
        return ((np.arange(n, dtype=np.float32) + _f(0.5)) * _f(self.height_m / n))[:, None]

    def part(self, left: float, top: float, right: float, bottom: float) -> Canvas:
        """The rectangle as a canvas of its own: painting on it paints here."""
        rows, columns = self.rgb.shape[:2]
        a, b = (min(max(round(v / self.height_m * rows), 0), rows) for v in (top, bottom))
        c, d = (min(max(round(v / self.width_m * columns), 0), columns) for v in (left, right))
        piece = Canvas.__new__(Canvas)
        piece.width_m, piece.height_m, piece.density = max(right - left, 1e-3), max(bottom - top, 1e-3), self.density
        piece.rgb = self.rgb[a:b, c:d]
        return piece

    def fill(self, colour: Colour) -> None:
        """Paints all of it."""
        self.rgb[:] = np.asarray(colour, dtype=np.float32)

    def rectangle(self, left: float, top: float, right: float, bottom: float, colour: Colour) -> None:
        """Paints a rectangle."""
        self.part(left, top, right, bottom).fill(colour)

    def frame(self, thick: float, colour: Colour) -> None:
        """Paints a border."""
        w, h = self.width_m, self.height_m
        for left, top, right, bottom in (
            (0, 0, w, thick),
            (0, h - thick, w, h),
            (0, 0, thick, h),
            (w - thick, 0, w, h),
        ):
            self.rectangle(left, top, right, bottom, colour)

    def where(self, mask: np.ndarray[tuple[int, int], np.dtype[np.bool_]], colour: Colour) -> None:
        """Paints where the mask, which broadcasts to the canvas, is true."""
        self.rgb[np.broadcast_to(mask, self.rgb.shape[:2])] = np.asarray(colour, dtype=np.float32)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """Paints a disc."""
        dx, dy = self.x - _f(x), self.y - _f(y)
        self.where(dx * dx + dy * dy <= _f(radius * radius), colour)

    def shade(self, factor: Floats) -> None:
        """Multiplies by a factor that broadcasts to (height, width)."""
        self.rgb *= np.broadcast_to(factor, self.rgb.shape[:2])[..., None]

    def grain(self, seed: int, amount: float, scales_m: Sequence[float], stretch: float = 1.0) -> None:
        """Lightens and darkens by noise of several scales; ``stretch`` draws it out to the right."""
        rows, columns = self.rgb.shape[:2]
        total = np.zeros((rows, columns), dtype=np.float32)
        for i, scale in enumerate(scales_m):
            cell = (scale * self.density, scale * self.density * stretch)
            total += noise(rows, columns, cell, seed + 101 * i) - _f(0.5)
        self.shade(_f(1) + _f(2 * amount / len(scales_m)) * total)
