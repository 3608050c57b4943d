# SPDX-License-Identifier: Apache-2.0
"""Alignment of trajectories, and absolute errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._walls.arrays import Array, ArrayLike
from .._walls.checks import flag, integer, one_of
from .._walls.dispatch import declare, pick
from .._walls.errors import bad_value
from .._walls.ext import core, kernels
from .._walls.lazy import reference as readable
from .._walls.records import code
from . import _trajectory_device as on_device
from ._trajectory import (
    FIT_ROW,
    POINTS,
    POSES,
    STATISTICS_ROW,
    Alignment,
    Batch,
    ErrorStats,
    Sim3,
    Trajectories,
    alignment_of,
    batch_of,
    refuse,
    sim3_of,
    sim3_of_row,
    stats_of,
)

_POINTS_ALONE, _POSES_ALONE, _EITHER = (POINTS,), (POSES,), (POSES, POINTS)
ALIGNMENTS = ("sim3", "se3", "scale", "origin", "none")  # csrc/cpu/trajectories.h
MOST_POSES = 2**63 - 1  # what the core counts in
RELATIONS = (  # csrc/core/rpe.h
    "translation",
    "rotation_deg",
    "rotation_rad",
    "rotation_part",
    "full",
    "point_distance",
    "point_distance_error_ratio",
)


def umeyama(
    source: Trajectories,
    target: Trajectories,
    *,
    weights: Trajectories | None = None,
    mask: Trajectories | None = None,
    with_scale: bool = True,
    lengths: ArrayLike | Sequence[int] | None = None,
    backend: str = "auto",
) -> Sim3:
    """The similarity transform that takes source points to target points with least squares.

    ``target[i] ~ scale * rotation @ source[i] + translation``, minimising the (weighted) sum of squared distances.

    Args:
        source: (..., N, 3) points, float32 or float64, any unit; or a list of (N_i, 3).
        target: The same shape and dtype: where each point should go.
        weights: (..., N) at least 0, in any unit; a point of weight 0 does not count. Not read where the mask is False.
        mask: (..., N) bool, True = use. Points that are not finite are left out in any case.
        with_scale: False for a rigid transform; ``scale`` is then 1.
        lengths: (...) points of each item of a padded array; the rest is not read.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        ``rotation`` (..., 3, 3) of determinant +1 also for mirrored points, ``translation`` (..., 3), ``scale``,
        ``rmse``, ``rank`` and ``status`` (...). Degenerate items are reported, never raised:

        - points on a line (rank 1): the rotation that turns the line by the least angle, degenerate;
        - mirrored points whose mirror could as well be another: degenerate;
        - one point, or a source that stands still: rotation, translation and scale NaN, missing;
        - a target that stands still, or points that do not vary together: identity rotation, degenerate;
        - extents below 1000 floating-point steps of the coordinates: degenerate, the digits are lost already;
        - no point at all: missing.

    Raises:
        ArgumentError: Shapes that do not agree, N = 0, lengths beyond N, a weight below 0 or not finite (on a device
            the latter is reported: that item is missing).
        ArgumentTypeError: Something that is not an array, or of another dtype.

    Numerics:
        Sums in float64 about the first point, so offsets cost nothing and units do not matter; a Jacobi decomposition
        with a fixed number of sweeps; the rank is relative (1e-12 of the largest singular value of the covariance).
        ``rmse`` comes from the same sums where it is above 0.3 % of the extent, and from the residuals below.
        The same bits for any number of threads, batch and SIMD level; on a device from run to run, and the host's to
        rounding. Coordinates up to 1e150.

    Source:
        Umeyama, "Least-squares estimation of transformation parameters between two point patterns", IEEE PAMI 13(4),
        1991, eq. 34-43.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> source = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
        >>> target = 2 * source[:, [1, 2, 0]] + [5, 6, 7]
        >>> fit = wmb.umeyama(source, target)
        >>> round(float(fit.scale), 12), fit.translation.round(12).tolist(), int(fit.rank)
        (2.0, [5.0, 6.0, 7.0], 3)
    """
    plain = weights is mask is lengths is None and backend == "auto"
    if plain and type(source) is type(target) is np.ndarray and source.ndim == 2:
        row = np.empty(FIT_ROW)
        try:
            core.umeyama_of_one(source, target, with_scale, row)
            return sim3_of_row(row, source.dtype)
        except TypeError:
            pass  # not one item that the core can read as it is: the long way takes it, or says what is wrong
    batch = batch_of("umeyama", {"source": source, "target": target}, _POINTS_ALONE, mask, lengths, weights)
    with_scale = flag("umeyama", "with_scale", with_scale)
    chosen = pick("umeyama", backend, batch.call.device)
    if chosen == "cuda":
        return on_device.sim3_of(batch, kernels("align").umeyama(on_device.tracks_of(batch), with_scale))
    fits = np.empty((batch.n, FIT_ROW))
    x, y, w = batch.data["source"], batch.data["target"], _weights(batch)
    if chosen == "reference":
        for i in range(batch.n):
            (a, b), use = batch.item(i)
            begin = int(batch.begins()[i])
            own = None if w is None else w[begin : begin + len(a)]
            fits[i] = fit_row(readable.umeyama(a, b, weights=own, mask=use, with_scale=with_scale))
    else:
        core.umeyama(x, y, *batch.layout(), w, with_scale, fits.reshape(-1))  # type: ignore[call-overload]
    return sim3_of(batch, fits)


def _weights(batch: Batch) -> Array | None:
    """The weights, checked where a point can count."""
    given = batch.data.get("weights")
    if given is None:
        return None
    weights = given.astype(np.float64, copy=False)
    bad = ~((weights >= 0) & (weights < np.inf))
    if bad.any():
        if batch.mask is not None:
            bad &= batch.mask.astype(bool)
        if batch.lengths is not None and not batch.is_list:
            bad &= (np.arange(batch.each) < batch.lengths[:, None]).reshape(-1)
        if bad.any():
            raise bad_value(batch.op, "weights", "be finite and at least 0", f"{weights[bad][0]}")
    return weights


def align_trajectory(
    estimate: Trajectories,
    reference: Trajectories,
    *,
    mode: str = "sim3",
    n_align: int | None = None,
    mask: Trajectories | None = None,
    lengths: ArrayLike | Sequence[int] | None = None,
    backend: str = "auto",
) -> Alignment:
    """Moves an estimated trajectory onto its reference.

    A pose ``[R | p]`` becomes ``[rotation R | scale rotation p + translation]``.

    Args:
        estimate: (..., N, 4, 4) poses, camera to world, or (..., N, 3) positions; or a list. float32 or float64.
        reference: The same shape and dtype, pose by pose.
        mode: ``sim3``, ``se3`` (without scale), ``scale`` (the scale of the Sim(3) fit, applied to positions alone),
            ``origin`` (the first pose that counts onto the reference's; needs poses), ``none``.
        n_align: Fit on the first so many poses only; all are moved.
        mask: (..., N) bool, True = use for the fit. Poses that are not finite are left out in any case.
        lengths: (...) poses of each item of a padded array.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        ``poses`` in the estimate's form (NaN throughout where a pose is not finite, and beyond ``lengths``; where
        nothing counts, ``sim3`` and ``se3`` leave no position), ``sim3`` as :func:`umeyama` gives it, ``status``.
        Degenerate where the fit is. Then positions still go to where the determined part takes them (the line onto the
        line, a point onto the centroid), and orientations are NaN under ``sim3`` and ``se3``, because nothing
        determines them.

    Raises:
        ArgumentError: Shapes that do not agree, an unknown mode, ``origin`` without poses, a matrix that is no pose
            (last row not 0 0 0 1, determinant -1, or max |R'R - I| above 0.1; on a device that is reported: the item is
            missing, NaN throughout).
        ArgumentTypeError: Something that is not an array, or of another dtype.

    Numerics:
        As :func:`umeyama`. Rotations within 1e-5 of SO(3) are used as they are, within 0.1 replaced by the nearest.

    Source:
        Zhang and Scaramuzza, "A tutorial on quantitative trajectory evaluation", IROS 2018, section III.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> reference = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]])
        >>> wmb.align_trajectory(3 * reference + 7, reference).poses.round(9).tolist()[3]
        [1.0, 1.0, 1.0]
    """
    one_of("align_trajectory", "mode", mode, ALIGNMENTS)
    batch = _poses_or_points("align_trajectory", estimate, reference, mask, lengths, mode == "origin")
    n_fit = first_to_fit("align_trajectory", n_align)
    width = batch.width
    chosen = pick("align_trajectory", backend, batch.call.device)
    if chosen == "cuda":
        how = width > 3, ALIGNMENTS.index(mode), MOST_POSES if n_fit < 0 else n_fit
        moved, fitted = kernels("align").align_trajectory(on_device.tracks_of(batch), *how)
        return on_device.alignment_of(batch, fitted, on_device.per_pose(batch, moved, batch.tail))
    aligned = np.full(batch.data["estimate"].size, np.nan)
    fits = np.empty((batch.n, FIT_ROW))
    if chosen == "reference":
        for i in range(batch.n):
            (a, b), use = batch.item(i)
            done = readable.align_trajectory(a, b, mode=mode, n_align=n_align, mask=use)
            begin = width * int(batch.begins()[i])
            aligned[begin : begin + a.size] = done.poses.reshape(-1)
            fits[i] = fit_row(done.sim3)
    else:
        pair = batch.data["estimate"], batch.data["reference"]
        out = ALIGNMENTS.index(mode), n_fit, aligned, fits.reshape(-1)
        refuse(batch, core.align_trajectory(*pair, width, *batch.layout(), *out))  # type: ignore[call-overload]
    return alignment_of(batch, sim3_of(batch, fits), batch.per_pose(aligned, batch.tail))


def ape(
    estimate: Trajectories,
    reference: Trajectories,
    *,
    align: str = "sim3",
    relation: str = "translation",
    n_align: int | None = None,
    mask: Trajectories | None = None,
    lengths: ArrayLike | Sequence[int] | None = None,
    backend: str = "auto",
) -> ErrorStats:
    """Absolute pose errors of an estimated trajectory, after an alignment, and their statistics.

    The error of a pose is a statistic of ``E = aligned^-1 reference``.

    Args:
        estimate: (..., N, 4, 4) poses, camera to world, or (..., N, 3) positions where the relation needs no more; or a
            list. float32 or float64.
        reference: The same shape and dtype, pose by pose.
        align: ``sim3``, ``se3``, ``scale``, ``origin`` or ``none``, as in :func:`align_trajectory`. evo's default is
            ``none``.
        relation: ``translation`` (distance of the positions; ``point_distance`` is the same), ``rotation_deg``,
            ``rotation_rad``, ``rotation_part`` (Frobenius norm of R - I) or ``full`` (of E - I).
            ``point_distance_error_ratio`` compares steps and exists for :func:`rpe` alone.
        n_align: Fit on the first so many poses only; the errors are those of all.
        mask: (..., N) bool, True = use. Poses that are not finite are left out in any case.
        lengths: (...) poses of each item of a padded array.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        ``rmse mean median std min max sse`` (...), ``errors`` (..., N) with NaN where a pose does not count, ``n`` how
        many do, ``alignment`` (without poses), ``deviation``, ``status``. Degenerate where the alignment is: the errors
        are those after its determined part. Missing, with NaN, where no pose counts, or where the relation needs an
        orientation that the alignment leaves open (a straight line under ``sim3``).

    Raises:
        ArgumentError: Shapes that do not agree, N = 0, an unknown relation or alignment, positions where poses are
            needed, a matrix that is no pose (on a device: reported, missing).
        ArgumentTypeError: Something that is not an array, or of another dtype.

    Numerics:
        float64 throughout, rounded once to the estimate's dtype. Angles by atan2, right from 0 to 180 degrees. The
        same bits for any number of threads, batch and SIMD level; on a device from run to run, and the host's to
        rounding.

    Source:
        Sturm et al., "A benchmark for the evaluation of RGB-D SLAM systems", IROS 2012, section IV; relations as in
        evo, https://github.com/MichaelGrupp/evo.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> reference = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]])
        >>> estimate = 2 * reference
        >>> float(wmb.ape(estimate, reference).rmse) < 1e-12
        True
        >>> wmb.ape(estimate, reference, align="none").errors.round(3).tolist()
        [0.0, 1.0, 1.414, 1.732]
    """
    return _absolute("ape", estimate, reference, align, relation, n_align, mask, lengths, backend)


def ate(
    estimate: Trajectories,
    reference: Trajectories,
    *,
    align: str = "sim3",
    mask: Trajectories | None = None,
    lengths: ArrayLike | Sequence[int] | None = None,
    backend: str = "auto",
) -> ErrorStats:
    """Absolute trajectory error: distances of the positions after an alignment. :func:`ape` with its first relation.

    Args:
        estimate: (..., N, 3) positions or (..., N, 4, 4) poses, camera to world; or a list. float32 or float64.
        reference: The same shape and dtype, pose by pose.
        align: As in :func:`align_trajectory`.
        mask: (..., N) bool, True = use. Positions that are not finite are left out in any case.
        lengths: (...) poses of each item of a padded array.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        As :func:`ape`, in the unit of the reference.

    Raises:
        ArgumentError, ArgumentTypeError: As :func:`ape`.

    Numerics:
        As :func:`ape`.

    Source:
        Sturm et al., IROS 2012, section IV.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> reference = np.arange(5.0)[:, None] * [1, 0, 0]
        >>> frozen = np.full((5, 3), 7.0)
        >>> error = wmb.ate(frozen, reference)
        >>> round(float(error.rmse), 6), int(error.status), error.reason()
        (1.414214, 1, 'the source has zero spread: scale and rotation are undetermined')
    """
    return _absolute("ate", estimate, reference, align, "translation", None, mask, lengths, backend)


def _absolute(
    op: str,
    estimate: Trajectories,
    reference: Trajectories,
    align: str,
    relation: str,
    n_align: int | None,
    mask: Trajectories | None,
    lengths: ArrayLike | Sequence[int] | None,
    backend: str,
) -> ErrorStats:
    one_of(op, "align", align, ALIGNMENTS)
    one_of(op, "relation", relation, RELATIONS[:-1])
    needs_poses = align == "origin" or relation not in ("translation", "point_distance")
    batch = _poses_or_points(op, estimate, reference, mask, lengths, needs_poses)
    n_fit = first_to_fit(op, n_align)
    chosen = pick(op, backend, batch.call.device)
    if chosen == "cuda":
        return _absolute_on_device(batch, align, relation, n_fit)
    errors, deviation = batch.empty(), np.zeros(batch.n)
    statistics, fits = np.empty((batch.n, STATISTICS_ROW)), np.empty((batch.n, FIT_ROW))
    if chosen == "reference":
        for i in range(batch.n):
            (a, b), use = batch.item(i)
            done = readable.ape(a, b, align=align, relation=relation, n_align=n_align, mask=use)
            begin = int(batch.begins()[i])
            errors[begin : begin + len(a)] = done.errors
            statistics[i] = statistics_row(done)
            fits[i] = fit_row(done.alignment)
            if needs_poses:
                deviation[i] = _deviation(a, b, use)
    else:
        pair = batch.data["estimate"], batch.data["reference"]
        how = ALIGNMENTS.index(align), n_fit, RELATIONS.index(relation)
        out = errors, deviation, statistics.reshape(-1), fits.reshape(-1)
        refuse(batch, core.ape(*pair, batch.width, *batch.layout(), *how, *out))  # type: ignore[call-overload]
    alignment = alignment_of(batch, sim3_of(batch, fits))
    return stats_of(batch, statistics, batch.per_pose(errors), alignment, deviation, "not_finite")


def _absolute_on_device(batch: Batch, align: str, relation: str, n_fit: int) -> ErrorStats:
    how = batch.width > 3, ALIGNMENTS.index(align), MOST_POSES if n_fit < 0 else n_fit, RELATIONS.index(relation)
    found = kernels("align").ape(on_device.tracks_of(batch), *how, on_device.most_poses(batch))
    errors, deviation, statistics, fits = found
    alignment = on_device.alignment_of(batch, fits)
    return on_device.stats_of(batch, statistics, on_device.per_pose(batch, errors), alignment, deviation)


def _poses_or_points(
    op: str,
    estimate: Trajectories,
    reference: Trajectories,
    mask: Trajectories | None,
    lengths: ArrayLike | Sequence[int] | None,
    needs_poses: bool,
) -> Batch:
    tails = _POSES_ALONE if needs_poses else _EITHER
    return batch_of(op, {"estimate": estimate, "reference": reference}, tails, mask, lengths)


def first_to_fit(op: str, n_align: int | None) -> int:
    """How many poses the core fits on; -1 for all."""
    return -1 if n_align is None else min(integer(op, "n_align", n_align, at_least=1), MOST_POSES)


def _deviation(est: Array, ref: Array, use: Array | None) -> float:
    """The largest max |R'R - I| of the poses that count."""
    off = np.stack([readable.deviation(p[:, :3, :3].astype(np.float64)) for p in (est, ref)])
    good = np.isfinite(off) if use is None else np.isfinite(off) & use
    return float(off[good].max()) if good.any() else 0.0


def fit_row(fit: readable.Sim3) -> Array:
    """What the readable statement fitted, as the core writes it."""
    rest = [fit.scale, fit.rmse, fit.rank, code(fit.reason)]
    return np.concatenate([fit.rotation.reshape(-1), fit.translation, rest])


def statistics_row(done: readable.ErrorStats) -> Array:
    """The readable statement's statistics, as the core writes them."""
    return np.array([done.rmse, done.mean, done.median, done.std, done.min, done.max, done.sse, done.n])


for _op in ("umeyama", "align_trajectory", "ape", "ate"):
    declare(_op, "cpu", "cuda", "reference")
