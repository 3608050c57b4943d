# SPDX-License-Identifier: Apache-2.0
"""Clips made for tests: every frame carries its own number, drawn as eight black or white squares."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

WIDTH, HEIGHT, SQUARE = 128, 96, 16
B_FRAMES = {"bf": "3", "g": "25"}
INTRA = {"bf": "0", "g": "1"}


def numbered(n: int, size: tuple[int, int] = (WIDTH, HEIGHT)) -> list[np.ndarray]:
    """Frames of noise with the number of each in its top row; the left half is darker, so turns show."""
    rng = np.random.default_rng(7)
    images = []
    for i in range(n):
        image = rng.integers(0, 60, (size[1], size[0], 3), dtype=np.uint8)
        image[:, size[0] // 2 :] += 90
        for bit in range(8):
            image[:SQUARE, bit * SQUARE : (bit + 1) * SQUARE] = 255 if i >> bit & 1 else 0
        images.append(image)
    return images


def number(image: np.ndarray) -> int:
    """The number that a frame carries."""
    centres = [image[4 : SQUARE - 4, bit * SQUARE + 4 : (bit + 1) * SQUARE - 4].mean() for bit in range(8)]
    return sum(1 << bit for bit, mean in enumerate(centres) if mean > 128)


def numbers(images: Iterable[np.ndarray]) -> list[int]:
    return [number(image) for image in images]


def clip(
    path: Path,
    images: Sequence[np.ndarray],
    *,
    codec: str = "libx264",
    options: dict[str, str] | None = None,
    rate: int = 25,
    pix_fmt: str = "yuv420p",
    faststart: bool = False,
) -> Path:
    """A clip at a constant rate."""
    flags = {"movflags": "faststart"} if faststart else {}
    with av.open(str(path), "w", options=flags) as container:
        stream = container.add_stream(codec, rate=rate, options=options or {})
        stream.height, stream.width, stream.pix_fmt = images[0].shape[0], images[0].shape[1], pix_fmt
        for image in images:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def stamped(path: Path, images: Sequence[np.ndarray], pts: Sequence[int], dts: Sequence[int], base: Fraction) -> Path:
    """A clip of key frames only, whose packets carry these stamps, in this (decoding) order."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(1) / base, options=INTRA)
        stream.height, stream.width, stream.pix_fmt = images[0].shape[0], images[0].shape[1], "yuv420p"
        stream.time_base = base
        packets = [p for image in images for p in stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24"))]
        packets += stream.encode(None)
        for packet, shown, decoded in zip(packets, pts, dts, strict=True):
            packet.pts, packet.dts, packet.time_base, packet.duration = shown, decoded, base, 1
            container.mux(packet)
    return path


def flat(path: Path, yuv: tuple[int, int, int], colorspace: int, color_range: int) -> Path:
    """Two frames of one YUV colour, without loss, tagged with a matrix and a range."""
    planes = np.concatenate([np.full(64 * 64 // k, value) for value, k in zip(yuv, (1, 4, 4), strict=True)])
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10, options={"qp": "0"})
        stream.height, stream.width, stream.pix_fmt = 64, 64, "yuv420p"
        stream.codec_context.colorspace, stream.codec_context.color_range = colorspace, color_range
        for _ in range(2):
            frame = av.VideoFrame.from_ndarray(planes.astype(np.uint8).reshape(96, 64), format="yuv420p")
            frame.colorspace, frame.color_range = colorspace, color_range
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def sound(path: Path) -> Path:
    """A file with an audio stream alone."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=8000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.rate = 8000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def png(path: Path, image: np.ndarray) -> Path:
    """A PNG written by hand: eight bits, RGB, no filter."""
    rows = b"".join(b"\0" + row.tobytes() for row in image)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 8, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )
    return path


def patched(path: Path, atom: bytes, offset: int, was: int, becomes: int) -> Path:
    """An mp4 with one 32-bit number replaced, ``offset`` bytes after the name of an atom."""
    data = bytearray(path.read_bytes())
    at = data.index(atom) + len(atom) + offset
    assert struct.unpack_from(">I", data, at)[0] == was
    struct.pack_into(">I", data, at, becomes)
    path.write_bytes(data)
    return path
