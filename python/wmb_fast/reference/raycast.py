# SPDX-License-Identifier: Apache-2.0
"""The known-answer world's pictures, stated plainly: every pixel against every surface, in float64.

The world comes as arrays: ``room`` (6,) least and greatest x, y, z; ``boxes`` (B, 8) centre, half size, cosine and sine
of the yaw; one texture a face of the room and of each box, whose rows in ``table`` (first byte, width, height, levels)
point into ``texels`` (RGBX, each level behind the one before and half its size) and which has ``density`` texels a
square metre. Faces are named by the way a ray looks at them: -x, +x, -y, +y, -z, +z.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# For each face: the axes that run right and down over it, and whether they run backwards.
_RIGHT, _DOWN = np.array((2, 2, 0, 0, 0, 0)), np.array((1, 1, 2, 2, 1, 1))
_RIGHT_BACK, _DOWN_BACK = np.array((0, 1, 0, 0, 1, 0)), np.array((0, 0, 0, 1, 0, 0))
_LEAST_SLOPE = 1e-6


class World(NamedTuple):
    room: Array
    boxes: Array
    texels: Array
    table: Array
    density: Array


class Hits(NamedTuple):
    """Of each ray: how far, which texture (6 a solid, the room first), where on it (right, down), how square."""

    t: Array
    texture: Array
    spot: Array
    slope: Array


def render(
    world: World, camera_to_world: Array, intrinsics: Array, size: tuple[int, int], samples: int
) -> tuple[Array, Array, Array]:
    """Colours (H, W, 3) from 0 to 255, not rounded; depth z and identities (H, W).

    Depth and identity are those of the ray through the pixel's centre, an integer coordinate. So is the colour, unless
    one of the four neighbours sees another face: then it is the mean over samples * samples cells of the pixel.
    """
    width, height = size
    x, y = np.meshgrid(np.arange(width, dtype=np.float64), np.arange(height, dtype=np.float64))
    hits = _look(world, camera_to_world, intrinsics, x.ravel(), y.ravel())
    solid_angle = 1 / (intrinsics[0] * intrinsics[1])
    colours = _colours(world, hits, solid_angle).reshape(height, width, 3)
    faces = hits.texture.reshape(height, width)
    edge = _edges(faces)
    total = np.zeros((int(edge.sum()), 3))
    for j in range(samples):
        for i in range(samples):
            dx, dy = (i + 0.5) / samples - 0.5, (j + 0.5) / samples - 0.5
            parts = _look(world, camera_to_world, intrinsics, x[edge] + dx, y[edge] + dy)
            total += _colours(world, parts, solid_angle / samples**2)
    colours[edge] = total / samples**2
    return colours, hits.t.reshape(height, width), np.where(faces < 6, faces, 5 + faces // 6)


def _edges(faces: Array) -> Array:
    edge = np.zeros(faces.shape, dtype=bool)
    across, down = faces[:, 1:] != faces[:, :-1], faces[1:] != faces[:-1]
    edge[:, 1:] |= across
    edge[:, :-1] |= across
    edge[1:] |= down
    edge[:-1] |= down
    return edge


def _look(world: World, camera_to_world: Array, intrinsics: Array, x: Array, y: Array) -> Hits:
    fx, fy, cx, cy = intrinsics
    rays = np.stack(((x - cx) / fx, (y - cy) / fy, np.ones_like(x)), axis=-1) @ camera_to_world[:3, :3].T
    return trace(world, camera_to_world[:3, 3], rays)


def trace(world: World, origin: Array, directions: Array) -> Hits:
    """The first surface along each ray (N, 3) from inside the room."""
    lo, hi = world.room[:3], world.room[3:]
    with np.errstate(divide="ignore", invalid="ignore"):
        leave = np.where(directions > 0, hi - origin, lo - origin) / directions
    leave[directions == 0] = np.inf
    axis = leave.argmin(axis=1)
    best = _hit(leave.min(axis=1), axis, 0, lo, hi, origin, directions)
    for b, row in enumerate(world.boxes):
        half, cosine, sine = row[3:6], row[6], row[7]
        turn = np.array(((cosine, 0, -sine), (0, 1, 0), (sine, 0, cosine)))
        o, d = turn @ (origin - row[:3]), directions @ turn.T
        with np.errstate(divide="ignore", invalid="ignore"):
            enter, leave = (np.where(d > 0, side * half - o, -side * half - o) / d for side in (-1, 1))
        still = d == 0
        enter[still], leave[still] = -np.inf, np.inf
        t = enter.max(axis=1)
        met = (t <= leave.min(axis=1)) & (t > 0) & (t < best.t) & ~(still & (np.abs(o) > half)).any(axis=1)
        here = _hit(t, enter.argmax(axis=1), 1 + b, -half, half, o, d)
        best = Hits(*(np.where(met if a.ndim == 1 else met[:, None], a, b) for a, b in zip(here, best, strict=True)))
    return best


def _hit(t: Array, axis: Array, solid: int, lo: Array, hi: Array, origin: Array, directions: Array) -> Hits:
    along = np.take_along_axis(directions, axis[:, None], axis=1)[:, 0]
    face = 2 * axis + (along > 0)
    with np.errstate(invalid="ignore"):
        f = np.clip((origin + t[:, None] * directions - lo) / (hi - lo), 0, 1)
    each = np.arange(len(t))
    u, v = f[each, _RIGHT[face]], f[each, _DOWN[face]]
    spot = np.stack((np.where(_RIGHT_BACK[face], 1 - u, u), np.where(_DOWN_BACK[face], 1 - v, v)), axis=-1)
    return Hits(t, 6 * solid + face, spot, np.abs(along))


def _colours(world: World, hits: Hits, solid_angle: float) -> Array:
    """Between the two levels whose texels are nearest in size to what a sample covers."""
    area = hits.t**2 * solid_angle / np.maximum(hits.slope, _LEAST_SLOPE)
    colours = np.zeros((len(hits.t), 3))
    for texture in np.unique(hits.texture):
        mine = hits.texture == texture
        levels = _levels(world.texels, world.table[texture])
        exponent = np.frexp(area[mine] * world.density[texture] + 1e-12)
        wanted = np.clip(0.5 * (exponent[1] - 1 + 2 * exponent[0] - 1), 0, len(levels) - 1)
        fine = np.floor(wanted).astype(int)
        for level in range(len(levels)):
            weight = np.where(fine == level, 1 - (wanted - fine), np.where(fine == level - 1, wanted - fine, 0))
            colours[mine] += weight[:, None] * _bilinear(levels[level], hits.spot[mine])
    return colours


def _levels(texels: Array, row: Array) -> list[Array]:
    at, width, height, n = (int(v) for v in row)
    levels = []
    for _ in range(n):
        levels.append(texels[at : at + 4 * width * height].reshape(height, width, 4)[..., :3].astype(np.float64))
        at += 4 * width * height
        width, height = max(1, width // 2), max(1, height // 2)
    return levels


def _bilinear(image: Array, spot: Array) -> Array:
    height, width = image.shape[:2]
    x, y = np.maximum(spot[:, 0] * width - 0.5, 0), np.maximum(spot[:, 1] * height - 0.5, 0)
    x0, y0 = x.astype(int), y.astype(int)
    x1, y1 = np.minimum(x0 + 1, width - 1), np.minimum(y0 + 1, height - 1)
    fx, fy = (x - x0)[:, None], (y - y0)[:, None]
    above = image[y0, x0] * (1 - fx) + image[y0, x1] * fx
    below = image[y1, x0] * (1 - fx) + image[y1, x1] * fx
    mixed: Array = above * (1 - fy) + below * fy
    return mixed
