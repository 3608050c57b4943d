# SPDX-License-Identifier: Apache-2.0
"""The pairs that a rollout is judged by: revisits, gap-matched baselines that revisit nothing, short-range references.

Every draw comes from Python's own ``random.Random``, in the published order, so that the same seed gives the same
frames.

Source: R2M-Bench (arXiv 2608.27328), section 3; pair_sampling.py and sample_pairs.py of AMAP-ML/R2MBench at 88e0cd91.
Some of its limits were inferred from its results; see :func:`short_pairs`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .revisit import Revisits, detect_revisits
from .trajectory import Ints, Trajectory, wrapped

SEED = 42
MOST_PAIRS = 100
LEAST_GAP_SHARE = 0.2  # a revisit is at least this share of the frames away
FEWEST_BASELINES = 20
FEWEST_SHORT = 20
SHORTEST_GAP = 2
NO_REVISIT = "no valid revisit pairs"

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Pairs (P, 2) int64 (earlier, later), and how the drawing went, by the published names."""

    pairs: Ints
    stats: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of one rollout.

    Attributes:
        revisit, baseline, short: (P, 2) int64 frames (earlier, later), in the order drawn.
        meta: How they were found, by the published names; ``error`` where there is no revisit.
        revisits: All revisits that were found.
        reason: Empty, or why there is no pair.
    """

    revisit: Ints
    baseline: Ints
    short: Ints
    meta: Mapping[str, Any]
    revisits: Revisits
    reason: str = ""

    def kinds(self) -> dict[str, Ints]:
        """The three kinds by name."""
        return {"revisit": self.revisit, "baseline": self.baseline, "short": self.short}

    def unique(self) -> tuple[Pair, ...]:
        """Every pair once, sorted."""
        return tuple(sorted({(int(u), int(v)) for pairs in self.kinds().values() for u, v in pairs}))


def sample_pairs(
    trajectory: Trajectory,
    n_video: int,
    *,
    most: int = MOST_PAIRS,
    seed: int = SEED,
    least_gap_share: float = LEAST_GAP_SHARE,
    degrees: float | None = None,
    metres: float | None = None,
    compat: bool = False,
) -> Pairs:
    """Finds the revisits of a trajectory, and draws the pairs that a video of it is judged by.

    Only frames that both the video and the trajectory (without its static tail) have are used: as published as many as
    there are poses, by default up to the last frame that has one, which differs where frames lack theirs. A revisit
    must be ``int(least_gap_share * frames)`` frames away; of more than ``most`` a sample is drawn.

    Args:
        trajectory: What was commanded.
        n_video: Frames of the video.
        most: The most revisits; short pairs are as many as these, 20 at least and 100 at most.
        seed: Of each of the three draws, which each begin anew.
        least_gap_share: See above.
        degrees, metres: Fixed tolerances, see :func:`.revisit.detect_revisits`.
        compat: The published detector, its bugs included.

    Returns:
        The pairs; without a revisit there is none of any kind, and a reason.

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols.r2m import trajectory_of
        >>> poses = np.tile(np.eye(4), (41, 1, 1))
        >>> poses[:, 2, 3] = 0.05 * np.minimum(np.arange(41), 40 - np.arange(41))  # out and back
        >>> drawn = sample_pairs(trajectory_of(poses), 41)
        >>> len(drawn.revisit), len(drawn.baseline), len(drawn.short), drawn.short[0].tolist()
        (17, 4, 20, [0, 2])
    """
    found = detect_revisits(trajectory, degrees=degrees, metres=metres, compat=compat)
    reached = found.n_poses if compat or not found.n_poses else int(trajectory.frames[found.n_poses - 1]) + 1
    n = min(n_video, reached)
    gaps = found.pairs[:, 1] - found.pairs[:, 0]
    kept = found.pairs[(found.pairs[:, 1] < n) & (gaps >= int(least_gap_share * n))]
    none = np.empty((0, 2), dtype=np.int64)
    if not len(kept):
        reason = found.reason or (
            f"no_revisit: none of {len(found.pairs)} revisits lies within the {n} frames of video and poses "
            f"and is {int(least_gap_share * n)} frames away"
        )
        return Pairs(none, none, none, {"error": NO_REVISIT}, found, reason)
    chosen = kept
    if len(kept) > most:
        chosen = kept[random.Random(seed).sample(range(len(kept)), most)]
    radius = max(10, n // 20)
    baseline = baseline_pairs(chosen, n, trajectory, seed=seed, exclusion_radius=radius)
    count = min(MOST_PAIRS, max(FEWEST_SHORT, len(chosen)))
    short = short_pairs(n, count, trajectory, seed=seed)
    meta = {
        "n_pose": found.n_poses,
        "n_video": n_video,
        "effective_frames": n,
        "seed": seed,
        "max_eval_pairs": most,
        "min_gap_ratio": least_gap_share,
        "revisit_threshold_mode": found.tolerances.mode,
        "revisit_sampling_version": "adaptive-p95-v1",
        "angle_tolerance_deg": found.tolerances.degrees,
        "translation_tolerance_m": found.tolerances.metres,
        "exclusion_radius": radius,
        "baseline_stats": baseline.stats,
        "short_stats": short.stats,
    }
    return Pairs(chosen, baseline.pairs, short.pairs, meta, found)


def bin_of(frame: int, n_frames: int, n_bins: int) -> int:
    """Which of ``n_bins`` equal bins of ``ceil(n_frames / n_bins)`` frames a frame is in.

    Example:
        >>> bin_of(480, 481, 10)
        9
    """
    n_bins = max(1, n_bins)
    return min(frame // max(1, math.ceil(n_frames / n_bins)), n_bins - 1)


def binned(frames: Sequence[int], n_frames: int, n_bins: int) -> list[list[int]]:
    """Frames by bin, see :func:`bin_of`."""
    bins: list[list[int]] = [[] for _ in range(max(1, n_bins))]
    for frame in frames:
        bins[bin_of(frame, n_frames, n_bins)].append(frame)
    return bins


class _Returns:
    """Whether a pair of frames comes within ``radius`` frames of a revisit at both ends."""

    def __init__(self, pairs: Sequence[Pair], n: int, radius: int) -> None:
        self._pairs, self._n, self._radius = pairs, n, radius
        self._rows: dict[int, bytearray] = {}

    def near(self, u: int, v: int) -> bool:
        row = self._rows.get(u)
        if row is None:
            row = self._rows[u] = bytearray(self._n)
            for i, j in self._pairs:
                if abs(u - i) <= self._radius:
                    lo, hi = max(0, j - self._radius), min(self._n, j + self._radius + 1)
                    row[lo:hi] = b"\1" * (hi - lo)
        return bool(row[v])


@dataclass
class _Draws:
    """The state of one drawing of baselines."""

    n: int
    rng: random.Random
    there: Collection[int]
    taken: Collection[int]
    returns: _Returns
    bins: list[list[int]]
    tries: int
    again: bool
    used: set[Pair]
    no_candidate: int = 0
    failed: int = 0

    def starts(self, frame: int, lowest: int, highest: int) -> list[int]:
        """Where a pair like one that starts at ``frame`` may start: in its bin, or in as many around as it takes."""
        n_bins = len(self.bins)
        at = bin_of(frame, self.n, n_bins)
        near: list[int] = []
        for radius in range(n_bins):
            near = [f for b in self.bins[max(0, at - radius) : at + radius + 1] for f in b]
            if len(near) >= 2:
                break
        return [f for f in near if f + highest < self.n] or [f for f in near if f + lowest < self.n]

    def one(self, starts: Sequence[int], lowest: int, highest: int) -> tuple[Pair, int] | None:
        """One draw: a pair and its gap, if it is one that revisits nothing and is new."""
        u = self.rng.choice(starts)
        gap = self.rng.randint(lowest, highest)
        v = u + gap
        if v >= self.n or v not in self.there or u in self.taken or v in self.taken or self.returns.near(u, v):
            return None
        return None if (u, v) in self.used and not self.again else ((u, v), gap)

    def matched(self, i: int, j: int) -> tuple[Pair, int] | None:
        """The best of some draws for one revisit, and by how many frames its gap is off."""
        wanted = j - i
        off = max(10, round(0.3 * wanted))
        lowest, highest = max(1, wanted - off), min(self.n - 1, wanted + off)
        starts = self.starts(i, lowest, highest)
        if not starts:
            self.no_candidate += 1
            return None
        best: tuple[Pair, int] | None = None
        for _ in range(self.tries):
            drawn = self.one(starts, lowest, highest)
            if drawn is not None and (best is None or abs(drawn[1] - wanted) < best[1]):
                best = drawn[0], abs(drawn[1] - wanted)
                if best[1] == 0:
                    break
        self.failed += best is None
        return best


def baseline_pairs(
    revisits: npt.ArrayLike,
    n_frames: int,
    trajectory: Trajectory,
    *,
    seed: int = SEED,
    exclusion_radius: int = 10,
    n_bins: int = 10,
    tries: int = 500,
    allow_duplicate: bool = False,
    relaxed_tolerance: int = 3,
) -> Drawn:
    """Pairs that are as far apart as the revisits, and revisit nothing.

    For each revisit, of at most ``tries`` draws that start in its bin of time, the one whose gap is nearest, within
    30 percent (at least ten frames). Fewer than twenty in all, and revisit after revisit gives as many as are drawn,
    within 50 percent (at least ``relaxed_tolerance`` frames), until there are twenty: usually the first gives them all.

    Args:
        revisits: (P, 2) frames.
        n_frames: Frames that may be used: 0 to n_frames - 1.
        trajectory: Frames without a pose are not used.
        seed: Of the draws.
        exclusion_radius: A pair this near to a revisit at both ends is refused.
        n_bins: Of time.
        tries: Draws for one revisit.
        allow_duplicate: Whether a pair may be drawn twice.
        relaxed_tolerance: See above.
    """
    given = [(int(a), int(b)) for a, b in np.asarray(revisits, dtype=np.int64).reshape(-1, 2)]
    if not given:
        return _none({"num_revisit": 0}, "empty_input")
    there = set(trajectory.frames.tolist())
    valid = [
        (min(a, b), max(a, b))
        for a, b in given
        if a != b and min(a, b) >= 0 and max(a, b) < n_frames and a in there and b in there
    ]
    counts = {"num_revisit": len(given), "num_valid_revisit": len(valid)}
    if not valid:
        return _none(counts, "no_valid_revisit")
    taken = {frame for pair in valid for frame in pair}
    free = [frame for frame in sorted(there) if 0 <= frame < n_frames and frame not in taken]
    if len(free) < 2:
        return _none(counts, "too_few_available_frames")
    returns = _Returns(valid, n_frames, exclusion_radius)
    bins = binned(free, n_frames, n_bins)
    draws = _Draws(n_frames, random.Random(seed), there, taken, returns, bins, tries, allow_duplicate, set())
    pairs: list[Pair] = []
    errors: list[int] = []
    for i, j in valid:
        best = draws.matched(i, j)
        if best is not None:
            pairs.append(best[0])
            errors.append(best[1])
            draws.used.add(best[0])
    n_matched = len(pairs)
    _relaxed(draws, valid, relaxed_tolerance, pairs, errors)
    stats = {
        **counts,
        "num_baseline": len(pairs),
        "num_fallback_baseline": len(pairs) - n_matched,
        "matched_rate": len(pairs) / len(valid),
        "exclusion_radius": exclusion_radius,
        "num_temporal_bins": n_bins,
        "max_attempts_per_pair": tries,
        "num_no_candidate": draws.no_candidate,
        "num_attempt_failed": draws.failed,
        **_difference_stats(trajectory, pairs, errors),
    }
    return Drawn(_array(pairs), stats)


def _relaxed(draws: _Draws, valid: Sequence[Pair], tolerance: int, pairs: list[Pair], errors: list[int]) -> None:
    """Adds pairs until there are twenty, every one that is drawn."""
    for i, j in valid:
        if len(pairs) >= FEWEST_BASELINES:
            return
        wanted = j - i
        off = max(tolerance, round(0.5 * wanted))
        lowest, highest = max(1, wanted - off), min(draws.n - 1, wanted + off)
        starts = draws.starts(i, lowest, highest)
        if not starts:
            continue
        for _ in range(draws.tries):
            drawn = draws.one(starts, lowest, highest)
            if drawn is not None:
                pairs.append(drawn[0])
                errors.append(abs(drawn[1] - wanted))
                draws.used.add(drawn[0])
                if len(pairs) >= FEWEST_BASELINES:
                    return


def _difference_stats(trajectory: Trajectory, pairs: Sequence[Pair], errors: Sequence[int]) -> dict[str, float]:
    """How far the baselines' gaps are off, and how far apart their poses are: mean and median."""
    if not pairs:
        return {}
    rows = np.searchsorted(trajectory.frames, np.array(pairs))
    a, b = rows[:, 0], rows[:, 1]
    measures = {
        "gap_error": [float(error) for error in errors],
        "negative_translation": np.linalg.norm(trajectory.place[a] - trajectory.place[b], axis=1).tolist(),
        "negative_yaw": wrapped(trajectory.yaw_deg[a] - trajectory.yaw_deg[b]).tolist(),
    }
    stats = {}
    for name, values in measures.items():
        stats[f"mean_{name}"] = math.fsum(values) / len(values)
        stats[f"median_{name}"] = float(np.median(values))
    return stats


def _none(counts: Mapping[str, int], reason: str) -> Drawn:
    stats = {**counts, "num_baseline": 0, "matched_rate": 0.0, "reason": reason}
    return Drawn(np.empty((0, 2), dtype=np.int64), stats)


def _array(pairs: Sequence[Pair]) -> Ints:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def short_pairs(
    n_frames: int,
    count: int,
    trajectory: Trajectory,
    *,
    seed: int = SEED,
    shortest: int = SHORTEST_GAP,
    longest: int | None = None,
) -> Drawn:
    """Pairs a few frames apart, one from each of ``count`` starts spread over the rollout.

    Args:
        n_frames: Frames that may be used.
        count: How many are wanted.
        trajectory: Frames without a pose are not used. Where a draw ends on one, it is drawn again, eight times at
            most: the published limit is not known, four and more fit its results.
        seed: Of the draws.
        shortest, longest: The gap's range; by default up to 2 percent of the frames, and at least 6.
    """
    shortest = max(1, shortest)
    highest = max(shortest, max(6, int(0.02 * n_frames)) if longest is None else longest)
    there = set(trajectory.frames.tolist())
    starts = [f for f in sorted(there) if f >= 0 and f + shortest < n_frames]
    rng = random.Random(seed)
    pairs: list[Pair] = []
    k = min(count, len(starts))
    for at in np.linspace(0, len(starts) - 1, k) if k else ():
        u = starts[round(float(at))]
        for _ in range(8):
            v = u + rng.randint(shortest, min(highest, n_frames - 1 - u))
            if v in there:
                pairs.append((u, v))
                break
    stats = {
        "num_short": len(pairs),
        "target_count": count,
        "matched_rate": len(pairs) / count if count else 0.0,
        "min_gap": shortest,
        "max_gap": highest if n_frames > shortest else 0,
    }
    return Drawn(_array(pairs), stats)
