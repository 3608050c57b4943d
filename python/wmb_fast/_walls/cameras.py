# SPDX-License-Identifier: Apache-2.0
"""Cameras, transforms and depth maps as the core takes them: one camera and one map number an item of the batch.

Those of a device stay as they were given. Their shapes are checked; what the host reads in them before it starts, the
last row of a transform and the skew of intrinsics, a kernel finds, and the item is missing (``camera_not_usable``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Array, ArrayLike, Call, is_tensor, take
from .checks import integer, shape_text, trailing
from .errors import bad_type, bad_value

Doubles = npt.NDArray[np.float64]

_LAST_ROW = np.array([0.0, 0.0, 0.0, 1.0])
_SLACK = 1e-6  # what a last row of an inverse or a product may have lost


def camera_batch(op: str, name: str, intrinsics: Any) -> tuple[int, ...]:
    """The batch's shape of intrinsics, which must be (..., 3, 3) or (..., 4)."""
    shape = tuple(intrinsics.shape)
    if shape[-1:] == (4,):
        return shape[:-1]
    if shape[-2:] != (3, 3):
        raise bad_value(op, name, "have shape (..., 3, 3) or (..., 4)", shape_text(intrinsics))
    return shape[:-2]


def cameras(op: str, name: str, intrinsics: Any) -> Any:
    """fx, fy, cx, cy (..., 4) of intrinsics (..., 3, 3) or (..., 4). Non-finite ones pass: their items are missing."""
    camera_batch(op, name, intrinsics)
    if is_tensor(intrinsics):
        return intrinsics
    if intrinsics.shape[-1] == 4:
        return intrinsics.astype(np.float64)
    rest = intrinsics.reshape(-1, 9)[:, [1, 3, 6, 7, 8]]
    with np.errstate(invalid="ignore"):
        wrong = np.isfinite(rest).all(axis=1) & (rest != [0, 0, 0, 0, 1]).any(axis=1)
    if wrong.any():
        matrix = intrinsics.reshape(-1, 3, 3)[int(np.argmax(wrong))]
        raise bad_value(op, name, "be [[fx, 0, cx], [0, fy, cy], [0, 0, 1]]", matrix.tolist())
    flat = intrinsics.reshape(*intrinsics.shape[:-2], 9)
    return flat[..., [0, 4, 2, 5]].astype(np.float64)


def transforms(op: str, name: str, matrices: Any) -> Any:
    """R row by row, then t (..., 12), of 4x4 transforms (..., 4, 4). Non-finite ones pass."""
    trailing(op, name, matrices, (4, 4))
    if is_tensor(matrices):
        return matrices
    last = matrices[..., 3, :].reshape(-1, 4)
    wrong = np.isfinite(last).all(axis=1) & (np.abs(last - _LAST_ROW) > _SLACK).any(axis=1)
    if wrong.any():
        row = last[int(np.argmax(wrong))].tolist()
        raise bad_value(op, name, "have the last row 0, 0, 0, 1 (it may be transposed)", row)
    parts = [matrices[..., :3, :3].reshape(*matrices.shape[:-2], 9), matrices[..., :3, 3]]
    taken = np.concatenate(parts, axis=-1, dtype=np.float64)
    taken[~np.isfinite(matrices[..., 3, :]).all(axis=-1)] = np.nan  # the core does not see this row
    return taken


def image(op: str, name: str, maps: Array) -> None:
    """Requires depth maps (..., H, W) with at least one pixel, and fewer than 2^31."""
    trailing(op, name, maps, ("H", "W"))
    size(op, name, maps.shape[-2:])


def size(op: str, name: str, shape: Sequence[int]) -> tuple[int, int]:
    """Requires a height and a width of at least one pixel and fewer than 2^31 together."""
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        raise bad_type(op, name, "be (height, width)", repr(shape))
    height, width = (integer(op, name, n, at_least=1) for n in shape)
    if height * width >= 2**31:
        raise bad_value(op, name, "have fewer than 2**31 pixels", f"{height} x {width}")
    return height, width


def batch_of(op: str, **shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The batch that these batch shapes broadcast to."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        texts = ", ".join(f"{name} {tuple(shape)}" for name, shape in shapes.items())
        raise bad_value(op, "batch dimensions", "broadcast together", texts) from None


def spread(values: Array, batch: tuple[int, ...]) -> Array:
    """(..., k) per-item values as (n, k), one row an item of the batch."""
    k = values.shape[-1]
    return np.ascontiguousarray(np.broadcast_to(values, (*batch, k)).reshape(math.prod(batch), k))


def stacked(maps: Array, batch: tuple[int, ...]) -> tuple[Array, npt.NDArray[np.int64]]:
    """Maps as (m, H, W), and which of them each item of the batch uses; nothing is copied."""
    stack = maps.reshape(math.prod(maps.shape[:-2]), *maps.shape[-2:])
    number = np.arange(len(stack), dtype=np.int64).reshape(maps.shape[:-2])
    return stack, np.ascontiguousarray(np.broadcast_to(number, batch)).reshape(-1)


def occlusion_bounds(op: str, occlusion: Any) -> tuple[float, float]:
    """Requires 0 <= lo < hi; hi may be infinite."""
    if not isinstance(occlusion, (tuple, list)) or len(occlusion) != 2:
        raise bad_type(op, "occlusion", "be two numbers (lo, hi)", repr(occlusion))
    if any(isinstance(x, bool) or not isinstance(x, (int, float, np.integer, np.floating)) for x in occlusion):
        raise bad_type(op, "occlusion", "be two numbers (lo, hi)", repr(occlusion))
    lo, hi = float(occlusion[0]), float(occlusion[1])
    if not 0 <= lo < hi:
        raise bad_value(op, "occlusion", "satisfy 0 <= lo < hi", repr(tuple(occlusion)))
    return lo, hi


class Passage(NamedTuple):
    """Depth maps and the way from one view into another, checked; all of one batch. A device's tensors are as given."""

    call: Call
    maps: dict[str, Any]
    source: Any  # (..., 4)
    destination: Any
    matrices: Any  # (..., 4, 4)
    to: Any  # (..., 12)
    batch: tuple[int, ...]

    def spread(self) -> tuple[Array, Array, Array]:
        """Transform, source and destination camera, one row an item of the batch."""
        return spread(self.to, self.batch), spread(self.source, self.batch), spread(self.destination, self.batch)


def passage(
    op: str,
    maps: Mapping[str, ArrayLike],
    intrinsics: ArrayLike,
    T_dst_src: ArrayLike,
    intrinsics_dst: ArrayLike | None,
) -> Passage:
    """Takes and checks the arguments of an op between two views."""
    given = {"intrinsics": intrinsics, "T_dst_src": T_dst_src, "intrinsics_dst": intrinsics_dst}
    call, views = take(op, {**maps, **given}, optional=("intrinsics_dst",), lists=False)
    for name in maps:
        image(op, name, views[name])
    source, to = cameras(op, "intrinsics", views["intrinsics"]), transforms(op, "T_dst_src", views["T_dst_src"])
    own = camera_batch(op, "intrinsics", views["intrinsics"])
    destination, other = source, own
    if intrinsics_dst is not None:
        destination = cameras(op, "intrinsics_dst", views["intrinsics_dst"])
        other = camera_batch(op, "intrinsics_dst", views["intrinsics_dst"])
    shapes = {name: views[name].shape[:-2] for name in maps}
    batch = batch_of(op, **shapes, intrinsics=own, T_dst_src=views["T_dst_src"].shape[:-2], intrinsics_dst=other)
    return Passage(call, {name: views[name] for name in maps}, source, destination, views["T_dst_src"], to, batch)


def flat(*outputs: Array) -> Sequence[Array]:
    """Outputs as the core writes them, flags as bytes: views, never copies."""
    return [(x.view(np.uint8) if x.dtype == bool else x).reshape(-1) for x in outputs]
