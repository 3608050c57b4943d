# SPDX-License-Identifier: Apache-2.0
"""Frames to a video file, the same bytes each time."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._walls import drafts
from .._walls.checks import real, shape_text
from .._walls.errors import ArgumentError, bad_type, bad_value
from .._walls.ext import optional
from .pixels import BILINEAR, EXACT, FULL_CHROMA_INP

_FORMATS = {".mp4": "mp4", ".mov": "mov", ".mkv": "matroska"}
_BT709, _LIMITED = 1, 1
# One thread and x264's own switch for the same bits on every processor.
_X264 = {"preset": "medium", "crf": "12", "x264-params": "threads=1:cpu-independent=1"}
_MPEG4 = {"qmin": "1", "qmax": "2"}


def write_video(path: str | os.PathLike[str], frames: Iterable[npt.NDArray[np.uint8]], *, fps: float) -> str:
    """Writes frames as a video of high quality, whole or not at all.

    H.264 (crf 12) where PyAV was built with x264, MPEG-4 at its finest quantiser otherwise; BT.709, limited range,
    4:2:0, or 4:4:4 where a side is odd. The same frames give the same bytes: one thread, no dates, no random ids.

    Args:
        path: Ends in ``.mp4``, ``.mov`` or ``.mkv``; its folder must exist. An existing file is replaced.
        frames: (H, W, 3) uint8 RGB, all of one size; at least one. Any iterable: it is read once, frame by frame.
        fps: Frames per second, above 0.

    Returns:
        The name of the encoder that was used: ``libx264`` or ``mpeg4``.

    Raises:
        ArgumentError: No frame, a frame of another shape, an ending that is not one of the three.
        MissingExtraError: PyAV is not installed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_video(Path(folder) / "clip.mp4", [np.zeros((32, 32, 3), np.uint8)] * 3, fps=16)
        'libx264'
    """
    target = Path(path)
    av = optional("av", "score", "write_video")
    rate = Fraction(real("write_video", "fps", fps, above=0)).limit_denominator(1001)
    if target.suffix.lower() not in _FORMATS:
        raise bad_value("write_video", "path", "end in .mp4, .mov or .mkv", repr(target.name))
    if not target.parent.is_dir():
        raise bad_value("write_video", "path", "lie in a folder that exists", str(target.parent))
    drafts.sweep(target.parent)
    with drafts.drafted(target) as draft:
        return _encode(av, str(draft), _FORMATS[target.suffix.lower()], frames, rate)


def _encode(av: Any, name: str, form: str, frames: Iterable[npt.NDArray[np.uint8]], rate: Fraction) -> str:
    encoder = "libx264" if "libx264" in av.codecs_available else "mpeg4"
    shape: tuple[int, ...] | None = None
    with av.open(name, "w", format=form, container_options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream(encoder, rate=rate, options=_X264 if encoder == "libx264" else _MPEG4)
        stream.thread_type, stream.codec_context.thread_count = "NONE", 1
        for index, image in enumerate(frames):
            _check(image, index, shape)
            if shape is None:
                shape = image.shape
                _describe(stream, shape)
            container.mux(stream.encode(_picture(av, image, stream.pix_fmt, index, 1 / rate)))
        if shape is None:
            raise ArgumentError("write_video: frames must hold at least one frame, got none")
        container.mux(stream.encode(None))
    return encoder


def _check(image: npt.NDArray[np.uint8], index: int, shape: tuple[int, ...] | None) -> None:
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8:
        got = image.dtype if isinstance(image, np.ndarray) else type(image).__name__
        raise bad_type("write_video", f"frames[{index}]", "be a uint8 array", got)
    if image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape or (shape is not None and image.shape != shape):
        wanted = "have shape (H, W, 3)" if shape is None else f"have the shape of the first frame {shape}"
        raise bad_value("write_video", f"frames[{index}]", wanted, shape_text(image))


def _describe(stream: Any, shape: tuple[int, ...]) -> None:
    odd = shape[0] % 2 or shape[1] % 2
    stream.height, stream.width = shape[:2]
    stream.pix_fmt = "yuv444p" if odd and stream.codec_context.name == "libx264" else "yuv420p"
    stream.codec_context.colorspace = _BT709
    stream.codec_context.color_primaries = _BT709
    stream.codec_context.color_trc = _BT709
    stream.codec_context.color_range = _LIMITED


def _picture(av: Any, image: npt.NDArray[np.uint8], pix_fmt: str, index: int, time_base: Fraction) -> Any:
    flags = BILINEAR | FULL_CHROMA_INP | EXACT
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24").reformat(
        format=pix_fmt, dst_colorspace=_BT709, dst_color_range=_LIMITED, interpolation=flags, threads=1
    )
    frame.pts, frame.time_base = index, time_base
    return frame
