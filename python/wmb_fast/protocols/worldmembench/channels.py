# SPDX-License-Identifier: Apache-2.0
"""What the arrays of a channel look like: checked when a metric asks for them, so that one that does not fit costs no
metric but its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._walls.checks import shape_text
from ..measure import NotThereError, missing

# Axes by letter: equal letters of a channel are of equal length. K: frames, T: targets.
SHAPES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "tracks": {"frames": ("K",), "kinds": ("T",), "found": ("T", "K"), "masks": ("T", "K", "H", "W")},
    "faces": {"frames": ("K",), "embedding": ("T", "K", "D"), "valid": ("T", "K")},
    "appearance": {"frames": ("K",), "embedding": ("T", "K", "D"), "valid": ("T", "K")},
    "features": {"frames": ("K",), "mean": ("K", "D"), "cls": ("K", "E")},
    "depth": {"frames": ("K",), "depth": ("K", "H", "W")},
    "geometry": {
        "frames": ("K",),
        "depth": ("K", "H", "W"),
        "cam_from_world": ("K", "R", "4"),
        "intrinsics": ("K", "3", "3"),
    },
    "frame_quality": {"frames": ("K",), "imaging": ("K",), "aesthetic": ("K",)},
    "poses": {"frames": ("K",)},
}
# Faces by no target, as a detector finds them: F in all frames together.
FOUND_FACES = {"frames": ("K",), "face_frames": ("F",), "boxes": ("F", "4"), "embedding": ("F", "D")}
_FLAGS = ("found", "valid")


def fitting(name: str, values: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Requires of some arrays of a channel that they are there, are numbers, and go together.

    Raises:
        NotThereError: One that is not.
    """
    shapes = FOUND_FACES if name == "faces" and "boxes" in values else SHAPES.get(name, {})
    sizes: dict[str, int] = {}
    for key in keys:
        if key not in values:
            got = ", ".join(values) or "nothing"
            raise NotThereError(missing(f"{name}: the channel must hold {key}, got {got}"))
        axes = shapes.get(key)
        if axes is None:
            continue
        array, known = numbers_of(name, key, values[key]), dict(sizes)
        fits = array.ndim == len(axes) and all(
            size == (int(axis) if axis.isdecimal() else sizes.setdefault(axis, size))
            for axis, size in zip(axes, array.shape, strict=True)
        )
        if not fits:
            wanted = ", ".join(f"{axis}={known[axis]}" if axis in known else axis for axis in axes)
            raise NotThereError(missing(f"{name}: {key} must have shape ({wanted}), got {shape_text(array)}"))
        if key in _FLAGS and not np.isin(array, (0, 1)).all():
            raise NotThereError(missing(f"{name}: {key} must hold 0 and 1"))
        if key == "frames" and (array.dtype.kind not in "iu" or (np.diff(array.astype(np.int64)) <= 0).any()):
            raise NotThereError(missing(f"{name}: frames must be integers in rising order"))


def numbers_of(name: str, key: str, value: Any) -> Any:
    """An array of a channel, of numbers.

    Raises:
        NotThereError: One that is none.
    """
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "biuf" and array.size:
        raise NotThereError(missing(f"{name}: {key} must hold numbers, got {array.dtype}"))
    return array
