# SPDX-License-Identifier: Apache-2.0
"""Faults to order. Each changes one thing, and says what a metric must make of it.

- ``path``: the drive, before there are poses (slow, wrong, stalled; drift and freezing would stand here);
- ``scene``: what stands in the room, and from which frame on (cuts, repainting, things moved, swapped, missing, bent);
- the finished image, once there is a fault that does (flicker, decay): :meth:`World.view` is its place.

A fault that could not show with the plan at hand is refused, so a faulty world is never a good one by accident.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from .._walls.checks import one_of, real
from .._walls.errors import ArgumentError, bad_value
from ..rollout.plan import Plan, Span
from .path import Drive, Poses, first_return
from .scene import Material, Scene, default_scene, other_wall

Timeline: TypeAlias = tuple[tuple[int, Scene], ...]  # from which frame on, which scene

STALL_SECONDS = 2.0
_OTHER_SCENE = 7919
_OTHER_PAPER = 104729
_UNDER = 0.01  # metres below the floor


@dataclass(frozen=True)
class Event:
    """What a fault did, at which frame."""

    frame: int
    fault: str
    what: str


@dataclass(frozen=True)
class Take:
    """What a fault may know of the rollout it spoils.

    ``sees(pose, face)`` tells whether any of a wall would be in the picture, ``shows(pose, box)`` the same of a box;
    ``target()`` is the largest box in the first picture.
    """

    plan: Plan
    spans: tuple[Span, ...]
    n_frames: int
    fps: float
    seed: int
    sees: Callable[[npt.NDArray[np.float64], int], bool]
    start_wall: int
    shows: Callable[[npt.NDArray[np.float64], int], bool]
    target: Callable[[], int | None]


PathFault: TypeAlias = Callable[[Drive, float, Take], tuple[Drive, list[Event]]]
SceneFault: TypeAlias = Callable[[Timeline, float, Take, Poses], tuple[Timeline, list[Event]]]


@dataclass(frozen=True)
class Fault:
    """A fault that can be ordered by name.

    Attributes:
        name: As on the command line.
        changes: What it changes.
        strength: What its strength means.
        default: A strength that every metric listed must notice.
        low, high: The strengths it takes: above ``low``, up to ``high``.
        must_lower: Metrics whose value must fall, as ``protocol.metric``; where they are evaluable with the plan.
        must_not_move: Metrics that must stay as they are, but for what an estimator makes of other pixels: some
            hundredths of the metric's range.
        act: What it does; its signature goes with ``changes``.
    """

    name: str
    changes: Literal["path", "scene"]
    strength: str
    default: float
    low: float
    high: float
    must_lower: tuple[str, ...]
    must_not_move: tuple[str, ...]
    act: PathFault | SceneFault


def slow_response(drive: Drive, seconds: float, take: Take) -> tuple[Drive, list[Event]]:
    """The camera stands for some seconds after each new command, then does as it is told."""
    lag = max(1, round(seconds * take.fps))
    slow, events = drive.copy(), []
    for j in range(1, len(take.spans)):
        if take.plan.steps[j].action == take.plan.steps[j - 1].action:
            continue
        start, stop = take.spans[j].start, min(take.spans[j].stop, len(drive))
        if start + lag >= stop:
            raise bad_value("world", "slow_response", f"leave some of step {j} ({(stop - start) / take.fps:g} s)",
                            f"{seconds:g} s")  # fmt: skip
        slow[start : start + lag] = 0
        slow[start + lag : stop] = drive[start : stop - lag]
        events.append(Event(start, "slow_response", f"stands until frame {start + lag}"))
    if not events:
        raise _no_use("slow_response", "a command that differs from the one before", take)
    return slow, events


def wrong_direction(drive: Drive, share: float, take: Take) -> tuple[Drive, list[Event]]:
    """The last steps, or all of them, are run the other way."""
    count = math.ceil(share * len(take.spans))
    wrong, events = drive.copy(), []
    for span in take.spans[len(take.spans) - count :]:
        if drive[span.start : span.stop].any():
            wrong[span.start : span.stop] *= -1
            events.append(Event(span.start, "wrong_direction", f"runs the other way until frame {span.stop}"))
    if not events:
        raise _no_use("wrong_direction", "motion in those steps", take)
    return wrong, events


def stall(drive: Drive, share: float, take: Take) -> tuple[Drive, list[Event]]:
    """The camera stops again and again: for a share of every two seconds."""
    period = max(2, round(STALL_SECONDS * take.fps))
    still = min(max(1, round(share * period)), period - 1)
    stalled, events = drive.copy(), []
    for span in take.spans:
        for start in range(span.start + (period - still) // 2, min(span.stop, len(drive)), period):
            stop = min(start + still, span.stop)
            if drive[start:stop].any():
                stalled[start:stop] = 0
                events.append(Event(start, "stall", f"stands until frame {stop}"))
    if not events:
        raise _no_use("stall", f"steps longer than {period} frames that move", take)
    return stalled, events


def hard_cut(timeline: Timeline, share: float, take: Take, poses: Poses) -> tuple[Timeline, list[Event]]:
    """From one frame on the room is another one."""
    frame = min(max(1, round(share * take.n_frames)), take.n_frames - 1)
    other = default_scene(take.seed + _OTHER_SCENE)
    before = tuple((first, scene) for first, scene in timeline if first < frame)
    return (*before, (frame, other)), [Event(frame, "hard_cut", "the room is another one from here on")]


def repainted_wall(timeline: Timeline, blend: float, take: Take, poses: Poses) -> tuple[Timeline, list[Event]]:
    """The wall in front at the start has another face once it has been out of view, else once the way back begins."""
    frame = _once_unseen("repainted_wall", "the wall", take, poses, lambda pose: take.sees(pose, take.start_wall))

    def repaint(scene: Scene) -> Scene:
        other = other_wall(scene, take.start_wall, take.seed + _OTHER_PAPER)
        return scene.repapered(take.start_wall, replace(scene.walls[take.start_wall], over=other, blend=blend))

    changed = _changed_from(timeline, frame, take.n_frames, repaint)
    return changed, [Event(frame, "repainted_wall", "the wall in front at the start has another face")]


def displaced_wall(timeline: Timeline, metres: float, take: Take, poses: Poses) -> tuple[Timeline, list[Event]]:
    """The wall in front at the start stands further back once it has been out of view."""
    frame = _once_unseen("displaced_wall", "the wall", take, poses, lambda pose: take.sees(pose, take.start_wall))
    moved = _changed_from(timeline, frame, take.n_frames, lambda s: s.with_wall_moved(take.start_wall, metres))
    return moved, [Event(frame, "displaced_wall", f"the wall in front at the start stands {metres:g} m further back")]


def squashed_box(timeline: Timeline, share: float, take: Take, poses: Poses) -> tuple[Timeline, list[Event]]:
    """The largest box in the first picture is lower, its foot in its place, once it has been out of view."""
    frame, box = _target("squashed_box", take, poses)

    def squash(scene: Scene) -> Scene:
        old = scene.boxes[box]
        (wide, tall, deep), (x, y, z) = old.size, old.center
        size, center = (wide, tall * (1 - share), deep), (x, y + tall * share / 2, z)
        return scene.with_box(box, replace(old, size=size, center=center))

    squashed = _changed_from(timeline, frame, take.n_frames, squash)
    return squashed, [Event(frame, "squashed_box", f"{_name(timeline, box)} keeps {1 - share:g} of its height")]


def retextured_box(timeline: Timeline, blend: float, take: Take, poses: Poses) -> tuple[Timeline, list[Event]]:
    """The largest box in the first picture has another surface once it has been out of view."""
    frame, box = _target("retextured_box", take, poses)

    def retexture(scene: Scene) -> Scene:
        old = scene.boxes[box]
        other = Material("check" if old.material.kind != "check" else "carton", old.material.seed + _OTHER_PAPER)
        return scene.with_box(box, replace(old, material=replace(old.material, over=other, blend=blend)))

    painted = _changed_from(timeline, frame, take.n_frames, retexture)
    return painted, [Event(frame, "retextured_box", f"{_name(timeline, box)} has another surface")]


def missing_box(timeline: Timeline, share: float, take: Take, poses: Poses) -> tuple[Timeline, list[Event]]:
    """The largest box in the first picture has sunk into the floor, in part or wholly, once it has been out of view."""
    frame, box = _target("missing_box", take, poses)

    def sink(scene: Scene) -> Scene:
        old = scene.boxes[box]
        x, y, z = old.center
        top = old.size[1] / 2 - y
        return scene.with_box(box, replace(old, center=(x, y + share * (top + _UNDER), z)))

    gone = _changed_from(timeline, frame, take.n_frames, sink)
    return gone, [Event(frame, "missing_box", f"{_name(timeline, box)} has sunk by {share:g} of its height")]


def _target(fault: str, take: Take, poses: Poses) -> tuple[int, int]:
    """The frame from which on, and the box that, is changed."""
    box = take.target()
    if box is None:
        raise _no_use(fault, "a box in the first picture", take)
    return _once_unseen(fault, "the box", take, poses, lambda pose: take.shows(pose, box)), box


def _name(timeline: Timeline, box: int) -> str:
    return f"the {timeline[0][1].boxes[box].name}"


def _once_unseen(
    fault: str, what: str, take: Take, poses: Poses, seen: Callable[[npt.NDArray[np.float64]], bool]
) -> int:
    """The first frame without what was in view at the start; if there is none, the one where the way back begins."""
    frame = next((i for i, pose in enumerate(poses) if not seen(pose)), None)
    if frame is not None:
        return frame
    back = first_return(take.plan)
    if back is None:
        raise _no_use(fault, f"a departure from {what} at the start, or a way back", take)
    return take.spans[back].start


def _changed_from(timeline: Timeline, frame: int, n_frames: int, change: Callable[[Scene], Scene]) -> Timeline:
    """The timeline with a change to every scene from one frame on."""
    changed: list[tuple[int, Scene]] = []
    stops = [first for first, _ in timeline[1:]] + [n_frames]
    for (first, scene), stop in zip(timeline, stops, strict=True):
        if first < frame:
            changed.append((first, scene))
        if stop > frame:
            changed.append((max(first, frame), change(scene)))
    return tuple(changed)


def _no_use(fault: str, requirement: str, take: Take) -> ArgumentError:
    return bad_value("world", "plan", f"have {requirement} for the fault {fault} to show", take.plan.name)


_DIRECTION, _PURITY = "worldmark.direction_accuracy", "worldmark.direction_purity"
_LATENCY, _STABILITY = "worldmark.response_latency", "worldmark.motion_stability"
_LOCAL, _REVISIT = "worldmark.local_memory", "worldmark.revisit_memory"
_APPEARANCE, _GEOMETRY = "worldmembench.object_appearance", "worldmembench.object_geometry"
_VISIBLE, _DEPTH = "worldmembench.environment_visible", "worldmembench.environment_depth"
_RECONSTRUCTION = "worldmembench.environment_reconstruction"
_PRESENCE, _IDENTITY, _STRUCTURE = "opis.presence", "opis.identity", "opis.structure"
_OBJECTS = (_PRESENCE, _IDENTITY, _STRUCTURE)
_ACTIONS = (_DIRECTION, _PURITY, _LATENCY, _STABILITY)
FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("slow_response", "path", "seconds of standing after each new command", 2.5, 0, 60,
              (_LATENCY,), (_DIRECTION, _PURITY, _LOCAL), slow_response),
        Fault("wrong_direction", "path", "share of the steps, the last ones, that run the other way", 1, 0, 1,
              (_DIRECTION, _STABILITY), (_PURITY, _LOCAL), wrong_direction),
        Fault("stall", "path", "share of the time it stands", 0.4, 0, 0.9,
              (_STABILITY,), (_DIRECTION, _PURITY, _LOCAL), stall),
        # Estimated flow across a cut is of no motion at all, and enters the mean that direction rests on.
        Fault("hard_cut", "scene", "share of the video before the cut", 0.4, 0, 1,
              (_LOCAL,), (_LATENCY,), hard_cut),
        Fault("repainted_wall", "scene", "weight of the new face over the old one", 1, 0, 1,
              (_REVISIT, _VISIBLE), (*_ACTIONS, *_OBJECTS, _DEPTH, _RECONSTRUCTION, _GEOMETRY), repainted_wall),
        Fault("displaced_wall", "scene", "metres that it stands further back", 2, 0, 10,
              (_DEPTH, _RECONSTRUCTION), (*_ACTIONS, *_OBJECTS, _GEOMETRY), displaced_wall),
        Fault("squashed_box", "scene", "share of the height that is lost", 0.5, 0, 0.9,
              (_GEOMETRY, _STRUCTURE), (*_ACTIONS, _PRESENCE, _IDENTITY), squashed_box),
        Fault("retextured_box", "scene", "weight of the new surface over the old one", 1, 0, 1,
              (_APPEARANCE, _IDENTITY),
              (*_ACTIONS, _GEOMETRY, _DEPTH, _RECONSTRUCTION, _VISIBLE, _PRESENCE, _STRUCTURE), retextured_box),
        Fault("missing_box", "scene", "share of its height that has sunk into the floor; 1: it is gone", 1, 0, 1,
              (_APPEARANCE, _GEOMETRY, _PRESENCE), (*_ACTIONS, _IDENTITY), missing_box),
    )
}  # fmt: skip


def order(faults: Mapping[str, float]) -> dict[str, float]:
    """Checks names and strengths, and gives the faults in the order of :data:`FAULTS`.

    Raises:
        ArgumentError: A fault that there is not, or a strength it does not take.
        ArgumentTypeError: A strength that is no number.
    """
    for name, strength in faults.items():
        one_of("world", "fault", name, FAULTS)
        fault = FAULTS[name]
        value = real("world", name, strength)
        if not fault.low < value <= fault.high:
            wanted = f"be above {fault.low:g} and at most {fault.high:g} ({fault.strength})"
            raise bad_value("world", name, wanted, f"{value:g}")
    return {name: float(faults[name]) for name in FAULTS if name in faults}
