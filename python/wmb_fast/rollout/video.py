# SPDX-License-Identifier: Apache-2.0
"""Rollouts as frames: open a video file or a folder of frames, and read what really decodes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .._walls.checks import real
from .._walls.errors import bad_type, bad_value
from . import stamps
from .decode import FileSource, FolderSource, Ledger, Picture, decoder_name, refused
from .encode import write_video
from .pixels import Image

__all__ = ["Video", "open_video", "write_video"]


def open_video(path: str | os.PathLike[str], *, fps: float | None = None) -> Video:
    """Opens a video file, or a folder of png or jpg frames, for reading.

    Args:
        path: Any file that FFmpeg reads (mp4, webm, gif, mkv, …), or a folder of frames, taken in natural order.
        fps: The rate, where the caller knows it from elsewhere (a manifest). It gives a folder its times, and replaces
            the time stamps of a file that disagree with it by more than 1 %; that is noted.

    Returns:
        A video whose first frame has been decoded.

    Raises:
        FileFormatError: No such file, or an empty, unreadable, audio-only or frameless one.
        MissingExtraError: PyAV is not installed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     clip = Path(folder) / "clip.mp4"
        ...     _ = write_video(clip, np.zeros((5, 32, 48, 3), np.uint8), fps=16)
        ...     video = open_video(clip)
        ...     video.n_frames, video.fps, video.read([4, 0]).shape
        (5, 16.0, (2, 32, 48, 3))
    """
    where = Path(path)
    if fps is not None:
        fps = real("open_video", "fps", fps, above=0)
    if not where.exists():
        raise refused(where, "exist", "nothing there")
    return Video(where, FolderSource(where) if where.is_dir() else FileSource(where), fps)


class Video:
    """A clip, read by streaming passes. Made by :func:`open_video`.

    What needs a whole pass (``n_frames``, ``times``, ``fps``, ``truncated``, ``notes``) is known after the first one:
    a complete run over :meth:`frames`, or a pass that decodes without converting to RGB, made on demand.

    Attributes:
        path: As given.
        decoder: Names and versions of what decodes.
        width, height: Of the frames as shown, in pixels: after the file's own rotation or mirroring.
    """

    def __init__(self, path: Path, source: FileSource | FolderSource, fps: float | None) -> None:
        self.path = path
        self.decoder = decoder_name()
        self._source = source
        self._given_fps = fps
        self._ledger: Ledger | None = None
        self._room = 0
        self._kept: list[Picture] | None = None
        first = next((picture.rgb() for picture in source.pictures(Ledger())), None)
        if first is None:
            raise refused(path, "hold at least one frame that decodes", "none")
        self.height, self.width = int(first.shape[0]), int(first.shape[1])

    def keep(self, at_most: int) -> None:
        """Has the next whole pass keep what it decodes, so that no pass after it decodes anything.

        Args:
            at_most: Bytes. Of a clip that takes more nothing is kept, and each pass decodes it; a file's frames are
                held as its codec has them, half as large as RGB in most.
        """
        self._room = at_most

    def _pictures(self, ledger: Ledger) -> Iterator[Picture]:
        """One pass; the ledger is written where nothing was known yet."""
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[Picture] = []
        room = self._room
        for picture in self._source.pictures(ledger):
            room -= picture.n_bytes
            if room >= 0:
                kept.append(picture)
            else:
                kept.clear()
            yield picture
        if room >= 0:
            self._kept, self._ledger = kept, ledger

    def frames(self) -> Iterator[Image]:
        """All frames that decode, (H, W, 3) uint8 RGB, in presentation order, one at a time."""
        ledger = Ledger()
        for picture in self._pictures(ledger):
            yield picture.rgb()
        self._ledger = self._ledger or ledger

    def read(self, indices: Sequence[int] | npt.NDArray[np.integer]) -> Image:
        """Some frames, bit for bit those of :meth:`frames`.

        Args:
            indices: (K,) presentation indices from 0, in any order, with repetitions if wanted.

        Returns:
            (K, H, W, 3) uint8 RGB, in the order asked for.

        Raises:
            ArgumentError: An index below 0, or beyond the frames that decode.
        """
        wanted = _indices(indices)
        images = np.empty((len(wanted), self.height, self.width, 3), dtype=np.uint8)
        for index, image in self.some(wanted):
            images[wanted == index] = image
        return images

    def some(self, indices: Sequence[int] | npt.NDArray[np.integer]) -> Iterator[tuple[int, Image]]:
        """Some frames with their indices, one at a time, each once and in order; the others are never made RGB.

        Raises:
            ArgumentError: An index below 0, or beyond the frames that decode. The latter may be known only at the end.
        """
        wanted = np.unique(_indices(indices))
        if self._ledger is not None or wanted.min(initial=0) < 0:
            _in_range(wanted, self.n_frames)
        waiting, n = set(wanted.tolist()), 0
        for n, picture in enumerate(self._pictures(Ledger()) if waiting else (), start=1):
            if n - 1 in waiting:
                waiting.remove(n - 1)
                yield n - 1, picture.rgb()
            if not waiting:
                return
        if waiting:
            _in_range(wanted, n)

    @cached_property
    def _facts(self) -> tuple[Ledger, stamps.Clock]:
        if self._ledger is None:
            ledger = Ledger()
            for _ in self._pictures(ledger):
                pass
            self._ledger = ledger
        return self._ledger, self._clock(self._ledger)

    def _clock(self, ledger: Ledger) -> stamps.Clock:
        n, given = len(ledger.stamps), self._given_fps
        if isinstance(self._source, FolderSource):
            return stamps.clock_from_rate(n, given)
        clock = stamps.clock_from_stamps(ledger.stamps, ledger.time_base, ledger.header_rate, ledger.last)
        if given is None or (clock.fps is not None and abs(clock.fps - given) <= 0.01 * given):
            return clock
        was = "no rate" if clock.fps is None else f"{clock.fps:.6g} frames per second"
        return stamps.clock_from_rate(n, given, [f"the rate given, {given:.6g}, replaces the file's: {was}"])

    @property
    def n_frames(self) -> int:
        """The frames that decode, counted by decoding; a header's count is never used."""
        return len(self._facts[0].stamps)

    @property
    def times(self) -> npt.NDArray[np.float64]:
        """(n,) float64: when each frame is shown, in seconds since the first one, which is :attr:`start`."""
        return self._facts[1].times

    @property
    def start(self) -> float:
        """The first frame's own stamp in seconds."""
        return self._facts[1].start

    @property
    def fps(self) -> float | None:
        """Frames per second by the time stamps; ``None`` where there are none and the caller gave no rate."""
        return self._facts[1].fps

    @property
    def truncated(self) -> bool:
        """Whether the file ends before what its own header or index promises."""
        return self._facts[0].cut

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of this clip's numbers should know, a sentence each."""
        ledger, clock = self._facts
        return (*_findings(ledger), *clock.notes)

    def require_size(self, width: int, height: int) -> None:
        """Raises unless frames have this size: masks, depth or intrinsics made for another one do not fit them.

        Raises:
            ArgumentError: Another size. Intrinsics are carried over with :func:`.trajectory.resized_intrinsics`.
        """
        if (width, height) != (self.width, self.height):
            raise bad_value("require_size", "size", f"be the frames' {self.width}x{self.height}", f"{width}x{height}")

    @cached_property
    def sha256(self) -> str:
        """The hash of the file's bytes; of a folder, of its frames' names and bytes."""
        return self._source.sha256()

    def frame_at(self, t: float) -> int:
        """The index of the frame shown ``t`` seconds after the first. See :func:`.stamps.frame_at`."""
        return stamps.frame_at(self._facts[1], t)

    def frames_within(self, start: float, stop: float) -> npt.NDArray[np.int64]:
        """The frames whose time lies in ``[start, stop)`` seconds; empty where none does."""
        return stamps.frames_within(self._facts[1], start, stop)


def _findings(ledger: Ledger) -> list[str]:
    n, notes = len(ledger.stamps), []
    if ledger.cut:
        notes.append(f"the file is truncated: {n} frames decode")
    if ledger.header_frames not in (0, n):
        notes.append(f"the header states {ledger.header_frames} frames, {n} decode")
    if ledger.damaged_packets:
        notes.append(f"packets that do not decode: {ledger.damaged_packets}")
    if ledger.damaged_frames:
        notes.append(f"frames that the decoder marks as damaged: {ledger.damaged_frames}")
    if ledger.dropped:
        notes.append(f"frames dropped at the damaged end, because those before them are lost: {ledger.dropped}")
    if ledger.gaps:
        (before, after), more = ledger.gaps[0], len(ledger.gaps) - 1
        also = f", and so {more} times more" if more else ""
        notes.append(f"the folder has no frames between {before} and {after}{also}: time goes on without them")
    return notes


def _indices(indices: Sequence[int] | npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    wanted = np.asarray(indices)
    if wanted.size == 0:
        return np.zeros(0, dtype=np.int64)
    if wanted.dtype.kind not in "iu" or wanted.ndim != 1:
        raise bad_type("read", "indices", "be integers in one dimension", f"{wanted.dtype} {wanted.shape}")
    return wanted.astype(np.int64)


def _in_range(wanted: npt.NDArray[np.int64], n_frames: int) -> None:
    bad = wanted[(wanted < 0) | (wanted >= n_frames)]
    if len(bad):
        raise bad_value("read", "indices", f"lie in [0, {n_frames})", int(bad[0]))
