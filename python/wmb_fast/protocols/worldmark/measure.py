# SPDX-License-Identifier: Apache-2.0
"""The reasons of this protocol's rules in words, and what its metrics share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from ..measure import Measure, missing, without

__all__ = ["Measure", "Signal", "in_words", "missing", "not_finite", "rounded", "samples", "signals", "without"]

Signal = npt.NDArray[np.float64]

# What the tokens of the protocol's own rules mean, for those who read a record.
RULES = {
    "dir": "a segment of the round trip does not move as commanded",
    "no_resp": "the way back never starts",
    "gain": "out and back, one way is less than half as fast as the other",
    "undershoot": "a turn of less than 15 degrees shows nothing to come back to",
    "no_pairs": "no frame of the way back is at the place of one of the way out",
    "not_a_round_trip": "the plan does not undo its own motion",
    "too_short": "too few samples to judge",
    "no_motion": "nothing moves",
    "frozen": "fewer than five frames are an equal motion apart",
    "near_cut": "all pairs of frames lie near hard cuts",
    "no_covis": "no two frames see five of the same points",
    "empty_video": "the video has no frames",
}


def signals(op: str, **arrays: npt.ArrayLike) -> list[Signal]:
    """Arrays of samples as float64; of one shape (N,)."""
    made = [np.asarray(array, dtype=np.float64) for array in arrays.values()]
    if made[0].ndim != 1 or any(array.shape != made[0].shape for array in made):
        shapes = " and ".join(str(array.shape) for array in made)
        raise bad_value(op, " and ".join(arrays), "have one shape (N,)" if len(made) > 1 else "have shape (N,)", shapes)
    return made


def in_words(reason: str) -> str:
    """A reason with its sentence: tokens of the protocol's rules get theirs, one after another."""
    tokens = reason.split("; ")
    return "; ".join(f"{token}: {RULES[token]}" if token in RULES else token for token in dict.fromkeys(tokens))


def rounded(value: float, digits: int, compat: bool) -> float:
    """A value as the published evaluator stores it, or as it is."""
    return float(round(float(value), digits)) if compat else float(value)


def samples(seconds: float, fps: float) -> int:
    """How many samples a length in time takes; at least one. The margin keeps 0.3 s at 10 fps at 3."""
    return max(1, int(seconds * fps + 1e-9))


def not_finite(signal: Signal) -> str:
    """The reason that non-finite samples give, or nothing."""
    bad = int(np.count_nonzero(~np.isfinite(signal)))
    return f"not_finite: {bad} of {signal.size} flow samples are not finite" if bad else ""
