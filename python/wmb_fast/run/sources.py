# SPDX-License-Identifier: Apache-2.0
"""``sources.json``: where a run's videos lay. It is of this machine, so it is not in ``run.json``, which is not."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from .._walls.errors import FileFormatError
from . import files

NAME = "sources.json"


def keep(out: Path, paths: Sequence[str | os.PathLike[str]], plan: str | None) -> None:
    """Writes what a run was given, with absolute paths."""
    where = [os.fsdecode(Path(path).absolute()) for path in paths]
    said = {"paths": where, "plan": os.fsdecode(Path(plan).absolute()) if plan and Path(plan).is_file() else plan}
    files.write(out / NAME, json.dumps(said, indent=1).encode(errors="surrogateescape") + b"\n")


def read(out: Path) -> tuple[list[Path], str | None]:
    """The paths and the plan of the run.

    Raises:
        FileFormatError: There is no such file, or it is damaged.
    """
    try:
        said = json.loads((out / NAME).read_bytes())
        return [Path(path) for path in said["paths"]], said["plan"]
    except FileNotFoundError:
        raise FileFormatError(
            f"verify: {out / NAME} must say where the videos are, got none. Say it with --from PATH"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"verify: {out / NAME} must be whole, got {error}. Say it with --from PATH") from error
