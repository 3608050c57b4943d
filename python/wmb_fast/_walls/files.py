# SPDX-License-Identifier: Apache-2.0
"""Files that are there whole or not at all, and the folder where the library keeps its own."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

HOME = "WMB_FAST_HOME"


def home_folder() -> Path:
    """``$WMB_FAST_HOME``; where that is not set, ``wmb-fast`` in the user's cache folder."""
    home = os.environ.get(HOME)
    if home:
        return Path(home)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wmb-fast"


def write_whole(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Writes a file beside its place, flushes it to the disk and renames it: a reader sees all of it or none.

    Raises:
        OSError: The disk is full, or the folder cannot be written. Nothing is left behind.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
