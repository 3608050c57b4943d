# SPDX-License-Identifier: Apache-2.0
"""General Video Quality: imaging and aesthetic quality of every fourth frame.

Sampling, the two networks and the two means are EXACT (section 4.2); that MUSIQ-SPAQ is divided by 100 and the LAION
predictor by 10 is RECONSTRUCTED: the usual normalisation, which the published ranges agree with.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..._walls.checks import integer, real, shape_text
from ..._walls.errors import bad_value
from ..measure import Measure, missing
from .arrays import numbers
from .constants import QUALITY_STRIDE


def quality_frames(n_frames: int, stride: int = QUALITY_STRIDE) -> tuple[int, ...]:
    """The frames that are rated: 0, 4, 8, …

    Example:
        >>> quality_frames(10)
        (0, 4, 8)
    """
    integer("quality_frames", "n_frames", n_frames, at_least=0)
    return tuple(range(0, n_frames, integer("quality_frames", "stride", stride, at_least=1)))


def video_quality(ratings: npt.ArrayLike, best: float) -> Measure:
    """The mean rating of a video's sampled frames, in [0, 1].

    Args:
        ratings: (K,) of the sampled frames, as the network gives them; NaN where a frame could not be rated: it is left
            out and counted.
        best: What is divided by: 100 for MUSIQ-SPAQ, 10 for the LAION predictor.

    Returns:
        The measure. Ratings beyond ``0`` and ``best`` are clipped, and ``reason`` says how many there were.

    Source:
        WorldMemBench, section 4.2 (EXACT); normalisation RECONSTRUCTED.

    Example:
        >>> video_quality([60.0, 70.0, float("nan")], 100.0).value
        0.65
    """
    rows = numbers("video_quality", "ratings", ratings)
    if rows.ndim != 1:
        raise bad_value("video_quality", "ratings", "have shape (K,)", shape_text(rows))
    top = real("video_quality", "best", best, above=0)
    usable = rows[np.isfinite(rows)]
    if not usable.size:
        return missing("not_rated: no sampled frame has a rating", len(rows))
    clipped = int(((usable < 0) | (usable > top)).sum())
    value = math.fsum(np.clip(usable, 0.0, top).tolist()) / len(usable) / top
    reason = f"clipped: {clipped} of {len(usable)} ratings lay outside 0 to {top:g}" if clipped else ""
    return Measure(value, reason, len(usable), len(rows), {"clipped": clipped, "divided_by": top})
