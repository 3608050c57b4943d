# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from .._walls import drafts
from .._walls.errors import bad_value


def write(path: Path, content: str | bytes) -> None:
    """Writes a file so that a reader, or a killed run, sees the old content or the new, never a part; text as UTF-8.

    Raises:
        ArgumentError: The disk is full, or the folder can no longer be written.
    """
    try:
        drafts.write(path, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise bad_value("score", "out", "be a folder that can be written", f"{path} ({error.strerror})") from error


def writable_folder(what: str, name: str | os.PathLike[str]) -> Path:
    """Makes a folder, and finds out now, not after an hour of work, that it cannot be written.

    Raises:
        ArgumentError: It cannot be made or written, or its name is empty, which would be the current folder.
    """
    if not os.fspath(name):
        raise bad_value("score", what, "name a folder", repr(""))
    folder = Path(name)
    probe = drafts.draft_of(folder / "probe")
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
