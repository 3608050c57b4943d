# SPDX-License-Identifier: Apache-2.0
"""What every metric of this protocol returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from ..record import Status

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


@dataclass(frozen=True)
class Measure:
    """A value, or the reason there is none, and what is reported beside it.

    Attributes:
        value: ``None`` where there is none; NaN only under ``compat``, where the published evaluator gives NaN.
        reason: Empty, or a short token, optionally followed by ``: `` and a sentence.
        n_used, n_total: How many samples, pairs or reversals the value rests on, of how many.
        detail: Intermediate results by name.
        status: ``ok`` exactly when there is a value.
    """

    value: float | None
    reason: str = ""
    n_used: int = 0
    n_total: int = 0
    detail: Mapping[str, Any] = field(default_factory=dict)
    status: Status = Status.OK

    @property
    def is_nan(self) -> bool:
        """Whether this is a NaN that the published evaluator gives."""
        return self.value is not None and math.isnan(self.value)


def signals(op: str, **arrays: npt.ArrayLike) -> list[Signal]:
    """Arrays of samples as float64; of one shape (N,)."""
    made = [np.asarray(array, dtype=np.float64) for array in arrays.values()]
    if made[0].ndim != 1 or any(array.shape != made[0].shape for array in made):
        shapes = " and ".join(str(array.shape) for array in made)
        raise bad_value(op, " and ".join(arrays), "have one shape (N,)" if len(made) > 1 else "have shape (N,)", shapes)
    return made


def without(reason: str, n_total: int = 0, detail: Mapping[str, Any] | None = None, n_used: int = 0) -> Measure:
    """The protocol's own rule leaves no value."""
    return Measure(None, reason, n_used, n_total, detail or {}, Status.NOT_EVALUABLE)


def missing(reason: str, n_total: int = 0, detail: Mapping[str, Any] | None = None) -> Measure:
    """Evidence that the metric needs is not there."""
    return Measure(None, reason, 0, n_total, detail or {}, Status.MISSING)


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
