# SPDX-License-Identifier: Apache-2.0
"""Relative pose errors, and angles between rotations."""

from __future__ import annotations

from typing import NamedTuple

from .launch import Tensor, compiled, empty, launch, type_of
from .trajectory import Fits, Statistics, Tracks, on_boundaries, room_for_fits

KINDS = 3  # of errors: translation, rotation, and the extra relation


class Pairs(NamedTuple):
    """Where each item's pairs go: room for ``most`` an item, or, of a list, from ``starts`` on; ``total`` in all."""

    starts: Tensor | None
    most: int
    total: int


class Steps(NamedTuple):
    """(total, 2) pairs, -1 where there is none; (3, total) errors; (n,) deviations; statistics (3, ...); fits."""

    pairs: Tensor
    errors: Tensor
    deviation: Tensor
    statistics: list[Statistics]
    fits: Fits


def rpe(tracks: Tracks, how: tuple[int, int, int, bool, bool, int], pairs: Pairs) -> Steps:
    """Relative errors in frames; ``how``: alignment, poses fitted to, delta, all pairs, world, extra relation or -1."""
    cuda = compiled()
    tracks, like, n = on_boundaries(tracks), tracks.estimate, tracks.n
    found, errors = empty(like, pairs.total, 2, dtype="int64"), empty(like, KINDS, pairs.total)
    deviation, fits = empty(like, n), room_for_fits(like, n)
    numbers, counts = empty(like, KINDS, 7, n), empty(like, KINDS, n, dtype="int64")
    codes = empty(like, KINDS, 2, n, dtype="uint8")
    workspace = empty(like, cuda.rpe_workspace(n, pairs.most, pairs.total), dtype="float64")
    out = found, errors, deviation, numbers, counts, codes, *fits, workspace
    launch(cuda.rpe, like, type_of(like), *tracks, *how, *pairs, *out)
    return Steps(
        found, errors, deviation, [Statistics(*each) for each in zip(numbers, counts, codes, strict=True)], fits
    )


def rotation_angle_deg(a: Tensor, b: Tensor) -> Tensor:
    """Angles (n,) between rotations (n, 3, 3)."""
    angles = empty(a, a.shape[0])
    launch(compiled().rotation_angle_deg, a, type_of(a), a, b, a.shape[0], angles)
    return angles
