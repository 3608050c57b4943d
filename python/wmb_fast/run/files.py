# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import socket
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from .._walls.errors import bad_value


def write(path: Path, content: str | bytes) -> None:
    """Writes a file so that a reader, or a killed run, sees the old content or the new, never a part; text as UTF-8.

    Raises:
        ArgumentError: The disk is full, or the folder can no longer be written.
    """
    draft = path.with_name(f".{sha256(path.name.encode()).hexdigest()[:32]}.{_owner()}.{os.getpid()}.tmp")
    try:
        with open(draft, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        raise bad_value("score", "out", "be a folder that can be written", f"{path} ({error.strerror})") from error
    finally:
        draft.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Removes the drafts that processes of this machine left behind when they were killed."""
    for draft in folder.glob(f".*.{_owner()}.*.tmp"):
        if not _alive(int(draft.name.split(".")[-2])):
            draft.unlink(missing_ok=True)


def _owner() -> str:
    return sha256(socket.gethostname().encode()).hexdigest()[:8]


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def writable_folder(what: str, folder: Path) -> Path:
    """Makes a folder, and finds out now, not after an hour of work, that it cannot be written.

    Raises:
        ArgumentError: It cannot be made or written.
    """
    probe = folder / f".probe.{_owner()}.{os.getpid()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise bad_value("score", what, "be a folder that can be written", f"{folder} ({error.strerror})") from None
    return folder


def safe_name(identifier: str) -> str:
    """A file name for an identifier, unlike that of any other: readable, and short enough for any file system."""
    name = quote(identifier, safe="")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) > 150:
        name = f"{name[:120]}~{sha256(identifier.encode()).hexdigest()[:16]}"
    return name
