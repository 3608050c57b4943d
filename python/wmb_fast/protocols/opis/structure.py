# SPDX-License-Identifier: Apache-2.0
"""Static structure: do the correspondences on an object lie where its input geometry projects?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._walls.checks import real
from ..._walls.errors import bad_value
from ...ops.mask import box_medians
from .association import Flags, Indices
from .constants import FEWEST_CORRESPONDENCES, GEOMETRY_TOLERANCE
from .described import Floats
from .hull import hull_area


@dataclass(frozen=True)
class Correspondences:
    """Image matches of one frame with the input.

    Attributes:
        reference: (N, 2): pixels in the input image; current: (N, 2): in the frame.
        residual: (N,): pixels between the projected input geometry and ``current``; not finite where there is none.
        in_pixels: Whether the residuals are in the frame's own pixels; else they say nothing.
    """

    reference: Floats
    current: Floats
    residual: Floats
    in_pixels: bool = True

    def __post_init__(self) -> None:
        n = len(self.residual)
        if self.reference.shape != (n, 2) or self.current.shape != (n, 2) or self.residual.ndim != 1:
            got = f"shapes {self.reference.shape}, {self.current.shape} and {self.residual.shape}"
            wanted = "have shapes (N, 2), (N, 2) and (N,)"
            raise bad_value("Correspondences", "reference, current and residual", wanted, got)

    @classmethod
    def by_homography(
        cls, reference: npt.ArrayLike, current: npt.ArrayLike, homography: npt.ArrayLike
    ) -> Correspondences:
        """Residuals against a homography (3, 3) that maps the input's pixels into the frame."""
        a, b = (np.asarray(x, dtype=np.float64).reshape(-1, 2) for x in (reference, current))
        if len(a) != len(b):
            raise bad_value("by_homography", "current", f"be as many as reference ({len(a)})", len(b))
        moved = np.concatenate([a, np.ones((len(a), 1))], axis=1) @ np.asarray(homography, dtype=np.float64).T
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(a, b, np.linalg.norm(moved[:, :2] / moved[:, 2:] - b, axis=1))


@dataclass(frozen=True)
class StaticStructure:
    """What :func:`static_structure` returns.

    Attributes:
        score: exp(-rho / 0.05), ``None`` where there is none; then ``reason`` says why.
        rho: The median residual over the diagonal of the observed box; infinite where it means nothing.
        median_px: The median residual.
        coverage: The hull of the selected input pixels over the area of the reference box; 0 without one.
        selected: (N,) bool: inside both boxes, edges included.
        reason: ``scored`` or why not.
    """

    score: float | None
    rho: float | None
    median_px: float | None
    coverage: float
    selected: Flags
    reason: str


TOO_FEW = "insufficient_instance_correspondences"
NO_UNIT = "invalid_or_unknown_residual_units"
SCORED = "projective_consistency_measured"


def static_structure(
    matches: Correspondences,
    reference_box: Sequence[float] | None,
    observed_box: Sequence[float] | None,
    *,
    tolerance: float = GEOMETRY_TOLERANCE,
) -> StaticStructure:
    """How well an object keeps its input geometry in one frame: Eq. 4.

    All correspondences in both boxes count, not only those the camera was fitted to. There must be four. One residual
    that is not finite, residuals of unknown unit and an observed box that is missing or has no diagonal leave no score.

    Args:
        matches: Of the frame.
        reference_box: x0, y0, x1, y1 in the input; ``None`` selects everywhere.
        observed_box: The same in the frame.
        tolerance: Lambda of Eq. 4.

    Source:
        OPIS (arXiv 2609.35052), Eq. 4, and its released evaluator.

    Example:
        >>> import numpy as np
        >>> pixels = np.array([[20.0, 20.0], [80.0, 20.0], [80.0, 80.0], [20.0, 80.0]])
        >>> moved = Correspondences(pixels, pixels, np.full(4, 3.0))
        >>> round(static_structure(moved, (20, 20, 80, 80), (20, 20, 80, 80)).score, 6)
        0.493069
    """
    real("static_structure", "tolerance", tolerance, above=0)
    selected = _inside(matches.reference, reference_box) & _inside(matches.current, observed_box)
    coverage = _coverage(matches.reference[selected], reference_box)
    n = int(selected.sum())
    if n < FEWEST_CORRESPONDENCES:
        return StaticStructure(None, None, None, coverage, selected, TOO_FEW)
    residual = matches.residual[selected] if matches.in_pixels else np.full(n, np.inf)
    median = float(np.median(residual)) if np.isfinite(residual).all() else float("inf")
    diagonal = (
        0.0
        if observed_box is None
        else float(np.hypot(observed_box[2] - observed_box[0], observed_box[3] - observed_box[1]))
    )
    rho = median / diagonal if diagonal > 0 else float("inf")
    if not np.isfinite(rho):
        return StaticStructure(None, float("inf"), median, coverage, selected, NO_UNIT)
    return StaticStructure(float(np.exp(-rho / tolerance)), rho, median, coverage, selected, SCORED)


def _inside(pixels: Floats, box: Sequence[float] | None) -> Flags:
    if box is None:
        return np.ones(len(pixels), dtype=bool)
    x0, y0, x1, y1 = box
    x, y = pixels[:, 0], pixels[:, 1]
    return np.asarray((x >= x0) & (x <= x1) & (y >= y0) & (y <= y1))


def _coverage(pixels: Floats, box: Sequence[float] | None) -> float:
    if box is None or len(pixels) < 3:
        return 0.0
    area = (box[2] - box[0]) * (box[3] - box[1])
    return min(1.0, hull_area(pixels) / area) if area > 0 else 0.0


def static_scores(
    matches: Sequence[Correspondences | None],
    reference_boxes: npt.ArrayLike,
    observed_boxes: npt.ArrayLike,
    wanted: npt.ArrayLike,
    *,
    tolerance: float = GEOMETRY_TOLERANCE,
) -> tuple[Floats, npt.NDArray[np.str_]]:
    """:func:`static_structure` of many objects in many frames.

    Args:
        matches: Of each of T frames; ``None`` where there are none.
        reference_boxes: (R, 4), NaN for an object without one.
        observed_boxes: (T, R, 4).
        wanted: (T, R) bool: what to score.
        tolerance: Lambda of Eq. 4.

    Returns:
        Scores (T, R), NaN where there is none, and reasons (T, R), empty where nothing was wanted.
    """
    fixed, seen, asked = (
        np.asarray(reference_boxes, np.float64),
        np.asarray(observed_boxes, np.float64),
        np.asarray(wanted, bool),
    )
    real("static_scores", "tolerance", tolerance, above=0)
    shape = (len(matches), len(fixed))
    if seen.shape != (*shape, 4) or asked.shape != shape:
        got = f"shapes {seen.shape} and {asked.shape}"
        raise bad_value("static_scores", "observed_boxes and wanted", f"have shapes {(*shape, 4)} and {shape}", got)
    fixed = np.where(np.isnan(fixed).all(axis=1, keepdims=True), [-np.inf, -np.inf, np.inf, np.inf], fixed)
    reference, current, residual, lengths = _padded(matches)
    boxes = np.ascontiguousarray(np.broadcast_to(fixed, (*shape, 4)))
    observed = seen.copy()
    observed[~asked] = np.nan
    found = box_medians(reference, current, residual, boxes, observed, lengths=lengths)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = found.median / np.hypot(seen[..., 2] - seen[..., 0], seen[..., 3] - seen[..., 1])
        enough, measured = found.n >= FEWEST_CORRESPONDENCES, np.isfinite(rho)
        score = np.where(enough & measured, np.exp(-rho / tolerance), np.nan)
    reasons = np.array(["", TOO_FEW, NO_UNIT, SCORED])
    return score, reasons.take(np.where(asked, np.where(enough, 2 + measured, 1), 0))


def _padded(matches: Sequence[Correspondences | None]) -> tuple[Floats, Floats, Floats, Indices]:
    """Pixels (T, N, 2) twice, residuals (T, N) and how many count (T,); residuals of no unit are infinite."""
    there = [found for found in matches if found is not None]
    lengths = np.array([0 if found is None else len(found.residual) for found in matches], dtype=np.int64)
    counted = np.arange(lengths.max(initial=0)) < lengths[:, None]

    def stacked(parts: list[Floats], *tail: int) -> Floats:
        rows = np.concatenate([np.empty((0, *tail)), *parts])
        if counted.all():
            return rows.reshape(*counted.shape, *tail)
        padded = np.zeros((*counted.shape, *tail))
        padded[counted] = rows
        return padded

    residuals = [found.residual if found.in_pixels else np.full(len(found.residual), np.inf) for found in there]
    return (
        stacked([found.reference for found in there], 2),
        stacked([found.current for found in there], 2),
        stacked(residuals),
        lengths,
    )
