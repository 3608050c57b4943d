# SPDX-License-Identifier: Apache-2.0
"""The base of every record an op returns, and the one table of reasons.

The core reports a reason code for each item of a batch; its names, and which status has which, stand in
``csrc/core/reason.h``, the sentences here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arrays import Array, Call
from .errors import bad_value
from .ext import core

OK, DEGENERATE, MISSING = 0, 1, 2

# name in csrc/core/reason.h -> sentence
SENTENCES: dict[str, str] = {
    "ok": "",
    "too_few_points": "too few points: scale and rotation are undetermined",
    "source_zero_spread": "the source has zero spread: scale and rotation are undetermined",
    "target_zero_spread": ("the target has zero spread: the rotation is undetermined and the scale is zero"),
    "uncorrelated": "source and target do not vary together: the rotation is undetermined",
    "rank_one": "the points lie on a line: the rotation about it is undetermined",
    "mirrored": ("the target mirrors the source, and more than one rotation is as good: the rotation is undetermined"),
    "coarse_coordinates": (
        "the extent is under 1000 floating-point steps of the coordinates: take the offset off, or use float64"
    ),
    "not_finite": "every item is masked or not finite",
    "no_pairs": "no pair of poses satisfies the pair selection",
    "camera_not_usable": "the pose or the intrinsics are not finite, or cannot be inverted",
    "no_valid_depth": "no pixel has a valid depth",
    "no_covisibility": "no two views see enough of the same points",
    "no_valid_confidence": "no pixel has a finite confidence",
    "no_samples": "there are no samples",
    "value_not_finite": "a value is not finite",
    "cost_is_nan": "a cost is NaN, or infinite where that is no forbidden pair: its pair was left out",
    "not_all_assigned": "no full assignment exists: as many rows as possible are assigned",
    "opis_cost_is_nan": "a cost is NaN, which the public solver refuses",
    "opis_not_all_assigned": "no full assignment exists, and the public solver does not end there",
    "too_few_pairs": "there are fewer than two pairs",
    "two_pairs": "two pairs always correlate perfectly",
    "constant_input": "an input is constant: the correlation is undefined",
    "correlation_of_one": "a correlation of one was capped: its transform is infinite",
    "no_correlation": "a value lies outside -1 to 1: it is no correlation",
    "no_weight": "the weights add up to nothing",
    "no_decisive_pair": "no pair is decisive",
    "resamples_equal": "every resample has the same mean: the interval has no width",
    "one_case": "one case cannot be resampled: there is no interval",
    "zero_embedding": "an embedding is zero: it has no direction",
    "not_a_pose": "a matrix is no pose: its last row, its determinant or its orthogonality is off",
    "weight_not_usable": "a weight is negative or not finite",
    "index_beyond_stratum": "an index of the resamples lies beyond the stratum of its case",
    "values_left_out": "missing values were left out of the means",
}
_NAMES: tuple[str, ...] = tuple(core.reason_names())
_CODES = {name: i for i, name in enumerate(_NAMES)}
STATUS: Array = np.array(core.reason_statuses(), dtype=np.uint8)  # by code


@dataclass(frozen=True, eq=False)
class Record:
    """A frozen result. ``status`` has the batch's shape: 0 ok, 1 degenerate, 2 missing; :meth:`reason` says why.

    Reading either never waits for a device.
    """

    status: Any
    _codes: Array = field(repr=False)

    def reason(self, index: int | Sequence[int] = ()) -> str:
        """The sentence for one item of the batch; empty where all is well."""
        at = (index,) if isinstance(index, (int, np.integer)) else tuple(index)
        if len(at) != np.ndim(self._codes):
            wanted = f"name one item of a batch of shape {np.shape(self._codes)}"
            raise bad_value("reason", "index", wanted, repr(index))
        return SENTENCES[_NAMES[int(self._codes[at])]]


@dataclass(frozen=True, eq=False)
class Valued(Record):
    """A result that is one number an item, ``value``, and stands for it: ``float(result)``, ``np.asarray(result)``."""

    value: Any

    def __float__(self) -> float:
        return float(self.value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        values = np.asarray(self.value, dtype=dtype)
        return values.copy() if copy else values


def status_of(call: Call, codes: Array) -> Any:
    """The statuses that belong to reason codes, in the caller's kind."""
    return call.give(STATUS[codes])


def code(name: str) -> int:
    """The code of a reason, for what is found out before the core is called."""
    return _CODES[name]
