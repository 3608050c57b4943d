# SPDX-License-Identifier: Apache-2.0
"""How the axes of a batch run over cameras, transforms and maps, without a copy of any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .launch import Tensor

MOST_AXES = 8  # kMostAxes of views.h


def camera_axes(intrinsics: Tensor) -> int:
    """How many of the last axes are one camera."""
    return 1 if intrinsics.shape[-1] == 4 else 2


def camera_numbers(intrinsics: Tensor) -> int:
    """How many numbers are one camera: fx, fy, cx, cy, or a matrix."""
    return 4 if intrinsics.shape[-1] == 4 else 9


def layout(batch: Sequence[int], *arguments: tuple[Tensor, int]) -> list[int]:
    """The sizes of a batch's axes, and the steps along them of each argument, in elements of its last axes.

    Axes along which all arguments go on, or all repeat, are taken together.

    Raises:
        ValueError: More than eight axes are left.
    """
    steps = [_steps(tuple(tensor.shape[: tensor.ndim - tail]), batch) for tensor, tail in arguments]
    kept: list[tuple[int, list[int]]] = []  # size, and a step for each argument
    for axis, size in enumerate(batch):
        here = [each[axis] for each in steps]
        if size == 1:
            continue
        if kept and kept[-1][1] == [size * step for step in here]:
            kept[-1] = kept[-1][0] * size, here
        else:
            kept.append((size, here))
    if len(kept) > MOST_AXES:
        raise ValueError(f"a batch must broadcast along at most {MOST_AXES} axes, got {len(kept)}")
    return [len(kept), *(size for size, _ in kept), *(at[k] for k in range(len(steps)) for _, at in kept)]


def _steps(own: tuple[int, ...], batch: Sequence[int]) -> list[int]:
    padded = (1,) * (len(batch) - len(own)) + own
    strides = [1]
    for size in reversed(padded[1:]):
        strides.append(strides[-1] * size)
    return [0 if size == 1 else stride for size, stride in zip(padded, reversed(strides), strict=True)] if batch else []


def passage(way: Any, *maps: Tensor) -> tuple[Any, ...]:
    """A passage of wmb_fast._walls.cameras as kernels take it: the layout of it and of maps, transform and cameras."""
    cameras = way.source, way.destination
    laid = layout(way.batch, (way.to, 2), *((c, camera_axes(c)) for c in cameras), *((each, 2) for each in maps))
    return laid, way.to, *(part for c in cameras for part in (c, camera_numbers(c)))
