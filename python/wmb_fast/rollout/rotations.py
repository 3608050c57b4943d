# SPDX-License-Identifier: Apache-2.0
"""Quaternions and rotation matrices, as pose files need them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def rotation_of(quat_xyzw: Floats) -> Floats:
    """(N, 3, 3) rotations of (N, 4) quaternions of any norm but zero, scalar last.

    Example:
        >>> rotation_of(np.array([[0.0, 0.0, 2.0, 2.0]])).round(12)[0].tolist()
        [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    x, y, z, w = (quat_xyzw / np.linalg.norm(quat_xyzw, axis=1, keepdims=True)).T
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], axis=1),
            np.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], axis=1),
            np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], axis=1),
        ],
        axis=1,
    )


def quaternion_of(rotations: Floats) -> Floats:
    """(N, 4) unit quaternions, scalar last and not negative, of (N, 3, 3) rotations.

    Each is the row of largest norm of the four equal-up-to-sign candidates 4 q q^T, so no half turn is near a division
    by zero.

    Example:
        >>> quaternion_of(np.diag([1.0, -1.0, -1.0])[None]).tolist()
        [[1.0, 0.0, 0.0, 0.0]]
    """
    r = rotations
    xx, yy, zz = r[:, 0, 0], r[:, 1, 1], r[:, 2, 2]
    xy, xz, yz = r[:, 0, 1] + r[:, 1, 0], r[:, 0, 2] + r[:, 2, 0], r[:, 1, 2] + r[:, 2, 1]
    xw, yw, zw = r[:, 2, 1] - r[:, 1, 2], r[:, 0, 2] - r[:, 2, 0], r[:, 1, 0] - r[:, 0, 1]
    candidates = np.stack(
        [
            np.stack([1 + xx - yy - zz, xy, xz, xw], axis=1),
            np.stack([xy, 1 - xx + yy - zz, yz, yw], axis=1),
            np.stack([xz, yz, 1 - xx - yy + zz, zw], axis=1),
            np.stack([xw, yw, zw, 1 + xx + yy + zz], axis=1),
        ],
        axis=1,
    )
    norms = np.linalg.norm(candidates, axis=2)
    best = np.argmax(norms, axis=1)
    quat = candidates[np.arange(len(r)), best] / norms[np.arange(len(r)), best, None]
    signed: Floats = np.where(quat[:, 3:] < 0, -quat, quat) + 0.0
    return signed


def deviation(matrices: Floats) -> Floats:
    """(N,): max |R^T R − I| of each of (N, 3, 3) matrices."""
    away: Floats = np.abs(matrices.swapaxes(1, 2) @ matrices - np.eye(3)).max(axis=(1, 2))
    return away
