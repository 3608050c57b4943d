# SPDX-License-Identifier: Apache-2.0
"""The known-answer world's own depth and cameras, handed in as an estimator's would be: exactly the frames asked for.

With them WorldMark's lateral and turning direction and its Global memory are live, and their right answers known.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .._walls.errors import bad_value
from ..protocols.evidence import Channel, Evidence, Maker
from ..rollout.plan import Facts
from ..world import World
from .make import Asks

NAME = "known-answer-world"


def exact_channels(world: World, protocols: Sequence[Asks]) -> dict[str, Channel]:
    """The channels ``depth`` and ``geometry`` of a world, of the frames that protocols ask for.

    Args:
        world: Its geometry is that of the frames as they are, faults included.
        protocols: Modules with ``needs(evidence, *, compat)``.

    Returns:
        Channel by name; without one that nobody asks for.

    Example:
        >>> from wmb_fast.protocols import worldmark
        >>> from wmb_fast.rollout.plans import named_plan
        >>> from wmb_fast.world import render_world
        >>> world = render_world(named_plan("LR"), seconds_per_step=4, size=(64, 48))
        >>> found = exact_channels(world, [worldmark])
        >>> sorted(found), found["geometry"].values["depth"].shape
        (['depth', 'geometry'], (9, 48, 64))
    """
    facts = Facts("world", None, None, world.plan, len(world), world.fps, *world.size)
    asked: dict[str, set[int]] = {"depth": set(), "geometry": set()}
    for protocol in protocols:
        for need in protocol.needs(Evidence(facts)):
            if need.channel in asked:
                asked[need.channel].update(range(len(world)) if need.frames is None else need.frames)
    found = {}
    for channel, frames in asked.items():
        if not frames:
            continue
        rows = sorted(frames)
        values = {"frames": np.array(rows), "depth": np.stack([world.depth(frame) for frame in rows])}
        if channel == "geometry":
            values["cam_from_world"] = np.linalg.inv(world.poses[rows])[:, :3]
            values["intrinsics"] = np.tile(world.intrinsics, (len(rows), 1, 1))
        found[channel] = Channel(values, Maker(channel, NAME, "external", ""))
    return found


def hand_in(world: World, video: str | os.PathLike[str], protocols: Sequence[Asks]) -> list[Path]:
    """Writes the exact channels beside a world's video, where scoring finds them.

    Args:
        world: The world.
        video: Its video; ``<stem>.depth.npz`` and ``<stem>.geometry.npz`` are written beside it.
        protocols: As in :func:`exact_channels`.

    Returns:
        The files.

    Raises:
        ArgumentError: The folder cannot be written.
    """
    written = []
    for channel, made in exact_channels(world, protocols).items():
        path = Path(video).with_suffix(f".{channel}.npz")
        packed = io.BytesIO()
        np.savez_compressed(packed, estimator=np.array(NAME), **made.values)
        try:
            path.write_bytes(packed.getvalue())
        except OSError as error:
            raise bad_value("hand_in", "video", "lie in a folder that can be written", f"{path} ({error})") from error
        written.append(path)
    return written
