# SPDX-License-Identifier: Apache-2.0
"""OpenCV, as every builtin estimator uses it."""

from __future__ import annotations

from typing import Any

from .._walls.ext import optional


def opencv(who: str) -> Any:
    """The module ``cv2``, bound to one thread: speed comes from several rollouts at once, and the bits are the same."""
    cv2 = optional("cv2", "score", who)
    cv2.setNumThreads(1)
    return cv2


def opencv_version(who: str) -> str:
    """Its version, which belongs to the fingerprint of whatever uses it."""
    return str(optional("cv2", "score", who).__version__)
