# SPDX-License-Identifier: Apache-2.0
"""Building the reference bank from what networks found in the input image: masks, embeddings, depth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from ...ops.mask import mask_iou
from ...ops.reproject import unproject
from .association import Flags, Indices
from .bank import Bank
from .constants import MASK_MARGIN_PX, QUERY_POINTS
from .described import Array, Floats

WHO = "reference_bank"
SAME_MASK, SAME_BOX, CONTAINED = 0.82, 0.88, 0.92  # from these overlaps on, two masks are one instance


def reference_bank(
    masks: Array,
    embeddings: Array,
    *,
    ids: Sequence[str],
    categories: Sequence[str | None],
    attributes: Sequence[Mapping[str, Any]] | None = None,
    mobility: Sequence[Mapping[str, Any]] | None = None,
    confidence: npt.ArrayLike | None = None,
    depth: Array | None = None,
    intrinsics: Array | None = None,
) -> Bank:
    """The bank of an input image: section 3.3, with the networks' outputs as given.

    Duplicates, such as several rounds of segmentation leave, are dropped; boxes come from the masks; and every object
    gets up to 128 points on it, evenly spaced over its mask less a margin of 3 pixels, lifted by the image's depth.

    Args:
        masks: (N, H, W), bool or what is not zero.
        embeddings: (N, D).
        ids, categories, attributes: One an instance.
        mobility: ``kinematic_class``, ``motion_expectation``, ``evaluation_track``, ``geometry_eligible`` each.
        confidence: (N,): of the segmentation; of duplicates the surest is kept. By default the largest is.
        depth: (H, W): z of every pixel; without it objects have no points, and are seen by detection alone.
        intrinsics: (3, 3) or (4,): of the input camera.

    Returns:
        A :class:`Bank`.

    Raises:
        ArgumentError: Counts or sizes that do not go together, an empty mask, depth without intrinsics, an id twice.

    Source:
        OPIS (arXiv 2609.35052), section 3.3; overlaps, margin and number of points of its released evaluator. How
        near two masks must be is EXACT; that any one of the three tests is enough is RECONSTRUCTED.

    Example:
        >>> import numpy as np
        >>> masks = np.zeros((2, 32, 32), dtype=bool)
        >>> masks[0, 4:20, 4:20], masks[1, 4:20, 4:19] = True, True
        >>> bank = reference_bank(masks, np.eye(2), ids=["a", "b"], categories=["cup", "cup"])
        >>> bank.ids, bank.boxes.tolist()
        (('a',), [[4.0, 4.0, 20.0, 20.0]])
    """
    n = len(ids)
    inside = _masks(masks, ids, embeddings, categories)
    for name, told in (("attributes", attributes), ("mobility", mobility)):
        if told and len(told) != n:
            raise bad_value(WHO, name, f"be of {n} instances, as ids", len(told))
    sureness = inside.sum(axis=(1, 2)) if confidence is None else np.asarray(confidence, dtype=np.float64)
    if sureness.shape != (n,) or not np.isfinite(sureness).all():
        raise bad_value(WHO, "confidence", f"be {n} finite numbers, as ids", np.array2string(sureness, threshold=8))
    points = _points(inside, depth, intrinsics)
    boxes = np.array([mask_box(mask) for mask in inside]).reshape(-1, 4)
    kept = distinct(inside, boxes, sureness)
    records = [
        {
            "object_id": ids[i],
            "category": categories[i],
            "attributes": attributes[i] if attributes else {},
            "embedding": embeddings[i],
            "bbox": boxes[i],
            "points": points[i],
            "metadata": {"mobility": mobility[i] if mobility else {}},
        }
        for i in kept
    ]
    return Bank.of_records(records)


def _masks(masks: Any, ids: Sequence[str], embeddings: Array, categories: Sequence[str | None]) -> Flags:
    """The masks (N, H, W), one an id, none of them empty."""
    try:
        inside: Flags = np.asarray(masks) != 0
    except ValueError:
        raise bad_value(WHO, "masks", "be of one size", "others") from None
    n = len(ids)
    if inside.ndim != 3 or any(len(x) != n for x in (inside, embeddings, categories)):
        got = f"shape {inside.shape}, {len(embeddings)} and {len(categories)}"
        raise bad_value(WHO, "masks, embeddings and categories", f"be (N, H, W), N and N of {n} instances, as ids", got)
    twice = next((name for name, count in Counter(map(str, ids)).items() if count > 1), None)
    if twice is not None:
        raise bad_value(WHO, "ids", "be unique", f"{twice!r} twice")
    empty = np.flatnonzero(~inside.any(axis=(1, 2)))
    if len(empty):
        raise bad_value(WHO, f"mask of {ids[int(empty[0])]}", "have at least one pixel", "none")
    return inside


def _points(inside: Flags, depth: Array | None, intrinsics: Array | None) -> Sequence[Floats | None]:
    """Points on each mask; none without depth."""
    if depth is None:
        return [None] * len(inside)
    if intrinsics is None:
        raise bad_value(WHO, "intrinsics", "be given with depth", "None")
    if np.shape(intrinsics) not in ((3, 3), (4,)):
        raise bad_value(WHO, "intrinsics", "have shape (3, 3) or (4,)", np.shape(intrinsics))
    if depth.shape != inside.shape[1:]:
        raise bad_value(WHO, "depth", f"have the masks' size {inside.shape[1:]}", depth.shape)
    return [lifted(mask, depth, intrinsics) for mask in inside]


def mask_box(mask: Flags) -> tuple[float, float, float, float]:
    """x0, y0, x1, y1 of a mask (H, W) with a pixel in it; x1 and y1 are one beyond the last."""
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    return float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)


def distinct(masks: Flags, boxes: Floats, sureness: npt.ArrayLike) -> list[int]:
    """Which of N masks (N, H, W) to keep, in their order: the surest of each set that shows one instance.

    Two show one where their IoU is 0.82, the share of the smaller in the other 0.92, or the IoU of their boxes 0.88.
    """
    rank = np.argsort(-np.asarray(sureness, dtype=np.float64), kind="stable")
    area = masks.sum(axis=(1, 2))
    kept: list[int] = []
    for i in rank.tolist():
        if kept:
            others = np.array(kept)
            overlap = mask_iou(np.ascontiguousarray(masks[others]), np.broadcast_to(masks[i], masks[others].shape))
            shared = overlap * (area[others] + area[i]) / (1.0 + overlap)
            contained = shared / np.minimum(area[others], area[i])
            boxed = _box_iou(boxes[i], boxes[others])
            if ((overlap >= SAME_MASK) | (contained >= CONTAINED) | (boxed >= SAME_BOX)).any():
                continue
        kept.append(i)
    return sorted(kept)


def _box_iou(box: Floats, others: Floats) -> Floats:
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.prod(np.maximum(high - low, 0.0), axis=1)
    either = np.prod(box[2:] - box[:2]) + np.prod(others[:, 2:] - others[:, :2], axis=1) - shared
    return np.asarray(np.divide(shared, either, out=np.zeros_like(shared), where=either > 0))


def eroded(mask: Flags, margin: int = MASK_MARGIN_PX) -> Flags:
    """A mask (H, W) without what is nearer than ``margin`` pixels, sideways or diagonally, to what is outside it."""
    return ~dilated(~mask, margin, beyond=True)


def dilated(mask: Flags, margin: int = MASK_MARGIN_PX, *, beyond: bool = False) -> Flags:
    """A mask (H, W) grown by ``margin`` pixels, sideways and diagonally; ``beyond``: what the image's edge hides."""
    side = 2 * margin + 1
    padded = np.pad(np.asarray(mask, bool), margin, constant_values=beyond)
    windows = np.lib.stride_tricks.sliding_window_view(padded, side, axis=0).any(axis=-1)
    return np.asarray(np.lib.stride_tricks.sliding_window_view(windows, side, axis=1).any(axis=-1))


def query_pixels(mask: Flags, depth: Array | None = None, *, count: int = QUERY_POINTS) -> Indices:
    """Up to ``count`` pixels (Q, 2) as x, y, evenly spaced along the rows of a mask less its margin.

    Args:
        mask: (H, W).
        depth: (H, W): pixels without a valid depth are left out.
        count: At most so many.

    Source:
        OPIS (arXiv 2609.35052), section 5.1: up to 128 query points an instance.
    """
    usable = eroded(mask)
    if depth is not None:
        usable &= np.isfinite(depth) & (depth > 0)
    where = np.argwhere(usable)[:, ::-1]
    if len(where) <= count:
        return where.astype(np.int64)
    return where[np.round(np.linspace(0, len(where) - 1, count)).astype(np.int64)].astype(np.int64)


def lifted(mask: Flags, depth: Array, intrinsics: Array, *, count: int = QUERY_POINTS) -> Floats:
    """The points (Q, 3) on an instance, in its camera's coordinates: :func:`query_pixels`, lifted by depth."""
    x, y = query_pixels(mask, depth, count=count).T
    kind = np.result_type(depth.dtype, np.float32)
    cloud = unproject(np.ascontiguousarray(depth, dtype=kind), np.asarray(intrinsics, dtype=kind))
    return np.asarray(cloud[y, x], dtype=np.float64)


def background(masks: Flags, depth: Array) -> Flags:
    """Where cameras may be fitted (H, W): valid depth, and away from all objects by the margin: section 4.1."""
    anything = np.asarray(np.asarray(masks, bool).any(axis=0))
    return np.asarray(np.isfinite(depth) & (depth > 0) & ~dilated(anything))
