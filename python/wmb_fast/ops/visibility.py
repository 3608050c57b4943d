# SPDX-License-Identifier: Apache-2.0
"""Whether a view shows an instance: outside, hidden, too small, or visible."""

from __future__ import annotations

import enum
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._walls.arrays import Array, ArrayLike, is_tensor, take
from .._walls.cameras import batch_of, camera_batch, cameras, image, spread, stacked, transforms
from .._walls.checks import flag, lengths_of, real, same_shape, shape_text, trailing
from .._walls.device import lengths_on
from .._walls.dispatch import declare, pick
from .._walls.errors import bad_value
from .._walls.ext import core, kernels
from .._walls.lazy import reference

declare("visibility", "cpu", "cuda", "reference")
declare("sampled_visibility", "cpu", "cuda", "reference")


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
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        (..., I) uint8: a :class:`Visibility`: 0 visible, 1 occluded, 2 outside, 3 too small, 4 unknown.

    Raises:
        ArgumentError: Other shapes, maps without pixels, intrinsics with skew, a last row that is not 0, 0, 0, 1. On a
            device, whose values are not waited for, a view with such a matrix knows nothing (4).
        ArgumentTypeError: Something that is not a float array, or arrays of two kinds or dtypes.

    Numerics:
        In float64, in the order of the formulas: the same bits for any threads, and on a device.

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
    limits = _limits(
        op, min_inside=min_inside, min_area=min_area, occlusion=occlusion, min_visible=min_visible,
        min_occluded=min_occluded, min_coverage=min_coverage, min_confidence=min_confidence,
    )  # fmt: skip
    batch = batch_of(
        op, points=p.shape[:-3], depth=maps.shape[:-2], intrinsics=camera_batch(op, "intrinsics", views["intrinsics"]),
        T_cam_world=views["T_cam_world"].shape[:-2],
    )  # fmt: skip
    chosen = pick(op, backend, call.device)
    if chosen == "cuda":
        return kernels("visibility").visibility(p, maps, trust, camera, to, batch, list(limits.values()))
    if chosen == "reference":
        return call.give(reference.visibility(p, maps, camera, views["T_cam_world"], confidence=trust, **limits))
    state = np.empty((*batch, p.shape[-3]), np.uint8)
    each = np.ascontiguousarray(np.broadcast_to(p, (*batch, *p.shape[-3:])))
    trusted = None if trust is None else stacked(trust, batch)[0]
    core.visibility(
        each.reshape(math.prod(batch), *p.shape[-3:]), *stacked(maps, batch), trusted, spread(camera, batch),
        spread(to, batch), np.array(list(limits.values())), state.reshape(-1),
    )  # fmt: skip
    return call.give(state)


def _limits(op: str, **given: float) -> dict[str, float]:
    """The thresholds, in the order in which the core takes them."""
    return {name: real(op, name, value) for name, value in given.items()}


@dataclass(frozen=True, eq=False)
class SampledVisibility:
    """What :func:`sampled_visibility` returns; all of the batch's shape.

    Attributes:
        state: uint8, a :class:`Visibility`.
        inside, occluded, visible: Fractions of all points; NaN where a point is not finite or there is none.
        known: Fraction of the points inside that have a depth; NaN where none is inside.
        area: Of the convex hull of the points inside, in square pixels; NaN where it was not asked for.
    """

    state: Any
    inside: Any
    known: Any
    occluded: Any
    visible: Any
    area: Any


def sampled_visibility(
    pixels: ArrayLike,
    depth: ArrayLike,
    seen_depth: ArrayLike,
    size: tuple[float, float] | npt.ArrayLike,
    *,
    confidence: ArrayLike | None = None,
    lengths: npt.ArrayLike | None = None,
    min_inside: float = 0.3,
    min_area: float = 16,
    occlusion: float = 0.95,
    min_visible: float = 0.3,
    min_occluded: float = 0.7,
    min_coverage: float = 0.7,
    min_confidence: float = 0.65,
    with_area: bool = False,
    backend: str = "auto",
) -> SampledVisibility:
    """:func:`visibility` of points whose pixels, and whose depth there, are known already.

    The tests and their order are those of :func:`visibility`; what it reads from cameras and maps is given here.

    Args:
        pixels: (..., Q, 2), float32 or float64: where the points of each instance fall.
        depth: (..., Q): their depth in the view's camera.
        seen_depth: (..., Q): the view's depth there; 0, negative, NaN and infinite is none.
        size: (2,) or (..., 2): width and height of the view.
        confidence: (..., Q): what is below ``min_confidence``, or NaN, is not known.
        lengths: (...) integers: only so many points of an instance count; by default all.
        min_inside: Fraction in [0, 1].
        min_area: In square pixels.
        occlusion: A point is hidden by what is nearer than this part of its depth.
        min_visible: Fraction in [0, 1].
        min_occluded: Fraction in [0, 1].
        min_coverage: Fraction in [0, 1].
        min_confidence: In the unit of ``confidence``.
        with_area: Also answer with the hull's area, which the state seldom needs, and which takes most of the time.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        A :class:`SampledVisibility`.

    Raises:
        ArgumentError: Shapes that do not go together. Lengths that a device holds are taken between 0 and Q.
        ArgumentTypeError: Something that is not a float array, or arrays of two kinds or dtypes.

    Numerics:
        In float64, in the order of the formulas: the same bits for any threads, and on a device.

    Source:
        OPIS (arXiv 2609.35052), observability; thresholds of its public evaluator.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> pixels = np.array([[10.0, 10.0], [20.0, 10.0], [20.0, 20.0], [10.0, 20.0]])
        >>> near, far = np.full(4, 2.0), np.full(4, 5.0)
        >>> found = wmb.sampled_visibility(pixels, far, near, (64, 48), with_area=True)
        >>> wmb.Visibility(found.state).name, float(found.occluded), float(found.area)
        ('OCCLUDED', 1.0, 100.0)
    """
    op = "sampled_visibility"
    given = {"pixels": pixels, "depth": depth, "seen_depth": seen_depth, "confidence": confidence}
    call, views = take(op, given, optional=("confidence",), lists=False)
    trailing(op, "pixels", views["pixels"], ("Q", 2))
    batch, n_points = tuple(views["pixels"].shape[:-2]), views["pixels"].shape[-2]
    for name in ("depth", "seen_depth", *(() if confidence is None else ("confidence",))):
        if views[name].shape != (*batch, n_points):
            raise bad_value(op, name, f"have shape {(*batch, n_points)}", shape_text(views[name]))
    limits = _limits(
        op, min_inside=min_inside, min_area=min_area, occlusion=occlusion, min_visible=min_visible,
        min_occluded=min_occluded, min_coverage=min_coverage, min_confidence=min_confidence,
    )  # fmt: skip
    n_items = math.prod(batch)
    with_area, chosen = flag(op, "with_area", with_area), pick(op, backend, call.device)
    flat = {k: None if v is None else v.reshape(n_items, *v.shape[len(batch) :]) for k, v in views.items()}
    if chosen == "cuda":
        like = views["pixels"]
        state, *parts = kernels("visibility").sampled_visibility(
            *flat.values(), lengths_on(op, lengths, like, batch, n_points), *_sizes_on(op, size, like, batch),
            list(limits.values()), with_area,
        )  # fmt: skip
        return SampledVisibility(*(x.reshape(batch) for x in (state, *parts)))
    counts = np.full(n_items, n_points) if lengths is None else lengths_of(op, lengths, batch, n_points)
    sizes = _sizes(op, size, batch)
    if chosen == "reference":
        found = reference.sampled_visibility(
            views["pixels"], views["depth"], views["seen_depth"], sizes.reshape(*batch, 2),
            confidence=views["confidence"], lengths=counts.reshape(batch), with_area=with_area, **limits,
        )._asdict()  # fmt: skip
    else:
        found = _sampled_on_core(flat, sizes, counts, limits, with_area)
    return SampledVisibility(**{name: call.give(value.reshape(batch)) for name, value in found.items()})


def _sizes(op: str, size: Any, batch: tuple[int, ...]) -> Array:
    sizes = np.asarray(size, dtype=np.float64)
    if sizes.ndim == 0 or sizes.shape[-1] != 2 or sizes.shape[:-1] not in ((), batch):
        raise bad_value(op, "size", f"be width and height, or have shape {(*batch, 2)}", shape_text(sizes))
    return np.ascontiguousarray(np.broadcast_to(sizes, (*batch, 2))).reshape(math.prod(batch), 2)


def _sizes_on(op: str, size: Any, like: Any, batch: tuple[int, ...]) -> tuple[tuple[float, float], Any]:
    """One width and height, or in its place sizes on the device of ``like``: those there are asked for their shape."""
    torch = sys.modules["torch"]
    if is_tensor(size) and size.device == like.device:
        if size.ndim == 0 or size.shape[-1] != 2 or tuple(size.shape[:-1]) not in ((), batch):
            raise bad_value(op, "size", f"be width and height, or have shape {(*batch, 2)}", shape_text(size))
        return (0.0, 0.0), size.double().expand(*batch, 2).reshape(-1, 2).contiguous()
    sizes = _sizes(op, size, batch)
    if np.ndim(size) == 1:
        width, height = (float(x) for x in np.asarray(size, dtype=np.float64))
        return (width, height), None
    return (0.0, 0.0), torch.from_numpy(sizes.copy()).to(like.device, non_blocking=True)


def _sampled_on_core(
    flat: Mapping[str, Any], sizes: Array, counts: Array, limits: Mapping[str, float], with_area: bool
) -> dict[str, Array]:
    n = len(sizes)
    found = {name: np.empty(n) for name in ("inside", "known", "occluded", "visible", "area")}
    state = np.empty(n, np.uint8)
    core.sampled_visibility(
        flat["pixels"], flat["depth"], flat["seen_depth"], flat["confidence"], counts.astype(np.int64, copy=False),
        sizes, np.array(list(limits.values())), with_area, state, *found.values(),
    )  # fmt: skip
    return {"state": state, **found}
