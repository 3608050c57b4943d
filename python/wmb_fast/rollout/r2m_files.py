# SPDX-License-Identifier: Apache-2.0
"""R2M-Bench's own files: the pairs of a video, and the results of its evaluator.

Its pose JSON is read by :func:`.trajectory.read_trajectory` (format ``r2m``). Pairs lie in one file a video,
``<stem>_<first eight digits of the path's MD5>.json``: ``{revisit, baseline, short: [[a, b], ...], meta}``; results in
``results/nmr/<family>/<task>/shard_<k>/results.json``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._walls.errors import FileFormatError
from .tables import load, wrong

KINDS = ("revisit", "baseline", "short")
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
    content = {kind: [[int(a), int(b)] for a, b in pairs[kind]] for kind in KINDS} | {"meta": dict(meta)}
    part = target.with_name(f".{target.name}.part")
    try:
        part.write_text(json.dumps(content, allow_nan=False) + "\n", encoding="utf-8")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


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


def _in_order(path: Path) -> tuple[str, str, int, str]:
    shard = path.parent.name
    number = shard.removeprefix("shard_")
    return path.parts[-4], path.parts[-3], int(number) if number.isdecimal() else 0, shard
