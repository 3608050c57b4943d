# SPDX-License-Identifier: Apache-2.0
"""Local memory (C1): sudden changes of appearance between frames that are equal motion apart, and hard cuts.

The sampling step is the flow of half a second. The published evaluator takes its median over all videos of a set, so a
rollout's score depends on which others are scored with it; the default takes the rollout's own.

Source: WorldMark (arXiv 2604.21686), section 3.4; consistency_v2.py and final_master.py of its evaluator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .constants import (
    COMPAT_FPS,
    LOCAL_FEWEST_FRAMES,
    LOCAL_SMALLEST_STEP,
    LOCAL_STEP_S,
    PUBLISHED,
    SCENE_THRESHOLD,
    SPIKE_DEVIATIONS,
    Thresholds,
)
from .features import cosine_distances, rows_of
from .measure import Measure, Signal, missing, not_finite, samples, signals, without

FROZEN = "frozen"
NEAR_CUT = "near_cut"


@dataclass(frozen=True)
class Cuts:
    """First frames after hard cuts. ``hard_cut`` is ``None`` where no detector ran."""

    frames: tuple[int, ...]
    n_scenes: int
    hard_cut: bool | None


def cuts_from_logits(logits: npt.ArrayLike) -> Cuts:
    """The scenes of a shot-boundary network's logits, one a frame.

    Frames above the threshold are transitions: a scene ends where one begins, and the next begins behind it. One on
    the first or the last frame ends no scene. Without any frame nothing is known.
    """
    values = np.asarray(logits, dtype=np.float32).ravel()
    if not values.size:
        return Cuts((), 0, None)
    with np.errstate(over="ignore"):
        transition = 1 / (1 + np.exp(-values)) > SCENE_THRESHOLD
    behind = np.flatnonzero(transition[:-1] & ~transition[1:]) + 1
    starts = behind[1:] if transition[0] else behind
    frames = tuple(int(frame) for frame in starts)
    return Cuts(frames, len(frames) + 1, bool(frames))


def own_step(horizontal: Signal, radial: Signal, fps: float = COMPAT_FPS) -> float:
    """The flow of half a second, in pixels, from a rollout's mean."""
    return _flow_of(horizontal, radial, 1 / fps)


def local_delta(flows: Iterable[tuple[Signal, Signal, Signal]]) -> float:
    """The published sampling step: the median over a set of rollouts of (horizontal, radial, times), frozen ones too.

    NaN where the set is empty.
    """
    steps = [_flow_of(h, r, float(np.median(np.diff(t)))) for h, r, t in flows if len(t) > 1]
    return float(np.median(steps)) if steps else float("nan")


def _flow_of(horizontal: Signal, radial: Signal, interval: float) -> float:
    return float(np.hypot(horizontal, radial).mean() * (LOCAL_STEP_S / interval))


def equal_motion_frames(horizontal: Signal, radial: Signal, step: float) -> list[int]:
    """The samples at which the path of the flow passes multiples of ``step``: at most one multiple a sample."""
    frames, target = [], step
    for i, travelled in enumerate(np.cumsum(np.hypot(horizontal, radial)).tolist()):
        if travelled >= target:
            frames.append(i)
            target += step
    return frames


def mutation_rate(
    distances: npt.ArrayLike,
    frames: Sequence[int] | None,
    cut_frames: Sequence[int] = (),
    *,
    fps: float = COMPAT_FPS,
    thresholds: Thresholds = PUBLISHED,
    compat: bool = False,
) -> tuple[float, int]:
    """The share of distances above 0.10 among pairs away from hard cuts, and how many pairs those are.

    Args:
        distances: (M,) of consecutive sampled frames.
        frames: (M + 1,) the sampled frames; ``None`` where they are not known: then no pair counts as near a cut.
        cut_frames: First frames after hard cuts: pairs with a frame half a second or less from one are left out.
        fps: Frames a second, for that half second.
        thresholds: The scoring constants: 0.10 and half a second.
        compat: As the published report, which rounds to four decimals first and takes NaN for no mutation; else pairs
            without a distance are left out.

    Returns:
        The rate, NaN without pairs; the number of pairs.

    Example:
        >>> from wmb_fast.protocols import worldmark
        >>> worldmark.mutation_rate([0.2, 0.2, 0.05, 0.2], [10, 20, 30, 40, 50], [28])
        (1.0, 1)
    """
    values = np.asarray(distances, dtype=np.float64)
    guard = samples(thresholds.cut_guard_s, COMPAT_FPS if compat else fps)
    keep = np.ones(values.shape, dtype=bool) if compat else np.isfinite(values)
    if frames is not None and len(cut_frames) and values.size:
        gap = np.abs(np.asarray(frames)[:, None] - np.asarray(cut_frames)[None, :])
        near = (gap <= guard).any(axis=1)
        keep &= ~(near[:-1] | near[1:])[: values.size]
    if compat:
        values = np.array([round(value, 4) for value in values.tolist()])
    kept = values[keep]
    return (float((kept > thresholds.mutation_distance).mean()) if kept.size else float("nan")), int(kept.size)


def local_memory(
    horizontal: Signal,
    radial: Signal,
    feature_frames: np.ndarray,
    features: np.ndarray,
    cuts: Cuts,
    *,
    n_frames: int,
    step: float | None = None,
    fps: float = COMPAT_FPS,
    compat: bool = False,
) -> Measure:
    """C1 of one rollout: ``100 * (1 - hard cut) * (1 - mutation rate)``.

    Args:
        horizontal, radial: (N,) flow channels.
        feature_frames: (K,) int64 sorted: the frames that ``features`` are of; the sampled ones must be among them.
        features: (K, D) float32 of unit length.
        cuts: Hard cuts.
        n_frames: Of the video: sampled frames beyond it count as its last.
        step: The sampling step in pixels of flow; ``None`` for the rollout's own.
        fps: Frames a second.
        compat: As published: NaN flow ends the walk, no detector counts as no cut.

    Returns:
        The score; in ``detail`` the step, the frames, the distances, the rates and the cuts. No value: fewer than five
        frames (``frozen``), all pairs near cuts (``near_cut``).

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols import worldmark
        >>> same = np.tile(np.float32([1, 0]), (100, 1))
        >>> cuts = worldmark.Cuts((), 1, False)
        >>> found = worldmark.local_memory(np.ones(98), np.zeros(98), np.arange(100), same, cuts, n_frames=100)
        >>> found.value, found.n_used, found.detail["step_px"]
        (100.0, 11, 8.0)
    """
    horizontal, radial = signals("local_memory", horizontal=horizontal, radial=radial)
    reason = "" if compat else not_finite(np.hypot(horizontal, radial))
    if reason:
        return without(reason, len(horizontal))
    if step is None:
        step = own_step(horizontal, radial, COMPAT_FPS if compat else fps) if len(horizontal) else 0.0
    frames = local_frames(horizontal, radial, step, compat=compat)
    n_pairs = max(len(frames) - 1, 0)
    detail: dict[str, Any] = {"step_px": step, "n_pairs": n_pairs} | _of_cuts(cuts)
    if len(frames) < LOCAL_FEWEST_FRAMES:
        return without(FROZEN, n_pairs, detail)
    if cuts.hard_cut is None and not compat:
        return missing("cuts: no detector ran", n_pairs, detail)
    rows = rows_of(feature_frames, np.array(frames), n_frames - 1)
    if (rows < 0).any():
        return missing(f"features: {int((rows < 0).sum())} of {len(frames)} sampled frames have none", n_pairs, detail)
    distances = cosine_distances(features[rows[1:]], features[rows[:-1]])
    rate, n_used = mutation_rate(distances, frames, cuts.frames, fps=fps, compat=compat)
    detail |= _of_distances(distances, frames, compat)
    if not n_used:
        reason = NEAR_CUT if np.isfinite(distances).any() else "not_finite: no distance is finite"
        return without(reason, n_pairs, detail)
    detail["mutation_rate"] = rate
    return Measure(100.0 * (1 - bool(cuts.hard_cut)) * (1 - rate), "", n_used, n_pairs, detail)


def local_frames(horizontal: Signal, radial: Signal, step: float, *, compat: bool = False) -> list[int]:
    """The frames that Local samples. The default's step is at least a pixel; ``compat`` takes any."""
    return equal_motion_frames(horizontal, radial, step if compat else max(step, LOCAL_SMALLEST_STEP))


def _of_cuts(cuts: Cuts) -> dict[str, Any]:
    return {"hard_cut": cuts.hard_cut, "n_scenes": cuts.n_scenes, "cut_frames": list(cuts.frames)}


def _of_distances(distances: Signal, frames: list[int], compat: bool) -> dict[str, Any]:
    """What the evaluator stores of a video: its rate is of unrounded distances, and of those near cuts too."""
    mutations = distances > PUBLISHED.mutation_distance
    stored = [round(d, 4) for d in distances.tolist()] if compat else distances.tolist()
    return {
        "frames": frames,
        "distances": stored,
        "mean_distance": float(distances.mean()),
        "spikes": int((distances > distances.mean() + SPIKE_DEVIATIONS * distances.std()).sum()),
        "mutations": int(mutations.sum()),
        "mutation_rate_near_cuts_too": float(mutations.mean()),
    }
