# SPDX-License-Identifier: Apache-2.0
"""The frame features of Local and Revisit memory, and their distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value

Features = npt.NDArray[np.float32]


class Pooled(NamedTuple):
    """Features of K frames, all of unit length."""

    mean: Features  # (K, D): the mean patch token
    cls: Features  # (K, D): the class token
    patches: Features  # (K, P, D)


def pool_tokens(tokens: np.ndarray) -> Pooled:
    """What is compared of a vision transformer's tokens: each normalised, and the patches' mean normalised again.

    Args:
        tokens: (K, 1 + P, D), class token first, as the network gives them.
    """
    if tokens.ndim != 3 or tokens.shape[1] < 2:
        raise bad_value("pool_tokens", "tokens", "have shape (K, 1 + P, D)", f"shape {tokens.shape}")
    cls, patches = _unit(tokens[:, 0]), _unit(tokens[:, 1:])
    return Pooled(_unit(patches.mean(axis=1)), cls, patches)


def _unit(vectors: np.ndarray) -> Features:
    values = vectors.astype(np.float32)
    length = np.sqrt(np.sum(values.astype(np.float64) ** 2, axis=-1, keepdims=True))
    unit: Features = (values / np.maximum(length, 1e-12)).astype(np.float32)
    return unit


def cosine_distances(a: np.ndarray, b: np.ndarray) -> npt.NDArray[np.float64]:
    """``1 - a . b`` of unit vectors (..., D), summed in float64."""
    product: npt.NDArray[np.float64] = np.einsum("...d,...d->...", a.astype(np.float64), b.astype(np.float64))
    return 1.0 - product


def rows_of(frames: np.ndarray, wanted: np.ndarray, last_frame: int) -> npt.NDArray[np.int64]:
    """Where the features of the wanted frames stand; frames beyond the video count as its last. -1: not there."""
    clamped = np.minimum(wanted, last_frame)
    at = np.searchsorted(frames, clamped)
    there = at < len(frames)
    there[there] = frames[at[there]] == clamped[there]
    return np.where(there, at, -1).astype(np.int64)
