# SPDX-License-Identifier: Apache-2.0
"""The channel ``tracks`` as JSON, for trackers whose masks are run lengths or pictures (SAM 2, YouTube-VIS, DAVIS).

    {"frames": [0, 60], "size": [480, 848], "kinds": [1],
     "masks": [[{"size": [480, 848], "counts": "…"}, "video.tracks/cup_0060.png"]]}

``size`` is height and width, and every mask's. ``masks`` holds for each target one mask a frame: COCO's run lengths
(text or a list), the path of a picture, from this file's folder on, rows of numbers, or null where the tracker has lost
the target. ``found`` may say so, too: then a target that is found has a mask. ``estimator`` and ``origin`` are as in an
npz. A folder ``<video's stem>.tracks`` is not searched for rollouts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._walls.errors import FileFormatError
from ..rollout.masks import read_mask
from ..rollout.tables import Row, load, only, text_of, whole_numbers, wrong

CHANNEL = "tracks"
WHO = "gather"
_KEYS = ("frames", "size", "kinds", "masks", "found", "estimator", "origin")
_LARGEST = 16384  # a side
_INT64 = np.iinfo(np.int64)


def read(path: Path) -> dict[str, Any]:
    """The arrays of such a file, as an npz of this channel holds them.

    Raises:
        FileFormatError: What is wrong with it, in one sentence: a key of another form, a mask that is damaged, of
            another size, or not there.
    """
    told = _document(path)
    frames, kinds = (_integers(path, key, told.get(key)) for key in ("frames", "kinds"))
    height, width = _size(path, told.get("size"))
    shape = (len(kinds), len(frames))
    given = _grid(path, "masks", told.get("masks"), shape)
    has = np.array([[mask is not None for mask in row] for row in given], dtype=bool).reshape(shape)
    found = has
    if "found" in told:
        found = np.array(_grid(path, "found", told["found"], shape), dtype=object).reshape(shape)
        if not np.isin(found, (0, 1)).all():
            raise wrong(WHO, path, "found", "hold true and false", f"{told['found']!r:.60}")
        found = found.astype(bool)
    for t, k in np.argwhere(found & ~has):
        raise wrong(WHO, path, f"masks[{t}][{k}]", "be there for a target that is found", "null")
    try:
        masks = np.zeros((*shape, height, width), dtype=bool)
    except MemoryError:
        got = f"{len(kinds)} x {len(frames)} of {width}x{height}"
        raise wrong(WHO, path, "masks", "fit into memory", got) from None
    for t, k in np.argwhere(has):
        masks[t, k] = _mask(path, f"masks[{t}][{k}]", given[t][k], (width, height))
    numbers = {"frames": np.array(frames, np.int64), "kinds": np.array(kinds, np.int64)}
    values: dict[str, Any] = {**numbers, "found": found, "masks": masks}
    if "estimator" in told:
        values["estimator"] = text_of(WHO, path, "estimator", told["estimator"])
    return {**values, "origin": _origin(told)}


def pictures(path: Path) -> list[Path]:
    """The picture files that such a file names and that are there: what they hold is handed in with it."""
    try:
        rows = _document(path).get("masks")
    except FileFormatError:
        return []
    return sorted(place for place in {path.parent / name for name in _texts(rows)} if os.path.isfile(place))


def _document(path: Path) -> Row:
    return only(WHO, path, "tracks", load(WHO, path), _KEYS)


def _integers(path: Path, key: str, told: object) -> list[int]:
    numbers = whole_numbers(WHO, path, key, told)
    if any(abs(n) > _INT64.max for n in numbers):
        raise wrong(WHO, path, key, "hold integers of 64 bits", f"{told!r:.60}")
    return numbers


def _size(path: Path, told: object) -> list[int]:
    size = _integers(path, "size", told)
    if len(size) != 2 or not all(0 < side <= _LARGEST for side in size):
        raise wrong(WHO, path, "size", f"be height and width, 1 to {_LARGEST}", f"{told!r:.60}")
    return size


def _grid(path: Path, key: str, rows: object, shape: tuple[int, int]) -> list[list[Any]]:
    """A list for each target with an item for each frame."""
    if not isinstance(rows, list) or len(rows) != shape[0] or not all(isinstance(row, list) for row in rows):
        got = f"{len(rows)}" if isinstance(rows, list) else type(rows).__name__
        raise wrong(WHO, path, key, f"be a list of {shape[0]} lists, one a target", got)
    for t, row in enumerate(rows):
        if len(row) != shape[1]:
            raise wrong(WHO, path, f"{key}[{t}]", f"have one item for each of {shape[1]} frames", len(row))
    return rows


def _mask(path: Path, at: str, mask: Any, size: tuple[int, int]) -> Any:
    try:
        return read_mask(mask, size, beside=path.parent)
    except FileFormatError as error:
        why = str(error).partition(": ")[2]
        raise FileFormatError(f"{WHO}: {path.name}, {at}: {why}") from error


def _texts(rows: object) -> Iterator[str]:
    """The texts in a list of lists: paths."""
    for row in rows if isinstance(rows, list) else ():
        yield from (mask for mask in (row if isinstance(row, list) else ()) if isinstance(mask, str))


def origin(path: Path) -> str:
    """What such a file says of where it comes from, as JSON."""
    return _origin(_document(path))


def _origin(told: Row) -> str:
    said = told.get("origin", {})
    return said if isinstance(said, str) else json.dumps(said)
