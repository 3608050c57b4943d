# SPDX-License-Identifier: Apache-2.0
"""A frame as a PNG file, the same bytes each time."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .._walls.checks import shape_text
from .._walls.errors import bad_value


def write_png(path: str | os.PathLike[str], image: npt.NDArray[np.uint8]) -> None:
    """Writes an image, (H, W, 3) uint8 RGB.

    Raises:
        ArgumentError: An array of another shape or dtype.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_png(Path(folder) / "a.png", np.zeros((2, 3, 3), np.uint8))
        ...     (Path(folder) / "a.png").read_bytes()[1:4]
        b'PNG'
    """
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
        raise bad_value("write_png", "image", "be uint8 of shape (H, W, 3)", f"{image.dtype}, {shape_text(image)}")
    height, width = image.shape[:2]
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = image.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pieces = [(b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b"")]
    Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in pieces))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
