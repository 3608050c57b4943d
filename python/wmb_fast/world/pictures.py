# SPDX-License-Identifier: Apache-2.0
"""What hangs on the walls and lies on the floor: posters, windows, a door, a rug."""

from __future__ import annotations

import numpy as np

from .canvas import Canvas, Colour
from .exact import Dice
from .surfaces import PALETTE, books

_f = np.float32


def poster(canvas: Canvas, seed: int) -> None:
    """A framed picture of discs, bars and a mountain over a graded sky."""
    dice = Dice(seed)
    w, h = canvas.width_m, canvas.height_m
    low, high = (np.asarray(PALETTE[dice.below(len(PALETTE))], dtype=np.float32) for _ in range(2))
    canvas.rgb[:] = high + (canvas.y / _f(h))[..., None] * (low - high)
    for _ in range(3):
        size = dice.between(0.08, 0.24) * min(w, h)
        canvas.disc(dice.between(0, w), dice.between(0, 0.6 * h), size, _any(dice))
    for _ in range(2):
        peak, width = dice.between(0.2, 0.8) * w, dice.between(0.25, 0.5) * w
        rise = _f(h) * _f(dice.between(0.35, 0.6))
        slope = rise * np.maximum(_f(0), _f(1) - np.abs(canvas.x - _f(peak)) / _f(width))
        canvas.where(_f(h) - canvas.y < slope, _any(dice))
    for _ in range(5):
        left, top = dice.between(0.05, 0.8) * w, dice.between(0.6, 0.9) * h
        canvas.rectangle(left, top, left + dice.between(0.05, 0.3) * w, top + 0.04 * h, _any(dice))
    canvas.grain(seed + 3, 0.16, (0.2, 0.05, 0.02))
    canvas.frame(0.07, (238, 232, 220))
    canvas.frame(0.045, (46, 34, 28))


def _any(dice: Dice) -> Colour:
    return PALETTE[dice.below(len(PALETTE))]


def window(canvas: Canvas, seed: int) -> None:
    """A window with a sky, clouds, hills and crossbars."""
    w, h = canvas.width_m, canvas.height_m
    sky = np.asarray((206, 226, 244), dtype=np.float32)
    canvas.rgb[:] = sky * (_f(0.72) + _f(0.28) * canvas.y / _f(h))[..., None]
    dice = Dice(seed)
    for _ in range(6):
        canvas.disc(dice.between(0, w), dice.between(0.1, 0.45) * h, dice.between(0.08, 0.2), (246, 248, 250))
    for i in range(7):
        green = (70 + 9 * i, 112 - 5 * i, 66)
        canvas.disc(w * (i / 6), h * dice.between(0.95, 1.15), dice.between(0.3, 0.55), green)
    canvas.grain(seed + 3, 0.14, (0.25, 0.06, 0.02))
    for part in (1 / 3, 2 / 3):
        canvas.rectangle(w * part - 0.02, 0, w * part + 0.02, h, (244, 240, 232))
    canvas.rectangle(0, h * 0.5 - 0.02, w, h * 0.5 + 0.02, (244, 240, 232))
    canvas.frame(0.08, (244, 240, 232))
    canvas.rectangle(0, h - 0.08, w, h, (214, 206, 192))


def door(canvas: Canvas, seed: int) -> None:
    """A door with four panels and a handle."""
    w, h = canvas.width_m, canvas.height_m
    canvas.fill(PALETTE[(seed + 3) % len(PALETTE)])
    canvas.grain(seed, 0.3, (0.3, 0.06, 0.02))
    for left in (0.14, 0.55):
        for top, bottom in ((0.08, 0.45), (0.53, 0.92)):
            panel = canvas.part(left * w, top * h, (left + 0.31) * w, bottom * h)
            panel.shade(np.full((1, 1), 0.8, dtype=np.float32))
            panel.frame(0.02, (40, 34, 30))
    canvas.disc(0.93 * w, 0.5 * h, 0.04, (226, 196, 98))
    canvas.frame(0.05, (70, 52, 40))


def shelf(canvas: Canvas, seed: int) -> None:
    """A built-in bookshelf."""
    books(canvas, seed)


def rug(canvas: Canvas, seed: int) -> None:
    """A rug of nested borders about a field of lozenges."""
    dice = Dice(seed)
    canvas.fill(_any(dice))
    for inset in (0.06, 0.14, 0.2, 0.34):
        canvas.part(inset, inset, canvas.width_m - inset, canvas.height_m - inset).fill(_any(dice))
    field = canvas.part(0.42, 0.42, canvas.width_m - 0.42, canvas.height_m - 0.42)
    cell = _f(0.36)
    u, v = field.x / cell - np.floor(field.x / cell), field.y / cell - np.floor(field.y / cell)
    away = np.abs(u - _f(0.5)) + np.abs(v - _f(0.5))
    field.fill(_any(dice))
    for reach in (0.5, 0.36, 0.2, 0.1):
        field.where(away < _f(reach), _any(dice))
    canvas.grain(seed + 3, 0.34, (0.4, 0.08, 0.025))


PICTURES = {"poster": poster, "window": window, "door": door, "shelf": shelf, "rug": rug}
