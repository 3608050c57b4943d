# SPDX-License-Identifier: Apache-2.0
"""Files and folders that are there whole or not at all: each is made under a draft's name beside it and then renamed.

A draft's name tells the machine and the process that made it, so those that a killed process left can be swept.
"""

from __future__ import annotations

import itertools
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

_numbers = itertools.count()  # threads of one process may write one path at once


def draft_of(path: Path) -> Path:
    """A name beside a path that nobody else uses."""
    number = next(_numbers)
    return path.with_name(f".{sha256(os.fsencode(path.name)).hexdigest()[:32]}.{number}.{owner()}.{os.getpid()}.tmp")


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """Gives the name to write to; what stands there at the end becomes the file, unless something raised."""
    draft = draft_of(path)
    try:
        yield draft
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def write(path: Path, content: bytes) -> None:
    """Writes a file so that a reader, or a killed run, sees the old content or the new, never a part."""
    with drafted(path) as draft, open(draft, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sweep(folder: Path) -> None:
    """Removes the drafts, files or folders, that processes of this machine left behind when they were killed."""
    for draft in folder.glob(f".*.{owner()}.*.tmp"):
        if _alive(int(draft.name.split(".")[-2])):
            continue
        if draft.is_dir():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            draft.unlink(missing_ok=True)


def owner() -> str:
    """This machine, in eight letters."""
    return sha256(socket.gethostname().encode()).hexdigest()[:8]


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
