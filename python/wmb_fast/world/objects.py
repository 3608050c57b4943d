# SPDX-License-Identifier: Apache-2.0
"""What perfect networks would tell OPIS about a world, as the records of its case folder.

The boxes that the first picture shows are the objects of the input. In each frame asked for a perfect detector finds
those of which it shows as much as OPIS asks for (30 % of what the input showed), and a perfect matcher finds again the
points of their surfaces that it can see; the camera and the depth are exact. So what a fault does is what is scored:

- a box with another surface keeps its place, and its embedding turns away;
- a box of another size keeps its embedding, and its surface's points lie elsewhere;
- a box that is gone is not found where it should be.

An embedding stands in for a network's: what kind of thing it is, and what its surface looks like, whichever side of it
is seen, however far away.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..ops.visibility import Visibility, sampled_visibility
from ..rollout.masks import to_runs
from . import truth
from .bake import look_of
from .evidence import FEWEST_PIXELS, targets
from .render import World
from .scene import Box, Material, Scene

Floats = npt.NDArray[np.float64]
Record = dict[str, Any]

LEAST_SHARE = 0.001  # of the input, for a box to be one of its objects
POINTS = 32  # on a box
KIND_SHARE = 0.3  # of an embedding: kind and surface, so two surfaces of one thing are about so much alike
DIGITS = 6
_WHERE = {"subcategory": "simulated_room", "domain": "embodied"}
_STILL = {
    "kinematic_class": "rigid",
    "motion_expectation": "world_static",
    "evaluation_track": "static_geometry",
    "geometry_eligible": True,
}


@dataclass(frozen=True, eq=False)
class _Target:
    """A box of the input, and points (Q, 3) of the world on what the input shows of it."""

    box: int
    name: str
    mask: npt.NDArray[np.bool_]
    pixels: Floats
    points: Floats


def exact_case(world: World, frames: Iterable[int]) -> dict[str, Record]:
    """The records of a case: ``reference``, ``observation`` and ``geometry``, plain data as JSON has it.

    Args:
        world: Its faults included; its first picture is the input.
        frames: Which are observed.

    Example:
        >>> from wmb_fast.rollout.plans import named_plan
        >>> from wmb_fast.world import render_world
        >>> case = exact_case(render_world(named_plan("AD"), seconds_per_step=1, fps=8, size=(96, 64)), [8, 16])
        >>> [one["category"] for one in case["reference"]["objects"]]
        ['cabinet', 'table']
        >>> [len(window["objects"]) for window in case["observation"]["windows"]]
        [2, 2]
    """
    first, scene = world.view(0), world.scene(0)
    shown = [_target(world, first, box) for box in targets(world, first, LEAST_SHARE)]
    names = [box.name for box in scene.boxes]
    windows, geometry = [], {}
    for frame in frames:
        window, geometry[str(frame)] = _frame(world, int(frame), shown, names)
        windows.append(window)
    objects = [_object(scene, one, names) for one in shown]
    size = list(world.size)
    return {
        "reference": {"scene_id": world.plan.name, "metadata": {"image_size": size, **_WHERE}, "objects": objects},
        "observation": {"video_id": world.plan.name, "windows": windows},
        "geometry": {"schema_version": 3, "status": "available", "frames": geometry},
    }


def _target(world: World, first: truth.View, box: int) -> _Target:
    """A box with up to 32 points, evenly spaced along the rows of its mask."""
    mask = first.identities == truth.FIRST_BOX + box
    at = np.argwhere(mask)[:, ::-1].astype(np.float64)
    at = at[np.round(np.linspace(0, len(at) - 1, min(POINTS, len(at)))).astype(np.int64)]
    start = world.poses[0]
    ways = truth.rays(start, world.intrinsics, *at.T)
    depth, _ = truth.trace(world.scene(0), start[:3, 3], ways)
    return _Target(box, world.scene(0).boxes[box].name, mask, at, start[:3, 3] + depth[:, None] * ways)


def _object(scene: Scene, one: _Target, names: Sequence[str]) -> Record:
    box = scene.boxes[one.box]
    return {
        "object_id": one.name,
        "category": one.name,
        "bbox": _box(one.mask),
        "mask": to_runs(one.mask),
        "attributes": _attributes(box),
        "embedding": _embedding(box, names),
        "metadata": {"mobility": _STILL},
    }


def _frame(world: World, frame: int, shown: Sequence[_Target], names: Sequence[str]) -> tuple[Record, Record]:
    """What is observed in a frame, and where the input's points are in it."""
    scene, start = world.scene(frame), world.scene(0)
    depth, identities = truth.measure(scene, world.poses[frame], world.intrinsics, world.size)
    objects, seen, pairs = [], {}, []
    for one in shown:
        there = _carried(one.points, start.boxes[one.box], scene.boxes[one.box])
        where, z = _projected(world, frame, one.points)
        now, z_now = _projected(world, frame, there)
        seen[one.name] = {
            "reference_source": "input_only",
            "camera_confidence": 1.0,
            "projected_pixels": where.tolist(),
            "projected_depth": z.tolist(),
            "current_depth": _read(depth, where).tolist(),
        }
        mask = identities == truth.FIRST_BOX + one.box
        state = sampled_visibility(now, z_now, _read(depth, now), world.size).state
        if state == Visibility.VISIBLE and mask.sum() >= FEWEST_PIXELS:
            objects.append(_observed(scene.boxes[one.box], one.name, mask, names))
            found = _in_sight(world, frame, there, now)
            pairs.append(np.column_stack([one.pixels, now, np.linalg.norm(where - now, axis=1)])[found])
    matches = np.concatenate([np.empty((0, 5)), *pairs])
    window = {"window_id": str(frame), "frame_index": frame, "timestamp": frame / world.fps}
    geometry = {
        "status": "scored",
        "error_space": "source_pixels",
        "reference_pixels": matches[:, :2].tolist(),
        "current_pixels": matches[:, 2:4].tolist(),
        "reprojection_errors": matches[:, 4].tolist(),
        "instance_visibility": seen,
    }
    return {**window, "frame_size": list(world.size), "objects": objects}, geometry


def _observed(box: Box, name: str, mask: npt.NDArray[np.bool_], names: Sequence[str]) -> Record:
    told = {"observed_id": name, "track_id": name, "category": name, "bbox": _box(mask), "confidence": 1.0}
    return {**told, "attributes": _attributes(box), "embedding": _embedding(box, names)}


def _carried(points: Floats, before: Box, after: Box) -> Floats:
    """Points on a box as it was, on the box as it is: they go with its surface."""
    if (before.center, before.size, before.yaw_deg) == (after.center, after.size, after.yaw_deg):
        return points
    stretch = np.array(after.size) / np.array(before.size)
    own = (points - before.center) @ _axes(before)
    there: Floats = (own * stretch) @ _axes(after).T + np.array(after.center)
    return there


def _axes(box: Box) -> Floats:
    """A box's own axes in the world, as columns."""
    yaw = math.radians(box.yaw_deg)
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def _projected(world: World, frame: int, points: Floats) -> tuple[Floats, Floats]:
    """Pixels (Q, 2) and depth (Q,); a pixel outside for what lies behind the camera."""
    pose, k = world.poses[frame], world.intrinsics
    at = (points - pose[:3, 3]) @ pose[:3, :3]
    z = np.where(at[:, 2:] > 0, at[:, 2:], np.nan)
    pixels = at[:, :2] / z * (k[0, 0], k[1, 1]) + (k[0, 2], k[1, 2])
    return np.where(np.isnan(pixels), -1.0, pixels).round(DIGITS), at[:, 2].round(DIGITS)


def _read(depth: npt.NDArray[np.float32], pixels: Floats) -> Floats:
    """The depth at the nearest pixels, 0 outside the picture."""
    x, y = np.rint(np.clip(pixels, -1, max(depth.shape))).astype(np.int64).T
    inside = (x >= 0) & (y >= 0) & (x < depth.shape[1]) & (y < depth.shape[0])
    found = np.zeros(len(pixels))
    found[inside] = depth[y[inside], x[inside]]
    return found.round(DIGITS)


def _in_sight(world: World, frame: int, points: Floats, pixels: Floats) -> npt.NDArray[np.bool_]:
    """Which points nothing stands before, within the picture."""
    eye = world.poses[frame][:3, 3]
    way, _ = truth.trace(world.scene(frame), eye, points - eye)
    inside = ((pixels >= -0.5) & (pixels <= np.array(world.size) - 0.5)).all(axis=1)
    return np.asarray(inside & (way >= 1 - truth.SURFACE))


def _box(mask: npt.NDArray[np.bool_]) -> list[float]:
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    return [float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)]


def _attributes(box: Box) -> Record:
    material = box.material
    on_top = material.over if material.over is not None and material.blend > 0.5 else material
    return {"shape": "box", "texture": on_top.kind}


def _embedding(box: Box, names: Sequence[str]) -> list[float]:
    """Kind and surface, each of unit length, weighted so that the whole is, too."""
    kind = np.zeros(len(names))
    kind[names.index(box.name)] = 1.0
    surface = _surface(box.material)
    whole = np.concatenate([math.sqrt(KIND_SHARE) * kind, math.sqrt(1 - KIND_SHARE) * surface])
    return [float(x) for x in whole.round(DIGITS)]


def _surface(material: Material) -> Floats:
    look = look_of(material).astype(np.float64)
    look -= look.mean(axis=(0, 1))
    return np.asarray(look.ravel() / np.linalg.norm(look))
