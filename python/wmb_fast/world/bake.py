# SPDX-License-Identifier: Apache-2.0
"""A scene made ready for the renderer: every face painted, its light painted in, halved copies behind it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._walls.ext import core
from .canvas import Canvas
from .exact import Floats, cos_sin
from .pictures import PICTURES
from .scene import CEILING, FLOOR, Box, Material, Scene
from .surfaces import SURFACES

_f = np.float32
ROOM_DENSITY, BOX_DENSITY = 120.0, 160.0  # texels a metre
_ROOM_LIGHT = (0.92, 0.84, 0.94, 1.0, 0.86, 0.97)
_SUN = (0.35, -0.85, -0.39)  # towards the light
_CORNER, _SHADOW, _FOOT = 0.5, 0.7, 0.45  # metres over which corners, floors by boxes, boxes by floors are darkened
# For each face (2 * axis + (looked at along +)), the size axes that run right and down over it, and its normal.
_ACROSS = ((2, 1), (2, 1), (0, 2), (0, 2), (0, 1), (0, 1))
_NORMALS = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))


@dataclass(frozen=True, eq=False)
class Baked:
    """A scene as arrays.

    Attributes:
        room: Its least and greatest x, y, z, (6,).
        boxes: Centre, half size, cosine and sine of the yaw, (B, 8).
        texels: All textures one behind the other, RGBX, uint8.
        table: First byte, width, height, levels of each face's texture, (6 + 6B, 4) int64.
        density: Texels a square metre of each face.
        world: The same, held by the core.
    """

    room: npt.NDArray[np.float64]
    boxes: npt.NDArray[np.float64]
    texels: npt.NDArray[np.uint8]
    table: npt.NDArray[np.int64]
    density: npt.NDArray[np.float64]
    world: Any


@functools.lru_cache(maxsize=4)
def bake(scene: Scene) -> Baked:
    """Paints a scene; the last few are kept."""
    (w, h, d), (x, z) = scene.size, scene.middle
    room = np.array((x - w / 2, -h, z - d / 2, x + w / 2, 0, z + d / 2))
    boxes = np.array([(*box.center, *(s / 2 for s in box.size), *cos_sin(box.yaw_deg)) for box in scene.boxes])
    boxes = boxes.reshape(-1, 8)
    faces = [_room_face(scene, face) for face in range(6)]
    faces += [_box_face(box, face) for box in scene.boxes for face in range(6)]
    pieces, table, density, at = [], [], [], 0
    for rgb, square_metres in faces:
        levels = _halved(rgb)
        table.append((at, rgb.shape[1], rgb.shape[0], len(levels)))
        density.append(rgb.shape[0] * rgb.shape[1] / square_metres)
        for level in levels:
            pieces.append(np.concatenate((level, np.zeros_like(level[..., :1])), axis=-1).ravel())
            at += pieces[-1].size
    arrays = (room, boxes, np.concatenate(pieces), np.array(table, dtype=np.int64), np.array(density))
    return Baked(*arrays, core.World(*arrays))


@functools.lru_cache(maxsize=160)
def _painted(material: Material, width: float, height: float, density: float) -> Floats:
    canvas = Canvas(width, height, density, (128, 128, 128))
    SURFACES[material.kind](canvas, material.seed)
    for hung in material.pictures:
        part = canvas.part(hung.left, hung.top, hung.left + hung.width, hung.top + hung.height)
        PICTURES[hung.kind](part, hung.seed)
    if material.over is not None and material.blend > 0:
        over = _painted(material.over, width, height, density)
        canvas.rgb += _f(material.blend) * (over - canvas.rgb)
    canvas.rgb.setflags(write=False)
    return canvas.rgb


def look_of(material: Material) -> Floats:
    """What a metre of a material looks like, whatever it covers, in 8 x 8 cells, (8, 8, 3): colours from 0 to 255."""
    rgb = _painted(material, 1.0, 1.0, 64.0)
    cells: Floats = rgb.reshape(8, 8, 8, 8, 3).mean(axis=(1, 3))
    return cells


def _room_face(scene: Scene, face: int) -> tuple[npt.NDArray[np.uint8], float]:
    right, down = _ACROSS[face]
    canvas = Canvas(scene.size[right], scene.size[down], ROOM_DENSITY, (0, 0, 0))
    canvas.rgb[:] = _painted(scene.walls[face], canvas.width_m, canvas.height_m, ROOM_DENSITY)
    for along, length in ((canvas.x, canvas.width_m), (canvas.y, canvas.height_m)):
        for away in (along, _f(length) - along):
            canvas.shade(_dimmed(away, _CORNER, 0.4))
    if face in (FLOOR, CEILING):
        for box in scene.boxes:
            _cast_shadow(canvas, scene, box, face)
    canvas.shade(np.full((1, 1), _ROOM_LIGHT[face], dtype=np.float32))
    return _bytes(canvas.rgb), canvas.width_m * canvas.height_m


def _dimmed(away: Floats, reach: float, most: float) -> Floats:
    near = np.maximum(_f(0), _f(1) - np.maximum(away, _f(0)) / _f(reach))
    return _f(1) - _f(most) * near * near


def _cast_shadow(canvas: Canvas, scene: Scene, box: Box, face: int) -> None:
    """Darkens the floor or ceiling by a box that touches it."""
    (x, y, z), (middle_x, middle_z) = box.center, scene.middle
    x, z = x - middle_x, z - middle_z
    foot = -(y + box.size[1] / 2) if face == FLOOR else scene.size[1] + y - box.size[1] / 2
    if foot > 0.05 or foot + box.size[1] < 0:  # above it, or sunk out of sight
        return
    cosine, sine = cos_sin(box.yaw_deg)
    dx = canvas.x - _f(scene.size[0] / 2 + x)
    dz = _f(scene.size[2] / 2 - z) - canvas.y if face == FLOOR else canvas.y - _f(scene.size[2] / 2 + z)
    reach = _f(_SHADOW + box.size[0] / 2 + box.size[2] / 2)
    columns = np.flatnonzero(np.abs(dx[0]) < reach)
    rows = np.flatnonzero(np.abs(dz[:, 0]) < reach)
    dx, dz = dx[:, columns], dz[rows]
    a = np.maximum(_f(0), np.abs(_f(cosine) * dx - _f(sine) * dz) - _f(box.size[0] / 2))
    b = np.maximum(_f(0), np.abs(_f(sine) * dx + _f(cosine) * dz) - _f(box.size[2] / 2))
    shade = _dimmed(np.sqrt(a * a + b * b), _SHADOW, 0.5)
    canvas.rgb[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] *= shade[..., None]


def _box_face(box: Box, face: int) -> tuple[npt.NDArray[np.uint8], float]:
    right, down = _ACROSS[face]
    canvas = Canvas(box.size[right], box.size[down], BOX_DENSITY, (0, 0, 0))
    material = _of_side(box.material, face)
    canvas.rgb[:] = _painted(material, canvas.width_m, canvas.height_m, BOX_DENSITY)
    cosine, sine = cos_sin(box.yaw_deg)
    nx, ny, nz = _NORMALS[face]
    towards = (cosine * nx + sine * nz) * _SUN[0] + ny * _SUN[1] + (cosine * nz - sine * nx) * _SUN[2]
    canvas.shade(np.full((1, 1), 0.68 + 0.32 * max(0.0, towards), dtype=np.float32))
    if down == 1 and box.center[1] + box.size[1] / 2 > -0.05:
        canvas.shade(_dimmed(_f(canvas.height_m) - canvas.y, _FOOT, 0.4))
    return _bytes(canvas.rgb), canvas.width_m * canvas.height_m


def _of_side(material: Material, face: int) -> Material:
    """A box's material on one of its faces: opposite ones are alike, but books stand the same on all."""
    seed = material.seed + (face // 2 if material.kind != "books" else 0)
    over = None if material.over is None else _of_side(material.over, face)
    return Material(material.kind, seed, over=over, blend=material.blend)


def _bytes(rgb: Floats) -> npt.NDArray[np.uint8]:
    return (np.clip(rgb, _f(0), _f(255)) + _f(0.5)).astype(np.uint8)


def _halved(rgb: npt.NDArray[np.uint8]) -> list[npt.NDArray[np.uint8]]:
    """The image and its copies, each half the size of the one before, down to a few texels."""
    levels = [rgb]
    while min(levels[-1].shape[:2]) >= 8:
        wide = levels[-1].astype(np.uint16)
        h, w = wide.shape[0] // 2 * 2, wide.shape[1] // 2 * 2
        sums = wide[0:h:2, 0:w:2] + wide[1:h:2, 0:w:2] + wide[0:h:2, 1:w:2] + wide[1:h:2, 1:w:2]
        levels.append(((sums + 2) // 4).astype(np.uint8))
    return levels
