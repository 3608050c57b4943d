# SPDX-License-Identifier: Apache-2.0
"""Evidence that the user hands in: one npz file a channel, beside the video or in a folder of such files.

Beside the video it is named ``<video's stem>.<channel>.npz`` (``016_014.parallax.npz`` beside ``016_014.mp4``), in a
folder ``<rollout id>.<channel>.npz``; the folder comes first. It comes before any estimator: a file that cannot be used
makes the channel missing, and is never silently replaced. Its arrays, for N frames that decode:

- ``flow``: ``horizontal`` and ``radial`` (N - stride,); optional ``stride`` (2) and ``grid`` (width, height; 640, 432);
- ``cuts``: ``frames`` (M,), the first frame after each hard cut;
- ``features``: ``frames`` (K,) sorted, ``mean`` (K, D); optional ``cls`` (K, D), ``tokens`` (K, P, D);
- ``parallax``: ``segments`` (S,), and for each segment j ``inverse_depth_<j>`` and ``flow_<j>`` of one length;
- ``geometry``: ``frames`` (K,), ``depth`` and ``confidence`` (K, H, W), ``cam_from_world`` (K, 3, 4), ``intrinsics``
  (K, 3, 3); it need not have ``confidence``;
- ``depth``: ``frames`` (K,), ``depth`` (K, H, W): z, not ray length;
- ``flow_fields``: ``frames`` (K,), ``horizontal`` (K, H, W): each pixel's flow to the right, in pixels of the grid of
  ``flow``, from each frame to the one a stride later;
- ``quality``: ``quality`` and ``aesthetic``, numbers from 1 to 5, NaN where there is none.

An optional text ``estimator`` says what made it. In records its tier is ``external``.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._walls.errors import FileFormatError
from ..protocols.evidence import Channel, Maker

REQUIRED = {
    "flow": ("horizontal", "radial"),
    "cuts": ("frames",),
    "features": ("frames", "mean"),
    "parallax": ("segments",),
    "geometry": ("frames", "depth", "cam_from_world", "intrinsics"),
    "depth": ("frames", "depth"),
    "flow_fields": ("frames", "horizontal"),
    "quality": ("quality", "aesthetic"),
}
BY_FRAME = ("features", "geometry", "depth")  # channels that tell of their frames alone
_ESTIMATOR = "estimator"


def find(video: Path, rollout: str, channel: str, folder: str | os.PathLike[str] | None) -> Path | None:
    """The file that holds a channel of a rollout, if the user handed one in."""
    stem = video.name if video.is_dir() else video.stem
    places = [video.parent / f"{stem}.{channel}.npz"]
    if folder is not None:
        places.insert(0, Path(folder) / f"{rollout}.{channel}.npz")
    return next((place for place in places if place.is_file()), None)


def read(path: Path, channel: str, n_frames: int) -> Channel:
    """Reads and checks one.

    Raises:
        FileFormatError: Not an npz, an array that is missing or does not fit the rollout.
    """
    content = path.read_bytes()
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            values: dict[str, Any] = {name: stored[name] for name in stored.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        raise _refused(path, "be an npz of plain arrays", str(error)) from error
    name = str(values.pop(_ESTIMATOR, "external"))
    absent = [wanted for wanted in REQUIRED.get(channel, ()) if wanted not in values]
    if absent:
        raise _refused(path, f"hold the array {absent[0]}", ", ".join(sorted(values)) or "nothing")
    for key, value in values.items():
        if value.dtype.kind not in "biuf":
            raise _refused(path, f"hold numbers in {key}", f"{value.dtype}")
    values = {key: value.item() if value.ndim == 0 else value for key, value in values.items()}
    _CHECKS[channel](path, values, n_frames)
    fingerprint = hashlib.sha256(content).hexdigest()[:16]
    return Channel(values, Maker(channel, name, "external", fingerprint))


def _refused(path: Path, requirement: str, got: str) -> FileFormatError:
    return FileFormatError(f"gather: {path.name} must {requirement}, got {got}")


def _quality(path: Path, values: dict[str, Any], n_frames: int) -> None:
    for name in REQUIRED["quality"]:
        if np.ndim(values[name]):
            raise _refused(path, f"hold one number in {name}", f"shape {np.shape(values[name])}")


def _flow(path: Path, values: dict[str, Any], n_frames: int) -> None:
    stride = values.setdefault("stride", 2)
    if np.ndim(stride) or stride != int(stride) or stride < 1:
        raise _refused(path, "hold a whole stride of at least 1", str(stride))
    grid = np.asarray(values.get("grid", (640, 432)))
    if grid.shape != (2,) or (grid < 1).any():
        raise _refused(path, "hold a grid of width and height", str(grid.tolist()))
    values["grid"] = tuple(int(side) for side in grid)
    wanted = (max(0, n_frames - int(stride)),)
    for name in ("horizontal", "radial"):
        values[name] = np.asarray(values[name], dtype=np.float64)
        if values[name].shape != wanted:
            raise _refused(path, f"hold {name} of shape {wanted}", f"shape {values[name].shape}")


def _cuts(path: Path, values: dict[str, Any], n_frames: int) -> None:
    _frames(path, values, n_frames)
    values["n_scenes"] = len(values["frames"]) + 1


def _features(path: Path, values: dict[str, Any], n_frames: int) -> None:
    _frames(path, values, n_frames)
    _one_a_frame(path, values, ("mean", "cls", "tokens"))


def _framewise(path: Path, values: dict[str, Any], n_frames: int) -> None:
    _frames(path, values, n_frames)
    _one_a_frame(path, values, ("depth", "confidence", "cam_from_world", "intrinsics", "horizontal"))
    dimensions = {"depth": 3, "confidence": 3, "horizontal": 3, "cam_from_world": 3, "intrinsics": 3}
    for name, wanted in dimensions.items():
        if name in values and np.ndim(values[name]) != wanted:
            raise _refused(path, f"hold {name} of {wanted} dimensions", f"shape {np.shape(values[name])}")


def _one_a_frame(path: Path, values: dict[str, Any], names: Sequence[str]) -> None:
    wanted = len(values["frames"])
    for name in names:
        if name in values and np.shape(values[name])[:1] != (wanted,):
            raise _refused(path, f"hold {name} for each of its {wanted} frames", f"shape {np.shape(values[name])}")


def _parallax(path: Path, values: dict[str, Any], n_frames: int) -> None:
    values["segments"] = [int(j) for j in np.atleast_1d(values["segments"])]
    for j in values["segments"]:
        a, b = (np.shape(values[name]) if name in values else None for name in (f"inverse_depth_{j}", f"flow_{j}"))
        if a is None or a != b or len(a) != 1:
            raise _refused(path, f"hold inverse_depth_{j} and flow_{j} of one length", f"shapes {a} and {b}")


def _frames(path: Path, values: dict[str, Any], n_frames: int) -> None:
    frames = np.atleast_1d(values["frames"])
    fits = frames.ndim == 1 and frames.dtype.kind in "iu" and bool((np.diff(frames.astype(np.int64)) > 0).all())
    if not fits and frames.size:
        raise _refused(path, "hold frames that are integers in rising order", f"{frames.dtype} {frames.shape}")
    values["frames"] = frames.astype(np.int64)
    if frames.size and (values["frames"][0] < 0 or values["frames"][-1] >= n_frames):
        got = f"{values['frames'][0]} to {values['frames'][-1]}"
        raise _refused(path, f"hold frames within the video's {n_frames}", got)


_CHECKS = {
    "quality": _quality,
    "flow": _flow,
    "cuts": _cuts,
    "features": _features,
    "parallax": _parallax,
    "geometry": _framewise,
    "depth": _framewise,
    "flow_fields": _framewise,
}
