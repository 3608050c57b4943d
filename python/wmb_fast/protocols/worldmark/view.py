# SPDX-License-Identifier: Apache-2.0
"""One rollout's evidence as the metrics want it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._walls.errors import ArgumentError
from ...rollout.plan import Action, Facts
from ..evidence import Evidence
from ..measure import NotThereError
from ..record import Status
from .constants import COMPAT_FPS, FASTEST_FPS, FLOW_GRID, FLOW_STRIDE, SLOWEST_FPS
from .geometry import EMPTY_VIDEO, global_frames, global_memory
from .local import Cuts, local_memory
from .measure import Measure, Signal, missing, without
from .parallax import Samples, parallax_frames, parallax_samples
from .ratings import quality
from .revisit import NOT_A_ROUND_TRIP, TOO_SHORT, Reversal, published_bounds, reversals, revisit_memory
from .segments import KEYS, Timeline, first_frames, first_samples, is_round_trip, key_of


@dataclass(frozen=True)
class Rollout:
    """Evidence of one rollout as the metrics want it; what is absent raises with its reason when it is asked for."""

    evidence: Evidence
    compat: bool

    @property
    def facts(self) -> Facts:
        return self.evidence.facts

    def channel(self, name: str, *needed: str) -> Mapping[str, Any]:
        """The values of a channel, the needed ones among them."""
        if name not in self.evidence.channels:
            why = self.evidence.missing.get(name, "not in the evidence")
            raise NotThereError(missing(f"{name}: {why}"))
        values = self.evidence.channels[name].values
        for key in needed:
            if key not in values:
                raise NotThereError(
                    missing(f"{name}: the channel must hold {key}, got {', '.join(values) or 'nothing'}")
                )
        return values

    @cached_property
    def flow(self) -> tuple[Signal, Signal]:
        values = self.channel("flow", "horizontal", "radial")
        horizontal, radial = (np.asarray(values[name], dtype=np.float64) for name in ("horizontal", "radial"))
        expected = (max(self.facts.n_frames - self.stride, 0),)
        # The published evaluator reads a cache of any length, and takes frames beyond the video for its last.
        fits = radial.shape == horizontal.shape and (self.compat or horizontal.shape == expected)
        if horizontal.ndim != 1 or not fits:
            shapes = f"{horizontal.shape} and {radial.shape}"
            raise NotThereError(missing(f"flow: horizontal and radial must have shape {expected}, got {shapes}"))
        return horizontal, radial

    @cached_property
    def fps(self) -> float:
        if self.compat:
            return COMPAT_FPS
        rate = self.facts.fps
        if rate is None or not rate > 0:
            raise NotThereError(missing("fps: the rollout's frame rate is not known"))
        if not SLOWEST_FPS <= rate <= FASTEST_FPS:
            wanted = f"from {SLOWEST_FPS} to {FASTEST_FPS} frames a second"
            raise NotThereError(
                missing(f"fps: a rollout has {wanted}, this file says {rate:g}: state it in a manifest")
            )
        return float(rate)

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        if self.facts.plan is None or not self.facts.plan.steps:
            raise NotThereError(missing("plan: what the rollout was told to do is not known"))
        return self.facts.plan.actions

    @cached_property
    def keys(self) -> list[str | None]:
        return [key_of(action) for action in self.actions]

    @cached_property
    def first_frames(self) -> tuple[int, ...]:
        _ = self.actions
        assert self.facts.plan is not None
        try:
            return first_frames(self.facts.plan, self.facts.n_frames)
        except ArgumentError as error:
            if self.facts.n_frames < len(self.actions):
                raise NotThereError(without(TOO_SHORT)) from error
            raise NotThereError(Measure(None, f"plan: {error}", status=Status.ERROR)) from error

    @property
    def stride(self) -> int:
        flow = self.evidence.channels.get("flow")
        return FLOW_STRIDE if flow is None else int(flow.values.get("stride", FLOW_STRIDE))

    def timeline(self) -> Timeline:
        n = len(self.flow[0])
        if self.compat:
            return Timeline.published(np.arange(n) / COMPAT_FPS, len(self.keys))
        return Timeline.of_frames(n, self.fps, self.first_frames, self.stride)

    @cached_property
    def parallax_frames(self) -> dict[int, list[int]]:
        """The frames of each lateral or turning segment at which depth is wanted; none beyond where flow ends."""
        own = None if self.compat else self.first_frames
        chosen = parallax_frames(self.facts.n_frames, self.keys, first_frames=own, fps=self.fps)
        last = self.facts.n_frames - 1 - self.stride
        return {j: [min(max(frame, 0), last) for frame in frames] for j, frames in chosen.items()} if last >= 0 else {}

    def depth_channel(self) -> str | None:
        """The channel that has depth at all of these frames: ``depth``, else ``geometry``."""
        wanted = {frame for frames in self.parallax_frames.values() for frame in frames}
        for name in ("depth", "geometry"):
            values = self.evidence.channels[name].values if name in self.evidence.channels else {}
            if wanted and "depth" in values and wanted <= set(np.asarray(values["frames"]).tolist()):
                return name
        return None

    def parallax_makers(self) -> tuple[str, ...]:
        """The channels that tell sideways motion from turning."""
        if "parallax" in self.evidence.channels:
            return ("parallax",)
        with suppress(NotThereError):
            name = self.depth_channel()
            return ("flow_fields", name) if name and "flow_fields" in self.evidence.channels else ()
        return ()

    def parallax(self) -> dict[int, Samples]:
        """Inverse depth and flow of the lateral and turning segments; of none without depth."""
        makers = self.parallax_makers()
        if not makers:
            return {}
        if makers == ("parallax",):
            values = self.channel("parallax", "segments")
            return {
                int(j): (np.asarray(values[f"inverse_depth_{j}"]), np.asarray(values[f"flow_{j}"]))
                for j in values["segments"]
            }
        fields, depth = (_by_frame(self.evidence.channels[name].values, what) for name, what in
                         zip(makers, ("horizontal", "depth"), strict=True))  # fmt: skip
        return {
            j: parallax_samples([fields[f] for f in frames], [depth[f] for f in frames], compat=self.compat)
            for j, frames in self.parallax_frames.items()
            if all(frame in fields for frame in frames)
        }

    def no_depth(self) -> str:
        """Why there is no parallax, as the evidence has it; empty where it does not say."""
        with suppress(NotThereError):
            if self.depth_channel():
                return self.evidence.missing.get("flow_fields", "")
        return self.evidence.missing.get("depth", "")

    @property
    def width(self) -> float:
        """What 70 degrees span: the flow's own grid, or as published the video."""
        if self.compat:
            return float(self.facts.width)
        return float(self.channel("flow").get("grid", FLOW_GRID)[0])

    @cached_property
    def reversals(self) -> list[Reversal]:
        if not is_round_trip(self.keys):
            raise NotThereError(without(NOT_A_ROUND_TRIP))
        horizontal, radial = self.flow
        n = len(horizontal)
        if self.compat:
            bounds = published_bounds(n, len(self.keys))
        else:
            bounds = first_samples(n, self.first_frames, self.stride, last=n)
        keys = [key for key in self.keys if key is not None]
        return reversals(horizontal, radial, keys, bounds, fps=self.fps, width=self.width, compat=self.compat)

    @property
    def cuts(self) -> Cuts:
        return cuts_of(self.evidence.channels["cuts"].values if "cuts" in self.evidence.channels else {})

    @property
    def features(self) -> tuple[np.ndarray, np.ndarray]:
        """Frames and their features; none where there are none: a metric may find that it needs none."""
        if "features" not in self.evidence.channels:
            return np.empty(0, dtype=np.int64), np.empty((0, 1), dtype=np.float32)
        values = self.channel("features", "frames", "mean")
        return np.asarray(values["frames"]), np.asarray(values["mean"])

    def local(self, step: float | None) -> Measure:
        horizontal, radial = self.flow
        measure = local_memory(
            horizontal,
            radial,
            *self.features,
            self.cuts,
            n_frames=self.facts.n_frames,
            step=step,
            fps=self.fps,
            compat=self.compat,
        )
        return self._explained(measure)

    def revisit(self) -> Measure:
        turns = self.reversals
        measure = revisit_memory(
            turns,
            *self.features,
            n_frames=self.facts.n_frames,
            family=KEYS[str(self.keys[0])].family,
            width=self.width,
            compat=self.compat,
        )
        return self._explained(measure)

    @property
    def global_frames(self) -> list[int]:
        """The frames that Global samples: by the file's own rate, under ``compat`` too."""
        return global_frames(self.facts.n_frames, self.facts.fps if self.compat else self.fps)

    def global_memory(self) -> Measure:
        """Global memory of the frames that it samples."""
        wanted = self.global_frames
        if not wanted:
            return without(EMPTY_VIDEO)
        values = self.channel("geometry", "frames", "depth", "cam_from_world", "intrinsics")
        at = {frame: row for row, frame in enumerate(np.asarray(values["frames"]).tolist())}
        lacking = [frame for frame in wanted if frame not in at]
        if lacking:
            lacks = f"{len(lacking)} of the {len(wanted)} sampled frames have none, the first is {lacking[0]}"
            return missing(f"geometry: {lacks}", len(wanted) * (len(wanted) - 1))
        rows = [at[frame] for frame in wanted]
        depth, poses, cameras = (np.asarray(values[name])[rows] for name in ("depth", "cam_from_world", "intrinsics"))
        confidence = np.asarray(values["confidence"])[rows] if "confidence" in values else None
        return global_memory(depth, poses, cameras, confidence, compat=self.compat)

    def quality(self, name: str) -> Measure:
        """A rating of the channel."""
        return quality(float(self.channel("quality", name)[name]))

    def _explained(self, measure: Measure) -> Measure:
        """A measure that misses a channel gets the reason that the evidence has for it."""
        channel = measure.reason.split(":", 1)[0]
        if measure.status is Status.MISSING and channel in self.evidence.missing:
            return replace(measure, reason=f"{channel}: {self.evidence.missing[channel]}")
        return measure


def _by_frame(values: Mapping[str, Any], name: str) -> dict[int, np.ndarray]:
    return dict(zip(np.asarray(values["frames"]).tolist(), values[name], strict=True))


def cuts_of(values: Mapping[str, Any]) -> Cuts:
    """The cuts of a channel's values; of none where no detector ran."""
    if "frames" not in values:
        return Cuts((), 0, None)
    n_scenes = int(values["n_scenes"])
    return Cuts(tuple(int(frame) for frame in values["frames"]), n_scenes, n_scenes > 1)
