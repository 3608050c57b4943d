# SPDX-License-Identifier: Apache-2.0
"""OpenCV, as every builtin estimator uses it, and which one that is."""

from __future__ import annotations

from typing import Any

from .._walls.ext import optional


def opencv(who: str) -> Any:
    """The module ``cv2``, bound to one thread: speed comes from several rollouts at once, and the bits are the same."""
    cv2 = optional("cv2", "score", who)
    cv2.setNumThreads(1)
    return cv2


def version_of(library: str, who: str) -> str:
    """The version of ``cv2`` or ``numpy``, which belongs to the fingerprint of whatever computes with it."""
    return str(optional(library, "score", who).__version__)
