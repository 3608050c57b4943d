# SPDX-License-Identifier: Apache-2.0
"""What is kept of a rollout beside its records: a few arrays that its protocols ask for.

Some published evaluators take a constant from all rollouts that are scored together. So under ``compat`` a protocol
scores those numbers once the set is complete: in a run, and again on a board of several run folders. And a sweep scores
everything again with other constants.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .._walls.errors import FileFormatError, bad_value
from ..protocols.record import WHOLE_ROLLOUT, Score
from . import files, known

Arrays = Mapping[str, npt.NDArray[np.generic]]


def path_of(out: Path, rollout: str) -> Path:
    """Where a rollout's arrays lie."""
    return out / "curves" / f"{files.safe_name(rollout)}.npz"


def packed(arrays: Arrays) -> bytes:
    """An ``npz`` whose bytes follow from the arrays alone: NumPy's own writer puts the time of day into it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(arrays):
            one = io.BytesIO()
            np.lib.format.write_array(one, np.asarray(arrays[name], order="C"), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), one.getvalue())
    return buffer.getvalue()


def keep(out: Path, rollout: str, arrays: Arrays) -> str:
    """Writes a rollout's arrays, whole or not at all, and returns their hash."""
    content = packed(arrays)
    path_of(out, rollout).parent.mkdir(exist_ok=True)
    files.write(path_of(out, rollout), content)
    return sha256(content).hexdigest()


def is_whole(out: Path, rollout: str, digest: str) -> bool:
    """Whether the arrays with this hash are there."""
    path = path_of(out, rollout)
    return path.is_file() and sha256(path.read_bytes()).hexdigest() == digest


def over_set(scores: Sequence[Score], folders: Sequence[Path]) -> list[Score]:
    """The records, with those that depend on the set scored over these rollouts together; others as they are.

    Raises:
        ArgumentError: The arrays of a compat rollout are in none of the folders.
        FileFormatError: They are damaged.
    """
    if not any(score.compat for score in scores):
        return list(scores)
    rollouts = dict.fromkeys(score.rollout for score in scores if score.compat and score.metric != WHOLE_ROLLOUT)
    arrays = {rollout: _found(folders, rollout) for rollout in rollouts}
    settled = list(scores)
    for scorer in known.protocols(known.NAMES):
        if isinstance(scorer, known.SetScorer):
            settled = scorer.local_over_set(settled, arrays)
    return [a if a.reason.startswith(known.REFUSED) else b for a, b in zip(scores, settled, strict=True)]


def kept(folders: Sequence[Path], scores: Sequence[Score]) -> dict[str, Arrays]:
    """Rollout to arrays, of those whose arrays lie in one of the folders.

    Raises:
        FileFormatError: They are damaged.
    """
    found = {}
    for rollout in dict.fromkeys(score.rollout for score in scores):
        path = next((p for p in (path_of(folder, rollout) for folder in folders) if p.is_file()), None)
        if path is not None:
            found[rollout] = _read(path, rollout)
    return found


def _read(path: Path, rollout: str) -> Arrays:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        sentence = f"board: {path} must be whole (score {rollout} again), got {error}"
        raise FileFormatError(sentence) from error


def _found(folders: Sequence[Path], rollout: str) -> Arrays:
    for folder in folders:
        path = path_of(folder, rollout)
        if path.is_file():
            return _read(path, rollout)
    wanted = path_of(Path("."), rollout)
    raise bad_value("board", "folders", f"hold {wanted}, which compat needs (score {rollout} again)", "none that does")
