# SPDX-License-Identifier: Apache-2.0
"""Evidence that the user hands in: one file a channel, beside the video or in a folder of such files.

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
- ``quality``: ``quality`` and ``aesthetic``, numbers from 1 to 5, NaN where there is none;
- ``dino``, ``boq``, ``mvpr``: ``frames`` (K,) sorted, ``features`` (K, D), one vector a frame;
- values of pairs of frames, ``pairs`` (P, 2) with (P,) values beside them, NaN where there is none: ``lpips``
  (``lpips``), ``matches`` (``n_matches``, ``n_a``, ``n_b``, ``n_inliers``, or ``match_ratio`` and ``inlier_ratio``),
  ``states`` (``state_score``, -1 where the judge failed), ``persistence`` (``appearance``, ``semantic``).
- ``frame_quality``: ``frames`` (K,), ``imaging`` (K,) from 0 to 100 and ``aesthetic`` (K,) from 0 to 10;
- ``poses``: an array (K, 4, 4) an estimator, camera to world, under the estimator's name, and under ``target`` what was
  commanded; ``frames`` (K,), by default all;
- ``tracks``: ``frames`` (K,), and of T targets ``kinds`` (T,), 0 a person, 1 an object, ``found`` (T, K), whether the
  tracker has it, and ``masks`` (T, K, H, W); or JSON with run lengths or pictures for masks, see :mod:`.tracks`;
- ``faces`` and ``appearance``: ``frames`` (K,), and of the targets of ``tracks`` ``embedding`` (T, K, D) and ``valid``
  (T, K), whether there is one.

Two are JSON, ``<video's stem>.<channel>.json``: ``checklist``, the questions of a case, and ``judge``, a judge's reply.

Two optional texts say where it comes from: ``estimator``, the name that records carry, and ``origin``, a JSON object
(version, weights_sha256, settings, command, source, licence, … as far as they are known). In records the tier is
``external``, and the fingerprint is of the file's bytes, and of those of the pictures that it names, so it changes with
any of them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._walls.errors import FileFormatError
from ..protocols.evidence import Channel, Maker
from ..rollout.tables import load
from . import tracks

REQUIRED = {
    "flow": ("horizontal", "radial"),
    "cuts": ("frames",),
    "features": ("frames", "mean"),
    "parallax": ("segments",),
    "geometry": ("frames", "depth", "cam_from_world", "intrinsics"),
    "depth": ("frames", "depth"),
    "flow_fields": ("frames", "horizontal"),
    "quality": ("quality", "aesthetic"),
    "dino": ("frames", "features"),
    "boq": ("frames", "features"),
    "mvpr": ("frames", "features"),
    "lpips": ("pairs", "lpips"),
    "matches": ("pairs",),
    "states": ("pairs", "state_score"),
    "persistence": ("pairs", "appearance", "semantic"),
    "frame_quality": ("frames", "imaging", "aesthetic"),
    "poses": (),
    "tracks": ("frames", "kinds", "found"),
    "faces": ("frames", "embedding", "valid"),
    "appearance": ("frames", "embedding", "valid"),
    "checklist": (),
    "judge": (),
}
# Channels that tell of some frames alone: what they cover is known.
BY_FRAME = ("features", "dino", "boq", "mvpr", "geometry", "depth")
TEXTS = ("checklist", "judge")  # channels whose files are JSON
_ESTIMATOR, _ORIGIN = "estimator", "origin"


def find(video: Path, rollout: str, channel: str, folder: str | os.PathLike[str] | None) -> Path | None:
    """The file that holds a channel of a rollout, if the user handed one in."""
    stem = video.name if video.is_dir() else video.stem
    names = [video.parent / f"{stem}.{channel}"]
    if folder is not None:
        names.insert(0, Path(folder) / f"{rollout}.{channel}")
    endings = (".json",) if channel in TEXTS else (".npz", ".json") if channel == tracks.CHANNEL else (".npz",)
    places = [name.with_name(name.name + ending) for name in names for ending in endings]
    return next((place for place in places if place.is_file()), None)


def read(path: Path, channel: str, n_frames: int) -> Channel:
    """Reads and checks one.

    Raises:
        FileFormatError: Not an npz, an array that is missing or does not fit the rollout; not JSON, or not text.
    """
    content, fingerprint = path.read_bytes(), digest(path, channel)[:16]
    if channel in TEXTS:
        return Channel(_text(path, channel, content), Maker(channel, "external", "external", fingerprint))
    values = tracks.read(path) if _is_json(path) else _arrays(path, content)
    name = str(values.pop(_ESTIMATOR, "external"))
    _record(path, str(values.pop(_ORIGIN, "{}")))
    absent = [wanted for wanted in REQUIRED.get(channel, ()) if wanted not in values]
    if absent:
        raise _refused(path, f"hold the array {absent[0]}", ", ".join(sorted(values)) or "nothing")
    for key, value in values.items():
        if value.dtype.kind not in "biuf":
            raise _refused(path, f"hold numbers in {key}", f"{value.dtype}")
    values = {key: value.item() if value.ndim == 0 else value for key, value in values.items()}
    _CHECKS[channel](path, values, n_frames)
    return Channel(values, Maker(channel, name, "external", fingerprint))


def digest(path: Path, channel: str) -> str:
    """The SHA-256, in hexadecimal digits, of all that a file hands in: itself, and the pictures that it names."""
    named = tracks.pictures(path) if channel == tracks.CHANNEL and _is_json(path) else []
    each = [hashlib.sha256(file.read_bytes()).hexdigest() for file in (path, *named)]
    return hashlib.sha256("\n".join(each).encode()).hexdigest() if named else each[0]


def _is_json(path: Path) -> bool:
    return path.suffix == ".json"


def _arrays(path: Path, content: bytes) -> dict[str, Any]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        raise _refused(path, "be an npz of plain arrays", str(error)) from error


def origin(path: Path) -> dict[str, Any]:
    """What a file says of where it comes from; nothing where it says nothing, or can say nothing."""
    if path.name.endswith(f".{tracks.CHANNEL}.json"):
        return _record(path, tracks.origin(path))
    if not zipfile.is_zipfile(path):
        return {}
    with np.load(path, allow_pickle=False) as stored:
        return _record(path, str(stored[_ORIGIN]) if _ORIGIN in stored.files else "{}")


def _record(path: Path, text: str) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except ValueError as error:
        raise _refused(path, "hold JSON in origin", str(error)) from error
    if not isinstance(said, dict):
        raise _refused(path, "hold a JSON object in origin", type(said).__name__)
    return said


def _text(path: Path, channel: str, content: bytes) -> dict[str, Any]:
    """A checklist as data; a judge's reply as it is: whether it is JSON is a question for the protocol."""
    if channel == "checklist":
        return {"document": load("gather", path)}
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError as error:
        raise _refused(path, "be UTF-8 text", str(error)) from error


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


def _vectors(path: Path, values: dict[str, Any], n_frames: int) -> None:
    _frames(path, values, n_frames)
    _one_a_frame(path, values, ("features",))
    if np.ndim(values["features"]) != 2:
        raise _refused(path, "hold features of shape (K, D)", f"shape {np.shape(values['features'])}")


def _of_pairs(path: Path, values: dict[str, Any], n_frames: int) -> None:
    pairs = values["pairs"]
    if np.ndim(pairs) != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise _refused(path, "hold pairs that are integers of shape (P, 2)", f"{pairs.dtype} {np.shape(pairs)}")
    values["pairs"] = pairs.astype(np.int64)
    for name, value in values.items():
        if name != "pairs" and np.shape(value) != (len(pairs),):
            raise _refused(path, f"hold {name} for each of its {len(pairs)} pairs", f"shape {np.shape(value)}")
    if pairs.size and (pairs.min() < 0 or pairs.max() >= n_frames):
        got = f"{pairs.min()} to {pairs.max()}"
        raise _refused(path, f"hold pairs within the video's {n_frames} frames", got)


def _frame_quality(path: Path, values: dict[str, Any], n_frames: int) -> None:
    _frames(path, values, n_frames)
    wanted = values["frames"].shape
    for name in ("imaging", "aesthetic"):
        if np.shape(values[name]) != wanted:
            raise _refused(path, f"hold {name} of shape {wanted}", f"shape {np.shape(values[name])}")


def _poses(path: Path, values: dict[str, Any], n_frames: int) -> None:
    values.setdefault("frames", np.arange(n_frames))
    _frames(path, values, n_frames)
    wanted = (len(values["frames"]), 4, 4)
    for name, poses in values.items():
        if name != "frames" and np.shape(poses) != wanted:
            raise _refused(path, f"hold {name} of shape {wanted}", f"shape {np.shape(poses)}")


def _tracks(path: Path, values: dict[str, Any], n_frames: int) -> None:
    _frames(path, values, n_frames)
    values["kinds"] = np.atleast_1d(values["kinds"])
    if values["kinds"].ndim != 1 or not np.isin(values["kinds"], (0, 1)).all():
        raise _refused(path, "hold kinds that are 0 or 1", str(values["kinds"].tolist()))
    wanted = (len(values["kinds"]), len(values["frames"]))
    _flags(path, values, "found", wanted)
    if "masks" in values:
        shape = np.shape(values["masks"])
        if len(shape) != 4 or shape[:2] != wanted:
            raise _refused(path, f"hold masks of shape {(*wanted, 'H', 'W')}", f"shape {shape}")
        values["masks"] = values["masks"] != 0


def _embeddings(path: Path, values: dict[str, Any], n_frames: int) -> None:
    _frames(path, values, n_frames)
    shape = np.shape(values["embedding"])
    if len(shape) != 3 or shape[1] != len(values["frames"]):
        raise _refused(path, f"hold embedding of shape (T, {len(values['frames'])}, D)", f"shape {shape}")
    _flags(path, values, "valid", shape[:2])


def _flags(path: Path, values: dict[str, Any], name: str, wanted: tuple[int, ...]) -> None:
    given = np.asarray(values[name])
    if given.shape != wanted or not np.isin(given, (0, 1)).all():
        raise _refused(path, f"hold {name} of shape {wanted}, 0 or 1", f"shape {given.shape}")
    values[name] = given != 0


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
    **dict.fromkeys(("dino", "boq", "mvpr"), _vectors),
    **dict.fromkeys(("lpips", "matches", "states", "persistence"), _of_pairs),
    "frame_quality": _frame_quality,
    "poses": _poses,
    "tracks": _tracks,
    "faces": _embeddings,
    "appearance": _embeddings,
    "flow_fields": _framewise,
}
