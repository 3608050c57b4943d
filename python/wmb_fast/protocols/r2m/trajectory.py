# SPDX-License-Identifier: Apache-2.0
"""A commanded trajectory: poses of frames, what is taken from them, and their static tail."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from ...ops.rpe import rotation_angle_deg

Real = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

STILL_METRES, STILL_DEG = 0.01, 0.5  # a step below both is no motion


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Commanded poses of frames, and what revisits are decided by.

    Attributes:
        frames: (N,) int64, rising.
        place: (N, 3) float64, in metres.
        yaw_deg: (N,) heading about the vertical axis, in (-180, 180]; to the right is positive.
        pitch_deg: (N,) how far the camera looks up.
        rotation: (N, 3, 3) camera to world.
    """

    frames: Ints
    place: Real
    yaw_deg: Real
    pitch_deg: Real
    rotation: Real

    def __len__(self) -> int:
        return len(self.frames)

    def first(self, n: int) -> Trajectory:
        """The first ``n`` poses."""
        return Trajectory(*(getattr(self, name)[:n] for name in self.__dataclass_fields__))

    def where(self, kept: npt.NDArray[np.bool_]) -> Trajectory:
        """The poses that are kept."""
        return Trajectory(*(getattr(self, name)[kept] for name in self.__dataclass_fields__))

    @property
    def finite(self) -> npt.NDArray[np.bool_]:
        """Which poses are finite."""
        return np.asarray(np.isfinite(self.place).all(axis=1) & np.isfinite(self.rotation).all(axis=(1, 2)))


def trajectory_of(poses: npt.ArrayLike, frames: npt.ArrayLike | None = None) -> Trajectory:
    """A trajectory of camera-to-world poses.

    Args:
        poses: (N, 4, 4), x_world = pose x_cam, OpenCV camera axes, metres. Rotations may be slightly off (released ones
            are, having been interpolated as matrices); poses may be NaN.
        frames: (N,) rising frame numbers; ``None`` for 0 to N - 1.

    Raises:
        ArgumentError: Another shape, frames that do not rise.

    Numerics:
        yaw = atan2(R02, R00) * 180 / pi with the C library's scalar atan2: vectorised ones differ in the last bit from
        machine to machine, and a pair may hang on it.

    Example:
        >>> import numpy as np
        >>> trajectory_of(np.tile(np.eye(4), (3, 1, 1))).yaw_deg.tolist()
        [0.0, 0.0, 0.0]
    """
    given = np.asarray(poses, dtype=np.float64)
    if given.ndim != 3 or given.shape[1:] != (4, 4):
        raise bad_value("trajectory_of", "poses", "have shape (N, 4, 4)", given.shape)
    numbers = np.arange(len(given)) if frames is None else np.asarray(frames)
    if numbers.shape != (len(given),) or (np.diff(numbers) <= 0).any():
        raise bad_value("trajectory_of", "frames", f"be {len(given)} rising numbers", numbers.tolist()[:8])
    rotation = given[:, :3, :3]
    rows = zip(rotation[:, 0, 2].tolist(), rotation[:, 0, 0].tolist(), strict=True)
    yaw = np.array([math.atan2(x, z) * 180.0 / math.pi for x, z in rows], dtype=np.float64)
    forward = rotation[:, :, 2]
    pitch = np.degrees(np.arctan2(-forward[:, 1], np.hypot(forward[:, 0], forward[:, 2])))
    return Trajectory(numbers.astype(np.int64), given[:, :3, 3].copy(), yaw, pitch, rotation)


def wrapped(degrees: Any) -> Any:
    """An angle's distance from zero round the circle, in degrees: [0, 180]."""
    return np.abs((degrees + 180.0) % 360.0 - 180.0)


def static_tail(trajectory: Trajectory, *, compat: bool = False) -> int:
    """How many poses at the end do not move; 0 where none ever does.

    A step is still when it is at most 1 cm and half a degree.

    Example:
        >>> import numpy as np
        >>> poses = np.tile(np.eye(4), (5, 1, 1)); poses[1:, 2, 3] = 1
        >>> static_tail(trajectory_of(poses))
        3
    """
    if len(trajectory) < 2:
        return 0
    turned = (_trace_angles if compat else _angles)(trajectory.rotation)
    still = (steps_of(trajectory)[1] <= STILL_METRES) & (turned <= STILL_DEG)
    moving = np.flatnonzero(~still)
    return int(len(still) - 1 - moving[-1]) if len(moving) else 0


def steps_of(trajectory: Trajectory) -> tuple[Real, Real]:
    """From each pose to the next: the move, (N - 1, 3), and its length."""
    moves = np.diff(trajectory.place, axis=0)
    return moves, lengths_of(moves)


def lengths_of(moves: Real) -> Real:
    """Euclidean lengths, summed as x² + y² + z² in that order, without fused operations."""
    x, y, z = (moves[..., k] for k in range(3))
    return np.asarray(np.sqrt(x * x + y * y + z * z))


def _trace_angles(rotation: Real) -> Real:
    """Angles between neighbours out of the trace of R_a^T R_b, in degrees: as published."""
    trace = np.einsum("nij,nij->n", rotation[:-1], rotation[1:])
    return np.asarray(np.degrees(np.arccos(np.clip((trace - 1.0) / 2.0, -1.0, 1.0))))


def _angles(rotation: Real) -> Real:
    angles = np.full(len(rotation) - 1, np.nan)
    there = np.isfinite(rotation[:-1] + rotation[1:]).all(axis=(1, 2))
    angles[there] = rotation_angle_deg(rotation[:-1][there], rotation[1:][there])
    return angles
