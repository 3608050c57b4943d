# SPDX-License-Identifier: Apache-2.0
"""What pairs of views agree on: depth maps, two at a time or all ordered pairs of a clip."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._walls.arrays import Array, ArrayLike, Call, take
from .._walls.cameras import (
    batch_of,
    camera_batch,
    cameras,
    flat,
    image,
    occlusion_bounds,
    passage,
    spread,
    stacked,
    transforms,
)
from .._walls.checks import integer, one_of, real, same_shape, shape_text, trailing
from .._walls.dispatch import declare, pick
from .._walls.errors import bad_value
from .._walls.ext import core, kernels
from .._walls.lazy import reference
from .._walls.records import Record, code, status_of

declare("depth_agreement", "cpu", "cuda", "reference")
declare("reprojection_error", "cpu", "cuda", "reference")


@dataclass(frozen=True, eq=False)
class DepthAgreement(Record):
    """What :func:`depth_agreement` returns; all fields have the batch's shape."""

    median_relative_error: Any
    covisible_fraction: Any
    n: Any


@dataclass(frozen=True, eq=False)
class ReprojectionError(Record):
    """What :func:`reprojection_error` returns: ``per_pair`` (..., K, K), the others of the batch's shape."""

    median: Any
    per_pair: Any
    n_pairs: Any
    mean: Any
    covisible_fraction: Any


def depth_agreement(
    depth_src: ArrayLike,
    depth_dst: ArrayLike,
    intrinsics: ArrayLike,
    T_dst_src: ArrayLike,
    *,
    intrinsics_dst: ArrayLike | None = None,
    occlusion: tuple[float, float] = (0.7, 1.4),
    sampling: str = "nearest",
    backend: str = "auto",
) -> DepthAgreement:
    """How well two depth maps agree where both see the same surface: the median of ``|z - d| / d``.

    z is the depth of a source pixel's point in the destination (``X_dst = R X_src + t`` with ``T_dst_src = [R t; 0
    1]``), d the depth that the destination has in the place where the point lands. The two are co-visible where
    ``lo < z / d < hi``; else something stands in front, or the point left the image.

    Args:
        depth_src: (..., H, W), float32 or float64: z, not ray length; 0, negative, NaN and infinite is none.
        depth_dst: (..., H', W'), likewise.
        intrinsics: (..., 3, 3) or (..., 4) = fx, fy, cx, cy in pixels.
        T_dst_src: (..., 4, 4), maps the source camera's coordinates into the destination's. Batch dimensions broadcast,
            without a copy: depth (K, 1, H, W) against (1, K, H, W) takes all pairs.
        intrinsics_dst: Of the destination; by default those of the source.
        occlusion: lo, hi: both bounds exclude themselves. hi may be infinite.
        sampling: ``nearest``: the pixel whose centre is nearest, half upwards, inside ``-0.5 <= u < W' - 0.5``.
            ``bilinear``: between four centres, all of which that have weight must have depth, inside ``0 <= u <= W' -
            1``; it invents depth across an edge. Coordinates within 1e-6 of a centre are that centre.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        ``median_relative_error`` and ``covisible_fraction`` (...) in the depths' dtype and ``n`` (...) int64, the
        number of co-visible pixels; the fraction is n over the source pixels that have depth. The median of an even
        number is the mean of the middle two. ``status``: missing (2) without a pixel that has depth, without a
        co-visible one (the fraction is 0 then), and where cameras or transform are not finite or have a zero focal
        length.

    Raises:
        ArgumentError: Other shapes, maps without pixels, intrinsics with skew, a last row that is not 0, 0, 0, 1,
            bounds that do not ascend, another sampling. On a device, whose values are not waited for, matrices that
            would be refused make their item missing, as those that are not finite do.
        ArgumentTypeError: Something that is not a float array, or arrays of two kinds or dtypes.

    Numerics:
        In float64, in the order of the formulas; the ratio is rounded to the depths' dtype before it is compared, the
        errors before their exact median is taken. The same bits for any threads, batch split and instruction set. On a
        device the same pixels are co-visible, and float64 has the same bits; of float32 maps the errors of ``nearest``
        are divided in float32, which may change their last bit.

    Source:
        The gate of WorldMark's Global memory (arXiv 2604.21686, section 3.5), on every pixel.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> camera = np.array([10.0, 10.0, 1.0, 1.0])
        >>> agreement = wmb.depth_agreement(np.full((3, 3), 2.0), np.full((3, 3), 2.5), camera, np.eye(4))
        >>> float(agreement.median_relative_error), float(agreement.covisible_fraction), int(agreement.n)
        (0.2, 1.0, 9)
    """
    op = "depth_agreement"
    way = passage(op, {"depth_src": depth_src, "depth_dst": depth_dst}, intrinsics, T_dst_src, intrinsics_dst)
    low, high = occlusion_bounds(op, occlusion)
    one_of(op, "sampling", sampling, ("nearest", "bilinear"))
    z, seen = way.maps["depth_src"], way.maps["depth_dst"]
    chosen = pick(op, backend, way.call.device)
    if chosen == "cuda":
        found = kernels("reproject_pairs").depth_agreement(z, seen, way, (low, high), sampling == "bilinear")
        return DepthAgreement(*found)
    if chosen == "reference":
        found = reference.depth_agreement(
            z, seen, way.source, way.matrices, intrinsics_dst=way.destination, occlusion=(low, high), sampling=sampling
        )
        median, fraction, n = found
        codes = _codes(found.n > 0, ~np.isnan(fraction), _usable(way.matrices, way.source, way.destination))
    else:
        median, asked, n = np.empty(way.batch), np.empty(way.batch, np.int64), np.empty(way.batch, np.int64)
        codes = np.empty(way.batch, np.uint8)
        core.depth_agreement(
            *stacked(z, way.batch), *stacked(seen, way.batch), *way.spread(), low, high, sampling == "bilinear",
            *flat(median, asked, n, codes),
        )  # fmt: skip
        fraction = np.divide(n, asked, out=np.full(way.batch, np.nan), where=asked > 0)
    give = way.call.give
    return DepthAgreement(
        status_of(way.call, codes), codes, give(median.astype(z.dtype)), give(fraction.astype(z.dtype)), give(n)
    )


def reprojection_error(
    depth: ArrayLike,
    poses: ArrayLike,
    intrinsics: ArrayLike,
    *,
    confidence: ArrayLike | None = None,
    grid: int = 16,
    occlusion: tuple[float, float] = (0.7, 1.4),
    confidence_quantile: float = 0.3,
    unit: str = "depth",
    min_points: int = 5,
    backend: str = "auto",
) -> ReprojectionError:
    """How consistent the geometry of a clip is: every frame's points against what every other frame sees there.

    Every ``grid``-th pixel of frame i (0, grid, 2 grid, ... in x and y) is taken to frame j, for all ordered pairs
    i != j: ``X_j = inverse(pose_j) pose_i X_i``. It falls inside where ``0 <= u < W``, ``0 <= v < H``; frame j shows
    the point Y of pixel ``(floor u, floor v)`` there, with depth d; co-visible where ``lo < Z / d < hi``.

    Args:
        depth: (..., K, H, W), float32 or float64: z, not ray length; 0, negative, NaN and infinite is none.
        poses: (..., K, 4, 4), camera to world.
        intrinsics: (..., K, 3, 3), (..., K, 4) = fx, fy, cx, cy in pixels, or of fewer dimensions where frames share
            them: (3, 3) and (4,) serve all frames.
        confidence: (..., K, H, W) in the depth's dtype: pixels of either frame below the clip's threshold are left out,
            and those that are NaN.
        grid: Step in pixels, at least 1.
        occlusion: lo, hi: both bounds exclude themselves. hi may be infinite.
        confidence_quantile: The threshold, as a quantile (linear) of the clip's finite confidences, in [0, 1].
        unit: ``depth``: ``|X_j - Y|`` over the median depth of all frames, which has no unit and does not change with
            the scene's. ``pixels``: d at (u, v) is taken back to frame i, and the distance to the pixel it came from is
            the error; it depends on the image's size, and not on where in a pixel a point falls.
        min_points: A pair counts with at least so many points inside, and so many co-visible.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        ``median`` and ``mean`` (...) of the errors of all pairs that count, pooled; ``per_pair`` (..., K, K), the
        median of [i, j], NaN where the pair does not count; ``n_pairs`` (...) int64, how many do;
        ``covisible_fraction`` (...), co-visible points over points inside. Even medians are the mean of the middle two.
        ``status``: missing (2) where no pair counts, no pixel has depth (or finite confidence), or no camera is usable.
        A frame whose camera is not finite or not invertible is left out.

    Raises:
        ArgumentError: Other shapes, maps without pixels, intrinsics with skew, poses whose last row is not 0, 0, 0, 1,
            a grid below 1, bounds that do not ascend, a quantile outside [0, 1], another unit. On a device, whose
            values are not waited for, a matrix that would be refused makes its clip missing (``camera_not_usable``).
        ArgumentTypeError: Something that is not a float array, or arrays of two kinds or dtypes.

    Numerics:
        In float64, in the order of the formulas; the ratio is rounded to the depth's dtype before it is compared,
        errors before their exact medians are taken. Means are summed pair by pair in four lanes. The same bits for any
        threads, batch split and instruction set. One number of the depth's dtype is kept for each co-visible point; on
        a device for each point of every pair. There only the means differ, by the order of their sum, which is fixed.

    Source:
        WorldMark (arXiv 2604.21686), Global memory; ``unit="depth"`` with the other defaults is its evaluator's.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> depth = np.full((2, 48, 64), 2.0)
        >>> depth[1] = 2.1
        >>> poses = np.tile(np.eye(4), (2, 1, 1))
        >>> error = wmb.reprojection_error(depth, poses, np.array([50.0, 50.0, 32.0, 24.0]), unit="pixels")
        >>> float(error.median), int(error.n_pairs)
        (0.0, 2)
    """
    op = "reprojection_error"
    given = {"depth": depth, "poses": poses, "intrinsics": intrinsics, "confidence": confidence}
    call, views = take(op, given, optional=("confidence",), lists=False)
    maps, trust = views["depth"], views["confidence"]
    trailing(op, "depth", maps, ("K", "H", "W"))
    image(op, "depth", maps)
    if trust is not None:
        same_shape(op, "confidence", trust, "depth", maps)
    frames = tuple(maps.shape[:-2])
    to_world, camera = transforms(op, "poses", views["poses"]), cameras(op, "intrinsics", views["intrinsics"])
    if tuple(views["poses"].shape[:-2]) != frames:
        raise bad_value(op, "poses", f"have shape {(*frames, 4, 4)}, one a frame", shape_text(views["poses"]))
    if batch_of(op, depth=frames, intrinsics=camera_batch(op, "intrinsics", views["intrinsics"])) != frames:
        raise bad_value(op, "intrinsics", f"broadcast to the frames {frames}", shape_text(views["intrinsics"]))
    low, high = occlusion_bounds(op, occlusion)
    grid, min_points = integer(op, "grid", grid, at_least=1), integer(op, "min_points", min_points, at_least=1)
    quantile = real(op, "confidence_quantile", confidence_quantile, at_least=0)
    if quantile > 1:
        raise bad_value(op, "confidence_quantile", "be at most 1", repr(confidence_quantile))
    one_of(op, "unit", unit, ("depth", "pixels"))
    chosen = pick(op, backend, call.device)
    if chosen == "cuda":
        found = kernels("reproject_pairs").reprojection_error(
            maps, to_world, camera, trust, grid=grid, min_points=min_points, bounds=(low, high), quantile=quantile,
            pixels=unit == "pixels",
        )  # fmt: skip
        return ReprojectionError(*found)
    if chosen == "reference":
        found = reference.reprojection_error(
            maps, views["poses"], camera, confidence=trust, grid=grid, occlusion=(low, high),
            confidence_quantile=quantile, unit=unit, min_points=min_points,
        )  # fmt: skip
        codes = _clip_codes(found.n_pairs > 0, maps, trust, views["poses"], np.broadcast_to(camera, (*frames, 4)))
        return _error(call, maps, codes, *found)
    batch, k = frames[:-1], frames[-1]
    median, mean = np.empty(batch), np.empty(batch)
    per_pair, codes = np.empty((*batch, k, k)), np.empty(batch, np.uint8)
    n_pairs, inside, covisible = (np.empty(batch, np.int64) for _ in range(3))
    clips = (math.prod(batch), *maps.shape[-3:])
    core.reprojection_error(
        maps.reshape(clips), None if trust is None else trust.reshape(clips), spread(to_world, frames),
        spread(camera, frames), grid, min_points, low, high, quantile, unit == "pixels",
        *flat(median, mean, per_pair, n_pairs, inside, covisible, codes),
    )  # fmt: skip
    fraction = np.divide(covisible, inside, out=np.full(batch, np.nan), where=inside > 0)
    return _error(call, maps, codes, median, per_pair, n_pairs, mean, fraction)


def _error(
    call: Call, maps: Array, codes: Array, median: Array, per_pair: Array, n_pairs: Array, mean: Array, fraction: Array
) -> ReprojectionError:
    def give(x: Array) -> Any:
        return call.give(x.astype(maps.dtype))

    return ReprojectionError(
        status_of(call, codes), codes, give(median), give(per_pair), call.give(n_pairs), give(mean), give(fraction)
    )


def _usable(transform: Array, *camera: Array) -> Array:
    usable: Array = np.asarray(np.isfinite(transform).all(axis=(-2, -1)))
    for c in camera:
        usable = usable & np.isfinite(c).all(axis=-1) & (c[..., :2] != 0).all(axis=-1)
    return usable


def _codes(ok: Array, has_depth: Array, usable: Array) -> Array:
    """The reasons of the reference's results, as the core gives them."""
    reasons = np.where(has_depth, code("no_covisibility"), code("no_valid_depth"))
    reasons = np.where(usable, reasons, code("camera_not_usable"))
    return np.where(ok, code("ok"), reasons).astype(np.uint8)


def _clip_codes(ok: Array, depth: Array, confidence: Array | None, poses: Array, camera: Array) -> Array:
    has_depth = np.asarray(reference.reproject.is_depth(depth).any(axis=(-3, -2, -1)))
    singular = np.linalg.det(np.where(np.isfinite(poses), poses, 0.0)[..., :3, :3]) == 0
    usable = np.asarray((_usable(poses, camera) & ~singular).any(axis=-1) | (depth.shape[-3] == 0))
    codes = _codes(ok, has_depth, usable)
    if confidence is not None:
        blind = ~np.isfinite(confidence).any(axis=(-3, -2, -1)) & has_depth & usable
        codes = np.where(blind, code("no_valid_confidence"), codes).astype(np.uint8)
    return codes
