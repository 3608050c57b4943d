# SPDX-License-Identifier: Apache-2.0
"""The known-answer world along a plan, with faults to order."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from .._walls.checks import integer, real
from .._walls.errors import bad_type, bad_value
from ..rollout.plan import Plan
from . import truth
from .faults import FAULTS, Event, PathFault, SceneFault, Take, Timeline, order
from .path import Drive, Pace, Units, check_plan, command, frame_count, poses_along, ramp_length, units_for
from .scene import Scene, default_scene

_EDGE_SAMPLES = 2
_LARGEST, _LONGEST = 8192, 1_000_000  # a side, a clip: beyond them is a slip of the keyboard


@dataclass(frozen=True, eq=False)
class World:
    """A rollout of which everything is known.

    Frames are rendered when they are asked for; the same frame has the same bits on every machine and for any number
    of threads, and frames of equal pose and scene are equal.

    Attributes:
        plan: What was commanded.
        faults: Name to strength, in the order in which they act.
        seed: Of the scene, and of what faults put in its place.
        fps: Frames a second.
        size: Width and height in pixels.
        poses: Camera-to-world as the camera really moved, (N, 4, 4); OpenCV axes, metres.
        commanded_poses: The same as commanded; equal without a fault of the path.
        intrinsics: (3, 3); integer coordinates are pixel centres.
        timeline: From which frame on which scene stands.
        speed: The camera's full speeds: ``metres``, ``turn_deg`` and ``look_deg`` a second.
        events: What the faults did, by frame.
    """

    plan: Plan
    faults: Mapping[str, float]
    seed: int
    fps: float
    size: tuple[int, int]
    poses: npt.NDArray[np.float64]
    commanded_poses: npt.NDArray[np.float64]
    intrinsics: npt.NDArray[np.float64]
    timeline: Timeline
    speed: Mapping[str, float]
    events: tuple[Event, ...]

    def __len__(self) -> int:
        return len(self.poses)

    def scene(self, frame: int) -> Scene:
        """The scene that stands at a frame."""
        self._check(frame)
        return next(scene for first, scene in reversed(self.timeline) if first <= frame)

    def view(self, frame: int) -> truth.View:
        """A frame with its depth and identities."""
        return truth.look(self.scene(frame), self.poses[frame], self.intrinsics, self.size, _EDGE_SAMPLES)

    def frames(self) -> Iterator[npt.NDArray[np.uint8]]:
        """All frames in order, (H, W, 3) uint8; each is rendered while the caller is busy with the one before."""
        with ThreadPoolExecutor(1) as ahead:
            coming = ahead.submit(self.view, 0)
            for frame in range(1, len(self)):
                view = coming.result()
                coming = ahead.submit(self.view, frame)
                yield view.rgb
            yield coming.result().rgb

    def depth(self, frame: int, *, grid: tuple[int, int] | None = None) -> npt.NDArray[np.float32]:
        """Depth z in metres at the pixel centres of a frame, or of a grid (width, height) that it is resized to."""
        scene = self.scene(frame)
        return truth.measure(scene, self.poses[frame], self._on(grid), grid or self.size)[0]

    def flow(self, frame: int, stride: int = 1, *, grid: tuple[int, int] | None = None) -> truth.Flow:
        """Exact flow from a frame to the one ``stride`` later, in pixels of the frame or of a grid (width, height)."""
        later = frame + integer("World.flow", "stride", stride)
        scenes = self.scene(frame), self.scene(later)
        return truth.flow_between(scenes, (self.poses[frame], self.poses[later]), self._on(grid), grid or self.size)

    def _on(self, grid: tuple[int, int] | None) -> npt.NDArray[np.float64]:
        return truth.intrinsics_for(self.size, grid)

    def _check(self, frame: int) -> None:
        if not 0 <= integer("World", "frame", frame) < len(self):
            raise bad_value("World", "frame", f"be in 0 to {len(self) - 1}", frame)


def render_world(
    plan: Plan,
    *,
    faults: Mapping[str, float] | None = None,
    seed: int = 0,
    fps: float = 16.0,
    seconds_per_step: float = 20.0,
    size: tuple[int, int] = (320, 192),
    pace: Pace | None = None,
) -> World:
    """The known-answer world along a plan.

    Args:
        plan: Its steps are driven one after another from the middle of the room.
        faults: Name of :data:`FAULTS` to strength.
        seed: Another seed is another room.
        fps: Frames a second.
        seconds_per_step: What a share of 1 lasts, where the plan does not say which frames its steps have; the video
            has one frame more than ``fps`` times the plan's seconds, so that a way back can end where it began.
        size: Width and height in pixels.
        pace: How fast the camera moves. It walks slower where the commanded or the actual way would leave the
            walkable part of the room; ``World.speed`` says how fast it was.

    Returns:
        The world. Nothing is rendered yet.

    Raises:
        ArgumentError: No such fault, a strength it does not take, a fault that cannot show with this plan, steps
            without frames.

    Example:
        >>> from wmb_fast.rollout.plan import Action, Plan, Step
        >>> there_and_back = Plan("lr", (Step(Action.TURN_LEFT), Step(Action.TURN_RIGHT)))
        >>> world = render_world(there_and_back, seconds_per_step=2, size=(64, 48))
        >>> len(world), bool((world.view(0).rgb == world.view(64).rgb).all())
        (65, True)
        >>> bool(world.flow(0, 2).uv[..., 0].mean() > 0)  # turning left moves the image to the right
        True
    """
    if not isinstance(plan, Plan):
        raise bad_type("world", "plan", "be a Plan", type(plan).__name__)
    fps = real("world", "fps", fps, above=0)
    seconds = real("world", "seconds_per_step", seconds_per_step, above=0)
    width, height = (integer("world", "size", side, at_least=16) for side in size)
    if max(width, height) > _LARGEST:
        raise bad_value("world", "size", f"be at most {_LARGEST} a side", f"{width}x{height}")
    seed = integer("world", "seed", seed)
    ordered, pace = order(faults or {}), pace or Pace()
    n_frames = frame_count(plan, seconds, fps)
    if not 2 <= n_frames <= _LONGEST:
        raise bad_value("world", "plan", f"give 2 to {_LONGEST} frames ({seconds:g} s a step, {fps:g} fps)", n_frames)
    spans = check_plan("world", plan, n_frames)
    scene = default_scene(seed)
    start = poses_along(np.zeros((0, 4), dtype=np.int64), Units(0, 0, 0))[0]
    sees = functools.partial(_sees, scene, (width, height))
    shows = functools.partial(_shows, scene, (width, height))
    target = functools.partial(truth.largest_box, scene, start, (width, height))
    take = Take(plan, spans, n_frames, fps, seed, sees, truth.wall_ahead(start), shows, target)

    commanded = command(plan, spans, n_frames, pace, fps)
    drive, events = _spoil_path(commanded, ordered, take)
    units = units_for((commanded, drive), scene.walkable, pace, fps)
    poses = poses_along(drive, units)
    timeline, changes = _spoil_scene(((0, scene),), ordered, take, poses)
    events = tuple(sorted((*events, *changes), key=lambda event: event.frame))
    return World(plan, ordered, seed, fps, (width, height), poses, poses_along(commanded, units),
                 truth.intrinsics_for((width, height)), timeline, _speeds(units, pace, fps), events)  # fmt: skip


def _speeds(units: Units, pace: Pace, fps: float) -> dict[str, float]:
    return {name: value * ramp_length(pace, fps) * fps for name, value in asdict(units).items()}


def _sees(scene: Scene, size: tuple[int, int], pose: npt.NDArray[Any], wall: int) -> bool:
    return truth.wall_in_view(scene, pose, wall, size)


def _shows(scene: Scene, size: tuple[int, int], pose: npt.NDArray[Any], box: int) -> bool:
    return truth.box_in_view(scene, pose, box, size)


def _spoil_path(drive: Drive, faults: Mapping[str, float], take: Take) -> tuple[Drive, tuple[Event, ...]]:
    events: list[Event] = []
    for name, strength in faults.items():
        if FAULTS[name].changes == "path":
            drive, more = cast(PathFault, FAULTS[name].act)(drive, strength, take)
            events += more
    return drive, tuple(events)


def _spoil_scene(
    timeline: Timeline, faults: Mapping[str, float], take: Take, poses: npt.NDArray[np.float64]
) -> tuple[Timeline, tuple[Event, ...]]:
    events: list[Event] = []
    for name, strength in faults.items():
        if FAULTS[name].changes == "scene":
            timeline, more = cast(SceneFault, FAULTS[name].act)(timeline, strength, take, poses)
            events += more
    return timeline, tuple(events)
