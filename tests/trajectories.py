# SPDX-License-Identifier: Apache-2.0
"""Trajectories for tests: random ones from a seed, and the staircase of the cases."""

from __future__ import annotations

import numpy as np


def rotations(rng: np.random.Generator, n: int, spread: float = 10.0) -> np.ndarray:
    """(n, 3, 3) rotations about random axes, by angles of about ``spread`` radians."""
    return rotation_from(rng.normal(size=(n, 3)) * spread)


def rotation_from(vectors: np.ndarray) -> np.ndarray:
    """(..., 3, 3) from rotation vectors, by Rodrigues' formula."""
    angle = np.linalg.norm(vectors, axis=-1)[..., None, None]
    x, y, z = np.moveaxis(vectors, -1, 0)
    zero = np.zeros_like(x)
    k = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).reshape(*x.shape, 3, 3)
    small = angle < 1e-12
    safe = np.where(small, 1.0, angle)
    a = np.where(small, 1.0, np.sin(safe) / safe)
    b = np.where(small, 0.5, (1 - np.cos(safe)) / safe**2)
    return np.eye(3) + a * k + b * k @ k


def yaw(degrees: float) -> np.ndarray:
    """A rotation about z."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def poses_from(rotation: np.ndarray, position: np.ndarray) -> np.ndarray:
    """(..., 4, 4) from (..., 3, 3) and (..., 3)."""
    shape = np.broadcast_shapes(rotation.shape[:-2], position.shape[:-1])
    poses = np.zeros((*shape, 4, 4))
    poses[..., :3, :3] = rotation
    poses[..., :3, 3] = position
    poses[..., 3, 3] = 1.0
    return poses


def walk(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """(*shape, 4, 4): a random walk that also turns; the last axis of ``shape`` is time."""
    turn = rotation_from(rng.normal(size=(*shape, 3)) * 0.3)
    for k in range(1, shape[-1]):
        turn[..., k, :, :] = turn[..., k - 1, :, :] @ turn[..., k, :, :]
    return poses_from(turn, np.cumsum(rng.normal(size=(*shape, 3)), axis=-2))


def disturbed(rng: np.random.Generator, poses: np.ndarray, size: float = 0.05) -> np.ndarray:
    """The same with noise, seen by another camera: another origin, another scale."""
    noisy = poses.copy()
    noisy[..., :3, :3] = poses[..., :3, :3] @ rotation_from(rng.normal(size=(*poses.shape[:-2], 3)) * size)
    noisy[..., :3, 3] += rng.normal(size=(*poses.shape[:-2], 3)) * size
    away = rotations(rng, 1)[0]
    noisy[..., :3, :3] = away @ noisy[..., :3, :3]
    noisy[..., :3, 3] = 0.5 * noisy[..., :3, 3] @ away.T + rng.normal(size=3)
    return noisy


def stair(n: int) -> np.ndarray:
    """STAIRn: n positions from the origin, unit steps cycling +x, +y, +z."""
    return np.concatenate([np.zeros((1, 3)), np.cumsum([np.eye(3)[k % 3] for k in range(n - 1)], axis=0)])


def placed(points: np.ndarray) -> np.ndarray:
    """(N, 4, 4): unturned cameras at these positions."""
    return poses_from(np.eye(3), np.asarray(points, dtype=np.float64))
