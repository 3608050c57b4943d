# SPDX-License-Identifier: Apache-2.0
"""The four action metrics of a whole rollout: every segment, and every switch of command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..._walls.errors import bad_value
from .action import (
    NO_DEPTH,
    TOO_SHORT,
    direction_accuracy,
    direction_purity,
    motion_stability,
    response_latency,
    unusable,
)
from .constants import PUBLISHED, Thresholds
from .measure import Measure, Signal, missing, rounded, signals, without
from .parallax import Samples, Split, split_segments
from .segments import KEYS, Key, Timeline, check_keys


@dataclass(frozen=True)
class ActionMetrics:
    """The four metrics of one rollout: by segment, and latency by the segment a switch leads to.

    A segment of an action that WorldMark has no key for is in none of them.
    """

    direction_accuracy: dict[int, Measure]
    direction_purity: dict[int, Measure]
    response_latency: dict[int, Measure]
    motion_stability: dict[int, Measure]
    splits: Mapping[int, Split]


def action_metrics(
    horizontal: Signal,
    radial: Signal,
    keys: Sequence[str | None],
    timeline: Timeline,
    *,
    parallax: Mapping[int, Samples] | None = None,
    compat: bool = False,
) -> ActionMetrics:
    """All action metrics of a rollout.

    Args:
        horizontal, radial: (N,) flow channels, as :func:`wmb_fast.flow_channels` gives them.
        keys: One a segment, out of W, S, A, D, L, R; ``None`` for an action WorldMark does not have.
        timeline: Times and bounds: :meth:`Timeline.of_frames`, or :meth:`Timeline.published` for ``compat``.
        parallax: Inverse depths and flow of lateral and turning segments, by segment; ``None`` without depth.
        compat: As published.

    Raises:
        ArgumentError: Arrays of unequal length, bounds that do not fit the keys, an unknown key.

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols import worldmark
        >>> radial = np.where(np.arange(638) < 319, 2.0, -2.0)
        >>> timeline = worldmark.Timeline.of_frames(638, 16.0, (0, 320, 640))
        >>> found = worldmark.action_metrics(np.zeros(638), radial, ["W", "S"], timeline)
        >>> round(found.direction_accuracy[1].value, 6), found.response_latency[1].detail["latency_s"]
        (1.0, 0.1875)
    """
    horizontal, radial, _ = signals("action_metrics", horizontal=horizontal, radial=radial, times=timeline.times)
    check_keys("action_metrics", keys)
    if len(timeline.bounds) != len(keys) + 1:
        raise bad_value("action_metrics", "timeline", f"bound {len(keys)} segments", len(timeline.bounds) - 1)
    speed = np.hypot(horizontal, radial)
    splits = split_segments(keys, parallax or {}, compat=compat)
    metrics = ActionMetrics({}, {}, {}, {}, splits)
    for j, name in enumerate(keys):
        if name is None:
            continue
        key = KEYS[name]
        signal, window = key.signed(horizontal, radial), timeline.stable(j)
        split = splits.get(j)
        share = None if split is None or split.reason else split.p_translation
        metrics.direction_accuracy[j] = _accuracy(key, signal[window], speed[window], share, split, compat)
        metrics.direction_purity[j] = direction_purity(
            horizontal[window], radial[window], key.family, p_translation=share, compat=compat
        )
        metrics.motion_stability[j] = motion_stability(
            signal[window], speed=speed[window], fps=timeline.fps, compat=compat
        )
        if j > 0:
            metrics.response_latency[j] = switch_latency(signal, speed, timeline, j, compat=compat)
    return metrics


def _accuracy(
    key: Key, signal: Signal, speed: Signal, share: float | None, split: Split | None, compat: bool
) -> Measure:
    if key.family != "fwd" and share is None and not compat:
        reason = unusable(signal, speed, compat)
        return without(reason, signal.size) if reason else missing(no_depth(split), signal.size)
    weight = 1.0
    if share is not None:
        weight = share if key.family == "lat" else rounded(1 - share, 3, compat)
    measure = direction_accuracy(signal, weight=weight, speed=speed, compat=compat)
    if split is not None and split.reason:
        return replace(measure, detail={**measure.detail, "parallax": split.reason})
    return measure


def no_depth(split: Split | None) -> str:
    """The reason that sideways motion is not told from turning."""
    return f"{NO_DEPTH}, {split.reason}" if split is not None and split.reason else NO_DEPTH


def switch_latency(
    signal: Signal,
    speed: Signal,
    timeline: Timeline,
    j: int,
    *,
    thresholds: Thresholds = PUBLISHED,
    compat: bool = False,
) -> Measure:
    """The latency of the switch to segment j: of its key's signal (N,) over the whole rollout, and all motion (N,)."""
    if not timeline.times.size:
        return without(TOO_SHORT)
    onset, duration = timeline.switch(j, compat=compat)
    return response_latency(
        signal,
        timeline.times,
        onset=onset,
        duration=duration,
        stable=timeline.stable(j),
        speed=speed,
        fps=timeline.fps,
        thresholds=thresholds,
        compat=compat,
    )
