# SPDX-License-Identifier: Apache-2.0
"""Alignment of trajectories, and absolute errors."""

from __future__ import annotations

from .launch import Tensor, compiled, empty, launch, type_of
from .trajectory import Fits, Statistics, Tracks, on_boundaries, room_for_fits, room_for_statistics


def umeyama(tracks: Tracks, with_scale: bool) -> Fits:
    """The fits of points (P, 3)."""
    source = tracks.estimate
    fits = room_for_fits(source, tracks.n)
    launch(compiled().umeyama, source, type_of(source), *tracks, with_scale, *fits)
    return fits


def align_trajectory(tracks: Tracks, poses: bool, align: int, n_fit: int) -> tuple[Tensor, Fits]:
    """The aligned poses (P, 4, 4), or points (P, 3), flat, and the fits."""
    tracks, estimate = on_boundaries(tracks) if poses else tracks, tracks.estimate
    aligned, fits = empty(estimate, estimate.numel()), room_for_fits(estimate, tracks.n)
    launch(compiled().align_trajectory, estimate, type_of(estimate), *tracks, poses, align, n_fit, aligned, *fits)
    return aligned, fits


def ape(
    tracks: Tracks, poses: bool, align: int, n_fit: int, relation: int, most: int
) -> tuple[Tensor, Tensor, Statistics, Fits]:
    """Errors (P,), deviations (n,), statistics and fits; no item has more than ``most`` poses."""
    cuda = compiled()
    tracks, estimate = on_boundaries(tracks) if poses else tracks, tracks.estimate
    total = estimate.numel() // (16 if poses else 3)
    errors, deviation = empty(estimate, total), empty(estimate, tracks.n)
    statistics, fits = room_for_statistics(estimate, tracks.n), room_for_fits(estimate, tracks.n)
    workspace = None
    if cuda.ape_needs_workspace(most):
        workspace = empty(estimate, total, dtype="float64")
    what = poses, align, n_fit, relation
    out = errors, deviation, *statistics, *fits, workspace
    launch(cuda.ape, estimate, type_of(estimate), *tracks, *what, *out)
    return errors, deviation, statistics, fits
