# SPDX-License-Identifier: Apache-2.0
"""Evidence on disk: computed once, found again by what it was computed from, verified when it is read.

``<folder>/evidence/<first two digits>/<key>.npz``: one file an entry, an ordinary npz with the arrays and a member
``entry.json`` that holds what the key was made of, the plain numbers, and the SHA-256 of all arrays. A file is written
beside its place, flushed to the disk and renamed: two processes may write one entry at once, a killed one leaves
nothing half-written, and a reader sees a whole entry or none.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._walls import drafts
from .._walls.errors import bad_value

HOME = "WMB_FAST_HOME"
_ENTRY = "entry.json"
_FORMAT = 1
Values = Mapping[str, Any]


def default_folder() -> Path:
    """``$WMB_FAST_HOME``; where that is not set, ``wmb-fast`` in the user's cache folder."""
    home = os.environ.get(HOME)
    if home:
        return Path(home)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wmb-fast"


@dataclass(frozen=True)
class Key:
    """What an entry's numbers follow from: equal keys, equal numbers.

    Attributes:
        video: The content hash of the video.
        decoder: Name and version of what decodes it.
        channel: ``flow``, ``features``, …; ``facts`` for what is known of the video itself.
        maker: The estimator's fingerprint.
        frames: The frames asked for; ``None`` for the whole video.
    """

    video: str
    decoder: str
    channel: str
    maker: str
    frames: tuple[int, ...] | None = None

    def parts(self) -> dict[str, Any]:
        """As it stands in the entry, for the eye and for verification."""
        frames = None if self.frames is None else _digest_of_frames(self.frames)
        return {
            "format": _FORMAT,
            "video": self.video,
            "decoder": self.decoder,
            "channel": self.channel,
            "maker": self.maker,
            "frames": frames,
        }

    def digest(self) -> str:
        text = json.dumps(self.parts(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


class Store:
    """A cache folder. Safe for many threads and processes: it keeps nothing in memory, and entries appear whole.

    Args:
        folder: Made when it is not there.

    Raises:
        ArgumentError: The folder cannot be made or written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store, key = Store(folder), Key("ab" * 32, "pyav", "flow", "0123456789abcdef")
        ...     store.put(key, {"radial": np.arange(3.0), "stride": 2})
        ...     values, damage = store.get(key)
        >>> values["radial"].tolist(), values["stride"], damage
        ([0.0, 1.0, 2.0], 2, '')
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            (self.folder / "evidence").mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder / "evidence"):
                pass
            for shelf in (self.folder / "evidence").iterdir():
                drafts.sweep(shelf)
        except OSError as error:
            raise bad_value("Store", "folder", "be a folder that can be written", _why(self.folder, error)) from error

    def path(self, key: Key) -> Path:
        """Where the entry is, or would be."""
        digest = key.digest()
        return self.folder / "evidence" / digest[:2] / f"{digest}.npz"

    def get(self, key: Key) -> tuple[dict[str, Any] | None, str]:
        """An entry's values, verified, and why it is not used although it is there.

        Returns:
            Values and an empty text; ``None`` and an empty text where there is no entry; ``None`` and a sentence where
            there is one that is damaged.
        """
        path = self.path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None, ""
        except OSError as error:
            return None, f"the cached {key.channel} could not be read ({error.strerror}) and is computed again"
        try:
            return _decoded(content, key), ""
        except Exception as error:  # damaged bytes can fail anywhere in zip, zlib, json and numpy
            return None, f"the cached {key.channel} is damaged ({error}) and is computed again: {path.name}"

    def put(self, key: Key, values: Values) -> None:
        """Writes an entry whole, replacing what is there.

        Raises:
            ArgumentError: The disk is full, or the folder can no longer be written.
        """
        path = self.path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            drafts.write(path, _encoded(key, values))
        except OSError as error:
            raise bad_value("Store", "folder", "be a folder that can be written", _why(path.parent, error)) from error


class _DamagedError(Exception):
    """What is wrong with an entry."""


def _why(folder: Path, error: OSError) -> str:
    return f"{folder} ({error.strerror or error})"


def _digest_of_frames(frames: tuple[int, ...]) -> str:
    return hashlib.sha256(np.asarray(frames, dtype="<i8").tobytes()).hexdigest()


def _digest_of_arrays(arrays: Mapping[str, np.ndarray[Any, Any]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _encoded(key: Key, values: Values) -> bytes:
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in values.items() if name not in arrays}
    entry = {"key": key.parts(), "plain": plain, "sha256": _digest_of_arrays(arrays)}
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr(_ENTRY, json.dumps(entry, sort_keys=True))
    return packed.getvalue()


def _decoded(content: bytes, key: Key) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entry = json.loads(archive.read(_ENTRY))
    if entry["key"] != key.parts():
        raise _DamagedError("it belongs to something else")
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files if name != _ENTRY}
    if _digest_of_arrays(arrays) != entry["sha256"]:
        raise _DamagedError("its checksum does not fit")
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in entry["plain"].items()}
    return {**plain, **arrays}
