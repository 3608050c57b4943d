# SPDX-License-Identifier: Apache-2.0
"""Angles and random numbers that are the same to the bit on every machine: ``+ - * /`` and integers, no libm."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_RADIAN = 0.017453292519943295  # pi / 180
_QUARTERS = ((1, 0), (0, 1), (-1, 0), (0, -1))  # cosine and sine of 0, 90, 180, 270 degrees
_TERMS = 10
_UNIT = np.float32(1 / 16777216)

Floats = npt.NDArray[np.float32]


def cos_sin(degrees: float) -> tuple[float, float]:
    """Cosine and sine, within 2 units in the last place of 1; exact at multiples of 90 degrees.

    Example:
        >>> cos_sin(-90.0)
        (0.0, -1.0)
        >>> [round(part, 15) for part in cos_sin(60.0)]
        [0.5, 0.866025403784439]
    """
    turned = degrees % 360.0
    quarter = int(turned / 90.0 + 0.5)
    x = (turned - 90.0 * quarter) * _RADIAN
    cosine, sine = 1.0, 1.0
    for n in range(2 * _TERMS, 0, -2):
        cosine = 1.0 - x * x / (n * (n - 1)) * cosine
        sine = 1.0 - x * x / (n * (n + 1)) * sine
    sine *= x
    c, s = _QUARTERS[quarter % 4]
    return c * cosine - s * sine + 0.0, s * cosine + c * sine + 0.0


def hashed(seed: int, *keys: Any) -> npt.NDArray[np.uint32]:
    """32 well mixed bits for each combination of integer keys, which broadcast."""
    mixed = np.asarray(seed & 0xFFFFFFFF, dtype=np.uint32)
    for key in keys:
        mixed = _mix(mixed ^ _mix(np.asarray(key).astype(np.int64).astype(np.uint32) + np.uint32(0x9E3779B9)))
    return _mix(mixed)


def _mix(bits: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    bits = np.atleast_1d(bits)
    bits = (bits ^ (bits >> np.uint32(16))) * np.uint32(0x7FEB352D)
    bits = (bits ^ (bits >> np.uint32(15))) * np.uint32(0x846CA68B)
    return bits ^ (bits >> np.uint32(16))


def uniform(seed: int, *keys: Any) -> Floats:
    """Numbers in [0, 1) for each combination of integer keys, which broadcast."""
    return (hashed(seed, *keys) >> np.uint32(8)).astype(np.float32) * _UNIT


class Dice:
    """Numbers one after another, from a seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._thrown = 0

    def between(self, low: float, high: float) -> float:
        """The next number in [low, high)."""
        self._thrown += 1
        return low + (high - low) * float(uniform(self._seed, self._thrown)[0])

    def below(self, n: int) -> int:
        """The next integer in [0, n)."""
        self._thrown += 1
        return int(hashed(self._seed, self._thrown)[0]) % n
