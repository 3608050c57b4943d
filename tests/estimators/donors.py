# SPDX-License-Identifier: Apache-2.0
"""What the donors' own networks say of known inputs: TensorFlow.js 4.22, its CPU backend, every value or each n-th.

``donors.npz`` holds, for each network and output, ``<network>.<output>``: values from 0 in steps of ``STEP``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

STEP = 211
FILE = Path(__file__).with_name("donors.npz")
# What each is fed: the spread of noise, and its middle. Noise drives the mask's network to 0 everywhere: it gets waves.
_NOISE = {"mobileface": (60.0, 128.0), "faceres": (60.0, 128.0), "nanodet": (1.0, 0.0)}
SHAPES = {
    "mobileface": (1, 112, 112, 3),
    "faceres": (1, 224, 224, 3),
    "nanodet": (1, 3, 416, 416),
    "selfie": (1, 256, 256, 3),
}


def fed(name: str) -> np.ndarray[Any, Any]:
    """The input of a network, one picture."""
    shape = SHAPES[name]
    if name == "selfie":
        y, x, c = np.mgrid[:256, :256, :3]
        return (0.5 + 0.4 * np.sin(x / (9 + 4 * c)) * np.cos(y / (13 - 3 * c)))[None].astype(np.float32)
    spread, middle = _NOISE[name]
    values = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    return values * np.float32(spread) + np.float32(middle)
