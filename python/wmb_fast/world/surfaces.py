# SPDX-License-Identifier: Apache-2.0
"""What the known-answer world is papered with: walls, floors and things, each painted from a seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .canvas import Canvas, Colour
from .exact import Dice, Floats, uniform

_f = np.float32
PALETTE: tuple[Colour, ...] = (
    (196, 62, 48), (228, 163, 56), (66, 122, 86), (44, 92, 148), (120, 66, 120), (232, 220, 190),
    (36, 40, 52), (94, 170, 176), (214, 118, 86), (150, 160, 70), (240, 200, 120), (82, 96, 110),
)  # fmt: skip


def _tint(seed: int, spread: float, *keys: Floats) -> Floats:
    return _f(1 - spread) + _f(2 * spread) * uniform(seed, *keys)


def brick(canvas: Canvas, seed: int) -> None:
    """Bricks of 24 by 8 cm, each of its own shade, in pale mortar."""
    tone = np.asarray(((158, 78, 60), (140, 96, 74), (128, 70, 70))[seed % 3], dtype=np.float32)
    row = np.floor(canvas.y / _f(0.08))
    along = canvas.x / _f(0.24) + _f(0.5) * (row % 2)
    column = np.floor(along)
    canvas.rgb[:] = tone * _tint(seed, 0.28, row, column)[..., None]
    canvas.rgb[..., 1] *= _tint(seed + 1, 0.08, row, column)
    canvas.grain(seed + 2, 0.3, (0.3, 0.05, 0.02))
    mortar = (canvas.y / _f(0.08) - row < _f(0.14)) | (along - column < _f(0.05))
    canvas.where(mortar, (186, 178, 166))
    canvas.grain(seed + 3, 0.16, (1.2, 0.12, 0.03))


def plaster(canvas: Canvas, seed: int) -> None:
    """Painted plaster with blotches, over a dado of vertical boards."""
    canvas.fill(((104, 142, 150), (168, 148, 104), (128, 140, 108))[seed % 3])
    canvas.grain(seed, 0.36, (0.9, 0.3, 0.1, 0.035))
    height = min(1.0, canvas.height_m / 3)
    dado = canvas.part(0, canvas.height_m - height, canvas.width_m, canvas.height_m)
    boards(dado, seed + 5, across=True)
    dado.rectangle(0, 0, canvas.width_m, 0.06, (224, 214, 196))


def paper(canvas: Canvas, seed: int) -> None:
    """Wallpaper: stripes with lozenges, some of them missing their twin."""
    ground: tuple[Colour, ...] = ((176, 150, 118), (146, 164, 140), (172, 160, 186))
    canvas.fill(ground[seed % 3])
    stripe = np.floor(canvas.x / _f(0.3))
    canvas.shade(_tint(seed, 0.13, stripe))
    cell_x, cell_y = np.floor(canvas.x / _f(0.3)), np.floor(canvas.y / _f(0.3))
    u, v = canvas.x / _f(0.3) - cell_x - _f(0.5), canvas.y / _f(0.3) - cell_y - _f(0.5)
    size = _f(0.18) + _f(0.24) * uniform(seed + 1, cell_x, cell_y)
    away = np.abs(u) + np.abs(v)
    pick = uniform(seed + 2, cell_x, cell_y)
    for i in range(4):
        mine = (pick >= _f(i / 4)) & (pick < _f((i + 1) / 4)) & (away < size)
        canvas.where(mine, PALETTE[(seed + 3 * i) % len(PALETTE)])
    canvas.where(away < size * _f(0.4), (236, 226, 204))
    canvas.grain(seed + 3, 0.26, (0.7, 0.15, 0.04))


def stone(canvas: Canvas, seed: int) -> None:
    """Blocks of stone of 60 by 30 cm with chiselled faces."""
    row = np.floor(canvas.y / _f(0.3))
    along = canvas.x / _f(0.6) + uniform(seed, row)
    column = np.floor(along)
    tone = np.asarray(((150, 148, 140), (134, 140, 150), (160, 146, 122))[seed % 3], dtype=np.float32)
    canvas.rgb[:] = tone * _tint(seed + 1, 0.22, row, column)[..., None]
    canvas.grain(seed + 2, 0.45, (0.25, 0.08, 0.03))
    canvas.where((canvas.y / _f(0.3) - row < _f(0.05)) | (along - column < _f(0.025)), (78, 76, 74))


def boards(canvas: Canvas, seed: int, across: bool = False) -> None:
    """Wooden boards 14 cm wide, running right, or down when ``across``."""
    over, along = (canvas.x, canvas.y) if across else (canvas.y, canvas.x)
    board = np.floor(over / _f(0.14))
    length = along / _f(1.7) + uniform(seed, board)
    piece = np.floor(length)
    tone = np.asarray(((164, 118, 74), (138, 100, 70), (178, 140, 98))[seed % 3], dtype=np.float32)
    canvas.rgb[:] = tone * _tint(seed + 1, 0.24, board, piece)[..., None]
    canvas.grain(seed + 2, 0.4, (0.16, 0.04, 0.02), stretch=1 if across else 5)
    gap = (over / _f(0.14) - board < _f(0.06)) | (length - piece < _f(0.008))
    canvas.where(gap, (62, 46, 34))


def tiles(canvas: Canvas, seed: int) -> None:
    """Ceiling panels of 60 cm with speckles, some of them lamps."""
    row, column = np.floor(canvas.y / _f(0.6)), np.floor(canvas.x / _f(0.6))
    canvas.rgb[:] = np.asarray((204, 202, 194), dtype=np.float32) * _tint(seed, 0.12, row, column)[..., None]
    canvas.grain(seed + 1, 0.4, (0.2, 0.06, 0.025))
    canvas.where((row % 3 == 1) & (column % 4 == 2), (255, 250, 226))
    edge = (canvas.y / _f(0.6) - row < _f(0.05)) | (canvas.x / _f(0.6) - column < _f(0.05))
    canvas.where(edge, (120, 118, 112))


def books(canvas: Canvas, seed: int) -> None:
    """Shelves of books, 36 cm apart."""
    canvas.fill((70, 50, 36))
    shelf = np.floor(canvas.y / _f(0.36))
    slot = np.floor(canvas.x / _f(0.045))
    down = canvas.y - shelf * _f(0.36)
    tall = _f(0.05) + _f(0.12) * uniform(seed, shelf, slot)
    pick = np.floor(uniform(seed + 1, shelf, slot) * _f(len(PALETTE) + 1)).astype(np.int64)
    colours = np.asarray((*PALETTE, (24, 20, 18)), dtype=np.float32)[pick]
    book = (down > tall) & (down < _f(0.33))
    canvas.rgb[:] = np.where(book[..., None], colours, canvas.rgb)
    band = book & (down > tall + _f(0.05)) & (down < tall + _f(0.075))
    canvas.where(band, (226, 206, 150))
    canvas.where(book & (canvas.x - slot * _f(0.045) < _f(0.008)), (30, 26, 24))
    canvas.grain(seed + 2, 0.2, (0.3, 0.03))
    canvas.frame(0.05, (104, 76, 52))


def crate(canvas: Canvas, seed: int) -> None:
    """A wooden crate with a frame and a stencilled mark."""
    boards(canvas, seed)
    w, h = canvas.width_m, canvas.height_m
    dice = Dice(seed)
    slope = np.abs(canvas.y * _f(w) - canvas.x * _f(h))
    canvas.where(slope < _f(0.05 * (w + h) / 2), (120, 84, 52))
    canvas.frame(0.09, (112, 78, 48))
    canvas.disc(w * 0.68, h * 0.34, min(w, h) * 0.14, PALETTE[dice.below(len(PALETTE))])
    canvas.rectangle(w * 0.2, h * 0.66, w * 0.44, h * 0.8, PALETTE[dice.below(len(PALETTE))])
    canvas.grain(seed + 7, 0.24, (0.2, 0.03))


def carton(canvas: Canvas, seed: int) -> None:
    """A cardboard box with tape and a label."""
    w, h = canvas.width_m, canvas.height_m
    dice = Dice(seed)
    canvas.fill((182, 142, 96))
    canvas.rectangle(w * 0.44, 0, w * 0.56, h, (208, 184, 140))
    canvas.rectangle(w * 0.08, h * 0.3, w * 0.4, h * 0.7, (238, 232, 218))
    for line in range(4):
        top = h * (0.36 + 0.08 * line)
        canvas.rectangle(w * 0.11, top, w * dice.between(0.2, 0.37), top + h * 0.035, (40, 40, 46))
    canvas.disc(w * 0.78, h * 0.5, min(w, h) * 0.16, PALETTE[dice.below(len(PALETTE))])
    canvas.grain(seed + 7, 0.34, (0.25, 0.06, 0.02))


def check(canvas: Canvas, seed: int) -> None:
    """Squares of 12 cm in two colours of the palette."""
    dice = Dice(seed)
    first = dice.below(len(PALETTE))
    second = (first + 1 + dice.below(len(PALETTE) - 1)) % len(PALETTE)
    canvas.fill(PALETTE[first])
    row, column = np.floor(canvas.y / _f(0.12)), np.floor(canvas.x / _f(0.12))
    canvas.where((row + column) % 2 == 1, PALETTE[second])
    canvas.shade(_tint(seed, 0.18, row, column))
    canvas.grain(seed + 7, 0.3, (0.2, 0.04))


def stripes(canvas: Canvas, seed: int) -> None:
    """Bands of uneven height in colours of the palette."""
    dice = Dice(seed)
    top = 0.0
    while top < canvas.height_m:
        bottom = top + dice.between(0.05, 0.16)
        canvas.rectangle(0, top, canvas.width_m, bottom, PALETTE[dice.below(len(PALETTE))])
        top = bottom
    canvas.grain(seed + 7, 0.34, (0.3, 0.08, 0.03))


Painter = Callable[[Canvas, int], None]
SURFACES: dict[str, Painter] = {
    "brick": brick, "plaster": plaster, "paper": paper, "stone": stone, "boards": boards, "tiles": tiles,
    "books": books, "crate": crate, "carton": carton, "check": check, "stripes": stripes,
}  # fmt: skip
