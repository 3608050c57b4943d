# SPDX-License-Identifier: Apache-2.0
"""The pixels of a video file or of a folder of frames, one streaming pass at a time, through PyAV.

Decoding is single-threaded, as is the conversion to RGB (:mod:`.pixels`). So pixels depend on the file and the FFmpeg
version alone: not on the number of threads, not on the processor's vector instructions. Speed comes from many videos at
once.
"""

from __future__ import annotations

import hashlib
import heapq
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._walls.errors import FileFormatError
from .._walls.ext import optional
from .pixels import Converter, Image

# H.264 and HEVC allow at most 16 frames between decoding and presentation.
REORDER = 16
IMAGES = (".png", ".jpg", ".jpeg")


class Picture(NamedTuple):
    """One frame in presentation order; its pixels are made when asked for. ``n_bytes`` is what it holds in memory."""

    stamp: int | None
    rgb: Callable[[], Image]
    n_bytes: int


@dataclass
class Ledger:
    """What one pass over a file found."""

    stamps: list[int | None] = field(default_factory=list)
    time_base: Fraction = Fraction(1)
    last: int | None = None
    header_frames: int = 0
    header_rate: Fraction | None = None
    header_end: float | None = None
    packets: int = 0
    indexed: int = 0
    promises_end: bool = False
    partial_end: bool = False
    cut: bool = False
    damaged_packets: int = 0
    damaged_frames: int = 0
    dropped: int = 0
    gaps: list[tuple[str, str]] = field(default_factory=list)


def refused(path: Path, requirement: str, got: str) -> FileFormatError:
    """The one sentence about a path that cannot be read as video."""
    return FileFormatError(f"open_video: path must {requirement}, got {got}: {path}")


def decoder_name() -> str:
    """The decoder's versions, for the provenance of every number that comes from its pixels."""
    av = _av()
    version = getattr(av, "ffmpeg_version_info", None) or "libavcodec " + ".".join(
        str(part) for part in av.library_versions["libavcodec"]
    )
    return f"pyav {av.__version__} / ffmpeg {version}"


def _av() -> Any:
    return optional("av", "score", "open_video")


class FileSource:
    """A video file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def sha256(self) -> str:
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def pictures(self, ledger: Ledger) -> Iterator[Picture]:
        """Decodes the file once, in presentation order, and writes down in the ledger what it finds."""
        with _container(self.path) as container:
            stream = _video_stream(self.path, container)
            _read_header(stream, ledger)
            # A gif without its trailer is cut off, and its last image may be there in part: nothing else would tell.
            ledger.cut = ledger.partial_end = container.format.name == "gif" and not self._ends_with(b"\0;")
            to_rgb = Converter()
            size = None
            for frame in _in_order(_decoded(container, stream, ledger), ledger):
                size = size or (frame.width, frame.height)
                if (frame.width, frame.height) != size:
                    what = f"{frame.width}x{frame.height} after {size[0]}x{size[1]} at frame {len(ledger.stamps)}"
                    raise refused(self.path, "hold frames of one size", what)
                ledger.stamps.append(frame.pts)
                ledger.last = frame.duration or None
                ledger.damaged_frames += bool(frame.is_corrupt)
                yield Picture(frame.pts, partial(to_rgb, frame), sum(plane.buffer_size for plane in frame.planes))
            _see_the_end(ledger)

    def _ends_with(self, trailer: bytes) -> bool:
        with self.path.open("rb") as file:
            file.seek(-len(trailer), os.SEEK_END)
            return file.read() == trailer


def _container(path: Path) -> Any:
    av = _av()
    if path.stat().st_size == 0:
        raise refused(path, "be a video", "an empty file")
    try:
        container = av.open(str(path), options={"protocol_whitelist": "file"})
    except av.error.FFmpegError as error:
        raise refused(path, "be a video that FFmpeg can open", error.strerror or str(error)) from error
    if container.format.name == "tty":  # FFmpeg shows any text as a video of a terminal
        container.close()
        raise refused(path, "be a video", "a text file")
    return container


def _video_stream(path: Path, container: Any) -> Any:
    """The first stream of moving pictures; a picture attached to audio is none."""
    disposition = _av().stream.Disposition
    streams = [s for s in container.streams.video if not s.disposition & disposition.attached_pic]
    if not streams:
        kinds = sorted({stream.type for stream in container.streams})
        raise refused(path, "have a video stream", f"{' and '.join(kinds) or 'no stream'} only")
    stream = streams[0]
    stream.thread_type = "NONE"
    stream.codec_context.thread_count = 1
    return stream


def _read_header(stream: Any, ledger: Ledger) -> None:
    ledger.time_base = stream.time_base
    ledger.header_frames = stream.frames
    ledger.header_rate = stream.average_rate or stream.base_rate or None
    # An index of mp4 lists every packet; what the other containers call an index may list key frames alone.
    ledger.indexed = len(stream.index_entries) if "mov" in stream.container.format.name else 0
    ledger.promises_end = "mov" not in stream.container.format.name
    tag = re.fullmatch(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)", stream.metadata.get("DURATION", ""))
    if stream.duration is not None:
        ledger.header_end = float((stream.duration + (stream.start_time or 0)) * stream.time_base)
    elif tag:
        ledger.header_end = int(tag[1]) * 3600 + int(tag[2]) * 60 + float(tag[3])


def _decoded(container: Any, stream: Any, ledger: Ledger) -> Iterator[Any]:
    """Frames as the decoder gives them. A packet that is cut off or does not decode is counted and left out."""
    errors = _av().error
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets)
        except StopIteration:
            return
        except errors.FFmpegError:
            ledger.cut = True
            packet = None
        if packet is None or packet.size == 0:
            ledger.cut |= ledger.packets < ledger.indexed
            yield from _flushed(stream, errors, ledger)
            return
        ledger.packets += 1
        if packet.is_corrupt:
            ledger.damaged_packets += 1
            ledger.cut = True
            continue
        try:
            yield from packet.decode()
        except errors.FFmpegError:
            ledger.damaged_packets += 1


def _flushed(stream: Any, errors: Any, ledger: Ledger) -> Iterator[Any]:
    try:
        yield from stream.codec_context.decode(None)
    except errors.EOFError:
        return
    except errors.FFmpegError:
        ledger.damaged_packets += 1


def _in_order(frames: Iterator[Any], ledger: Ledger) -> Iterator[Any]:
    """Frames by their stamps, held back by as many as a codec may reorder; one without a stamp follows its forerunner.

    A file whose last frame is damaged is cut off. Of one that is cut off, what follows a gap or damage near the end is
    dropped: frames that belong before it are gone, so its own indices would be wrong.
    """
    held: list[tuple[int, int, Any]] = []
    key, shown = -(1 << 62), []
    for order, frame in enumerate(frames):
        key = key if frame.pts is None else frame.pts
        heapq.heappush(held, (key, order, frame))
        if len(held) > REORDER:
            stamp, _, first = heapq.heappop(held)
            shown.append(stamp)
            yield first
    held.sort()
    if ledger.partial_end and held:
        held.pop()
        ledger.dropped = 1
    step = np.median(np.diff(shown + [item[0] for item in held])) if len(shown) + len(held) > 2 else np.inf
    ledger.cut |= bool(held) and bool(held[-1][2].is_corrupt)
    for index, (stamp, _, first) in enumerate(held):
        late = bool(shown) and stamp - shown[-1] > 1.5 * step > 0
        if ledger.cut and (late or first.is_corrupt):
            ledger.dropped += len(held) - index
            return
        shown.append(stamp)
        yield first


def _see_the_end(ledger: Ledger) -> None:
    """A container without a full index (webm, mkv) is cut off where its stated duration goes on for two steps more."""
    known = [stamp for stamp in ledger.stamps if stamp is not None]
    if not ledger.promises_end or ledger.header_end is None or len(known) < 2:
        return
    step = float(np.median(np.diff(known)) * ledger.time_base)
    end = float(known[-1] * ledger.time_base) + step
    ledger.cut |= step > 0 and ledger.header_end - end > 1.5 * step


def still(path: Path) -> Any:
    """The frame of a file with one picture, as its decoder gives it.

    Raises:
        FileFormatError: A file with none that can be decoded, or with more.
    """
    with _container(path) as container:
        frames = list(islice(_decoded(container, _video_stream(path, container), Ledger()), 2))
    if len(frames) != 1:
        raise refused(path, "hold one picture", "none that can be decoded" if not frames else "more")
    return frames[0]


class FolderSource:
    """A folder of frames: png or jpg, in natural order (2.png before 10.png)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files = sorted((p for p in path.iterdir() if p.suffix.lower() in IMAGES), key=natural)
        if not self.files:
            raise refused(path, "be a video or a folder of png or jpg frames", "a folder without frames")

    def sha256(self) -> str:
        digest = hashlib.sha256()
        for file in self.files:
            digest.update(f"{file.name}\0{FileSource(file).sha256()}\n".encode())
        return digest.hexdigest()

    def pictures(self, ledger: Ledger) -> Iterator[Picture]:
        size = None
        ledger.gaps = gaps([file.name for file in self.files])
        for file in self.files:
            frames = list(FileSource(file).pictures(Ledger()))
            if len(frames) != 1:
                raise refused(file, "hold one image", f"{len(frames)} frames")
            image = frames[0].rgb()
            size = size or image.shape
            if image.shape != size:
                what = f"{image.shape[1]}x{image.shape[0]} after {size[1]}x{size[0]}"
                raise refused(file, "have the size of the frames before it", what)
            ledger.stamps.append(None)
            yield Picture(None, image.copy, image.nbytes)


def gaps(names: Sequence[str]) -> list[tuple[str, str]]:
    """Neighbours between whose numbers others are missing: those further apart than the least step of all.

    Numbers are the last ones in the names, before the ending; names that differ otherwise too are not counted out.

    Example:
        >>> gaps(["f0001.png", "f0002.png", "f0005.png", "f0006.png"]), gaps(["a.png", "c.png"])
        ([('f0002.png', 'f0005.png')], [])
    """
    found = [re.fullmatch(r"(.*?)(\d+)(\D*)", name) for name in names]
    parts = [(match[1], match[3].lower(), int(match[2])) for match in found if match]
    if len(parts) < len(names) or len({part[:2] for part in parts}) != 1:
        return []
    steps = [after[2] - before[2] for before, after in pairwise(parts)]
    least = min((step for step in steps if step > 0), default=0)
    return [(names[i], names[i + 1]) for i, step in enumerate(steps) if step > least]


def natural(path: Path) -> tuple[list[tuple[int, int, str]], str]:
    """A sort key that reads runs of digits as numbers."""
    parts = re.split(r"(\d+)", path.name.lower())
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts], path.name
