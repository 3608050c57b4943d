# SPDX-License-Identifier: Apache-2.0
"""Relative pose errors of one trajectory pair, NumPy float64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .align import Array, Bools, ErrorStats, Sim3, align_trajectory, nan_where_not_finite, statistics, usable

Pairs = npt.NDArray[np.int64]
AS_IS, REFUSED, LAST_ROW = 1e-5, 0.1, 1e-6


class PoseErrors(NamedTuple):
    """Relative errors over pairs (M, 2)."""

    translation: ErrorStats
    rotation_deg: ErrorStats
    relation: ErrorStats | None
    pairs: Pairs
    alignment: Sim3


def inverse(poses: Array) -> Array:
    """[R' | -R' p]"""
    out = np.zeros_like(poses)
    turned = np.swapaxes(poses[..., :3, :3], -1, -2)
    out[..., :3, :3] = turned
    out[..., :3, 3] = -(turned @ poses[..., :3, 3:])[..., 0]
    out[..., 3, 3] = 1.0
    return out


def polar(r: Array) -> Array:
    """The nearest rotation."""
    u, _, vt = np.linalg.svd(r)
    return np.asarray(u @ vt)


def deviation(r: Array) -> Array:
    """max |R'R - I|"""
    return np.asarray(np.abs(np.swapaxes(r, -1, -2) @ r - np.eye(3)).max((-2, -1)))


def finite_or_identity(r: Array) -> tuple[Array, Bools]:
    """Matrices, the identity in the place of those that are not finite; and which are."""
    good: Bools = np.asarray(np.isfinite(r).all((-2, -1)))
    return np.where(good[..., None, None], r, np.eye(3)), good


def clean_rotations(r: Array) -> Array:
    """Rotations within 1e-5 as they are, within 0.1 projected, others refused; NaN stays."""
    filled, good = finite_or_identity(r)
    off = deviation(filled)
    refused = (np.linalg.det(filled) < 0) | (off > REFUSED)
    if refused.any():
        at = np.argwhere(refused)[0].tolist()
        raise ValueError(f"matrices must be rotations, got one that is not a rotation at {at}")
    filled[off > AS_IS] = polar(filled[off > AS_IS])
    return np.where(good[..., None, None], filled, r)


def clean_poses(poses: Array) -> Array:
    """Poses with clean rotations."""
    last = poses[:, 3]
    wrong = np.isfinite(last).all(axis=-1) & (np.abs(last - [0, 0, 0, 1]).max(axis=-1) > LAST_ROW)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"poses must have the last row 0 0 0 1, got {last[at].tolist()} at [{at}]")
    out = poses.copy()
    out[:, :3, :3] = clean_rotations(poses[:, :3, :3])
    return out


def angle(r: Array) -> Array:
    """atan2(|vee(R - R')|, tr R - 1) of the nearest rotation, radians."""
    filled, good = finite_or_identity(r)
    r = polar(filled)
    vee = np.stack([r[..., 2, 1] - r[..., 1, 2], r[..., 0, 2] - r[..., 2, 0], r[..., 1, 0] - r[..., 0, 1]], -1)
    out = np.arctan2(np.linalg.norm(vee, axis=-1), np.trace(r, axis1=-2, axis2=-1) - 1.0)
    return np.where(good, out, np.nan)


def rotation_angle_deg(R_a: npt.ArrayLike, R_b: npt.ArrayLike) -> Array:
    """Angle of R_a' R_b in degrees."""
    a, b = (clean_rotations(np.asarray(r, np.float64)) for r in (R_a, R_b))
    return np.degrees(angle(np.swapaxes(a, -1, -2) @ b))


def error_of(e: Array, relation: str) -> Array:
    """A statistic of error poses."""
    r, p = e[:, :3, :3], e[:, :3, 3]
    chordal = np.linalg.norm(r - np.eye(3), axis=(1, 2))
    if relation == "translation":
        return np.asarray(np.linalg.norm(p, axis=1))
    if relation == "rotation_part":
        return np.asarray(chordal)
    if relation == "full":
        return np.asarray(np.sqrt(chordal**2 + (p**2).sum(1)))
    return np.degrees(angle(r)) if relation == "rotation_deg" else angle(r)


def select_pairs(poses: Array, use: Bools, delta: float, unit: str, all_pairs: bool, tol: float) -> Pairs:
    """Pairs of poses (M, 2): see csrc/cpu/pairs.h for the rules."""
    n = len(poses)
    if unit == "frames":
        d = int(delta)
        return np.array([(i, i + d) for i in range(0, n - d, 1 if all_pairs else d)], np.int64).reshape(-1, 2)
    at = np.flatnonzero(use).astype(np.int64)
    kept = poses[at]
    in_unit = 180 / np.pi if unit == "degrees" else 1.0
    if unit == "metres":
        steps = np.linalg.norm(np.diff(kept[:, :3, 3], axis=0), axis=1)
    else:
        steps = in_unit * angle(np.swapaxes(kept[:-1, :3, :3], 1, 2) @ kept[1:, :3, :3])
    pairs: list[tuple[int, int]] = []
    if not all_pairs:
        last, total = 0, 0.0
        for k, step in enumerate(steps, 1):
            total += step
            if total >= delta:
                pairs.append((last, k))
                last, total = k, 0.0
    elif unit == "metres":
        path = np.concatenate([[0.0], np.cumsum(steps)])
        for i in range(len(path) - 1):
            miss = np.abs(path[i + 1 :] - path[i] - delta)
            if miss.min() <= tol * delta:
                pairs.append((i, i + 1 + int(miss.argmin())))
    else:
        low, high = delta - tol * delta, delta + tol * delta
        for i in range(len(kept) - 1):
            angles = in_unit * angle(kept[i, :3, :3].T @ kept[i + 1 :, :3, :3])
            pairs += [(i, i + 1 + int(k)) for k in np.flatnonzero((low <= angles) & (angles <= high))]
    return at[np.array(pairs, np.int64).reshape(-1, 2)]


def rpe(
    estimate: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    delta: float = 1,
    unit: str = "frames",
    all_pairs: bool = True,
    relative_tolerance: float = 0.1,
    pairs_from: str = "estimate",
    relation: str | None = None,
    frame: str = "local",
    align: str = "none",
    n_align: int | None = None,
    mask: npt.ArrayLike | None = None,
) -> PoseErrors:
    """E = (ref_i^-1 ref_j)^-1 (est_i^-1 est_j) over pairs."""
    est, ref = (clean_poses(nan_where_not_finite(np.asarray(p, np.float64))) for p in (estimate, reference))
    use = usable(est, ref)
    if mask is not None:
        use &= np.asarray(mask, bool)
    sim3 = align_trajectory(estimate, reference, mode=align, n_align=n_align, mask=mask).sim3
    if align == "none":
        sim3 = sim3._replace(rmse=np.nan)
    # A rotation and a translation cancel in relative poses; the scale does not.
    est[:, :3, 3] *= 1.0 if np.isnan(sim3.scale) else sim3.scale
    chosen = est if pairs_from == "estimate" else ref
    pairs = select_pairs(chosen, use, delta, unit, all_pairs, relative_tolerance)
    i, j = pairs[:, 0], pairs[:, 1]
    off = np.where(use[i] & use[j], 0.0, np.nan)
    e = inverse(inverse(ref[i]) @ ref[j]) @ (inverse(est[i]) @ est[j])
    est_move, ref_move = est[j, :3, 3] - est[i, :3, 3], ref[j, :3, 3] - ref[i, :3, 3]
    translation = error_of(e, "translation")
    if frame == "world":
        turn = np.eye(3) if align in ("none", "scale") or np.isnan(sim3.rotation).any() else sim3.rotation
        translation = np.linalg.norm(est_move @ turn.T - ref_move, axis=1)
    extra = None
    if relation in ("point_distance", "point_distance_error_ratio"):
        lengths = np.linalg.norm(ref_move, axis=1)
        extra = np.abs(lengths - np.linalg.norm(est_move, axis=1))
        if relation == "point_distance_error_ratio":
            extra = np.where(lengths > 0, 100 * extra / np.where(lengths > 0, lengths, 1.0), np.nan)
    elif relation is not None:
        extra = error_of(e, relation)
    return PoseErrors(
        statistics(translation + off, sim3),
        statistics(error_of(e, "rotation_deg") + off, sim3),
        None if extra is None else statistics(extra + off, sim3),
        pairs,
        sim3,
    )
