# SPDX-License-Identifier: Apache-2.0
"""The scores of a video's revisits, and Eq. 1: every revisit against the same reference, all counting the same.

``S_n = (1/K_n) sum_k s_{n,k}`` and ``S = (1/N) sum_n S_n``. The equation is RECONSTRUCTED (the paper's text lacks it)
and agrees with the published tables 8 and 10 to their last digit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.checks import shape_text
from ..._walls.errors import bad_value
from ..measure import Measure, missing, without
from .arrays import Flags, Values, numbers

NO_REFERENCE = "no_reference"
NO_FRAME = "no_frame: no frame of the return to be scored"


@dataclass(frozen=True, eq=False)
class Revisits:
    """What a static metric says of one video.

    Attributes:
        values: (K,) in [0, 1]; NaN where a revisit has none.
        n_used: (K,) int64: targets, or pixels' frames, that the value rests on.
        n_total: How many there were at first.
        per_target: (K, T), NaN where a target has no value; ``None`` for metrics of the whole view.
        reason: Why a revisit without a value has none.
        zeroed: (K,) what of each revisit's value the protocol's rule made 0, in words; empty where nothing.
        detail: What was chosen, and what else was found, by name; arrays have a row a revisit.
    """

    values: Values
    n_used: npt.NDArray[np.int64]
    n_total: int
    per_target: Values | None = None
    reason: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    zeroed: Sequence[str] = ()

    def measure(self, k: int) -> Measure:
        """Of revisit k, from 0."""
        detail: dict[str, Any] = {
            name: value[k] if isinstance(value, np.ndarray) else value for name, value in self.detail.items()
        }
        if self.per_target is not None:
            detail["per_target"] = self.per_target[k]
        value, used = float(self.values[k]), int(self.n_used[k])
        if math.isfinite(value):
            return Measure(value, self.zeroed[k] if self.zeroed else "", used, self.n_total, detail)
        kind = without if self.reason.startswith(NO_REFERENCE) else missing
        return kind(self.reason, self.n_total, detail)

    def video(self) -> Measure:
        """Of the whole video, by :func:`video_score`; what the protocol's rule made 0 stands beside the value."""
        whole = video_score(self.values)
        if whole.value is None and self.reason.startswith(NO_REFERENCE):
            return without(self.reason, whole.n_total)
        if whole.value is None:
            return missing(self.reason or whole.reason, whole.n_total)
        return replace(whole, reason="; ".join(dict.fromkeys(filter(None, self.zeroed))))


def video_score(revisits: npt.ArrayLike) -> Measure:
    """Eq. 1 within a video: the mean of its revisits' scores.

    Args:
        revisits: (K,) scores; NaN where there is none.

    Returns:
        The mean. A video with a revisit that has no score has none either: a mean over fewer revisits is another
        number, for later ones are harder.

    Source:
        WorldMemBench, Eq. 1 (RECONSTRUCTED; tables 8 and 10 agree).

    Example:
        >>> video_score([0.873, 0.853]).value
        0.863
        >>> video_score([0.873, float("nan")]).reason
        'incomplete: 1 of 2 revisits have no score'
    """
    values = numbers("video_score", "revisits", revisits)
    if values.ndim != 1:
        raise bad_value("video_score", "revisits", "have shape (K,)", shape_text(values))
    if not values.size:
        return missing("no_revisits: the plan prescribes none")
    absent = int((~np.isfinite(values)).sum())
    if absent:
        return missing(f"incomplete: {absent} of {values.size} revisits have no score", values.size)
    return Measure(math.fsum(values.tolist()) / values.size, "", values.size, values.size)


def model_score(videos: npt.ArrayLike) -> Measure:
    """Eq. 1 over videos: the mean of their scores, each counting the same.

    Args:
        videos: (N,) scores; NaN where there is none: such a video is left out and counted.

    Example:
        >>> found = model_score([0.5, 1.0, float("nan")])
        >>> found.value, found.n_used, found.n_total
        (0.75, 2, 3)
    """
    values = numbers("model_score", "videos", videos)
    if values.ndim != 1:
        raise bad_value("model_score", "videos", "have shape (N,)", shape_text(values))
    usable = values[np.isfinite(values)].tolist()
    if not usable:
        return missing("no_videos: none has a score", values.size)
    return Measure(math.fsum(usable) / len(usable), "", len(usable), values.size)


def over_targets(per_target: Values, evaluated: Flags, lost: Flags, detail: Mapping[str, Any]) -> Revisits:
    """Revisits from targets: the mean over those that the reference shows, each counting the same (RECONSTRUCTED).

    Args:
        per_target: (K, T) scores; NaN where the evidence is broken. A target lost after return has 0, not NaN.
        evaluated: (T,) whether the reference shows the target.
        lost: (K, T) whether the target was not found after the return.
        detail: Goes into the result.
    """
    rows = np.where(evaluated, per_target, np.nan)
    gone = (lost & evaluated).sum(axis=1)
    there = np.isfinite(rows)
    used = there.sum(axis=1).astype(np.int64)
    sums = np.array([math.fsum(row[mask].tolist()) for row, mask in zip(rows, there, strict=True)])
    values = np.divide(sums, used, out=np.full(len(rows), np.nan), where=used > 0)
    total = int(evaluated.sum())
    reason = ""
    if not total:
        reason = f"{NO_REFERENCE}: the reference shows none of {evaluated.size} targets"
    elif not there.any(axis=1).all():
        reason = "not_finite: the evidence of every target is NaN, infinite or zero in a frame that is marked valid"
    zeroed = [f"lost: {n} of {total} targets not found after the return count 0" if n else "" for n in gone.tolist()]
    return Revisits(values, used, total, rows, reason, {**detail, "lost": gone}, zeroed)
