# SPDX-License-Identifier: Apache-2.0
"""Views for the tests of kernels, and an op's results on both sides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from trajectories import rotations

import wmb_fast as wmb

Array = np.ndarray[Any, Any]


def tensors(*arrays: Array) -> tuple[Any, ...]:
    torch = pytest.importorskip("torch")
    return tuple(torch.from_numpy(a) for a in arrays)


def both(op: str, *arrays: Array, **options: Any) -> tuple[Any, Any]:
    """An op's results on a device and on the host; arrays among the options are taken over too."""
    moved = {k: tensors(v)[0] if isinstance(v, np.ndarray) else v for k, v in options.items()}
    return getattr(wmb, op)(*tensors(*arrays), **moved), getattr(wmb, op)(*arrays, **options)


def maps(rng: np.random.Generator, *shape: int, dtype: str = "float64") -> Array:
    """Depth of a rough wall, a tenth of it none."""
    depth = 2 + 0.1 * rng.standard_normal(shape)
    none = rng.random(shape)
    for limit, value in ((0.1, np.nan), (0.06, 0.0), (0.04, -1.0), (0.02, np.inf)):
        depth[none < limit] = value
    return depth.astype(dtype)


def camera(height: int, width: int, dtype: str = "float64") -> Array:
    return np.array([1.1 * width, -0.9 * width, 0.5 * width, 0.4 * height], dtype=dtype)


def way(rng: np.random.Generator, n: int, dtype: str = "float64", far: float = 0.2) -> Array:
    """Transforms that turn a little, and go a little aside."""
    moved = np.tile(np.eye(4), (n, 1, 1))
    small = np.eye(3) + 0.05 * (rotations(rng, n) - np.eye(3))
    moved[:, :3, :3], moved[:, :3, 3] = small, far * rng.standard_normal((n, 3))
    return moved.astype(dtype)
