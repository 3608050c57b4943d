# SPDX-License-Identifier: Apache-2.0
"""Masks of objects as files and records spell them: rows of numbers, COCO's run lengths, PNG pictures."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._walls.errors import FileFormatError
from .decode import still
from .pixels import Converter

Mask = npt.NDArray[np.bool_]
WHO = "read_mask"
# PNG's kinds of pixels, read at their full depth, and as what, where NumPy has no such kind.
_READ = ("gray", "gray16be", "rgb24", "rgb48be", "rgba", "rgba64be", "monob", "ya8", "ya16be")
_AS = {"monob": "gray", "ya8": "rgba", "ya16be": "rgba64be"}


def read_mask(
    mask: Mapping[str, Any] | Sequence[Any] | str | Path, size: tuple[int, int], *, beside: Path | None = None
) -> Mask:
    """A mask (H, W).

    Args:
        mask: Rows of numbers, in where above 0; ``{"size": [H, W], "counts": …}`` with COCO's run lengths, as a list or
            as text; or the path of a picture, in where a pixel is above 0 in any colour, and not transparent. Of a
            picture with a palette its index counts.
        size: Width and height that it must have.
        beside: The folder that a relative path starts from.

    Raises:
        FileFormatError: Another size, run lengths that do not fill the picture, a picture that cannot be read.

    Example:
        >>> read_mask({"size": [2, 3], "counts": [1, 2, 3]}, (3, 2)).astype(int)
        array([[0, 1, 0],
               [1, 0, 0]])
    """
    if isinstance(mask, (str, Path)):
        path = Path(mask) if beside is None else beside / mask
        found = _picture(path)
        where = str(path)
    elif isinstance(mask, Mapping):
        told, wanted = mask.get("size"), [size[1], size[0]]
        if not isinstance(told, (list, tuple)) or list(told) != wanted:  # before any pixel: a damaged size may be huge
            raise FileFormatError(f"{WHO}: run lengths must have the size {wanted}, got {told!r:.40}")
        found, where = from_runs(mask), "run lengths"
    else:
        found, where = _rows(mask), "rows"
    if found.shape != (size[1], size[0]):
        got = f"{found.shape[1]}x{found.shape[0]}"
        raise FileFormatError(f"{WHO}: mask must have the size {size[0]}x{size[1]}, got {got}: {where}")
    return found


def from_runs(runs: Mapping[str, Any]) -> Mask:
    """The mask (H, W) of COCO's run lengths: columns one after another, first a run outside, then one inside, ….

    Raises:
        FileFormatError: No size, counts that are not whole and not negative, or do not fill the picture.
    """
    size, counts = runs.get("size"), runs.get("counts")
    if not (isinstance(size, Sequence) and len(size) == 2 and all(isinstance(n, int) and n >= 0 for n in size)):
        raise FileFormatError(f"{WHO}: size must be height and width, got {size!r}")
    height, width = size
    lengths = _unpacked(counts) if isinstance(counts, (str, bytes)) else counts
    if not isinstance(lengths, list) or any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in lengths):
        raise FileFormatError(f"{WHO}: counts must be whole numbers of at least 0, or COCO's text, got {counts!r:.60}")
    if sum(lengths) != height * width:
        raise FileFormatError(f"{WHO}: counts must add up to the {height * width} pixels, got {sum(lengths)}")
    inside = np.arange(len(lengths)) % 2 == 1
    return np.repeat(inside, lengths).reshape(width, height).T


def to_runs(mask: npt.ArrayLike) -> dict[str, Any]:
    """COCO's run lengths of a mask (H, W), as a list.

    Example:
        >>> to_runs([[0, 1, 0], [1, 0, 0]])
        {'size': [2, 3], 'counts': [1, 2, 3]}
    """
    inside = np.asarray(mask) != 0
    flat = inside.T.ravel()
    changes = np.flatnonzero(np.diff(flat)) + 1
    bounds = [0, *([0] if flat.size and flat[0] else []), *changes.tolist(), flat.size]
    return {"size": list(inside.shape), "counts": np.diff(bounds).tolist()}


def _unpacked(text: str | bytes) -> list[int]:
    """COCO's text: numbers in base 32 with a sign, from the third on the difference to the one before the last."""
    codes = [code - 48 for code in (map(ord, text) if isinstance(text, str) else text)]
    lengths: list[int] = []
    value = shift = 0
    for code in codes:
        if not 0 <= code < 64:
            raise FileFormatError(f"{WHO}: counts must be COCO's text, got {text!r:.60}")
        value |= (code & 31) << shift
        shift += 5
        if code & 32:
            continue
        value -= (1 << shift) if code & 16 else 0
        lengths.append(value + (lengths[-2] if len(lengths) > 2 else 0))
        value = shift = 0
    if shift:
        raise FileFormatError(f"{WHO}: counts must be whole, got text that ends in the middle of a number")
    return lengths


def _rows(rows: Sequence[Any]) -> Mask:
    try:
        found = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise FileFormatError(f"{WHO}: rows must be numbers, of one length, got {error}") from error
    found = found[0] if found.ndim == 3 and found.shape[0] == 1 else found
    if found.ndim != 2:
        raise FileFormatError(f"{WHO}: rows must be of two dimensions, got shape {found.shape}")
    if np.isnan(found).any():
        raise FileFormatError(f"{WHO}: rows must be numbers, got nan")
    return np.asarray(found > 0)


def _picture(path: Path) -> Mask:
    """In where a pixel is not black, nor transparent; of a picture with a palette where its index is not 0."""
    if not os.path.isfile(path):  # Path.is_file raises for a name that is too long
        raise FileFormatError(f"{WHO}: mask must be a file that exists, got {str(path)!r:.200}")
    try:
        frame = still(path)
    except FileFormatError as error:
        got = str(error).partition(", got ")[2].partition(": ")[0]
        raise FileFormatError(f"{WHO}: mask must be a picture that can be read, got {got}: {path}") from error
    name = frame.format.name
    if name == "pal8":
        return np.asarray(frame.to_ndarray()[0] > 0)
    found = frame.to_ndarray(format=_AS.get(name, name)) if name in _READ else Converter()(frame)
    if found.ndim == 2:
        return np.asarray(found > 0)
    inside = (found[..., :3] > 0).any(axis=-1)
    return np.asarray(inside & (found[..., 3] > 0) if found.shape[-1] == 4 else inside)
