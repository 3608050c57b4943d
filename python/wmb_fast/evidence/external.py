# SPDX-License-Identifier: Apache-2.0
"""Evidence that the user hands in: one file a channel, beside the video or in a folder of such files.

Beside the video it is named ``<video's stem>.<channel>.npz`` (``016_014.parallax.npz`` beside ``016_014.mp4``), in a
folder ``<rollout id>.<channel>.npz``; the folder comes first. It comes before any estimator: a file that cannot be used
makes the channel missing, and is never silently replaced. What it must hold is in :mod:`.schema`.

Three optional texts say where it comes from: ``estimator``, the name that records carry; ``origin``, a JSON object
(version, weights_sha256, settings, command, source, licence, … as far as they are known); and ``tier``, by default
``external``: what ``wmb-fast evidence make`` writes says whose it is, and a proxy stays one. The fingerprint is of the
file's bytes, and of those of the pictures that it names, so it changes with any of them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from .._walls.errors import FileFormatError
from ..protocols.evidence import Channel, Maker
from ..rollout.tables import load
from . import schema, tracks

_ESTIMATOR, _ORIGIN, _TIER = "estimator", "origin", "tier"
_TIERS = ("external", "builtin", "packaged", "stand-in", "official")


def find(video: Path, rollout: str, channel: str, folder: str | os.PathLike[str] | None) -> Path | None:
    """The file that holds a channel of a rollout, if the user handed one in."""
    stem = video.name if video.is_dir() else video.stem
    names = [video.parent / f"{stem}.{channel}"]
    if folder is not None:
        names.insert(0, Path(folder) / f"{rollout}.{channel}")
    endings = (".json",) if channel in schema.TEXTS else (".npz", ".json") if channel == tracks.CHANNEL else (".npz",)
    places = [name.with_name(name.name + ending) for name in names for ending in endings]
    return next((place for place in places if place.is_file()), None)


def read(path: Path, channel: str, n_frames: int) -> Channel:
    """Reads and checks one.

    Raises:
        FileFormatError: Not an npz, an array that is missing or does not fit the rollout; not JSON, or not text.
    """
    content, fingerprint = path.read_bytes(), digest(path, channel)[:16]
    if channel in schema.TEXTS:
        text, by = _text(path, channel, content)
        return Channel(text, Maker(channel, by, _TIERS[0], fingerprint))
    values = tracks.read(path) if _is_json(path) else _arrays(path, content)
    for said in (_ESTIMATOR, _ORIGIN, _TIER):
        if said in values and (np.ndim(values[said]) or np.asarray(values[said]).dtype.kind != "U"):
            given = np.asarray(values[said])
            raise _refused(path, f"hold one text in {said}", f"{given.dtype} of shape {given.shape}")
    name = str(values.pop(_ESTIMATOR, "external"))
    _record(path, str(values.pop(_ORIGIN, "{}")))
    tier = str(values.pop(_TIER, _TIERS[0]))
    if tier not in _TIERS:
        raise _refused(path, f"hold a tier, {', '.join(_TIERS)}", repr(tier))
    try:
        schema.check(channel, values, n_frames)
    except schema.UnfitError as error:
        raise _refused(path, error.requirement, error.got) from None
    return Channel(values, Maker(channel, name, tier, fingerprint))


def digest(path: Path, channel: str) -> str:
    """The SHA-256, in hexadecimal digits, of all that a file hands in: itself, and the pictures that it names."""
    named = tracks.pictures(path) if channel == tracks.CHANNEL and _is_json(path) else []
    each = [hashlib.sha256(file.read_bytes()).hexdigest() for file in (path, *named)]
    return hashlib.sha256("\n".join(each).encode()).hexdigest() if named else each[0]


def _is_json(path: Path) -> bool:
    return path.suffix == ".json"


def origin(path: Path) -> dict[str, Any]:
    """What a file says of where it comes from; nothing where it says nothing."""
    if path.name.endswith(f".{tracks.CHANNEL}.json"):
        return _record(path, tracks.origin(path))
    content = path.read_bytes()
    if not zipfile.is_zipfile(path):
        return dict(_transcript(content).get(_ORIGIN, {}))
    return _record(path, str(_arrays(path, content).get(_ORIGIN, "{}")))


def _arrays(path: Path, content: bytes) -> dict[str, Any]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
            foreign = [name for name, value in arrays.items() if not isinstance(value, np.ndarray)]
            if foreign or len(arrays) != len(stored.files):
                raise ValueError(f"{foreign[0]}, which is no array" if foreign else "two arrays of one name")
            return arrays
    except Exception as error:  # damaged bytes can fail anywhere in zip, zlib and numpy
        raise _refused(path, "be an npz of plain arrays", str(error) or type(error).__name__) from error


def _record(path: Path, text: str) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except ValueError as error:
        raise _refused(path, "hold JSON in origin", str(error)) from error
    if not isinstance(said, dict):
        raise _refused(path, "hold a JSON object in origin", type(said).__name__)
    return said


def _text(path: Path, channel: str, content: bytes) -> tuple[dict[str, Any], str]:
    """A checklist as data; a judge's reply as it is, for whether it is an answer is a question for the protocol."""
    if channel == "checklist":
        return {"document": load("gather", path)}, _TIERS[0]
    try:
        kept = _transcript(content)
        return {"text": kept["reply"] if kept else content.decode()}, kept.get("answered_by", _TIERS[0])
    except UnicodeDecodeError as error:
        raise _refused(path, "be UTF-8 text", str(error)) from error


def _transcript(content: bytes) -> dict[str, Any]:
    """What a judge's transcript says; nothing where it is a bare reply."""
    try:
        said = json.loads(content)
        if not isinstance(said["reply"], str):
            return {}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    origin = said.get(_ORIGIN, {"asked": said["asked"]} if "asked" in said else {})
    by = said.get("answered_by") or _TIERS[0]
    return {"reply": said["reply"], "answered_by": str(by), _ORIGIN: origin if isinstance(origin, dict) else {}}


def _refused(path: Path, requirement: str, got: str) -> FileFormatError:
    return FileFormatError(f"gather: {path.name} must {requirement}, got {got}")
