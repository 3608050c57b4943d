# SPDX-License-Identifier: Apache-2.0
"""Alignment, absolute errors and association of trajectories: one trajectory pair a call, NumPy float64.

Each function answers like the op of the same name on one unbatched item; ``reason`` is the name of a reason, ``"ok"``
where all is well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
RANK_TOLERANCE = 1e-12
NOISE_STEPS, COARSE_STEPS = 1.0, 1000.0
UNDETERMINED = ("too_few_points", "source_zero_spread", "target_zero_spread", "uncorrelated", "rank_one", "mirrored")


class Sim3(NamedTuple):
    """target ~ scale * rotation @ source + translation."""

    rotation: Array
    translation: Array
    scale: float
    rmse: float
    rank: int
    reason: str


class Alignment(NamedTuple):
    """Aligned poses or points, and the transform that was fitted."""

    poses: Array
    sim3: Sim3


class ErrorStats(NamedTuple):
    """Statistics of the errors that are not NaN."""

    rmse: float
    mean: float
    median: float
    std: float
    min: float
    max: float
    sse: float
    errors: Array
    n: int
    alignment: Sim3


def usable(*rows: Array) -> Bools:
    """(N,) where every number of every array is finite."""
    return np.asarray(np.all([np.isfinite(array).reshape(len(array), -1).all(axis=1) for array in rows], axis=0))


def nan_where_not_finite(rows: Array) -> Array:
    """The same, rows that are not finite NaN throughout."""
    good = usable(rows).reshape(-1, *(1,) * (rows.ndim - 1))
    return np.where(good, rows, np.nan)


def umeyama(
    source: npt.ArrayLike,
    target: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    mask: npt.ArrayLike | None = None,
    with_scale: bool = True,
) -> Sim3:
    """Least squares similarity of two point sets (Umeyama 1991, eq. 34-43)."""
    epsilon = np.finfo(np.asarray(source).dtype).eps
    x, y = np.asarray(source, np.float64), np.asarray(target, np.float64)
    use = usable(x, y)
    if mask is not None:
        use &= np.asarray(mask, bool)
    w = np.ones(len(x)) if weights is None else np.asarray(weights, np.float64)
    use &= w > 0
    return _fit(x[use], y[use], w[use], with_scale, float(epsilon))


def _fit(x: Array, y: Array, w: Array, with_scale: bool, epsilon: float) -> Sim3:
    nothing = np.full((3, 3), np.nan), np.full(3, np.nan)
    if len(x) == 0:
        return Sim3(*nothing, np.nan, np.nan, 0, "not_finite")
    w = w / w.max()  # so that the sum stays within float64
    w = w / w.sum()
    mean_x, mean_y = x[0] + w @ (x - x[0]), y[0] + w @ (y - y[0])
    dx, dy = x - mean_x, y - mean_y
    var_x, var_y = w @ (dx**2).sum(1), w @ (dy**2).sum(1)
    still_x, still_y = (_within_steps(v, p[0], epsilon, NOISE_STEPS) for v, p in ((var_x, x), (var_y, y)))
    if len(x) < 2 or still_x:
        reason = "too_few_points" if len(x) < 2 else "source_zero_spread"
        return Sim3(*nothing, np.nan if with_scale else 1.0, float(np.sqrt(var_y)), 0, reason)
    if still_y:
        rotation, rank, reason, trace = np.eye(3), 0, "target_zero_spread", 0.0
    else:
        rotation, rank, reason, trace = _rotation((w[:, None] * dy).T @ dx, var_x, var_y)
        if reason == "ok" and any(_within_steps(v, p[0], epsilon, COARSE_STEPS) for v, p in ((var_x, x), (var_y, y))):
            reason = "coarse_coordinates"
    scale = max(trace / var_x, 0.0) if with_scale else 1.0
    rest = scale * dx @ rotation.T - dy
    rmse = float(np.sqrt(w @ (rest**2).sum(1)))
    return Sim3(rotation, mean_y - scale * rotation @ mean_x, float(scale), rmse, rank, reason)


def _within_steps(variance: float, point: Array, epsilon: float, steps: float) -> bool:
    """Whether a spread is below so many floating-point steps of the coordinates."""
    return bool(variance <= (np.abs(point).max() * epsilon * steps) ** 2)


def _rotation(covariance: Array, var_x: float, var_y: float) -> tuple[Array, int, str, float]:
    """The best rotation, the covariance's rank, why the rotation is not unique, and the trace of the product D S."""
    u, d, vt = np.linalg.svd(covariance)
    if d[0] <= RANK_TOLERANCE * np.sqrt(var_x * var_y):
        return np.eye(3), 0, "uncorrelated", float(d.sum())
    sign = np.array([1.0, 1.0, np.sign(np.linalg.det(u) * np.linalg.det(vt))])
    rank = int((d > RANK_TOLERANCE * d[0]).sum())
    trace = float(d @ sign)
    if rank == 1:
        return least_rotation(vt[0], u[:, 0]), 1, "rank_one", trace
    mirrored = d[1] + sign[2] * d[2] <= RANK_TOLERANCE * d[0]
    return u * sign @ vt, rank, "mirrored" if mirrored else "ok", trace


def least_rotation(a: Array, b: Array) -> Array:
    """The rotation by the least angle from one unit vector to another."""
    half = a + b
    if np.linalg.norm(half) < 1e-8:  # opposite: any axis across them
        half = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
    half = half / np.linalg.norm(half)
    return (2 * np.outer(half, half) - np.eye(3)) @ (2 * np.outer(a, a) - np.eye(3))


def align_trajectory(
    estimate: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    mode: str = "sim3",
    n_align: int | None = None,
    mask: npt.ArrayLike | None = None,
) -> Alignment:
    """Poses (N, 4, 4) or points (N, 3) of the estimate, moved onto the reference."""
    from .rpe import clean_poses

    dtype = np.asarray(estimate).dtype
    est, ref = np.asarray(estimate, np.float64), np.asarray(reference, np.float64)
    est, ref = nan_where_not_finite(est), nan_where_not_finite(ref)
    is_pose = est.ndim == 3
    if is_pose:
        est, ref = clean_poses(est), clean_poses(ref)
    x, y = (p[:, :3, 3] if is_pose else p for p in (est, ref))
    use = usable(est, ref)
    if mask is not None:
        use &= np.asarray(mask, bool)
    first = use & (np.arange(len(x)) < (len(x) if n_align is None else n_align))
    sim3 = _fit(x[first], y[first], np.ones(first.sum()), mode != "se3", float(np.finfo(dtype).eps))
    turn, moved, sim3 = _apply(mode, sim3, est, ref, x, y, np.flatnonzero(use), first)
    if not is_pose:
        return Alignment(moved, sim3)
    poses = est.copy()
    poses[:, :3, :3] = turn @ est[:, :3, :3]
    poses[:, :3, 3] = moved
    return Alignment(poses, sim3)


def _apply(
    mode: str, sim3: Sim3, est: Array, ref: Array, x: Array, y: Array, use: npt.NDArray[np.intp], first: Bools
) -> tuple[Array, Array, Sim3]:
    """What turns orientations, the moved positions, and what is reported as fitted."""
    if mode in ("sim3", "se3"):
        if np.isnan(sim3.scale) or np.isnan(sim3.rotation).any():
            moved = np.where(np.isfinite(x), y[first].mean(0) if first.any() else np.nan, np.nan)
        else:
            moved = sim3.scale * (x - x[first].mean(0)) @ sim3.rotation.T + y[first].mean(0)
        turn = np.full((3, 3), np.nan) if sim3.reason in UNDETERMINED or not first.any() else sim3.rotation
        return turn, moved, sim3
    turn, moved = np.eye(3), x.copy()
    if mode == "scale":
        moved = x * (1.0 if np.isnan(sim3.scale) else sim3.scale)
    elif len(use) == 0:
        sim3 = Sim3(np.eye(3), np.zeros(3), 1.0, np.nan, -1, "not_finite")
    else:
        reason = sim3.reason if sim3.reason == "coarse_coordinates" else "ok"
        sim3 = Sim3(np.eye(3), np.zeros(3), 1.0, np.nan, -1, reason)
        if mode == "origin":
            k = use[0]
            turn = ref[k, :3, :3] @ est[k, :3, :3].T
            moved = (x - x[k]) @ turn.T + y[k]
            sim3 = sim3._replace(rotation=turn, translation=y[k] - turn @ x[k])
    if first.any():
        sim3 = sim3._replace(rmse=float(np.sqrt(((moved - y)[first] ** 2).sum(1).mean())))
    return turn, moved, sim3


def statistics(errors: Array, alignment: Sim3) -> ErrorStats:
    """Statistics of the errors that are not NaN; all NaN where there is none."""
    e = errors[~np.isnan(errors)]
    if len(e) == 0:
        return ErrorStats(np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, errors, 0, alignment)
    sse = float((e**2).sum())
    rmse = float(np.sqrt(sse / len(e)))
    middle, spread = float(np.median(e)), float(e.std())
    return ErrorStats(rmse, float(e.mean()), middle, spread, e.min(), e.max(), sse, errors, len(e), alignment)


def ape(
    estimate: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    align: str = "sim3",
    relation: str = "translation",
    n_align: int | None = None,
    mask: npt.ArrayLike | None = None,
) -> ErrorStats:
    """Absolute errors: of positions, or a statistic of E = aligned^-1 ref."""
    from .rpe import error_of, inverse

    aligned = align_trajectory(estimate, reference, mode=align, n_align=n_align, mask=mask)
    ref = nan_where_not_finite(np.asarray(reference, np.float64))
    if relation in ("translation", "point_distance"):
        ours, theirs = (p[:, :3, 3] if p.ndim == 3 else p for p in (aligned.poses, ref))
        errors = np.linalg.norm(ours - theirs, axis=1)
    else:
        errors = error_of(inverse(aligned.poses) @ ref, relation)
    if mask is not None:
        errors = np.where(np.asarray(mask, bool), errors, np.nan)
    return statistics(errors, aligned.sim3)


def ate(
    estimate: npt.ArrayLike, reference: npt.ArrayLike, *, align: str = "sim3", mask: npt.ArrayLike | None = None
) -> ErrorStats:
    """Absolute trajectory error: distances after the alignment."""
    return ape(estimate, reference, align=align, mask=mask)


def associate(
    stamps_a: npt.ArrayLike,
    stamps_b: npt.ArrayLike,
    *,
    max_difference: float = 0.01,
    offset: float = 0.0,
    sort: bool = False,
    one_to_one: bool = True,
) -> npt.NDArray[np.int64]:
    """Pairs of stamps by trying the closest of all first. ``sort`` changes nothing here: no order is used."""
    a, b = np.asarray(stamps_a, np.float64), np.asarray(stamps_b, np.float64) + offset
    difference = np.abs(a[:, None] - b[None, :])
    near = difference <= max_difference
    if not one_to_one and len(b):  # beyond the ends of b evo adds the limit to the end
        beyond = a > b.max()
        near = near & (a >= b.min() - max_difference)[:, None] & ~beyond[:, None]
        near[beyond & (a <= b.max() + max_difference), b.argmax()] = True
    difference[~near] = np.inf
    pairs: list[tuple[int, int]] = []
    if not one_to_one:
        pairs = [(i, int(row.argmin())) for i, row in enumerate(difference) if len(b) and row.min() < np.inf]
    while one_to_one and difference.size and difference.min() < np.inf:
        tied = [(a[i], i, b[j], j) for i, j in np.argwhere(difference == difference.min())]
        _, i, _, j = min(tied)
        pairs.append((int(i), int(j)))
        difference[i, :] = difference[:, j] = np.inf
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)
