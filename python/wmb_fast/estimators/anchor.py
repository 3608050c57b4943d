# SPDX-License-Identifier: Apache-2.0
"""The camera of a frame from correspondences with an image whose geometry is known: OPIS's anchored geometry.

Only the background speaks of the camera: correspondences on annotated objects take no part in the fit. Every second one
is held out, and must agree. Correspondences and depth are given; no network runs here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .._walls.checks import shape_text
from .._walls.errors import bad_value
from ..ops.reproject import project
from .opencv import opencv

VERSION = 1
WHO = "anchor_camera"
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

FEWEST_BACKGROUND, FEWEST_DEPTHS = 16, 8
MIN_SUPPORT = 0.02  # of the image, by the hull of the background's correspondences
MAX_RESIDUAL_PX = 8.0
ITERATIONS, CONFIDENCE, SEED = 1000, 0.999, 0
FEWEST_INLIERS = 6
MIN_INLIERS, MIN_RELIABILITY = 0.45, 0.65
MAX_SCALE = 4.0
MAX_DEPTH_ERROR, DEPTH_QUANTILE = 0.15, 0.9
SMALLEST_SPREAD = 1e-6  # below, the background's points lie on a line


@dataclass(frozen=True)
class View:
    """What is known of an image.

    Attributes:
        depth: (H, W): z; what is not above 0 and finite is none.
        intrinsics: (3, 3).
    """

    depth: npt.NDArray[np.floating[Any]]
    intrinsics: Floats

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.depth.shape[1], self.depth.shape[0]

    def at(self, pixels: Floats) -> tuple[Floats, Flags]:
        """Depth at the nearest pixels (N, 2), and where there is any."""
        x, y = np.rint(np.nan_to_num(pixels, nan=-1.0, posinf=-1.0, neginf=-1.0)).astype(np.int64).T
        inside = (x >= 0) & (y >= 0) & (x < self.size[0]) & (y < self.size[1])
        z = np.zeros(len(pixels))
        z[inside] = self.depth[y[inside], x[inside]]
        return z, inside & np.isfinite(z) & (z > 0)

    def points(self, pixels: Floats) -> tuple[Floats, Flags]:
        """The points (N, 3) that the nearest pixels show, in the camera's coordinates, and where there are any."""
        z, there = self.at(pixels)
        x, y = np.rint(np.where(there[:, None], pixels, 0.0)).T
        k = self.intrinsics
        return np.stack([(x - k[0, 2]) / k[0, 0] * z, (y - k[1, 2]) / k[1, 1] * z, z], axis=1), there


@dataclass(frozen=True)
class Anchored:
    """What :func:`anchor_camera` returns.

    Attributes:
        reason: ``ok``, or what failed; then the rest that was known by then is in ``diagnostics``.
        T_current_reference: (4, 4): maps the reference camera's coordinates into the current one's; ``None`` if failed.
        intrinsics: (3, 3): of the current camera, as chosen.
        depth_scale: What the current depth must be multiplied by to be on the reference's scale.
        residual: (N,): pixels between each projected point and its correspondence; infinite where there is no point.
        inlier: (N,): residual at most 8 pixels, in front of the camera, with depth.
        reliability: The smaller share of inliers, of those fitted and those held out.
        diagnostics: Counts and shares by name.
    """

    reason: str
    T_current_reference: Floats | None = None
    intrinsics: Floats | None = None
    depth_scale: float | None = None
    residual: Floats | None = None
    inlier: Flags | None = None
    reliability: float | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scored(self) -> bool:
        """Whether the camera was found."""
        return self.T_current_reference is not None


class _FailedError(Exception):
    """Why there is no camera."""


def anchor_camera(
    reference: View,
    current: View,
    reference_pixels: npt.ArrayLike,
    current_pixels: npt.ArrayLike,
    background: npt.ArrayLike,
) -> Anchored:
    """The camera of the current frame in the coordinates of the reference's.

    The background's correspondences, sorted by row and column of the reference, are fitted (the even ones) and held out
    (the odd ones). Two sets of intrinsics, the frame's own and the reference's resized, and two fits, RANSAC with EPnP
    and its refinement, are tried; the one with the least mean of residuals cut off at 8 pixels is taken. Then enough of
    both halves must be inliers (0.65), and cover 2 % of both images; the median ratio of depths is the scale, from 1/4
    to 4; and the scaled depth of those held out must agree to 0.15 in its logarithm for nine of ten.

    Args:
        reference: The input image's depth and intrinsics.
        current: The frame's.
        reference_pixels: (N, 2): correspondences in the reference.
        current_pixels: (N, 2): the same points in the frame.
        background: (H, W) bool: where in the reference no annotated object is, nor its margin.

    Returns:
        An :class:`Anchored`; what cannot be found has a reason.

    Raises:
        ArgumentError: Shapes that do not go together.
        MissingExtraError: OpenCV is not installed.

    Numerics:
        OpenCV's RANSAC with a fixed seed, one thread: the same result for one version of OpenCV.

    Source:
        OPIS (arXiv 2609.35052), section 4.1; thresholds of its released evaluator.
    """
    a, b = (np.asarray(x, dtype=np.float64).reshape(-1, 2) for x in (reference_pixels, current_pixels))
    free = np.asarray(background, dtype=bool)
    if len(a) != len(b):
        raise bad_value(WHO, "current_pixels", f"be as many as reference_pixels ({len(a)})", len(b))
    if free.shape != reference.depth.shape:
        raise bad_value(WHO, "background", f"have the reference's size {reference.depth.shape}", shape_text(free))
    said: dict[str, Any] = {"n_correspondences": len(a)}
    try:
        return _anchored(reference, current, a, b, free, said)
    except _FailedError as failure:
        return Anchored(str(failure), diagnostics=said)


def _anchored(
    reference: View, current: View, a: Floats, b: Floats, background: Flags, said: dict[str, Any]
) -> Anchored:
    points, there = reference.points(a)
    z, seen = current.at(b)
    x, y = np.rint(np.where(there[:, None], a, 0.0)).astype(np.int64).T
    chosen = np.flatnonzero(there & seen & background[y, x])
    said["n_background"] = len(chosen)
    if len(chosen) < max(FEWEST_BACKGROUND, 2 * FEWEST_DEPTHS):
        raise _FailedError("insufficient_background_matches")
    said["background_support"] = min(_support(a[chosen], reference.size), _support(b[chosen], current.size))
    if said["background_support"] < MIN_SUPPORT:
        raise _FailedError("insufficient_background_spatial_support")
    if np.linalg.matrix_rank(points[chosen] - points[chosen].mean(axis=0), tol=SMALLEST_SPREAD) < 2:
        raise _FailedError("degenerate_background_geometry")
    ordered = chosen[np.lexsort((a[chosen, 0], a[chosen, 1]))]
    fitted, held_out = ordered[::2], ordered[1::2]
    pose, intrinsics = _best_camera(reference, current, points[fitted], b[fitted], said)
    residual, depth = _residuals(points, b, pose, intrinsics)
    residual[~there] = np.inf
    inlier = there & seen & (residual <= MAX_RESIDUAL_PX)
    reliability = min(float(inlier[fitted].mean()), float(inlier[held_out].mean()))
    said |= {"fitted_inliers": float(inlier[fitted].mean()), "held_out_inliers": float(inlier[held_out].mean())}
    if reliability < max(MIN_INLIERS, MIN_RELIABILITY):
        raise _FailedError("unreliable_background_camera_pose")
    halves = [half[inlier[half]] for half in (fitted, held_out)]
    supports = [_support(p[half], v.size) for half in halves for p, v in ((a, reference), (b, current))]
    said["inlier_support"] = min(supports)
    if said["inlier_support"] < MIN_SUPPORT:
        raise _FailedError("insufficient_background_inlier_support")
    scale = _depth_scale(depth, z, halves, said)
    return Anchored("ok", pose, intrinsics, scale, residual, inlier, reliability, said)


def _depth_scale(depth: Floats, seen: Floats, halves: Sequence[npt.NDArray[np.int64]], said: dict[str, Any]) -> float:
    fitted, held_out = halves
    if min(len(fitted), len(held_out)) < FEWEST_DEPTHS:
        raise _FailedError("insufficient_depth_alignment_samples")
    scale = float(np.median(depth[fitted] / seen[fitted]))
    said["depth_scale"] = scale
    if not 1 / MAX_SCALE <= scale <= MAX_SCALE:
        raise _FailedError("unreliable_depth_scale")
    errors = np.abs(np.log(seen[held_out] * scale / depth[held_out]))
    said["held_out_depth_error"] = float(np.quantile(errors, DEPTH_QUANTILE))
    if said["held_out_depth_error"] > MAX_DEPTH_ERROR:
        raise _FailedError("unreliable_depth_alignment")
    return scale


def _best_camera(
    reference: View, current: View, points: Floats, pixels: Floats, said: dict[str, Any]
) -> tuple[Floats, Floats]:
    """The pose and the intrinsics with the least mean of residuals cut off at 8 pixels."""
    tried: list[tuple[float, str, Floats, Floats]] = []
    for source, intrinsics in (("current", current.intrinsics), ("reference_resized", _resized(reference, current))):
        for method, pose in _poses(points, pixels, intrinsics):
            residual, _ = _residuals(points, pixels, pose, intrinsics)
            loss = float(np.minimum(residual, MAX_RESIDUAL_PX).mean())
            tried.append((loss, f"{source} {method}", pose, intrinsics))
    if not tried:
        raise _FailedError("background_pnp_failed")
    loss, said["camera"], pose, intrinsics = min(tried, key=lambda one: one[0])
    said["fitted_loss_px"] = loss
    return pose, intrinsics


def _resized(reference: View, current: View) -> Floats:
    """The reference's intrinsics for images of the current size; integer coordinates are pixel centres."""
    k = np.array(reference.intrinsics, dtype=np.float64)
    for axis in (0, 1):
        ratio = current.size[axis] / reference.size[axis]
        k[axis, axis] *= ratio
        k[axis, 2] = (k[axis, 2] + 0.5) * ratio - 0.5
    return k


def _poses(points: Floats, pixels: Floats, intrinsics: Floats) -> list[tuple[str, Floats]]:
    """RANSAC with EPnP, and its refinement on the inliers; nothing where that fails."""
    cv2 = opencv(WHO)
    cv2.setRNGSeed(SEED)
    camera = np.array(intrinsics, dtype=np.float64)
    try:
        found, turn, shift, inliers = cv2.solvePnPRansac(
            points, pixels, camera, None, iterationsCount=ITERATIONS, reprojectionError=MAX_RESIDUAL_PX,
            confidence=CONFIDENCE, flags=cv2.SOLVEPNP_EPNP,
        )  # fmt: skip
        if not found or inliers is None or len(inliers) < FEWEST_INLIERS:
            return []
        kept = inliers.reshape(-1)
        refined = cv2.solvePnPRefineLM(points[kept], pixels[kept], camera, None, turn.copy(), shift.copy())
    except cv2.error:
        return []
    return [(name, _matrix(cv2, *pose)) for name, pose in (("ransac", (turn, shift)), ("refined", refined))]


def _matrix(cv2: Any, turn: Floats, shift: Floats) -> Floats:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = cv2.Rodrigues(turn)[0], shift.reshape(3)
    return pose


def _residuals(points: Floats, pixels: Floats, pose: Floats, intrinsics: Floats) -> tuple[Floats, Floats]:
    """Pixels between projected points and where they were seen, infinite behind the camera; and depths."""
    found = project(np.ascontiguousarray(points), np.array(intrinsics, dtype=np.float64), pose)
    with np.errstate(invalid="ignore"):
        distance = np.linalg.norm(found.pixels - pixels, axis=1)
    depth = points @ pose[2, :3] + pose[2, 3]
    return np.where((depth > 0) & np.isfinite(distance), distance, np.inf), depth


def _support(pixels: Floats, size: tuple[int, int]) -> float:
    """The hull of pixels as a share of the image."""
    if len(pixels) < 3:
        return 0.0
    cv2 = opencv(WHO)
    return float(cv2.contourArea(cv2.convexHull(pixels.astype(np.float32)))) / (size[0] * size[1])


def geometry_frame(
    anchored: Anchored,
    reference: View,
    current: View,
    reference_pixels: npt.ArrayLike,
    current_pixels: npt.ArrayLike,
    queries: Mapping[str, npt.ArrayLike],
) -> dict[str, Any]:
    """A frame as a geometry artefact of schema version 3 holds it, for the protocol to score.

    Args:
        anchored: Of :func:`anchor_camera`.
        reference, current: As given to it.
        reference_pixels, current_pixels: (N, 2): as given to it; those on objects are what structure is measured by.
        queries: Object id to pixels (Q, 2) of the reference that lie on the object.

    Returns:
        A record: status, pixels, residuals, and the projections of the objects with at least four points.
    """
    frame: dict[str, Any] = {
        "status": "scored" if anchored.scored else "evaluator_failure",
        "reference_pixels": np.asarray(reference_pixels, dtype=np.float64).reshape(-1, 2),
        "current_pixels": np.asarray(current_pixels, dtype=np.float64).reshape(-1, 2),
        "reprojection_errors": anchored.residual,
        "error_space": "source_pixels",
        "diagnostics": {"reason": anchored.reason, **anchored.diagnostics},
        "instance_visibility": {},
    }
    if anchored.T_current_reference is None or anchored.intrinsics is None or anchored.depth_scale is None:
        return frame
    for name, pixels in queries.items():
        points, there = reference.points(np.asarray(pixels, dtype=np.float64).reshape(-1, 2))
        points = np.ascontiguousarray(points[there])
        if len(points) < 4:
            continue
        pose = anchored.T_current_reference
        depth = points @ pose[2, :3] + pose[2, 3]
        # A point behind the camera is outside, and not invalid: any finite pixel says so.
        at = np.where((depth <= 0)[:, None], -1.0, project(points, anchored.intrinsics, pose).pixels)
        z, seen = current.at(at)
        frame["instance_visibility"][name] = {
            "reference_source": "input_only",
            "camera_confidence": anchored.reliability,
            "projected_pixels": at,
            "projected_depth": depth,
            "current_depth": np.where(seen, z * anchored.depth_scale, 0.0),
            "depth_confidence": seen.astype(np.float64),
        }
    return frame
