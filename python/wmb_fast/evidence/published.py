# SPDX-License-Identifier: Apache-2.0
"""A published flow cache as evidence: a rollout that is scored without its video.

WorldMark's evaluator keeps of each video ``tm`` (seconds), ``Sx`` and ``Srad`` (the two flow channels), ``keys``,
``action``, and of its lateral and turning segments ``px_segs``, ``iv_<j>`` and ``uu_<j>`` (inverse depth and flow). The
other channels may lie beside it, as beside a video: ``<model>__<image>_<action>.<channel>.npz``. It does not know the
size of its video. Caches that this library writes also say what made them (``estimator``: id and tier), so that a proxy
stays one.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from typing import Any

import numpy as np

from .._walls.errors import FileFormatError
from ..estimators.registry import ABSENT, BUILTIN
from ..protocols.evidence import Channel, Evidence, Maker
from ..rollout.discover import Rollout
from ..rollout.model_frames import realised
from ..rollout.plan import Facts, Plan
from ..rollout.plans import KEYS, plan_of_keys
from . import external as handed_in
from . import schema

DECODER = "worldmark-flow-cache"
FPS = 16.0  # where a cache is too short to tell
GRID = (640, 432)
STRIDE = 2
TIERS = ("builtin", "packaged", "official", "external")
NOT_HERE = "a flow cache has no frames to make it of: hand in <video>.{channel}.npz"
NO_SIZE = "a flow cache does not tell the size of its video: the flow's grid stands for it"


def is_cache(rollout: Rollout) -> bool:
    """Whether a rollout is a flow cache."""
    return rollout.video_path.suffix == ".npz"


def identity(rollout: Rollout) -> tuple[str, str]:
    """The hash of a cache's content, and what stands for the decoder."""
    return hashlib.sha256(rollout.video_path.read_bytes()).hexdigest(), DECODER


def read(rollout: Rollout, external: str | os.PathLike[str] | None = None) -> Evidence:
    """The evidence of a flow cache and of what lies beside it.

    Raises:
        FileFormatError: Not a cache, or one that does not fit together.
    """
    path = rollout.video_path
    content = path.read_bytes()
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            values = {name: stored[name] for name in stored.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise FileFormatError(f"gather: {path.name} must be an npz of plain arrays, got {error}") from error
    flow, parallax, plan = _channels(path.name, values, rollout.plan)
    n_frames = len(values["tm"]) + STRIDE
    fingerprint = hashlib.sha256(content).hexdigest()
    maker = Maker("flow", *_maker(values), fingerprint[:16])
    channels = {"flow": Channel(flow, maker)}
    if parallax["segments"]:
        channels["parallax"] = Channel(parallax, Maker("parallax", maker.id, maker.tier, maker.fingerprint))
    missing = {**ABSENT, **{name: NOT_HERE.format(channel=name) for name in BUILTIN if name not in channels}}
    for channel in schema.REQUIRED:
        beside = handed_in.find(path, rollout.id, channel, external)
        if beside is not None:
            try:
                channels[channel] = handed_in.read(beside, channel, n_frames)
            except (FileFormatError, OSError) as error:
                channels.pop(channel, None)
                missing[channel] = str(error)
    missing = {name: why for name, why in missing.items() if name not in channels}
    plan = realised(plan, rollout.model, n_frames).plan
    facts = Facts(rollout.id, rollout.model, rollout.case, plan, n_frames, rollout.fps or _fps(values["tm"]), *GRID)
    notes = [NO_SIZE]
    provenance = {"video_sha256": fingerprint, "decoder": DECODER, "truncated": False, "notes": notes}
    return Evidence(facts, channels, missing, provenance, tuple(notes))


def _maker(values: dict[str, Any]) -> tuple[str, str]:
    """Id and tier of what made a cache."""
    name, _, tier = str(values.get("estimator", "")).rpartition(" ")
    return (name, tier) if name and tier in TIERS else (DECODER, "external")


def _channels(name: str, values: dict[str, Any], plan: Plan | None) -> tuple[dict[str, Any], dict[str, Any], Plan]:
    for wanted in ("tm", "Sx", "Srad", "keys", "px_segs"):
        if wanted not in values:
            got = ", ".join(sorted(values)) or "nothing"
            raise FileFormatError(f"gather: {name} must hold the array {wanted}, got {got}")
    shape = np.shape(values["tm"])
    for array in ("Sx", "Srad"):
        if np.shape(values[array]) != shape or len(shape) != 1 or values[array].dtype.kind != "f":
            raise FileFormatError(f"gather: {name} must hold {array} like tm {shape}, got {np.shape(values[array])}")
    keys = "".join(str(key) for key in np.atleast_1d(values["keys"]).tolist())
    if not keys or any(key not in KEYS for key in keys):
        raise FileFormatError(f"gather: {name} must hold keys out of {', '.join(KEYS)}, got {keys!r}")
    told = plan_of_keys(plan.name if plan else f"keys {keys}", keys)
    if plan is not None and plan.actions != told.actions:
        raise FileFormatError(f"gather: {name} must hold the keys of its action, {plan.name}, got {keys}")
    segments = [int(j) for j in np.atleast_1d(values["px_segs"]).tolist()]
    parallax: dict[str, Any] = {"segments": segments}
    for j in segments:
        pair = [values.get(f"{what}_{j}", np.empty(())) for what in ("iv", "uu")]
        if pair[0].shape != pair[1].shape or pair[0].ndim != 1:
            raise FileFormatError(f"gather: {name} must hold iv_{j} and uu_{j} of one length, got other arrays")
        parallax |= {f"inverse_depth_{j}": pair[0], f"flow_{j}": pair[1]}
    flow = {
        "horizontal": values["Sx"].astype(np.float64),
        "radial": values["Srad"].astype(np.float64),
        "stride": STRIDE,
        "grid": GRID,
    }
    return flow, parallax, plan or told


def _fps(times: Any) -> float:
    steps = np.diff(times)
    return float(1 / np.median(steps)) if steps.size and np.median(steps) > 0 else FPS
