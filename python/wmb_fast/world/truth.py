# SPDX-License-Identifier: Apache-2.0
"""What an estimator should have found: exact depth, identities and flow, on any grid."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .bake import bake
from .scene import Scene

Pose = npt.NDArray[np.float64]
TAN_HALF_VIEW = 0.7002075382097097  # of 35 degrees: a picture is 70 degrees wide
FIRST_BOX = 6  # identities below are the room's faces
SURFACE = 1e-6  # a point is seen when nothing stands before this share of the way to it


@dataclass(frozen=True, eq=False)
class Flow:
    """Where each pixel of a frame is found in a later one.

    Attributes:
        uv: Displacement to the right and down, in pixels of the grid, (H, W, 2) float64. Also given where the point
            is hidden or outside the later frame; NaN where it lies behind the camera, or is no more.
        valid: Whether the point is seen in the later frame, (H, W) bool.
    """

    uv: npt.NDArray[np.float64]
    valid: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class View:
    """A frame and what is true of it.

    Attributes:
        rgb: (H, W, 3) uint8.
        depth: z in metres, (H, W) float32.
        identities: 0 to 5 the room's faces (left, right, ceiling, floor, back, front), 6 + b box b, (H, W) int32.
    """

    rgb: npt.NDArray[np.uint8]
    depth: npt.NDArray[np.float32]
    identities: npt.NDArray[np.int32]


def intrinsics_for(size: tuple[int, int], grid: tuple[int, int] | None = None) -> npt.NDArray[np.float64]:
    """Intrinsics (3, 3) of frames of ``size`` (width, height) that see 70 degrees across, resized to ``grid``.

    Integer coordinates are pixel centres, so resizing by s takes x to s (x + 1/2) - 1/2.
    """
    width, height = size
    focal = width / (2 * TAN_HALF_VIEW)
    across, down = (grid[0] / width, grid[1] / height) if grid else (1.0, 1.0)
    return np.array(((focal * across, 0, (width * across - 1) / 2), (0, focal * down, (height * down - 1) / 2),
                     (0, 0, 1.0)))  # fmt: skip


def look(scene: Scene, pose: Pose, intrinsics: npt.NDArray[np.float64], size: tuple[int, int], samples: int) -> View:
    """Renders a frame; pixels on an edge are the mean of ``samples * samples`` rays."""
    width, height = size
    view = View(np.empty((height, width, 3), np.uint8), *_empty_maps(size))
    bake(scene).world.render(pose, _four(intrinsics), samples, view.rgb, view.depth, view.identities)
    return view


def measure(
    scene: Scene, pose: Pose, intrinsics: npt.NDArray[np.float64], size: tuple[int, int]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
    """Depth and identities without the colours."""
    depth, identities = _empty_maps(size)
    bake(scene).world.render(pose, _four(intrinsics), 1, None, depth, identities)
    return depth, identities


def trace(
    scene: Scene, origins: npt.NDArray[np.float64], directions: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """How far along each ray (N, 3), in lengths of its direction, something stands, and its identity."""
    each = np.ascontiguousarray(np.concatenate(np.broadcast_arrays(origins, directions), axis=-1))
    t, identities = np.empty(len(each)), np.empty(len(each), np.int32)
    bake(scene).world.trace(each, t, identities)
    return t, identities


def flow_between(
    scenes: tuple[Scene, Scene], poses: tuple[Pose, Pose], intrinsics: npt.NDArray[np.float64], size: tuple[int, int]
) -> Flow:
    """Exact flow from one frame to another. Where the room itself changed, nothing of it is left to be found."""
    width, height = size
    start, end = poses
    if not same_shape(*scenes):
        return Flow(np.full((height, width, 2), np.nan), np.zeros((height, width), dtype=bool))
    x, y = np.meshgrid(np.arange(width, dtype=np.float64), np.arange(height, dtype=np.float64))
    fx, fy, cx, cy = _four(intrinsics)
    ways = rays(start, intrinsics, x, y)
    depth, _ = trace(scenes[0], start[:3, 3], ways)
    points = start[:3, 3] + depth[:, None] * ways
    there = (points - end[:3, 3]) @ end[:3, :3]
    z = np.where(there[:, 2] > 0, there[:, 2], np.nan)
    moved = np.stack((fx * there[:, 0] / z + cx, fy * there[:, 1] / z + cy), axis=-1)
    uv = moved.reshape(height, width, 2) - np.stack((x, y), axis=-1)
    way, _ = trace(scenes[1], end[:3, 3], points - end[:3, 3])
    inside = (np.abs(moved - (cx, cy)) <= (width / 2, height / 2)).all(axis=-1)
    return Flow(uv, (inside & (way >= 1 - SURFACE)).reshape(height, width))


def same_shape(a: Scene, b: Scene) -> bool:
    """Whether two scenes differ in nothing but what they are papered with."""
    shapes = [(s.size, s.middle, [(box.name, box.center, box.size, box.yaw_deg) for box in s.boxes]) for s in (a, b)]
    return shapes[0] == shapes[1]


def wall_in_view(scene: Scene, pose: Pose, wall: int, size: tuple[int, int]) -> bool:
    """Whether any of a wall would be in the picture, up to its very border, if no box stood before it."""
    x, y = np.meshgrid(np.linspace(-0.5, size[0] - 0.5, 65), np.linspace(-0.5, size[1] - 0.5, 41))
    _, identities = trace(_emptied(scene), pose[:3, 3], rays(pose, intrinsics_for(size), x, y))
    return bool((identities == wall).any())


def box_in_view(scene: Scene, pose: Pose, box: int, size: tuple[int, int]) -> bool:
    """Whether any of a box would be in the picture, if nothing stood before it."""
    x, y = np.meshgrid(np.linspace(-0.5, size[0] - 0.5, 65), np.linspace(-0.5, size[1] - 0.5, 41))
    _, identities = trace(_emptied(scene, box), pose[:3, 3], rays(pose, intrinsics_for(size), x, y))
    return bool((identities == FIRST_BOX).any())


def largest_box(scene: Scene, pose: Pose, size: tuple[int, int]) -> int | None:
    """The box that takes up most of the picture, beams across the room left aside; ``None`` where none is seen."""
    _, identities = measure(scene, pose, intrinsics_for(size), size)
    areas = {
        box: int((identities == FIRST_BOX + box).sum())
        for box, what in enumerate(scene.boxes)
        if what.size[0] < scene.size[0]
    }
    best = max(areas, key=areas.__getitem__, default=None)
    return best if best is not None and areas[best] else None


@functools.lru_cache(maxsize=4)
def _emptied(scene: Scene, but: int | None = None) -> Scene:
    return replace(scene, boxes=() if but is None else scene.boxes[but : but + 1])


def wall_ahead(pose: Pose) -> int:
    """The face of the room that a camera looks at most squarely, floor and ceiling left aside."""
    forward = pose[:3, 2]
    axis = 0 if abs(forward[0]) > abs(forward[2]) else 2
    return 2 * axis + int(forward[axis] > 0)


def rays(
    pose: Pose, intrinsics: npt.NDArray[np.float64], x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The directions, in the world, of some pixels, of depth 1. Products in turn, not a BLAS call, whose bits vary."""
    fx, fy, cx, cy = _four(intrinsics)
    a, b = ((x - cx) / fx).reshape(-1, 1), ((y - cy) / fy).reshape(-1, 1)
    ways: npt.NDArray[np.float64] = a * pose[:3, 0] + b * pose[:3, 1] + pose[:3, 2]
    return ways


def _four(intrinsics: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.array((intrinsics[0, 0], intrinsics[1, 1], intrinsics[0, 2], intrinsics[1, 2]))


def _empty_maps(size: tuple[int, int]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
    return np.empty((size[1], size[0]), np.float32), np.empty((size[1], size[0]), np.int32)
