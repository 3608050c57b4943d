# SPDX-License-Identifier: Apache-2.0
"""Synthetic motion and frame features, with known answers."""

from __future__ import annotations

import numpy as np


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def drifting(n: int, per_frame: float = 0.002, seed: int = 0) -> np.ndarray:
    """Features of n frames that turn by a small angle a frame."""
    angle = per_frame * np.arange(n)
    a, b = np.linalg.qr(np.random.default_rng(seed).normal(size=(16, 2)))[0].T
    return unit(np.cos(angle)[:, None] * a + np.sin(angle)[:, None] * b)


def round_trip(fps: float = 16, speed: float = 60.0, pause: float = 0.0) -> np.ndarray:
    """Flow of 20 s out and 20 s back, px/s, as flow over two frames; ``pause``: seconds before it turns."""
    n = round(40 * fps)
    t = np.arange(n - 2) / fps
    return np.where(t < 20, 1.0, np.where(t < 20 + pause, 0.0, -1.0)) * speed * 2 / fps


def places(n: int, seed: int = 0) -> np.ndarray:
    """Features of a perfect memory: frame j looks as frame n - 1 - j."""
    half = np.minimum(np.arange(n), n - 1 - np.arange(n))
    return drifting(n, 0.01, seed)[half]
