# SPDX-License-Identifier: Apache-2.0
"""Revisit memory (C2): whether a place looks the same after the camera went away and came back.

At every reversal of a round trip, frames of the way out are paired with frames of the way back that lie as far from the
turning point along the path of the optical flow. The published evaluator converts degrees to flow pixels with the width
of the video, though flow is always measured on a grid 640 wide; the default uses that grid.

Source: WorldMark (arXiv 2604.21686), section 3.4; consistency_v2.py of its evaluator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from .arcs import ArcPairs, Rules, arc_pairs
from .constants import (
    COMPAT_FPS,
    COVERAGE_GATE,
    DIRECTION_GATE,
    FIELD_OF_VIEW_DEG,
    FLOW_GRID,
    GAIN_GATE,
    PUBLISHED,
    RETURN_FACTOR,
)
from .features import cosine_distances, rows_of
from .measure import Measure, Signal, missing, not_finite, rounded, signals, without
from .segments import KEYS, check_keys, is_round_trip

NOT_A_ROUND_TRIP = "not_a_round_trip"
TOO_SHORT = "too_short"


@dataclass(frozen=True)
class Reversal:
    """One turning point.

    Attributes:
        segment: The segment that goes back.
        start, turn, stop: Samples: of the way out, of the way back, and their end.
        direction_out, direction_back: Signed over absolute flow of either side, in [-1, 1].
        return_start: The first sample that moves back; ``None`` where none does.
        gain: The slower side's speed over the faster's; ``None`` where there are no samples.
        rejected: Which gate it failed (``dir``, ``no_resp``, ``gain``, ``undershoot``), or a reason; empty if none.
        arcs: Its pairs, where it failed no gate.
    """

    segment: int
    start: int
    turn: int
    stop: int
    direction_out: float
    direction_back: float
    return_start: int | None
    gain: float | None
    rejected: str
    arcs: ArcPairs | None


def published_bounds(n_samples: int, n_segments: int) -> tuple[int, ...]:
    """The first sample of each segment at equal shares, and the end; halves round to even."""
    return tuple(round(b / n_segments * n_samples) for b in range(n_segments + 1))


def reversals(
    horizontal: Signal,
    radial: Signal,
    keys: Sequence[str],
    bounds: Sequence[int],
    *,
    fps: float = COMPAT_FPS,
    width: float = FLOW_GRID[0],
    compat: bool = False,
) -> list[Reversal]:
    """The turning points of a round trip, gated and paired.

    Args:
        horizontal, radial: (N,) flow channels.
        keys: A round trip: WS, AD, LR, WSW, …
        bounds: The first sample of each segment, and the end of the last.
        fps: Frames a second.
        width: What the field of view of 70 degrees spans, in pixels: the flow grid's width; under ``compat`` the
            video's.
        compat: As published: NaN passes every gate, and no segment is too short.
    """
    horizontal, radial = signals("reversals", horizontal=horizontal, radial=radial)
    check_keys("reversals", keys)
    if not is_round_trip(keys):
        raise bad_value("reversals", "keys", "be a round trip, each undoing the one before", "".join(map(str, keys)))
    if len(bounds) != len(keys) + 1:
        raise bad_value("reversals", "bounds", f"bound {len(keys)} segments", len(bounds) - 1)
    rules = Rules.of(KEYS[keys[0]].family, COMPAT_FPS if compat else fps, width)
    return [_reversal(horizontal, radial, keys, bounds, b, rules, compat) for b in range(1, len(keys))]


def _reversal(
    horizontal: Signal,
    radial: Signal,
    keys: Sequence[str],
    bounds: Sequence[int],
    b: int,
    rules: Rules,
    compat: bool,
) -> Reversal:
    start, turn, stop = bounds[b - 1], bounds[b], bounds[b + 1]
    key = KEYS[keys[b]]
    back = key.signed(horizontal, radial)
    arc = np.abs(horizontal) if key.family == "yaw" else np.hypot(horizontal, radial)
    before, after = -back[start:turn], back[turn:stop]
    directions = _direction(before), _direction(after)
    response = _return_start(back, turn, stop, rules.return_window)
    speeds = [np.abs(side).mean() if side.size else np.nan for side in (before, after)]
    gain = float(_ratio(min(speeds), max(speeds))) if before.size + after.size else None
    rejected = "" if compat else _unusable(arc[start:stop], before, after, rules)
    if not rejected:
        turned = [np.sum(side) for side in (arc[start:turn], arc[turn:stop])]
        rejected = _gate(directions, response, gain, turned, rules)
    arcs = None
    if not rejected:
        assert response is not None
        arcs = arc_pairs(arc, start, turn, stop, response, rules)
    return Reversal(b, start, turn, stop, *directions, response, gain, rejected, arcs)


def _unusable(arc: Signal, before: Signal, after: Signal, rules: Rules) -> str:
    """The default's own gates. A segment must be as long as the gap that a pair needs."""
    if min(before.size, after.size) < rules.fewest_between:
        return TOO_SHORT
    return not_finite(arc + np.concatenate([before, after]))


def _ratio(a: float, b: float) -> float:
    return 0.0 if b == 0 else a / b


def _direction(signal: Signal) -> float:
    return float(_ratio(signal.mean(), np.abs(signal).mean())) if signal.size else 0.0


def _return_start(back: Signal, turn: int, stop: int, window: int) -> int | None:
    """The first sample from which on a short window moves back at a fifth of the segment's mean speed."""
    if stop <= turn:
        return None
    threshold = RETURN_FACTOR * np.abs(back[turn:stop]).mean()
    if not threshold > 0:
        return None
    for t in range(turn, stop - window):
        if back[t : t + window].mean() >= threshold:
            return t
    return None


def _gate(
    directions: tuple[float, float], response: int | None, gain: float | None, turned: list[float], rules: Rules
) -> str:
    """The first gate a reversal fails. A comparison with NaN rejects nothing."""
    if any(direction < DIRECTION_GATE for direction in directions):
        return "dir"
    if response is None:
        return "no_resp"
    if gain is not None and gain < GAIN_GATE:
        return "gain"
    return "undershoot" if any(total < rules.smallest for total in turned) else ""


def revisit_frames(turns: Sequence[Reversal]) -> list[int]:
    """The frames of all pairs, sorted."""
    return sorted({frame for turn in turns if turn.arcs for pair in turn.arcs.pairs for frame in pair})


def revisit_memory(
    turns: Sequence[Reversal],
    feature_frames: np.ndarray,
    features: np.ndarray,
    *,
    n_frames: int,
    family: str,
    width: float = FLOW_GRID[0],
    compat: bool = False,
) -> Measure:
    """C2 of one rollout: ``100 / (1 + mean distance)`` over the pairs of all its reversals.

    Args:
        turns: From :func:`reversals`.
        feature_frames: (K,) int64 sorted: the frames that ``features`` are of; those of the pairs must be among them.
        features: (K, D) float32 of unit length.
        n_frames: Of the video: frames beyond it count as its last.
        family: ``fwd``, ``lat`` or ``yaw``.
        width: As in :func:`reversals`, to report the mismatch of angles.
        compat: As published.

    Returns:
        The score; in ``detail`` the pairs, their distances and residuals, and every reversal. Without a pair no value,
        and as reason the gates that the reversals failed.

    Example:
        >>> import numpy as np
        >>> from wmb_fast.protocols import worldmark
        >>> horizontal = np.where(np.arange(638) < 319, 4.0, -4.0)
        >>> turns = worldmark.reversals(horizontal, np.zeros(638), ["L", "R"], (0, 319, 638))
        >>> same = np.tile(np.float32([1, 0]), (640, 1))
        >>> found = worldmark.revisit_memory(turns, np.arange(640), same, n_frames=640, family="yaw")
        >>> found.value, len(found.detail["pairs"]), found.detail["pairs"][0]
        (100.0, 10, [301, 336])
    """
    detail: dict[str, Any] = {"reversals": [_described(turn) for turn in turns]}
    paired = [turn.arcs for turn in turns if turn.arcs is not None]
    pairs = [pair for arcs in paired for pair in arcs.pairs]
    if not pairs:
        gates = [turn.rejected for turn in turns if turn.rejected]
        return without("; ".join(gates) or "no_pairs", len(turns), detail)
    residuals = np.array([residual for arcs in paired for residual in arcs.residuals])
    at = rows_of(feature_frames, np.array(pairs).ravel(), n_frames - 1)
    if (at < 0).any():
        return missing(f"features: {int((at < 0).sum())} of {at.size} paired frames have none", len(turns), detail)
    rows = at.reshape(-1, 2)
    distances = cosine_distances(features[rows[:, 0]], features[rows[:, 1]])
    detail |= {"pairs": [list(pair) for pair in pairs], "distances": distances.tolist()}
    detail["residuals_px"] = residuals.tolist()
    if not compat and not np.isfinite(distances).all():
        bad = int((~np.isfinite(distances)).sum())
        return without(f"not_finite: {bad} of {len(pairs)} distances are not finite", len(turns), detail)
    detail |= {
        "mean_distance": rounded(distances.mean(), 4, compat),
        "std": rounded((100.0 / (1.0 + distances / PUBLISHED.revisit_scale)).std(), 3, compat),
        "partial": any(arcs.path_back < COVERAGE_GATE * arcs.path_out for arcs in paired),
    }
    if family == "yaw":
        detail["angle_mismatch_deg"] = rounded(residuals.mean() / (width / FIELD_OF_VIEW_DEG), 2, compat)
    return Measure(revisit_score(distances, compat=compat), "", len(paired), len(turns), detail)


def revisit_score(distances: npt.ArrayLike, scale: float = PUBLISHED.revisit_scale, *, compat: bool = False) -> float:
    """``100 / (1 + mean distance / scale)``; rounded to three decimals under ``compat``."""
    mean = float(np.asarray(distances, dtype=np.float64).mean())
    return rounded(100.0 / (1.0 + mean / scale), 3, compat)


def _described(turn: Reversal) -> dict[str, Any]:
    described: dict[str, Any] = {
        "segment": turn.segment,
        "turn_sample": turn.turn,
        "direction_out": turn.direction_out,
        "direction_back": turn.direction_back,
        "return_start": turn.return_start,
        "gain": turn.gain,
        "rejected": turn.rejected,
    }
    if turn.arcs is not None:
        described |= {"path_out_px": turn.arcs.path_out, "path_back_px": turn.arcs.path_back}
    return described
