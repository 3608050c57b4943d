# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of presentation times: what a clip's time stamps say about its rate, its gaps and its frame at a time.

A frame is shown from its own time until the next frame's; the last one for its own duration. Nothing here knows a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from .._walls.checks import real
from .._walls.errors import bad_value

Times = npt.NDArray[np.float64]
EARLY = 1e-6  # seconds: a query this little before a frame's time is given that frame (i / fps is rounded)


@dataclass(frozen=True)
class Clock:
    """When the frames of a clip are shown.

    Attributes:
        times: (n,) float64 seconds since the first frame; NaN where neither stamps nor a rate are known.
        start: The first frame's own stamp in seconds; 0 where it has none.
        fps: Frames per second; ``None`` where neither stamps nor a rate are known.
        last: How long the last frame is shown, in seconds; NaN where ``fps`` is ``None``.
        notes: What a reader of the numbers should know, a sentence each.
    """

    times: Times
    start: float
    fps: float | None
    last: float
    notes: tuple[str, ...]


def clock_from_rate(n_frames: int, fps: float | None, notes: Sequence[str] = ()) -> Clock:
    """The clock of frames without stamps: frame i at i / fps, or NaN when the rate is not known either."""
    if fps is None:
        return Clock(np.full(n_frames, np.nan), 0.0, None, np.nan, (*notes, "no frame rate is known"))
    return Clock(np.arange(n_frames) / fps, 0.0, fps, 1.0 / fps, tuple(notes))


def clock_from_stamps(
    stamps: Sequence[int | None], time_base: Fraction, header_rate: Fraction | None, last: int | None = None
) -> Clock:
    """The clock of frames in presentation order.

    The rate is the header's where every stamp agrees with it to one tick of the time base (coarse ones, of webm and
    gif, round each stamp), and 1 over the median step otherwise. A missing stamp is interpolated, and noted.

    Args:
        stamps: One a frame, in ticks; ``None`` where the file has none.
        time_base: Seconds a tick.
        header_rate: The rate that the file's header states, if any.
        last: How many ticks the last frame is shown; ``None`` for the median step.

    Returns:
        The clock. Stamps that do not order the frames (all missing, or all equal) are not used: then the frames are
        taken at the header's rate, and that is noted.

    Example:
        >>> clock = clock_from_stamps([4854, 5110, 5366], Fraction(1, 15360), None)
        >>> clock.times.tolist() == [0, 1 / 60, 2 / 60], clock.fps
        (True, 60.0)
    """
    n, rate = len(stamps), None if header_rate is None else float(header_rate)
    known = [i for i, stamp in enumerate(stamps) if stamp is not None]
    ticks = np.array([0 if stamp is None else stamp for stamp in stamps], dtype=np.int64)
    if n > 1 and (not known or len({int(ticks[i]) for i in known}) == 1):
        why = "no frame has a time stamp" if not known else f"all {n} frames have the same time stamp"
        return clock_from_rate(n, rate, [f"{why}: times are index / header's rate"])
    notes = []
    if len(known) < n and known:
        notes.append(f"{n - len(known)} of {n} frames have no time stamp: theirs are interpolated")
    filled = _filled(ticks, known)
    times = (filled - filled[0]) * time_base.numerator / time_base.denominator
    start = float(filled[0] * time_base.numerator / time_base.denominator)
    steps = np.diff(times)
    if n < 2:
        fps = rate
    else:
        fps = _rate(times, steps, float(time_base), rate)
        notes += _irregular(times, steps, float(time_base), fps, rate)
    if last is not None and last > 0:
        shown = float(last * time_base)
    else:
        shown = np.nan if fps is None else 1.0 / fps
    return Clock(times, start, fps, shown, tuple(notes))


def _filled(ticks: npt.NDArray[np.int64], known: Sequence[int]) -> npt.NDArray[np.float64]:
    if len(known) in (0, len(ticks)):
        return ticks.astype(np.float64)
    index, at, step = np.arange(len(ticks)), np.array(known), 0.0
    if len(known) > 1:
        step = float(np.median(np.diff(ticks[at]) / np.diff(at)))
    filled: npt.NDArray[np.float64] = np.interp(index, at, ticks[at])
    filled[: at[0]] = ticks[at[0]] - step * (at[0] - index[: at[0]])
    filled[at[-1] + 1 :] = ticks[at[-1]] + step * (index[at[-1] + 1 :] - at[-1])
    return filled


def _rate(times: Times, steps: Times, tick: float, header: float | None) -> float:
    if header is not None and np.all(np.abs(times - np.arange(len(times)) / header) <= 1.001 * tick):
        return header
    return float(1.0 / np.median(steps))


def _irregular(times: Times, steps: Times, tick: float, fps: float, header: float | None) -> list[str]:
    notes = []
    jumps = gaps(times, tick)
    if np.any(np.abs(steps - np.median(steps)) > 1.001 * tick + 0.01 / fps):
        notes.append(f"variable frame rate: steps from {steps.min():.6g} to {steps.max():.6g} s")
    if jumps:
        index, step = max(jumps, key=lambda jump: jump[1])
        many = f"{len(jumps)} gaps in the time stamps, the longest" if len(jumps) > 1 else "a gap in the time stamps:"
        notes.append(f"{many} {step:.6g} s before frame {index}")
    if header is not None and abs(header - fps) > 0.01 * fps:
        notes.append(f"the header states {header:.6g} frames per second, the time stamps {fps:.6g}")
    return notes


def gaps(times: Times, tick: float = 0.0) -> list[tuple[int, float]]:
    """The frames that come late: index and the step before it, wherever it is above 1.5 median steps.

    Example:
        >>> [(index, round(step, 6)) for index, step in gaps(np.array([0, 1, 2, 5, 6]) / 25)]
        [(3, 0.12)]
    """
    if len(times) < 2:
        return []
    steps = np.diff(times)
    late = np.flatnonzero(steps > 1.5 * np.median(steps) + tick)
    return [(int(i) + 1, float(steps[i])) for i in late]


def frame_at(clock: Clock, t: float) -> int:
    """The index of the frame shown at a time.

    Args:
        clock: The clip's clock.
        t: Seconds since the first frame.

    Returns:
        The last frame whose time is not after ``t``; one that is due within a microsecond counts as shown.

    Raises:
        ArgumentError: A time before the first frame, at or after the end of the last, or a clip without times.

    Example:
        >>> clock = clock_from_stamps([0, 1, 2, 5, 6], Fraction(1, 10), None)
        >>> [frame_at(clock, t) for t in (0.45, 0.5, 0.05)]
        [2, 3, 0]
    """
    when = real("frame_at", "t", t)
    if clock.fps is None and not np.isfinite(clock.last):
        raise bad_value("frame_at", "t", "be asked of a clip whose frame rate is known", f"{when:g} s of one without")
    end = float(clock.times[-1]) + clock.last
    if not -EARLY <= when < end - EARLY:
        raise bad_value("frame_at", "t", f"lie in [0, {end:g}) seconds", f"{when:g}")
    return int(np.searchsorted(clock.times, when + EARLY, side="right")) - 1


def frames_within(clock: Clock, start: float, stop: float) -> npt.NDArray[np.int64]:
    """The frames whose time lies in ``[start, stop)``; empty where none does.

    Example:
        >>> clock = clock_from_stamps([0, 1, 2, 5, 6], Fraction(1, 25), None)
        >>> frames_within(clock, 0.10, 0.22).tolist(), frames_within(clock, 0.13, 0.19).tolist()
        ([3], [])
    """
    first, end = np.searchsorted(clock.times + EARLY, [start, stop], side="left")
    return np.arange(first, end, dtype=np.int64)
