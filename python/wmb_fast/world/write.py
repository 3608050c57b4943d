# SPDX-License-Identifier: Apache-2.0
"""A world as a folder: the video, what was commanded, and what is true of it.

video.mp4      plan.yaml       manifest.json (to score the video with its plan)
poses.npz      cam_to_world and commanded_cam_to_world (N, 4, 4), intrinsics (3, 3), fps; OpenCV axes, metres
depth.npz      depth (N, H, W) float32, where asked for
truth.json     the faults, what they did at which frame, which metrics must fall and which must not move
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._walls import drafts
from .._walls.errors import bad_value
from ..rollout.encode import write_video
from ..rollout.plan import Plan
from ..rollout.planfile import plan_of, write_plan
from .faults import FAULTS
from .render import World, render_world

_MARK = "truth.json"


def build(
    plan: Plan | str,
    faults: Mapping[str, float],
    out_dir: str | os.PathLike[str],
    *,
    seed: int = 0,
    fps: float = 16.0,
    seconds: float = 20.0,
    size: tuple[int, int] = (320, 192),
) -> Path:
    """Renders the known-answer world along a plan and writes it as a folder.

    Args:
        plan: A plan, the name of a published one, or a plan file.
        faults: Name to strength; see :data:`wmb_fast.world.FAULTS`.
        out_dir: The folder to write; an older world in its place is replaced.
        seed: Of the room.
        fps: Frames a second.
        seconds: What a step lasts.
        size: Width and height in pixels.

    Returns:
        The folder.

    Raises:
        ArgumentError: As :func:`wmb_fast.world.render_world` and :func:`save_world`.
        MissingExtraError: PyAV or PyYAML is not installed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as out:
        ...     folder = build("LR", {"stall": 0.4}, Path(out) / "stalled", seconds=4, size=(64, 48))
        ...     sorted(path.name for path in folder.iterdir())
        ['manifest.json', 'plan.yaml', 'poses.npz', 'truth.json', 'video.mp4']
    """
    plan = plan_of(plan) if isinstance(plan, str) else plan
    world = render_world(plan, faults=faults, seed=seed, fps=fps, seconds_per_step=seconds, size=size)
    return save_world(world, out_dir)


def save_world(world: World, folder: str | os.PathLike[str], *, depth: bool = False) -> Path:
    """Writes a world, whole or not at all.

    Args:
        world: What :func:`wmb_fast.world.render_world` gave.
        folder: Is made; an older world in its place is replaced.
        depth: Whether to write the depth of all frames too.

    Returns:
        The folder.

    Raises:
        ArgumentError: A folder that holds something other than a world, or that cannot be written.
        MissingExtraError: PyAV or PyYAML is not installed.

    Example:
        >>> import tempfile
        >>> from wmb_fast.rollout.plans import named_plan
        >>> world = render_world(named_plan("W"), seconds_per_step=1, size=(64, 48))
        >>> with tempfile.TemporaryDirectory() as out:
        ...     folder = save_world(world, Path(out) / "walk")
        ...     json.loads((folder / "truth.json").read_text())["frames"]
        17
    """
    if not os.fspath(folder):
        raise bad_value("save_world", "folder", "have a name", repr(""))
    target = Path(os.path.abspath(folder))
    if target.exists() and not (target / _MARK).is_file() and not _is_empty(target):
        raise bad_value("save_world", "folder", "be new, empty or an older world", str(folder))
    part = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        drafts.sweep(target.parent)
        part = drafts.draft_of(target)
        part.mkdir()
        _write(world, part, depth)
        _put(part, target)
    except OSError as error:
        raise bad_value("save_world", "folder", "be one that can be written", f"{folder} ({error.strerror})") from error
    finally:
        if part is not None:
            shutil.rmtree(part, ignore_errors=True)
    return Path(folder)


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _put(part: Path, target: Path) -> None:
    """Moves the finished folder to its place, and what stood there out of it."""
    if target.exists():
        old = drafts.draft_of(target)
        target.replace(old)
        part.replace(target)
        shutil.rmtree(old)
    else:
        part.replace(target)


def _write(world: World, folder: Path, depth: bool) -> None:
    write_video(folder / "video.mp4", world.frames(), fps=world.fps)
    write_plan(folder / "plan.yaml", world.plan)
    rollout = {"video": "video.mp4", "plan": "plan.yaml", "poses": "poses.npz"}
    (folder / "manifest.json").write_text(json.dumps({"rollouts": [rollout]}, indent=1) + "\n", encoding="utf-8")
    np.savez(
        folder / "poses.npz",
        cam_to_world=world.poses,
        commanded_cam_to_world=world.commanded_poses,
        intrinsics=world.intrinsics,
        fps=np.float64(world.fps),
    )
    if depth:
        np.savez_compressed(folder / "depth.npz", depth=np.stack([world.depth(i) for i in range(len(world))]))
    (folder / _MARK).write_text(json.dumps(truth_of(world), indent=1, allow_nan=False) + "\n", encoding="utf-8")


def truth_of(world: World) -> dict[str, Any]:
    """What is known of a world, as plain data: the contents of ``truth.json``.

    Of several faults, what one must lower is not among what must not move.
    """
    faults = [FAULTS[name] for name in world.faults]
    lower = {metric for fault in faults for metric in fault.must_lower}
    still = set.intersection(*(set(fault.must_not_move) for fault in faults)) - lower if faults else set()
    return {
        "plan": world.plan.name,
        "frames": len(world),
        "fps": world.fps,
        "size": list(world.size),
        "seed": world.seed,
        "faults": [
            {
                "name": fault.name,
                "strength": world.faults[fault.name],
                "meaning": fault.strength,
                "changes": fault.changes,
            }
            for fault in faults
        ],
        "events": [{"frame": event.frame, "fault": event.fault, "what": event.what} for event in world.events],
        "must_lower": sorted(lower),
        "must_not_move": sorted(still),
        "speed": world.speed,
    }
