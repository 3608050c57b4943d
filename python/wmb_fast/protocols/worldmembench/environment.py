# SPDX-License-Identifier: Apache-2.0
"""Environment memory: whether the scene that comes back into view looks the same, and has the same geometry.

EXACT: the reference is taken once, in V; each revisit is scored against it on its own; a DINOv2 similarity, depth and
reconstruction by DA3; Reconstruction gives 0 for an invalid revisit (appendix G.1). RECONSTRUCTED: all formulas.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.checks import integer, one_of, real, shape_text
from ..._walls.errors import bad_value
from ...ops.cosine import cosine_pairs
from ...ops.match import nearest
from ...ops.reproject import unproject
from .arrays import Flags, Values, flags, has_frames, numbers
from .revisits import NO_FRAME, Revisits

DEPTH_STATISTICS = ("exp_absrel", "delta")
FEWEST_SHARE = 0.01  # of the pixels must have depth in both views


def environment_visible(
    reference: npt.ArrayLike, observed: npt.ArrayLike, valid: npt.ArrayLike | None = None
) -> Revisits:
    """Environment Visible: ``max(0, cos)`` of features of the whole view.

    Args:
        reference: (D,) of the first view, or (P, D) of its patches: then the mean of the patches' cosines.
        observed: (K, W, D) in W frames of each of K returns, or (K, W, P, D).
        valid: (K, W) bool: which frames count; by default all.

    Returns:
        The revisits: the mean over a return's valid frames; none where no frame is valid, or a feature is broken.

    Source:
        WorldMemBench, section 4.4. EXACT: DINOv2, fixed reference. RECONSTRUCTED: a plain similarity of the full view.

    Example:
        >>> environment_visible([1.0, 0.0], [[[1.0, 0.0]], [[0.6, 0.8]]]).values.round(6).tolist()
        [1.0, 0.6]
    """
    op = "environment_visible"
    first, later = numbers(op, "reference", reference), numbers(op, "observed", observed)
    if first.ndim not in (1, 2) or later.ndim != first.ndim + 2 or later.shape[2:] != first.shape:
        wanted = "(D,) and (K, W, D), or (P, D) and (K, W, P, D)"
        raise bad_value(op, "reference and observed", f"have shapes {wanted}", f"{first.shape} and {later.shape}")
    if not first.size:
        raise bad_value(op, "reference", "hold at least one number", shape_text(first))
    has_frames(op, later)
    seen = flags(op, "valid", valid, later.shape[:2])
    scores = np.maximum(np.asarray(cosine_pairs(later, np.broadcast_to(first, later.shape))), 0.0)
    return _per_return(scores.mean(axis=-1) if first.ndim == 2 else scores, seen, "not_finite", {})


def environment_depth(
    reference: npt.ArrayLike,
    observed: npt.ArrayLike,
    valid: npt.ArrayLike | None = None,
    *,
    statistic: str = "exp_absrel",
    delta: float = 1.25,
) -> Revisits:
    """Environment Depth: how well the depth after a return agrees with that of the first view, pixel by pixel.

    The observed depth is brought to the reference's scale by the median of their ratio. Then
    ``exp(-mean |z - z_ref| / z_ref)``, or the share of pixels whose ratio is below ``delta`` either way.

    Args:
        reference: (H, W) depth of the first view; 0, negative, NaN and infinite is none.
        observed: (K, W, H, W) in W frames of each of K returns.
        valid: (K, W) bool: which frames count; by default all.
        statistic: ``exp_absrel`` or ``delta``.
        delta: Above 1.

    Returns:
        The revisits: the mean over a return's valid frames, none where no frame is valid. A frame that shares less
        than 1 % of its pixels with the reference has no value.

    Source:
        WorldMemBench, section 4.4. EXACT: depth by DA3, fixed reference. RECONSTRUCTED: alignment and statistic. Model
        ranks by the paper's metric agree with people's at Spearman 0.301 only (table 6).

    Example:
        >>> import numpy as np
        >>> room = np.array([[2.0, 4.0], [4.0, 8.0]])
        >>> environment_depth(room, [[3 * room], [room.T[::-1]]]).values.round(3).tolist()
        [1.0, 0.549]
    """
    op = "environment_depth"
    one_of(op, "statistic", statistic, DEPTH_STATISTICS)
    limit = real(op, "delta", delta, above=1)
    first, later = _maps(op, reference, observed)
    seen = flags(op, "valid", valid, later.shape[:2])
    scores = np.full(seen.shape, np.nan)
    for k, w in np.argwhere(seen):
        scores[k, w] = _depth_score(first, later[k, w], statistic, limit)
    detail = {"statistic": statistic, "alignment": "median of ratios"}
    return _per_return(scores, seen, "no_depth: too few pixels have depth in both views", detail)


def _depth_score(reference: Values, observed: Values, statistic: str, limit: float) -> float:
    both = _has_depth(reference) & _has_depth(observed)
    if both.sum() < max(1, FEWEST_SHARE * both.size):
        return math.nan
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        ratio = observed[both] / reference[both]
        ratio = ratio / np.median(ratio)
    if not np.isfinite(ratio).all() or not ratio.all():  # depths too far apart for float64
        return math.nan
    if statistic == "delta":
        return float((np.maximum(ratio, 1 / ratio) < limit).mean())
    return math.exp(-float(np.abs(ratio - 1).mean()))


def environment_reconstruction(
    reference: npt.ArrayLike,
    reference_pose: npt.ArrayLike,
    observed: npt.ArrayLike,
    observed_poses: npt.ArrayLike,
    intrinsics: npt.ArrayLike,
    valid: npt.ArrayLike,
    *,
    tau: float = 0.05,
    columns: int = 64,
) -> Revisits:
    """Environment Reconstruction: whether the points seen after a return lie where the first view put them.

    Depth maps become points of one world through their poses. F-score: the harmonic mean of the share of observed
    points with a reference point within ``tau`` times the scene's scale, and of reference points with an observed one.

    Args:
        reference: (H, W) depth of the first view, and ``reference_pose`` (4, 4), camera to world.
        reference_pose: See above.
        observed: (K, W, H, W) in W frames of each of K returns.
        observed_poses: (K, W, 4, 4), in the same world and scale as the reference.
        intrinsics: (3, 3) or (4,) fx, fy, cx, cy, of the depth maps' pixels.
        valid: (K,) bool: whether the camera really went away and came back. An invalid revisit counts 0 (the paper's
            rule); what makes one invalid is the caller's to say. The paper keeps the rule among revisits that qualify
            by angle, so its validity is probably not that filter.
        tau: As a share of the median depth of the first view.
        columns: Points along a row of the grid on which depth is sampled.

    Returns:
        The revisits; ``detail`` holds precision and recall. A pose that is not finite is no return: 0. A valid return
        without depth has no value, and none has where the reference lacks its pose or its depth.

    Numerics:
        Distances by :func:`wmb_fast.nearest` in float64: points in one place are at distance 0, so the same view gives
        1.0 exactly.

    Source:
        WorldMemBench, section 4.4 and appendix G.1. EXACT: DA3, zero for invalid revisits. RECONSTRUCTED: the F-score.

    Example:
        >>> import numpy as np
        >>> wall, camera = np.full((20, 30), 4.0), np.array([30.0, 30.0, 14.5, 9.5])
        >>> away = np.eye(4)
        >>> away[2, 3] = 1.0
        >>> poses = [[np.eye(4)], [away], [np.eye(4)]]
        >>> found = environment_reconstruction(wall, np.eye(4), [[wall]] * 3, poses, camera, [True, True, False])
        >>> found.values.tolist()
        [1.0, 0.0, 0.0]
    """
    op = "environment_reconstruction"
    share = real(op, "tau", tau, above=0)
    integer(op, "columns", columns, at_least=2)
    first, later = _maps(op, reference, observed)
    start, poses = numbers(op, "reference_pose", reference_pose), numbers(op, "observed_poses", observed_poses)
    camera = numbers(op, "intrinsics", intrinsics)
    if start.shape != (4, 4) or poses.shape != (*later.shape[:2], 4, 4):
        wanted = f"have shapes (4, 4) and {(*later.shape[:2], 4, 4)}"
        raise bad_value(op, "reference_pose and observed_poses", wanted, f"{start.shape} and {poses.shape}")
    returned = flags(op, "valid", valid, later.shape[:1])
    step = max(1, -(-first.shape[1] // columns))
    base = _points(first, start, camera, step) if np.isfinite(start).all() else np.empty((0, 3))
    posed = np.isfinite(poses).all(axis=(2, 3))
    found = np.full((*posed.shape, 3), np.nan)
    reach = share * _scale_of(first)
    for k, w in np.argwhere(posed & returned[:, None]):
        found[k, w] = _f_score(base, _points(later[k, w], poses[k, w], camera, step), reach)
    seen = posed & returned[:, None]
    detail = {"tau": share, "columns": columns, "valid": returned}
    detail |= {name: _means(found[..., i], seen) for i, name in ((1, "precision"), (2, "recall"))}
    lacking = "no_depth: a valid return, or the reference, has none"
    if not np.isfinite(start).all():
        lacking = "no_pose: the reference has none"
    made = _per_return(found[..., 0], seen, lacking, detail, unseen=0.0)
    invalid = "invalid_return: the camera did not depart and come back, or has no pose, which counts 0"
    return replace(made, zeroed=["" if ok else invalid for ok in np.atleast_1d(seen.any(axis=1))])


def _scale_of(depth: Values) -> float:
    there = depth[_has_depth(depth)]
    return float(np.median(there)) if there.size else math.nan


def _points(depth: Values, pose: Values, camera: Values, step: int) -> Values:
    """Points in the world, (M, 3), of every ``step``-th pixel that has depth."""
    clean = np.where(_has_depth(depth), depth, np.nan)
    rows = np.asarray(unproject(clean, camera))[step // 2 :: step, step // 2 :: step].reshape(-1, 3)
    rows = rows[np.isfinite(rows).all(axis=1)]
    placed: Values = rows @ pose[:3, :3].T + pose[:3, 3]
    return placed


def _f_score(reference: Values, observed: Values, reach: float) -> tuple[float, float, float]:
    if not len(reference) or not len(observed):
        return math.nan, math.nan, math.nan
    ways = ((observed, reference), (reference, observed))
    precision, recall = (float((np.asarray(nearest(a, b, metric="l2").score) <= reach).mean()) for a, b in ways)
    both = precision + recall
    return (2 * precision * recall / both if both else 0.0), precision, recall


def _per_return(scores: Values, seen: Flags, reason: str, detail: dict[str, Any], unseen: float = math.nan) -> Revisits:
    """(K, W) to (K,): the mean over valid frames, ``unseen`` where none is; a broken frame leaves no value."""
    values, some = _means(scores, seen), seen.any(axis=1)
    values[~some] = unseen
    used = (seen & np.isfinite(scores)).sum(axis=1).astype(np.int64)
    why = reason if np.isnan(values[some]).any() else NO_FRAME
    return Revisits(values, used, scores.shape[1], None, why if np.isnan(values).any() else "", detail)


def _means(scores: Values, seen: Flags) -> Values:
    rows = zip(scores, seen, strict=True)
    return np.array([row[mask].mean() if mask.any() else math.nan for row, mask in rows], dtype=np.float64)


def _has_depth(depth: Values) -> Flags:
    there: Flags = np.isfinite(depth) & (depth > 0)
    return there


def _maps(op: str, reference: Any, observed: Any) -> tuple[Values, Values]:
    first, later = numbers(op, "reference", reference), numbers(op, "observed", observed)
    if first.ndim != 2 or later.ndim != 4 or later.shape[2:] != first.shape:
        wanted = "have shapes (H, W) and (K, W', H, W)"
        raise bad_value(op, "reference and observed", wanted, f"{first.shape} and {later.shape}")
    has_frames(op, later)
    return first, later
