# SPDX-License-Identifier: Apache-2.0
"""What the launchers of trajectory kernels share: a batch as they take it, and what they give back."""

from __future__ import annotations

from typing import NamedTuple

from .launch import Tensor, empty


class Tracks(NamedTuple):
    """Pairs of trajectories, flat, and where the n items lie in them; absent is None."""

    estimate: Tensor
    reference: Tensor
    mask: Tensor | None
    weights: Tensor | None
    n: int
    each: int
    starts: Tensor | None
    lengths: Tensor | None


class Fits(NamedTuple):
    """(14 n,) rotations, translations, scales, rmse, one after the other; rank; code, status, that of an alignment."""

    numbers: Tensor
    rank: Tensor
    codes: Tensor


class Statistics(NamedTuple):
    """(7, n) rmse, mean, median, std, min, max, sse; (n,) how many errors; (2, n) code, status."""

    numbers: Tensor
    count: Tensor
    codes: Tensor


def room_for_fits(like: Tensor, n: int) -> Fits:
    return Fits(empty(like, 14 * n), empty(like, n, dtype="int64"), empty(like, 3, n, dtype="uint8"))


def room_for_statistics(like: Tensor, n: int) -> Statistics:
    return Statistics(empty(like, 7, n), empty(like, n, dtype="int64"), empty(like, 2, n, dtype="uint8"))


def on_boundaries(tracks: Tracks) -> Tracks:
    """The same, poses where kernels can load 16 bytes at once."""
    return tracks._replace(estimate=_boundary(tracks.estimate), reference=_boundary(tracks.reference))


def _boundary(poses: Tensor) -> Tensor:
    """A copy of what is a view that begins elsewhere."""
    return poses if poses.data_ptr() % 16 == 0 else poses.clone()
