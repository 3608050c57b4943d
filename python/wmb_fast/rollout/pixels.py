# SPDX-License-Identifier: Apache-2.0
"""Decoded frames to RGB as shown: matrix, range and orientation.

The conversion is swscale's ``bilinear + accurate_rnd + full_chroma_int + bitexact`` on one thread, with matrix and
range given explicitly. A file that states no matrix is taken as BT.601, and one that states no range as limited,
whatever its size: so swscale takes it when nobody says otherwise, and so it writes what is then tagged with nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._walls.ext import optional

Image = npt.NDArray[np.uint8]

_BT601, _LIMITED, _FULL, _UNSPECIFIED = 5, 1, 2, 2  # swscale's and FFmpeg's own numbers
_ORIENTED = "DISPLAYMATRIX"
# swscale's flags, by number: PyAV names them since 18 only. EXACT is accurate_rnd + bitexact.
BILINEAR, FULL_CHROMA_INT, FULL_CHROMA_INP, EXACT = 0x2, 0x2000, 0x4000, 0x40000 | 0x80000


class Converter:
    """Decoded frames to RGB as shown: matrix, range and orientation applied."""

    def __init__(self) -> None:
        self._reformatter = optional("av", "score", "open_video").video.reformatter.VideoReformatter()

    def __call__(self, frame: Any) -> Image:
        matrix, value_range = colour_of(frame)
        rgb = self._reformatter.reformat(
            frame,
            format="rgb24",
            src_colorspace=matrix,
            src_color_range=value_range,
            dst_color_range=_FULL,
            interpolation=BILINEAR | FULL_CHROMA_INT | EXACT,
            threads=1,
        )
        return oriented(rgb.to_ndarray(), display_matrix(frame))


def colour_of(frame: Any) -> tuple[int | None, int | None]:
    """The matrix and range to tell swscale: ``None`` where the frame's own tag stands, or is not of YUV at all."""
    name = frame.format.name
    if not name.startswith(("yuv", "nv", "p0", "p2", "p4", "y2")):
        return None, None
    full = frame.color_range == _FULL or name.startswith("yuvj")
    return (_BT601 if frame.colorspace == _UNSPECIFIED else None), (_FULL if full else _LIMITED)


def display_matrix(frame: Any) -> tuple[int, int, int, int] | None:
    """The signs of x' = a x + c y, y' = b x + d y of the display matrix; ``None`` without a quarter turn."""
    side = frame.side_data.get(_ORIENTED)
    if side is None:
        return None
    cells = np.frombuffer(bytes(side), dtype=np.int32)
    a, b, c, d = (float(cells[i]) / 65536 for i in (0, 1, 3, 4))
    if min(abs(a) + abs(d), abs(b) + abs(c)) > 1e-3:
        return None
    return round(a), round(b), round(c), round(d)


def oriented(image: Image, matrix: tuple[int, int, int, int] | None) -> Image:
    """An image turned and mirrored as a display matrix says.

    Example:
        >>> oriented(np.array([[1, 2]], dtype=np.uint8), (0, -1, 1, 0)).tolist()
        [[2], [1]]
    """
    if matrix is None or matrix == (1, 0, 0, 1):
        return image
    a, b, c, d = matrix
    swapped = b != 0
    turned = image.swapaxes(0, 1) if swapped else image
    to_x, to_y = (c, b) if swapped else (a, d)
    return np.ascontiguousarray(turned[:: -1 if to_y < 0 else 1, :: -1 if to_x < 0 else 1])
