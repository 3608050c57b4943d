# SPDX-License-Identifier: Apache-2.0
"""Which estimator makes which channel of evidence, and what its numbers depend on."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from .opencv import opencv_version

Frame = npt.NDArray[np.uint8]
Settings = Mapping[str, Any]

# Channels that no builtin estimator makes, and who does.
ABSENT = {
    "depth": "no builtin estimator measures depth: hand in <video>.depth.npz, or import a depth network",
    "parallax": "no builtin estimator measures depth: hand in <video>.parallax.npz (segments, inverse_depth_<j>, "
    "flow_<j>), or import a depth network",
    "geometry": "no builtin estimator reconstructs cameras and depth: hand in <video>.geometry.npz (frames, depth, "
    "cam_from_world, intrinsics; confidence where there is one), or import a multi-view network",
    "quality": "no builtin estimator rates quality: hand in <video>.quality.npz (quality, aesthetic, from 1 to 5)",
}


class Consumer(Protocol):
    """One estimator at work on one rollout: it sees frames once, in order, and keeps what it must."""

    def feed(self, index: int, frame: Frame) -> None:
        """Takes frame ``index``, (H, W, 3) uint8 RGB. The array is the consumer's to read, not to keep or change."""

    def finish(self) -> dict[str, Any]:
        """The channel's values: arrays and plain numbers by name."""


class Module(Protocol):
    """What the module of an estimator has: ``settings`` of one rollout, and a consumer that works with them."""

    VERSION: int

    def settings(self, model: str | None) -> Settings: ...

    def start(self, settings: Settings) -> Consumer: ...


@dataclass(frozen=True)
class Estimator:
    """An entry of the registry.

    Attributes:
        role: The channel it makes.
        id: Its name in records.
        tier: ``builtin``, ``packaged`` or ``official``.
        licence: Of what it runs, as SPDX.
        by_frame: Whether each frame's values come from that frame alone, so that only frames asked for are looked at.
        module: Where it stands, below this package.
    """

    role: str
    id: str
    tier: str
    licence: str
    by_frame: bool
    module: str

    def _load(self) -> Module:
        return cast(Module, importlib.import_module(f"{__package__}.{self.module}"))

    def settings(self, model: str | None) -> Settings:
        """All that it can be set to, as set for a rollout of this model."""
        return self._load().settings(model)

    def start(self, settings: Settings) -> Consumer:
        """A consumer for one rollout."""
        return self._load().start(settings)

    def fingerprint(self, settings: Settings) -> str:
        """16 hexadecimal digits that change whenever the numbers may: id, version, settings, OpenCV's version."""
        facts = [self.id, self._load().VERSION, dict(settings), {"cv2": opencv_version(self.id)}]
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


BUILTIN = {
    entry.role: entry
    for entry in (
        Estimator("flow", "opencv-dis", "builtin", "Apache-2.0", by_frame=False, module="flow_dis"),
        Estimator("flow_fields", "opencv-dis", "builtin", "Apache-2.0", by_frame=True, module="flow_fields"),
        Estimator("cuts", "motion-compensated-cuts", "builtin", "Apache-2.0", by_frame=False, module="cuts"),
        Estimator("features", "colour-texture-place", "builtin", "Apache-2.0", by_frame=True, module="descriptor"),
    )
}


def why_absent(channel: str) -> str:
    """The reason why no estimator of this version makes a channel."""
    return ABSENT.get(channel, f"no estimator of this version makes {channel}: hand in <video>.{channel}.npz")
