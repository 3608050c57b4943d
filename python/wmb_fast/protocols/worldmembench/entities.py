# SPDX-License-Identifier: Apache-2.0
"""Human and Object memory: what became of the people and things that the first view showed.

EXACT: the reference is taken once, in V; each revisit is scored against it on its own; ArcFace and DINOv2; values in
[0, 1], more is better. RECONSTRUCTED: all formulas. Common to the four metrics:

- ``valid`` says in which frames after the return a target was observed. A target that was not is lost, and counts 0;
- evidence that is marked valid and is not finite is broken: such a frame is left out and counted (``broken`` in
  ``detail``), and a target with no other frame has no value: a missing embedding is never taken for a lost target;
- targets that the reference does not show take no part;
- several frames of one return, and several targets, are averaged (``reduce`` says how frames are).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.checks import integer, one_of, shape_text
from ..._walls.errors import bad_value
from ...ops.cosine import cosine_pairs
from ...ops.mask import mask_iou
from .arrays import Flags, Values, flags, has_frames, masks, numbers
from .revisits import Revisits, over_targets

REDUCTIONS = ("mean", "median", "max")
ALIGNMENTS = ("similarity", "area", "none")


def human_identity(
    reference: npt.ArrayLike, observed: npt.ArrayLike, valid: npt.ArrayLike, *, reduce: str = "mean"
) -> Revisits:
    """Human ID: whether the people who come back into view are the same: ``max(0, cos)`` of face embeddings.

    Args:
        reference: (T, D) embeddings of T people in the first view; NaN where no face was found.
        observed: (K, W, T, D) in W frames of each of K returns, or (K, T, D) for one frame each.
        valid: (K, W, T) or (K, T) bool: whether the person's face was found there.
        reduce: Over the valid frames of a return: ``mean``, ``median`` or ``max``.

    Returns:
        The revisits. No face in any frame of a return: 0. No face in the reference: the person takes no part; of
        nobody a reference: not evaluable.

    Raises:
        ArgumentError: Shapes that do not go together, an unknown reduction.

    Source:
        WorldMemBench, section 4.4. EXACT: ArcFace, fixed references, lost is 0 (table 10). RECONSTRUCTED: the formula.

    Example:
        >>> import numpy as np
        >>> anna, bert = np.eye(2)
        >>> found = human_identity([anna, bert], [[anna, bert], [anna, anna]], [[True, True], [True, True]])
        >>> found.values.tolist(), found.video().value
        ([1.0, 0.5], 0.75)
    """
    return _similarity("human_identity", reference, observed, valid, reduce)


def human_appearance(
    reference: npt.ArrayLike, observed: npt.ArrayLike, valid: npt.ArrayLike, *, reduce: str = "mean"
) -> Revisits:
    """Human Appearance: as :func:`human_identity`, of features of the whole person, the background masked out.

    Source:
        WorldMemBench, section 4.4. EXACT: DINOv2, fixed references. RECONSTRUCTED: masked crops, the formula.
    """
    return _similarity("human_appearance", reference, observed, valid, reduce)


def object_appearance(
    reference: npt.ArrayLike, observed: npt.ArrayLike, valid: npt.ArrayLike, *, reduce: str = "mean"
) -> Revisits:
    """Object Appearance: as :func:`human_identity`, of features of the object, the background masked out.

    Source:
        WorldMemBench, section 4.4. EXACT: DINOv2, fixed references, tracking shared with Object Geometry.
        RECONSTRUCTED: masked crops, the formula.
    """
    return _similarity("object_appearance", reference, observed, valid, reduce)


def _similarity(op: str, reference: Any, observed: Any, valid: Any, reduce: str) -> Revisits:
    one_of(op, "reduce", reduce, REDUCTIONS)
    first = numbers(op, "reference", reference, "(T, D)")
    later = numbers(op, "observed", observed, "(K, W, T, D)", "(K, T, D)")
    later, seen = _by_frame(op, first, later, valid)
    scores = np.maximum(np.asarray(cosine_pairs(later, np.broadcast_to(first, later.shape))), 0.0)
    evaluated: Flags = np.isfinite(first).all(axis=1) & (first != 0).any(axis=1)
    lost: Flags = np.asarray(~seen.any(axis=1))
    broken = (seen & evaluated & ~np.isfinite(scores)).sum(axis=(1, 2))
    detail = {"reduce": reduce, "broken": broken}
    return over_targets(_over_frames(scores, seen, reduce), evaluated, lost, detail)


def _by_frame(op: str, first: Any, later: Any, valid: Any) -> tuple[Any, Flags]:
    """Observations and flags with an axis of frames; both fit the reference's targets."""
    if later.shape[-first.ndim :] != first.shape:
        raise bad_value(op, "observed", f"end in {first.shape}, as the reference", shape_text(later))
    seen = flags(op, "valid", valid, later.shape[: later.ndim - first.ndim + 1])
    if later.ndim == first.ndim + 1:
        later, seen = later[:, None], seen[:, None]
    has_frames(op, later)
    return later, seen


def object_geometry(
    reference: npt.ArrayLike,
    observed: npt.ArrayLike,
    valid: npt.ArrayLike,
    *,
    align: str = "similarity",
    reduce: str = "mean",
    grid: int = 128,
) -> Revisits:
    """Object Geometry: whether the things that come back have their shape: IoU of aligned masks.

    Both masks are drawn on a grid whose origin is the mask's centroid and whose unit is the square root of its area, so
    where an object stands in the picture, and how far away, does not matter; its outline does.

    Args:
        reference: (T, H, W) bool, the masks of T objects in the first view.
        observed: (K, W', T, H, W) bool in W' frames of each of K returns, or (K, T, H, W) for one frame each; of the
            same size as the reference.
        valid: (K, W', T) or (K, T) bool: whether the object was found there. An empty mask is an object not found.
        align: ``similarity`` (as above), ``area`` (that times the smaller area over the larger) or ``none`` (in place).
        reduce: Over the valid frames of a return.
        grid: Cells along each side of the grid. An outline is known to about one cell.

    Returns:
        The revisits. Not found in any frame of a return: 0. An object with an empty reference takes no part.

    Raises:
        ArgumentError: Shapes that do not go together, masks of another size, an unknown choice.

    Source:
        WorldMemBench, section 4.4. EXACT: fixed references, tracking shared with Object Appearance. RECONSTRUCTED: the
        formula.

    Example:
        >>> import numpy as np
        >>> box = np.zeros((1, 40, 60), bool)
        >>> box[0, 10:20, 10:20] = True
        >>> nearer, squashed = np.zeros((2, 1, 40, 60), bool)
        >>> nearer[0, 5:25, 30:50] = squashed[0, 15:20, 10:20] = True
        >>> found = object_geometry(box, [nearer, squashed], [[True], [True]])
        >>> found.values[0] > 0.97, 0.5 < found.values[1] < 0.6
        (np.True_, np.True_)
    """
    op = "object_geometry"
    one_of(op, "align", align, ALIGNMENTS)
    one_of(op, "reduce", reduce, REDUCTIONS)
    integer(op, "grid", grid, at_least=8)
    first, later = masks(op, "reference", reference, 3), masks(op, "observed", observed, 4, 5)
    later, seen = _by_frame(op, first, later, valid)
    evaluated: Flags = np.asarray(first.any(axis=(1, 2)))
    seen = seen & later.any(axis=(3, 4))
    scores = np.zeros(seen.shape)
    for k, w, t in np.argwhere(seen & evaluated):
        scores[k, w, t] = shape_agreement(first[t], later[k, w, t], align=align, grid=grid)
    detail = {"align": align, "grid": grid, "reduce": reduce}
    return over_targets(_over_frames(scores, seen, reduce), evaluated, ~seen.any(axis=1), detail)


def shape_agreement(a: npt.ArrayLike, b: npt.ArrayLike, *, align: str = "similarity", grid: int = 128) -> float:
    """IoU of two masks (H, W) that are not empty, aligned as :func:`object_geometry` says.

    Example:
        >>> import numpy as np
        >>> shape_agreement(np.eye(9, dtype=bool), np.eye(9, dtype=bool))
        1.0
    """
    op = "shape_agreement"
    one_of(op, "align", align, ALIGNMENTS)
    integer(op, "grid", grid, at_least=8)
    one, other = masks(op, "a", a, 2), masks(op, "b", b, 2)
    for name, mask in (("a", one), ("b", other)):
        if not mask.any():
            raise bad_value(op, name, "have at least one pixel", "none")
    if align == "none":
        return float(mask_iou(one, other))
    frames = [_own_frame(mask) for mask in (one, other)]
    reach = max(extent / unit for _, unit, extent in frames)
    cells = ((np.arange(grid) + 0.5) / grid * 2 - 1) * reach
    drawn = [_drawn(mask, centre, unit, cells) for mask, (centre, unit, _) in zip((one, other), frames, strict=True)]
    iou = float(mask_iou(*drawn))
    sizes = sorted((int(one.sum()), int(other.sum())))
    return iou * sizes[0] / sizes[1] if align == "area" else iou


def _own_frame(mask: Flags) -> tuple[Values, float, float]:
    """A mask's centroid (row, column), the square root of its area, and how far it reaches from the centroid."""
    places = np.argwhere(mask)
    centre = places.mean(axis=0)
    return centre, float(np.sqrt(len(places))), float(np.abs(places - centre).max()) + 0.5


def _drawn(mask: Flags, centre: Values, unit: float, cells: Values) -> Flags:
    """The mask at the cells of a grid in its own frame; nothing beyond the picture."""
    rows, columns = (np.floor(c + cells * unit + 0.5).astype(np.int64) for c in centre)
    inside = [(at >= 0) & (at < size) for at, size in zip((rows, columns), mask.shape, strict=True)]
    taken = mask[np.clip(rows, 0, mask.shape[0] - 1)[:, None], np.clip(columns, 0, mask.shape[1] - 1)]
    drawn: Flags = taken & inside[0][:, None] & inside[1]
    return drawn


def _over_frames(scores: Values, seen: Flags, reduce: str) -> Values:
    """(K, W, T) to (K, T): over valid frames that are finite; 0 where none is valid, NaN where none is finite."""
    result = np.zeros((scores.shape[0], scores.shape[2]))
    for k, t in np.argwhere(seen.any(axis=1)):
        usable = scores[k, seen[k, :, t], t]
        usable = usable[np.isfinite(usable)]
        result[k, t] = getattr(np, reduce)(usable) if usable.size else np.nan
    return result
