# SPDX-License-Identifier: Apache-2.0
"""Static structure: do the correspondences on an object lie where its input geometry projects?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
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

    @classmethod
    def by_homography(
        cls, reference: npt.ArrayLike, current: npt.ArrayLike, homography: npt.ArrayLike
    ) -> Correspondences:
        """Residuals against a homography (3, 3) that maps the input's pixels into the frame."""
        a, b = (np.asarray(x, dtype=np.float64).reshape(-1, 2) for x in (reference, current))
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
    shape = (len(matches), len(fixed))
    if seen.shape != (*shape, 4) or asked.shape != shape:
        got = f"shapes {seen.shape} and {asked.shape}"
        raise bad_value("static_scores", "observed_boxes and wanted", f"have shapes {(*shape, 4)} and {shape}", got)
    fixed = np.where(np.isnan(fixed).all(axis=1, keepdims=True), [-np.inf, -np.inf, np.inf, np.inf], fixed)
    score, reason = np.full(shape, np.nan), np.where(asked, TOO_FEW, "")
    cells, residuals = _selected(matches, fixed, seen, asked)
    if not len(cells):
        return score, reason
    order = np.lexsort((residuals, cells))
    cell, first, count = np.unique(cells[order], return_index=True, return_counts=True)
    ranked = residuals[order]
    median = (ranked[first + (count - 1) // 2] + ranked[first + count // 2]) / 2
    bad = np.bitwise_or.reduceat(~np.isfinite(ranked), first)
    frame, row = np.divmod(cell, shape[1])
    box = seen[frame, row]
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = np.where(bad, np.inf, median / np.hypot(box[:, 2] - box[:, 0], box[:, 3] - box[:, 1]))
    enough, measured = count >= FEWEST_CORRESPONDENCES, np.isfinite(rho)
    score[frame, row] = np.where(enough & measured, np.exp(-rho / tolerance), np.nan)
    reason[frame, row] = np.where(enough, np.where(measured, SCORED, NO_UNIT), TOO_FEW)
    return score, reason


def _selected(
    matches: Sequence[Correspondences | None], fixed: Floats, seen: Floats, asked: Flags
) -> tuple[Indices, Floats]:
    """The cell (frame times R plus reference) and the residual of every correspondence inside both boxes of a cell."""
    cells: list[Indices] = [np.empty(0, dtype=np.int64)]
    residuals: list[Floats] = [np.empty(0)]
    for t, found in enumerate(matches):
        rows = np.flatnonzero(asked[t])
        if found is None or not len(rows) or not len(found.residual):
            continue
        x, y = found.reference.T
        box = fixed[rows].T[:, :, None]
        i, k = np.nonzero((x >= box[0]) & (x <= box[2]) & (y >= box[1]) & (y <= box[3]))
        box, u, v = seen[t, rows[i]].T, found.current[k, 0], found.current[k, 1]
        both = (u >= box[0]) & (u <= box[2]) & (v >= box[1]) & (v <= box[3])
        cells.append(t * len(fixed) + rows[i[both]])
        residuals.append(found.residual[k[both]] if found.in_pixels else np.full(int(both.sum()), np.inf))
    return np.concatenate(cells), np.concatenate(residuals)
