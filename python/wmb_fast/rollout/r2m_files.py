# SPDX-License-Identifier: Apache-2.0
"""R2M-Bench's own files: its tasks, the pairs of a video, and the results of its evaluator.

Its pose JSON is read by :func:`.trajectory.read_trajectory` (format ``r2m``). Pairs lie in one file a video,
``<stem>_<first eight digits of the path's MD5>.json``: ``{revisit, baseline, short: [[a, b], ...], meta}``; results in
``results/nmr/<family>/<task>/shard_<k>/results.json``; tasks in a file ``*.conf``, a line
``TASK=<name>|<folder of videos>|<pose JSON>`` each.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._walls.errors import FileFormatError
from .manifest import WHO, Entry
from .tables import load, wrong

KINDS = ("revisit", "baseline", "short")
_TASK = "TASK=<name>|<folder of videos>|<pose JSON>"
TRAJECTORIES = ("DDDAAA", "WSLRRLL", "revisit_loop")
Pairs = Mapping[str, Sequence[Sequence[int]]]


def pairs_file_name(video: str | os.PathLike[str]) -> str:
    """The name under which the published evaluator looks for a video's pairs.

    Example:
        >>> pairs_file_name("videos/gen.mp4")
        'gen_61de5c51.json'
    """
    path = os.fspath(video)
    return f"{Path(path).stem}_{hashlib.md5(path.encode(), usedforsecurity=False).hexdigest()[:8]}.json"


def write_pairs(path: str | os.PathLike[str], pairs: Pairs, meta: Mapping[str, Any]) -> None:
    """Writes the pairs of a video as the published evaluator reads them, whole or not at all.

    Args:
        path: The file; one that exists is replaced.
        pairs: revisit, baseline and short, (P, 2) each.
        meta: How they were drawn.
    """
    target = Path(path)
    content = {kind: [[int(a), int(b)] for a, b in pairs[kind]] for kind in KINDS} | {"meta": _strict(meta)}
    part = target.with_name(f".{target.name}.part")
    try:
        part.write_text(json.dumps(content, allow_nan=False) + "\n", encoding="utf-8")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _strict(value: Any) -> Any:
    """A value that JSON has: numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): _strict(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_pairs(path: str | os.PathLike[str]) -> tuple[dict[str, list[tuple[int, int]]], dict[str, Any]]:
    """Reads what :func:`write_pairs`, or the published sampler, wrote: pairs by kind, and ``meta``.

    Raises:
        FileFormatError: Another form: not a mapping, a kind that is missing, a pair that is not two frame numbers.
    """
    file = Path(path)
    data = load("read_pairs", file)
    if not isinstance(data, dict):
        raise wrong("read_pairs", file, "a file of pairs", f"map {', '.join(KINDS)} to pairs", type(data).__name__)
    found: dict[str, list[tuple[int, int]]] = {}
    for kind in KINDS:
        rows = data.get(kind)
        if not isinstance(rows, list):
            raise wrong("read_pairs", file, kind, "be a list of pairs", type(rows).__name__)
        for row in rows:
            numbers = (
                isinstance(row, list) and len(row) == 2 and all(type(frame) is int and frame >= 0 for frame in row)
            )
            if not numbers:
                raise wrong("read_pairs", file, kind, "hold pairs of frame numbers", repr(row))
        found[kind] = [(row[0], row[1]) for row in rows]
    meta = data.get("meta")
    return found, dict(meta) if isinstance(meta, dict) else {}


def read_results(folder: str | os.PathLike[str]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """The published results below a folder: family, task, shards in order, video.

    Args:
        folder: What holds ``<family>/<task>/shard_<k>/results.json``.

    Returns:
        For :func:`wmb_fast.protocols.r2m.videos_of_results`.

    Raises:
        FileFormatError: No results there, or a file without ``per_video``.
    """
    root = Path(folder)
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for path in sorted(root.glob("*/*/shard_*/results.json"), key=_in_order):
        data = load("read_results", path)
        per_video = data.get("per_video") if isinstance(data, dict) else None
        if not isinstance(per_video, dict):
            raise wrong("read_results", path, "a results file", "hold per_video, a mapping", type(per_video).__name__)
        family, task = path.parts[-4:-2]
        found.setdefault(family, {}).setdefault(task, []).append(per_video)
    if not found:
        raise FileFormatError(
            f"read_results: folder must hold <family>/<task>/shard_<k>/results.json, got none: {root}"
        )
    return found


def read_tasks(path: Path) -> list[Entry]:
    """The videos of the tasks in a configuration of the published evaluator; lines that are no tasks are left alone.

    A task's videos are ``*.mp4``, ``*/gen.mp4`` and ``*/output.mp4`` of its folder; paths are relative to the file. Of
    ``<model>_<trajectory>_30s`` the model is the first part, of another name all of it.

    Raises:
        FileFormatError: A task that is not three parts, a folder without videos, no task at all.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise wrong(WHO, path, "file", "be readable text", str(error).split(":")[0]) from error
    found: list[Entry] = []
    for number, line in enumerate(lines, start=1):
        task = re.fullmatch(r"\s*TASK=(.*)", line)
        if task is None:
            continue
        parts = [part.strip() for part in task[1].strip().strip("\"'").split("|")]
        if len(parts) != 3 or not all(parts):
            raise wrong(
                WHO, path, f"line {number}", "be TASK=<name>|<folder of videos>|<pose JSON>", repr(line.strip())
            )
        found += _videos(path, number, *parts)
    if not found:
        raise wrong(WHO, path, "a configuration", f"hold a line {_TASK}", "none")
    return found


def _videos(path: Path, number: int, name: str, folder: str, poses: str) -> list[Entry]:
    below = path.parent / folder
    videos = [*sorted(below.glob("*.mp4")), *sorted([*below.glob("*/gen.mp4"), *below.glob("*/output.mp4")])]
    if not videos:
        raise wrong(WHO, path, f"line {number}", "name a folder with videos", folder)
    named = re.fullmatch(rf"(.+)_({'|'.join(TRAJECTORIES)})_30s", name)
    entries = []
    for video in videos:
        case = video.stem if video.parent == below else video.parent.name
        entries.append(
            Entry(
                video=video,
                model=named[1] if named else name,
                case=case,
                plan=None,
                fps=None,
                identity=f"{name}/{case}",
                source=f"tasks {path.name}",
                poses=path.parent / poses,
            )
        )
    return entries


def _in_order(path: Path) -> tuple[str, str, int, str]:
    shard = path.parent.name
    number = shard.removeprefix("shard_")
    return path.parts[-4], path.parts[-3], int(number) if number.isdecimal() else 0, shard
