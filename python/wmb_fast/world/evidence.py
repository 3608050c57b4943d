# SPDX-License-Identifier: Apache-2.0
"""What perfect estimators would hand in about a world: its cameras, its depth, its things and how they look.

Of the frames at which a step of the plan begins or ends, so at every reference, turning point and return, and of those
that are asked for:

- ``poses``: of all frames, as the camera moved (``exact``) and as it was commanded (``target``);
- ``geometry``: depth, cameras, intrinsics; ``depth``: of the frames asked for alone;
- ``tracks``: the boxes that the first picture shows, with their visible pixels;
- ``appearance``: those boxes' pixels in a grid over each mask's bounding box, mean colours less grey, nothing where
  the mask is not. It stands in for a network's features of a masked crop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .render import World
from .truth import FIRST_BOX, View

Arrays = Mapping[str, Mapping[str, npt.NDArray[Any]]]

_LEAST_SHARE, FEWEST_PIXELS = 0.005, 16  # of the first picture to be a target; of any picture to be found there
_CELLS = 12
_OBJECT = 1


def evidence_frames(world: World) -> npt.NDArray[np.int64]:
    """The first frame of every step, and the last of all: where the camera stands still for once, or turns."""
    spans = world.plan.lay(len(world)).steps
    return np.unique([*(span.start for span in spans), len(world) - 1]).astype(np.int64)


def exact_evidence(world: World, *, geometry: Iterable[int] = (), depth: Iterable[int] = ()) -> Arrays:
    """The channels, by name, as arrays; see the top of this module.

    Args:
        world: Its geometry is that of the frames as they are, faults included.
        geometry: Frames that ``geometry`` has besides.
        depth: Frames of ``depth``; without any there is no such channel.

    Example:
        >>> from wmb_fast.rollout.plans import named_plan
        >>> from wmb_fast.world import render_world
        >>> world = render_world(named_plan("lrlr"), seconds_per_step=1, fps=8, size=(64, 48))
        >>> channels = exact_evidence(world)
        >>> sorted(channels), channels["tracks"]["frames"].tolist()
        (['appearance', 'geometry', 'poses', 'tracks'], [0, 8, 16, 24, 32, 40])
    """
    frames = evidence_frames(world)
    views = [world.view(int(frame)) for frame in frames]
    boxes = targets(world, views[0])
    masks = np.array([[view.identities == FIRST_BOX + box for view in views] for box in boxes])
    masks = masks.reshape(len(boxes), len(views), *views[0].depth.shape)
    found = masks.sum(axis=(2, 3)) >= FEWEST_PIXELS
    embedding = np.zeros((len(boxes), len(views), _CELLS * _CELLS * 3), dtype=np.float32)
    for t, k in np.argwhere(found):
        embedding[t, k] = _appearance(views[k].rgb, masks[t, k])
    everywhere = np.arange(len(world))
    channels: dict[str, Mapping[str, npt.NDArray[Any]]] = {
        "poses": {"frames": everywhere, "exact": world.poses, "target": world.commanded_poses},
        "geometry": _geometry(world, np.union1d(frames, [*geometry]).astype(np.int64)),
        "tracks": {"frames": frames, "kinds": np.full(len(boxes), _OBJECT), "found": found, "masks": masks},
        "appearance": {"frames": frames, "embedding": embedding, "valid": found},
    }
    if rows := sorted({*depth}):
        channels["depth"] = {"frames": np.array(rows), "depth": np.stack([world.depth(frame) for frame in rows])}
    return channels


def targets(world: World, first: View, share: float = _LEAST_SHARE) -> list[int]:
    """The boxes that take up enough of the first picture, beams across the room left aside."""
    scene = world.scene(0)
    least = max(FEWEST_PIXELS, share * first.identities.size)
    return [
        box
        for box, what in enumerate(scene.boxes)
        if what.size[0] < scene.size[0] and (first.identities == FIRST_BOX + box).sum() >= least
    ]


def _geometry(world: World, frames: npt.NDArray[np.int64]) -> Mapping[str, npt.NDArray[Any]]:
    turned = world.poses[frames, :3, :3].swapaxes(1, 2)
    moved = -np.einsum("kij,kj->ki", turned, world.poses[frames, :3, 3])
    depth = np.stack([world.depth(int(frame)) for frame in frames])
    return {
        "frames": frames,
        "depth": depth,
        "confidence": np.ones_like(depth),
        "cam_from_world": np.concatenate([turned, moved[..., None]], axis=-1),
        "intrinsics": np.repeat(world.intrinsics[None], len(frames), axis=0),
    }


def _appearance(rgb: npt.NDArray[np.uint8], mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.float32]:
    rows, columns = np.nonzero(mask)
    cells = []
    for at in (rows, columns):
        low, high = at.min(), at.max() + 1
        cells.append((at - low) * _CELLS // (high - low))
    flat = cells[0] * _CELLS + cells[1]
    counts = np.bincount(flat, minlength=_CELLS * _CELLS)
    sums = [np.bincount(flat, rgb[rows, columns, c] / 127.5 - 1, minlength=_CELLS * _CELLS) for c in range(3)]
    return (np.stack(sums, axis=-1) / np.maximum(counts, 1)[:, None]).astype(np.float32).ravel()
