# SPDX-License-Identifier: Apache-2.0
"""Which part of sideways flow is translation and which rotation: WorldMark's equation 1.

Needs depth, and the flow of every pixel, at the frames that :func:`parallax_frames` names: the channels ``depth`` (or
``geometry``) and ``flow_fields``, of which :func:`parallax_samples` makes pairs of inverse depth and horizontal flow.
Or these pairs themselves: the channel ``parallax`` holds, for every segment that has samples, ``inverse_depth_<j>`` and
``flow_<j>``, as the published evaluator caches them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...ops.flow import parallax_split
from .constants import (
    COMPAT_FPS,
    PARALLAX_CLIP_PERCENTILES,
    PARALLAX_EVERY,
    PARALLAX_FEWEST_FRAMES,
    PARALLAX_NEAREST,
    PARALLAX_SPAN,
    PARALLAX_STRIDE_S,
    SPLIT_EPSILON,
)
from .measure import Signal, rounded, samples
from .segments import KEYS

Samples = tuple[Signal, Signal]  # inverse depth, horizontal flow


@dataclass(frozen=True)
class Split:
    """One segment's split. ``reason`` is empty, or says why the samples gave none."""

    translation: float
    rotation: float
    slope: float
    intercept: float
    p_translation: float
    p_rotation: float
    reason: str = ""


def parallax_frames(
    n_frames: int, keys: Sequence[str | None], *, first_frames: Sequence[int] | None = None, fps: float = COMPAT_FPS
) -> dict[int, list[int]]:
    """The frames at which each lateral or turning segment wants depth, by segment.

    Args:
        n_frames: Of the video.
        keys: One a segment.
        first_frames: Of each segment, and the end of the last; ``None`` for equal shares, as published.
        fps: Frames a second.

    Returns:
        Segment to frames; a frame may stand in the list more than once where the segment is very short.

    Example:
        >>> from wmb_fast.protocols import worldmark
        >>> worldmark.parallax_frames(66, ["W", "R"])
        {1: [41, 51, 62]}
    """
    frames: dict[int, list[int]] = {}
    for j, key in enumerate(keys):
        if key is None or KEYS[key].family == "fwd":
            continue
        if first_frames is None:
            start, stop = (int((j + part) * n_frames / len(keys)) for part in PARALLAX_SPAN)
        else:
            first, length = first_frames[j], first_frames[j + 1] - first_frames[j]
            start, stop = (int(first + part * length) for part in PARALLAX_SPAN)
        stop = min(stop, n_frames - 3)
        chosen = list(range(start, stop, samples(PARALLAX_STRIDE_S, fps)))
        if len(chosen) < PARALLAX_FEWEST_FRAMES:
            chosen = [int(frame) for frame in np.linspace(start, stop, PARALLAX_FEWEST_FRAMES)]
        frames[j] = chosen
    return frames


def parallax_samples(flows: Sequence[np.ndarray], depths: Sequence[np.ndarray], *, compat: bool = False) -> Samples:
    """Pairs of inverse depth and horizontal flow from the sampled frames of one segment.

    Args:
        flows: Horizontal flow of each frame, (H, W), in pixels.
        depths: Depth of each frame, (h, w), any size and unit. 0, negative and not finite is none.
        compat: As published: missing depth counts as 0.001, and one NaN empties its frame.

    Returns:
        Inverse depth and flow, (M,) each.
    """
    kept: list[Samples] = []
    for flow, depth in zip(flows, depths, strict=True):
        inverse = 1.0 / np.maximum(depth, PARALLAX_NEAREST)
        inverse = inverse.ravel()[::PARALLAX_EVERY]
        along = _resized(flow, depth.shape).ravel()[::PARALLAX_EVERY]
        if not compat:
            kept_depth = depth.ravel()[::PARALLAX_EVERY]
            there = np.isfinite(kept_depth) & (kept_depth > 0) & np.isfinite(along)
            inverse, along = inverse[there], along[there]
            if not there.any():
                continue
        low, high = np.percentile(inverse, PARALLAX_CLIP_PERCENTILES)
        inside = (inverse >= low) & (inverse <= high)
        kept.append((inverse[inside], along[inside]))
    if not kept:
        return np.empty(0), np.empty(0)
    return np.concatenate([a for a, _ in kept]), np.concatenate([b for _, b in kept])


def _resized(image: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Bilinear between pixel centres, edges held, no antialiasing; values unchanged in scale."""
    if image.shape == shape:
        return image
    weights = []
    for old, new in zip(image.shape, shape, strict=True):
        at = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
        below = np.minimum(at.astype(int), max(old - 2, 0))
        weights.append((below, np.minimum(below + 1, old - 1), at - below))
    (top, bottom, down), (left, right, along) = weights
    rows = image[top] * (1 - down)[:, None] + image[bottom] * down[:, None]
    resized: np.ndarray = rows[:, left] * (1 - along) + rows[:, right] * along
    return resized


def split_segment(points: Samples, *, compat: bool = False) -> Split:
    """How much of a segment's sideways flow is translation and how much rotation.

    Args:
        points: Inverse depths and horizontal flow, (M,) each.
        compat: Round as published.
    """
    inverse_depth, flow = (np.asarray(array, dtype=np.float64) for array in points)
    fit = parallax_split(flow, inverse_depth)
    if fit.status:
        nan = float("nan")
        return Split(nan, nan, nan, nan, nan, nan, f"parallax: {fit.reason()}")
    translation, rotation = float(fit.translation), float(fit.rotation)
    share = rounded(translation / (translation + rotation + SPLIT_EPSILON), 3, compat)
    return Split(
        rounded(translation, 3, compat),
        rounded(rotation, 3, compat),
        rounded(fit.slope, 3, compat),
        rounded(fit.intercept, 3, compat),
        share,
        rounded(1 - share, 3, compat),
    )


def split_segments(
    keys: Sequence[str | None], parallax: Mapping[int, Samples], *, compat: bool = False
) -> dict[int, Split]:
    """The split of every lateral or turning segment that has samples."""
    wanted = [j for j, key in enumerate(keys) if key is not None and KEYS[key].family != "fwd" and j in parallax]
    return {j: split_segment(parallax[j], compat=compat) for j in wanted}
