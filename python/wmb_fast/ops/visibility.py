# SPDX-License-Identifier: Apache-2.0
"""Whether a view shows an instance: outside, hidden, too small, or visible."""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np

from .._walls.arrays import ArrayLike, take
from .._walls.cameras import batch_of, cameras, image, spread, stacked, transforms
from .._walls.checks import real, same_shape, trailing
from .._walls.dispatch import declare, pick
from .._walls.ext import core
from .._walls.lazy import reference

declare("visibility", "cpu", "reference")


class Visibility(enum.IntEnum):
    """The states that :func:`visibility` answers with."""

    VISIBLE = 0
    OCCLUDED = 1
    OUTSIDE = 2
    TOO_SMALL = 3
    UNKNOWN = 4


def visibility(
    points: ArrayLike,
    depth: ArrayLike,
    intrinsics: ArrayLike,
    T_cam_world: ArrayLike,
    *,
    min_inside: float = 0.3,
    min_area: float = 16,
    occlusion: float = 0.95,
    min_visible: float = 0.3,
    min_occluded: float = 0.7,
    min_coverage: float = 0.7,
    confidence: ArrayLike | None = None,
    min_confidence: float = 0.65,
    backend: str = "auto",
) -> Any:
    """Whether a view shows each of some instances, judged by points known to lie on them.

    The points are taken to the camera (``X = R p + t`` with ``T_cam_world = [R t; 0 1]``) and compared with its depth
    map. A point is inside where ``0 <= u < W``, ``0 <= v < H`` and Z > 0; it is known where the nearest pixel has depth
    d and enough confidence, and hidden where ``d < occlusion * Z``. In this order:

    1. ``unknown``: fewer than 4 points, or one that is not finite or has no pixel; or the camera is not usable.
    2. ``outside``: the inside fraction is below ``min_inside``.
    3. ``too_small``: the convex hull of the points inside has fewer than ``min_area`` square pixels.
    4. ``unknown``: known over inside is below ``min_coverage``.
    5. ``visible``: known and not hidden, over all points, is at least ``min_visible``.
    6. ``occluded``: hidden over all points is at least ``min_occluded``. Else ``unknown``.

    Args:
        points: (..., I, Q, 3), float32 or float64: Q world points on each of I instances.
        depth: (..., H, W), the view's depth: z, not ray length; 0, negative, NaN and infinite is none.
        intrinsics: (..., 3, 3) or (..., 4) = fx, fy, cx, cy in pixels.
        T_cam_world: (..., 4, 4), maps world coordinates into the camera's. Batch dimensions broadcast.
        min_inside: Fraction in [0, 1].
        min_area: In square pixels.
        occlusion: A point is hidden by what is nearer than this part of its depth.
        min_visible: Fraction in [0, 1].
        min_occluded: Fraction in [0, 1].
        min_coverage: Fraction in [0, 1].
        confidence: The shape of depth: what is below ``min_confidence``, or NaN, is not known.
        min_confidence: In the unit of ``confidence``.
        backend: ``auto``, ``cpu`` or ``reference``.

    Returns:
        (..., I) uint8: a :class:`Visibility`: 0 visible, 1 occluded, 2 outside, 3 too small, 4 unknown.

    Raises:
        ArgumentError: Other shapes, maps without pixels, intrinsics with skew, a last row that is not 0, 0, 0, 1.
        ArgumentTypeError: Something that is not a float array, or arrays of two kinds or dtypes.

    Numerics:
        In float64, in the order of the formulas: the same bits for any threads.

    Source:
        OPIS (arXiv 2609.35052), observability; thresholds of its public evaluator.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> square = np.array([[-1.0, -1.0, 4.0], [1.0, -1.0, 4.0], [1.0, 1.0, 4.0], [-1.0, 1.0, 4.0]])
        >>> camera = np.array([40.0, 40.0, 32.0, 24.0])
        >>> wall_in_front, nothing_in_front = np.full((48, 64), 2.0), np.full((48, 64), 4.0)
        >>> states = wmb.visibility(square[None], np.stack([wall_in_front, nothing_in_front]), camera, np.eye(4))
        >>> [wmb.Visibility(s).name for s in states[:, 0]]
        ['OCCLUDED', 'VISIBLE']
    """
    op = "visibility"
    given = {"points": points, "depth": depth, "intrinsics": intrinsics, "T_cam_world": T_cam_world}
    call, views = take(op, {**given, "confidence": confidence}, optional=("confidence",), lists=False)
    p, maps, trust = views["points"], views["depth"], views["confidence"]
    trailing(op, "points", p, ("I", "Q", 3))
    image(op, "depth", maps)
    if trust is not None:
        same_shape(op, "confidence", trust, "depth", maps)
    camera, to = cameras(op, "intrinsics", views["intrinsics"]), transforms(op, "T_cam_world", views["T_cam_world"])
    limits = {
        "min_inside": min_inside, "min_area": min_area, "occlusion": occlusion, "min_visible": min_visible,
        "min_occluded": min_occluded, "min_coverage": min_coverage, "min_confidence": min_confidence,
    }  # fmt: skip
    limits = {name: real(op, name, value) for name, value in limits.items()}
    batch = batch_of(
        op, points=p.shape[:-3], depth=maps.shape[:-2], intrinsics=camera.shape[:-1], T_cam_world=to.shape[:-1]
    )
    if pick(op, backend, call.device) == "reference":
        return call.give(reference.visibility(p, maps, camera, views["T_cam_world"], confidence=trust, **limits))
    state = np.empty((*batch, p.shape[-3]), np.uint8)
    each = np.ascontiguousarray(np.broadcast_to(p, (*batch, *p.shape[-3:])))
    trusted = None if trust is None else stacked(trust, batch)[0]
    core.visibility(
        each.reshape(math.prod(batch), *p.shape[-3:]), *stacked(maps, batch), trusted, spread(camera, batch),
        spread(to, batch), np.array(list(limits.values())), state.reshape(-1),
    )  # fmt: skip
    return call.give(state)
