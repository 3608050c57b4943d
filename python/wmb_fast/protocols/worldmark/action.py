# SPDX-License-Identifier: Apache-2.0
"""The four action metrics: how a rollout follows its commands, seen in its optical flow.

Each is a function of plain arrays: the samples of a window, positive where the motion is as commanded.
:func:`action_metrics` applies them to every segment and switch of a rollout. ``compat`` reproduces the published
evaluator: filters for 16 samples a second, NaN passing comparisons, results rounded. The default reports no motion, too
few samples and non-finite samples as such, and rounds nothing.

Source: WorldMark (arXiv 2604.21686), equations 2 to 4; definitions as its evaluator has them.
"""

from __future__ import annotations

import math

import numpy as np

from ..._walls.checks import one_of
from ..._walls.errors import bad_value
from .constants import COMPAT_FPS, FEWEST_SAMPLES, NO_MOTION, PUBLISHED, RATIO_EPSILON, Thresholds
from .measure import Measure, Signal, missing, not_finite, rounded, samples, signals, without

TOO_SHORT = "too_short"
NO_MOTION_SEEN = "no_motion"
NO_DEPTH = "depth: telling sideways motion from turning needs depth"


def direction_accuracy(
    signal: Signal, *, weight: float = 1.0, speed: Signal | None = None, compat: bool = False
) -> Measure:
    """M1: ``weight * mean(signal) / mean|signal|``, in [-1, 1].

    Args:
        signal: (N,) flow of the commanded channel in the window, positive as commanded.
        weight: The share of the motion that is of the commanded family, from :func:`split_segments`.
        speed: (N,) all motion, to tell none at all (no value) from motion elsewhere (zero); ``None`` for \\|signal\\|.
        compat: As published: no motion is zero, NaN is NaN.

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols import worldmark
        >>> round(worldmark.direction_accuracy(np.array([2.0, 2.0, -1.0, 2.0])).value, 3)
        0.714
        >>> worldmark.direction_accuracy(np.zeros(4)).reason
        'no_motion'
    """
    (signal,) = signals("direction_accuracy", signal=signal)
    reason = unusable(signal, speed, compat)
    if reason:
        return without(reason, signal.size)
    ratio = rounded(signal.mean() / (np.abs(signal).mean() + RATIO_EPSILON), 3, compat)
    detail = {"direction": ratio, "weight": weight}
    return Measure(rounded(ratio * weight, 3, compat), "", signal.size, signal.size, detail)


def direction_purity(
    horizontal: Signal, radial: Signal, family: str, *, p_translation: float | None = None, compat: bool = False
) -> Measure:
    """M2: the share of the motion that is on the commanded axis, in [0, 1].

    Args:
        horizontal, radial: (N,) each, of the window.
        family: ``fwd``, ``lat`` or ``yaw``.
        p_translation: The translation's share of sideways flow; ``None`` without depth: then the default has a value
            only for ``fwd``, and ``compat`` takes a half.
        compat: As published.

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols import worldmark
        >>> round(worldmark.direction_purity(np.full(4, 0.5), np.full(4, 1.5), "fwd").value, 3)
        0.75
    """
    horizontal, radial = signals("direction_purity", horizontal=horizontal, radial=radial)
    one_of("direction_purity", "family", family, ("fwd", "lat", "yaw"))
    speed = np.hypot(horizontal, radial)
    reason = unusable(speed, speed, compat)
    if reason:
        return without(reason, horizontal.size)
    if p_translation is None and family != "fwd" and not compat:
        return missing(NO_DEPTH, horizontal.size)
    known = p_translation is not None and family != "fwd"
    share = p_translation if p_translation is not None and family != "fwd" else 0.5
    turned = rounded(1 - share, 3, compat)
    sideways, ahead = np.abs(horizontal).mean(), np.abs(radial).mean()
    amounts = {"lat": share * sideways, "fwd": ahead, "yaw": turned * sideways}
    purity = amounts[family] / (sum(amounts.values()) + RATIO_EPSILON)
    detail = {name: rounded(amount, 2, compat) for name, amount in amounts.items()}
    if not (known or compat):
        # Without depth the two are not told apart; forward purity only needs their sum.
        detail = {"fwd": float(ahead), "sideways": float(sideways)}
    return Measure(rounded(purity, 3, compat), "", horizontal.size, horizontal.size, detail)


def response_latency(
    signal: Signal,
    times: Signal,
    *,
    onset: float,
    duration: float,
    stable: np.ndarray,
    speed: Signal | None = None,
    fps: float = COMPAT_FPS,
    thresholds: Thresholds = PUBLISHED,
    compat: bool = False,
) -> Measure:
    """M3: ``1 - latency / duration``, in [0, 1], of one switch of command.

    The latency is the time from the switch until the smoothed signal reaches half its usual speed (P75 over the video).
    Smoothing is a centred average of half a second: at 16 samples a second an immediate start from rest reads 0 s, an
    immediate reversal 0.19 s.

    Args:
        signal, times: (N,) of the whole video: the new command's channel, positive as commanded, and seconds.
        onset: When the command changed, seconds.
        duration: Of the new segment, seconds.
        stable: (N,) bool: the samples of the new segment away from its ends.
        speed: (N,) all motion, as in :func:`direction_accuracy`; here only its finiteness counts.
        fps: Samples a second, for the smoothing.
        thresholds: The scoring constants.
        compat: As published: too few stable samples count as no response.

    Returns:
        The score; in ``detail`` the latency, the steady speed over the usual, and a note where the response was none
        (``no_response``), too weak (``weak_response``) or never reached half (``below_half_normal``).

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols import worldmark
        >>> times = np.arange(640) / 16
        >>> signal = np.where(times < 22, -1.0, 1.0)
        >>> found = worldmark.response_latency(signal, times, onset=20.0, duration=20.0, stable=times >= 23)
        >>> found.detail["latency_s"], found.value
        (2.1875, 0.890625)
    """
    signal, times = signals("response_latency", signal=signal, times=times)
    if np.shape(stable) != signal.shape or not duration >= 0:
        got = f"{np.shape(stable)} and {duration}"
        raise bad_value(
            "response_latency", "stable and duration", f"have shape {signal.shape} and not be negative", got
        )
    segment = (times >= onset) & (times <= onset + duration)
    n = int(np.count_nonzero(segment))
    width = samples(thresholds.response_smoothing_s, COMPAT_FPS if compat else fps)
    if not compat:
        reason = not_finite(signal if speed is None else speed)
        if reason or n < width or np.count_nonzero(stable) < FEWEST_SAMPLES:
            return without(reason or TOO_SHORT, n)
    usual = float(np.percentile(np.abs(signal), thresholds.normal_speed_percentile)) + RATIO_EPSILON
    steady = float(np.median(signal[stable])) if np.count_nonzero(stable) >= FEWEST_SAMPLES else 0.0
    latency, score, note = duration, 0.0, ""
    if steady <= thresholds.response_gate * usual:
        note = "weak_response" if steady > 0 else "no_response"
    elif signal.size < width or not duration > 0:
        return without(TOO_SHORT, n)  # the published evaluator stops here with an error
    else:
        smooth = _box(signal, width)
        reached = np.flatnonzero(segment & (smooth >= thresholds.response_factor * usual))
        if reached.size:
            latency = float(times[reached[0]]) - onset
        else:
            note = "below_half_normal"
        score = 1 - min(latency, duration) / duration
    detail: dict[str, object] = {
        "onset_s": rounded(onset, 1, compat),
        "latency_s": rounded(latency, 2, compat),
        "steady_ratio": rounded(steady / usual, 3, compat),
    }
    if note:
        detail["note"] = note
    return Measure(rounded(score, 3, compat), "", n, n, detail)


def motion_stability(
    signal: Signal,
    *,
    speed: Signal | None = None,
    fps: float = COMPAT_FPS,
    thresholds: Thresholds = PUBLISHED,
    compat: bool = False,
) -> Measure:
    """M4: ``sustain * exp(-stalls per second / 0.5) * min(1, decay / 0.7)``, in [0, 1].

    Args:
        signal: (N,) flow of the commanded channel in the window, positive as commanded.
        speed: As in :func:`direction_accuracy`.
        fps: Samples a second, for filters and rates.
        thresholds: The scoring constants.
        compat: As published.

    Returns:
        The score; in ``detail`` the share of time at speed (``sustain``), the number of stalls, and the last three
        seconds' speed over the first three's (``decay``).

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols import worldmark
        >>> signal = np.ones(320)
        >>> signal[100:120] = 0.0
        >>> found = worldmark.motion_stability(signal)
        >>> found.detail["stalls"], round(found.value, 3)
        (1, 0.851)
    """
    (signal,) = signals("motion_stability", signal=signal)
    reason = unusable(signal, speed, compat)
    if reason:
        return without(reason, signal.size)
    t, rate = thresholds, COMPAT_FPS if compat else fps
    if not compat and signal.size < samples(t.stability_smoothing_s, rate):
        return without(TOO_SHORT, signal.size)
    normal = float(np.percentile(signal, t.steady_speed_percentile))
    if normal <= NO_MOTION:
        return Measure(0.0, "", signal.size, signal.size, {"sustain": 0.0})
    smooth = _box(signal, samples(t.stability_smoothing_s, rate))
    sustain = float((smooth >= t.sustain_factor * normal).mean())
    stalls = _stalls(smooth, t.sustain_factor * normal, t.stall_exit_factor * normal, samples(t.stall_s, rate))
    per_second = stalls / (signal.size / rate)
    window = samples(t.decay_window_s, rate)
    ratio = smooth[-window:].mean() / (smooth[:window].mean() + RATIO_EPSILON)
    decay = float(np.clip(ratio, 0, t.decay_cap))
    score = sustain * math.exp(-per_second / t.stall_rate_scale) * min(1.0, decay / t.decay_target)
    detail = {"sustain": rounded(sustain, 3, compat), "stalls": stalls, "decay": rounded(decay, 3, compat)}
    return Measure(rounded(score, 3, compat), "", signal.size, signal.size, detail)


def unusable(signal: Signal, speed: Signal | None, compat: bool) -> str:
    """Why a window cannot be scored, or nothing."""
    if signal.size < FEWEST_SAMPLES:
        return TOO_SHORT
    if compat:
        return ""
    moving = np.abs(signal) if speed is None else speed
    return not_finite(moving) or (NO_MOTION_SEEN if moving.mean() <= NO_MOTION else "")


def _box(signal: Signal, width: int) -> Signal:
    """A moving average, zero beyond both ends."""
    return np.convolve(signal, np.ones(width) / width, mode="same")


def _stalls(smooth: Signal, enter: float, leave: float, fewest: int) -> int:
    """Runs that begin below ``enter`` and end above ``leave``, that sample included; one open at the end counts."""
    stalls, length = 0, 0
    for value in smooth.tolist():
        if length == 0:
            length = int(value < enter)
            continue
        length += 1
        if value > leave:
            stalls += length >= fewest
            length = 0
    return stalls + (length >= fewest)
