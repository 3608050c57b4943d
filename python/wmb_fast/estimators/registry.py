# SPDX-License-Identifier: Apache-2.0
"""Which estimator makes which channel of evidence, and what its numbers depend on."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from .home import session_of
from .opencv import version_of
from .session import CPU

Frame = npt.NDArray[np.uint8]
Settings = Mapping[str, Any]
Pairs = Sequence[tuple[int, int]]

# Channels that no builtin estimator makes, and who does.
ABSENT = {
    "depth": "no builtin estimator measures depth: hand in <video>.depth.npz, or take MoGe-2's for a proxy: wmb-fast "
    "models import moge-2-vitl FILE.onnx, then --estimators official",
    "parallax": "no builtin estimator measures depth: hand in <video>.parallax.npz (segments, inverse_depth_<j>, "
    "flow_<j>)",
    "geometry": "no builtin estimator reconstructs cameras and depth: hand in <video>.geometry.npz (frames, depth, "
    "cam_from_world, intrinsics; confidence where there is one)",
    "objects": "no builtin estimator segments objects and embeds them: put the video into its case folder, with "
    "reference_scene.json and video_observation.json",
    "quality": "no builtin estimator rates quality: hand in <video>.quality.npz (quality, aesthetic, from 1 to 5)",
    "lpips": "LPIPS needs AlexNet: hand in <video>.lpips.npz (pairs, lpips)",
    "dino": "DINOv2 is not installed: hand in <video>.dino.npz (frames, features)",
    "boq": "BoQ is not installed: hand in <video>.boq.npz (frames, features)",
    "mvpr": "MutualVPR is not installed: hand in <video>.mvpr.npz (frames, features)",
    "matches": "SuperPoint and LightGlue are not installed: hand in <video>.matches.npz (pairs, n_matches, n_a, n_b, "
    "n_inliers), or take a proxy: --estimators matches=xfeat",
    "states": "no judge was asked: hand in <video>.states.npz (pairs, state_score, from 1 to 5, -1 where it failed)",
    "persistence": "GroundingDINO, SAM2, DINOv2 and CLIP are not installed: hand in <video>.persistence.npz (pairs, "
    "appearance, semantic)",
    "frame_quality": "nothing rates frames unasked (--estimators frame_quality=brisque does, after wmb-fast models "
    "fetch brisque, or frame_quality=sharpness-exposure): hand in <video>.frame_quality.npz (frames, imaging from 0 to "
    "100, aesthetic from 0 to 10)",
    "poses": "nothing follows cameras unasked (--estimators poses=sift-essential does): hand in <video>.poses.npz (one "
    "array (K, 4, 4) an estimator, camera to world; frames)",
    "points": "nothing follows points unasked (--estimators points=klt does): hand in <video>.points.npz (frames, "
    "places)",
    "tracks": "no builtin estimator tracks people and things: hand in <video>.tracks.npz (frames, kinds, found, masks) "
    "or .tracks.json (run lengths, pictures)",
    "faces": "no builtin estimator embeds faces: bring ArcFace (wmb-fast models import arcface-w600k-r50 FILE.onnx, "
    "then --estimators official), take a proxy (wmb-fast models fetch mobileface, then --estimators packaged), or hand "
    "in <video>.faces.npz",
    "appearance": "no builtin estimator embeds masked crops: hand in <video>.appearance.npz (frames, embedding, valid)",
    "checklist": "the case's eight questions are needed: hand in <video>.checklist.json",
    "judge": "no builtin estimator judges events: --ask URL --judge MODEL asks one; or write the prompt with wmb-fast "
    "prompt, and put the reply into <video>.judge.json",
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


class PairModule(Protocol):
    """The same for values of pairs of frames, which the consumer must know beforehand."""

    VERSION: int

    def settings(self, model: str | None) -> Settings: ...

    def start(self, settings: Settings, pairs: Pairs) -> Consumer: ...


@dataclass(frozen=True)
class Estimator:
    """An entry of the registry.

    Attributes:
        role: The channel it makes.
        id: Its name in records.
        tier: ``builtin``, ``packaged`` or ``official``; ``stand-in``: a network that the user brought and that no paper
            used for this channel.
        licence: Of what it runs, as SPDX.
        by_frame: Whether each frame's values come from that frame alone, so that only frames asked for are looked at.
        by_pair: Whether it compares pairs of frames, those that are asked for.
        module: Where it stands, below this package.
        libraries: What computes in it besides the core and networks; their versions belong to its fingerprint.
        networks: The models of the catalogue that it runs.
        provider: What they run on; only estimators with networks have a choice.
        fixed: Settings that tell it from others of its module.
    """

    role: str
    id: str
    tier: str
    licence: str
    by_frame: bool
    module: str
    by_pair: bool = False
    libraries: tuple[str, ...] = ("cv2", "numpy")
    networks: tuple[str, ...] = ()
    provider: str = CPU
    fixed: Settings = field(default_factory=dict)

    def _load(self) -> Any:
        return importlib.import_module(f"{__package__}.{self.module}")

    def settings(self, model: str | None) -> Settings:
        """All that it can be set to, as set for a rollout of this model."""
        chosen = {**cast(Module | PairModule, self._load()).settings(model), **self.fixed}
        return {**chosen, "provider": self.provider} if self.networks else chosen

    def start(self, settings: Settings, pairs: Pairs = ()) -> Consumer:
        """A consumer for one rollout; of pairs of frames, those to be compared."""
        if self.by_pair:
            return cast(PairModule, self._load()).start(settings, pairs)
        return cast(Module, self._load()).start(settings)

    def fingerprint(self, settings: Settings) -> str:
        """16 hexadecimal digits that change whenever the numbers may: id, version, settings, and what runs it.

        That is the versions of its libraries, and of networks the file, the runtime, its options, and the CPU's
        instructions. What decodes the video is no part of it: it stands beside the evidence.

        Raises:
            AbsentModelError: A network is not here.
        """
        runs: dict[str, Any] = {name: session_of(name, self.provider).facts for name in self.networks}
        runs |= {name: version_of(name, self.id) for name in self.libraries}
        facts = [self.id, self._load().VERSION, dict(settings), runs]
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


BUILTIN = {
    entry.role: entry
    for entry in (
        Estimator("flow", "opencv-dis", "builtin", "Apache-2.0", by_frame=False, module="flow_dis"),
        Estimator("flow_fields", "opencv-dis", "builtin", "Apache-2.0", by_frame=True, module="flow_fields"),
        Estimator("cuts", "motion-compensated-cuts", "builtin", "Apache-2.0", by_frame=False, module="cuts"),
        Estimator("features", "colour-texture-place", "builtin", "Apache-2.0", by_frame=True, module="descriptor"),
        Estimator(
            "fidelity",
            "psnr-ssim-uniform7",
            "official",
            "Apache-2.0",
            by_frame=False,
            module="fidelity",
            by_pair=True,
            libraries=("numpy",),
        ),
    )
}

# Of the builtin tier, and made only where a run names them: too far from what the papers' networks measure to stand in
# for them unasked.
ON_REQUEST = {
    entry.role: entry
    for entry in (
        Estimator("poses", "sift-essential", "builtin", "Apache-2.0", by_frame=False, module="poses_sift"),
        Estimator(
            "frame_quality", "sharpness-exposure", "builtin", "Apache-2.0", by_frame=True, module="quality_exposure"
        ),
        Estimator("points", "klt", "builtin", "Apache-2.0", by_frame=False, module="points_klt"),
    )
}
_DETECTORS = {"mtcnn": ("mtcnn-first", "mtcnn-second", "mtcnn-third"), "scrfd": ("scrfd-det-10g",)}


def _faces(embedder: str, tier: str, licence: str, detector: str = "mtcnn") -> Estimator:
    """People's faces, found by a detector, as vectors by one of the embedders."""
    networks = (*_DETECTORS[detector], embedder)
    fixed = {"embedder": embedder, "detector": detector}
    name = f"{detector}+{embedder}"
    return Estimator("faces", name, tier, licence, True, "faces_found", networks=networks, fixed=fixed)


PACKAGED = {
    entry.role: entry
    for entry in (
        Estimator(
            "cuts",
            "transnetv2",
            "packaged",
            "MIT",
            False,
            "cuts_transnet",
            libraries=("numpy",),
            networks=("transnetv2",),
        ),
        Estimator(
            "features",
            "efficientnet-lite0",
            "packaged",
            "Apache-2.0",
            True,
            "features_lite0",
            libraries=("numpy",),
            networks=("efficientnet-lite0",),
        ),
        Estimator(
            "matches", "xfeat", "packaged", "Apache-2.0", False, "pairs_xfeat", by_pair=True, networks=("xfeat",)
        ),
        _faces("mobileface", "packaged", "MIT as the package states"),
    )
}

# Networks that the user brings. Depth is DA3's in every protocol here, so MoGe-2's is a proxy's, whoever made it.
OFFICIAL = {
    entry.role: entry
    for entry in (
        _faces("arcface-w600k-r50", "official", "non-commercial research only"),
        Estimator("depth", "moge-2-vitl", "stand-in", "MIT", True, "depth_moge", networks=("moge-2-vitl",)),
    )
}

# What no tier takes by itself: others stand for their role, or, of quality, nothing does unasked.
FURTHER = (
    Estimator(
        "frame_quality",
        "brisque",
        "packaged",
        "Apache-2.0",
        True,
        "quality_brisque",
        libraries=("numpy",),
        networks=("brisque",),
    ),
    _faces("faceres", "packaged", "MIT as the package states; trained for research"),
    _faces("arcface-w600k-r50", "official", "non-commercial research only", "scrfd"),
)

EVERY = (*BUILTIN.values(), *ON_REQUEST.values(), *PACKAGED.values(), *OFFICIAL.values(), *FURTHER)


def why_absent(channel: str) -> str:
    """The reason why no estimator of this version makes a channel."""
    return ABSENT.get(channel, f"no estimator of this version makes {channel}: hand in <video>.{channel}.npz")
