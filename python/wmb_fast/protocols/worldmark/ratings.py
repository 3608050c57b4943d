# SPDX-License-Identifier: Apache-2.0
"""Perceptual and Aesthetic quality: ratings from 1 (bad) to 5 (excellent), from an estimator or from a file.

The evaluator asks Q-Align at one frame a second, with the network's own words for the five levels: a softmax over their
logits weighs 5, 4, 3, 2, 1. The columns are ``100 (x - 1) / 4``.

Source: WorldMark (arXiv 2604.21686), section 3.1.3; final_master.py of its evaluator.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from .constants import COMPAT_FPS, QUALITY_STRIDE_S, RATING_LEVELS
from .measure import Measure, samples, without


def quality_frames(n_frames: int, fps: float = COMPAT_FPS) -> list[int]:
    """The frames that are rated: one a second, from the first.

    Example:
        >>> from wmb_fast.protocols import worldmark
        >>> worldmark.quality_frames(40, 16.0)
        [0, 16, 32]
    """
    return list(range(0, n_frames, samples(QUALITY_STRIDE_S, fps)))


def rating(logits: npt.ArrayLike) -> Any:
    """A network's rating from its logits of the five words, excellent first: their softmax weighs 5, 4, 3, 2, 1.

    Args:
        logits: (..., 5).

    Returns:
        (...) float64 in [1, 5].

    Example:
        >>> from wmb_fast.protocols import worldmark
        >>> float(worldmark.rating([0.0, 0.0, 0.0, 0.0, 0.0])), round(float(worldmark.rating([9, 0, 0, 0, 0])), 3)
        (3.0, 4.999)
    """
    values = np.asarray(logits, dtype=np.float64)
    if values.ndim < 1 or values.shape[-1] != RATING_LEVELS:
        raise bad_value("rating", "logits", f"have shape (..., {RATING_LEVELS}), excellent first", values.shape)
    shares = np.exp(values - values.max(axis=-1, keepdims=True))
    weights = np.arange(RATING_LEVELS, 0, -1)
    return (shares * weights).sum(axis=-1) / shares.sum(axis=-1)


def quality(x: float) -> Measure:
    """A rating as a metric: itself where it is one. The column makes 0 to 100 of it.

    Example:
        >>> from wmb_fast.protocols import worldmark
        >>> worldmark.quality(4.0).value, worldmark.quality(7.0).reason
        (4.0, 'not_a_rating: 7.0 is not from 1 to 5')
    """
    if not math.isfinite(x):
        return without(f"not_finite: the rating is {x}", 1)
    if not 1 <= x <= RATING_LEVELS:
        return without(f"not_a_rating: {x} is not from 1 to {RATING_LEVELS}", 1)
    return Measure(x, "", 1, 1)
