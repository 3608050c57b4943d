# SPDX-License-Identifier: Apache-2.0
"""Camera trajectories from files: what each format fixes, what the caller must say, what is checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._walls import drafts
from .._walls.checks import integer, one_of, shape_text, trailing
from .._walls.errors import FileFormatError, bad_value
from .pose_formats import FORMATS, READERS, WHO, Raw
from .rotations import deviation, quaternion_of

Poses = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# max |R^T R - I|: above the first it is noted, above the second it is no rotation. Released poses that were
# interpolated as matrices (R2M-Bench) lie between; float32 files lie below.
NOTED, REFUSED = 1e-5, 0.05
AXES = {
    "opencv": np.eye(3),
    "opengl": np.diag([1.0, -1.0, -1.0]),
    "ned": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
}


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Camera poses out of a file.

    Attributes:
        poses: (N, 4, 4) float64, camera to world, OpenCV camera axes (x right, y down, z forward):
            x_world = pose x_cam. A pose that the file gives as NaN is NaN throughout.
        frames: (N,) int64: the file's own frame numbers, or 0 to N - 1.
        stamps: (N,) float64 seconds; ``None`` where the format has none.
        intrinsics: (N, 4) float64 fx, fy, cx, cy; ``None`` where the format has none.
        normalised: Whether the intrinsics are in shares of the image's sides (RealEstate10K) and not in pixels:
            :func:`pixel_intrinsics` makes the one the other.
        notes: What a reader should know, a sentence each.
    """

    poses: Poses
    frames: npt.NDArray[np.int64]
    stamps: npt.NDArray[np.float64] | None = None
    intrinsics: npt.NDArray[np.float64] | None = None
    normalised: bool = False
    notes: tuple[str, ...] = ()


def read_trajectory(
    path: str | os.PathLike[str],
    *,
    format: str,
    convention: str | None = None,
    axes: str = "opencv",
    quaternion: str | None = None,
) -> Trajectory:
    """Reads camera poses.

    | format  | a line, or the data                                | fixes                  |
    | ------- | -------------------------------------------------- | ---------------------- |
    | tum     | stamp tx ty tz qx qy qz qw                         | c2w, xyzw              |
    | kitti   | 12 numbers: the rows of [R t]                      | c2w                    |
    | euroc   | csv: stamp in ns, px, py, pz, qw, qx, qy, qz, …    | c2w (of the body), wxyz |
    | xyzquat | tx ty tz and 4 of a quaternion, no stamp           | nothing                |
    | npz     | arrays: poses, and intrinsics if there are         | what the array's name says |
    | npy     | one array (N, 4, 4) or (N, 3, 4)                   | nothing                |
    | re10k   | url, then: stamp in µs, fx fy cx cy k1 k2, [R t]   | w2c, normalised intrinsics |
    | r2m     | JSON: {frame: {extrinsic: 4x4, K: 3x3}}            | c2w                    |

    Args:
        path: The file.
        format: One of the names above.
        convention: ``c2w`` (x_world = pose x_cam) or ``w2c`` (its inverse). Must be given where the format fixes none,
            and must not contradict it.
        axes: The camera axes that the file uses: ``opencv``, ``opengl`` (y up, z backward) or ``ned`` (x forward,
            y right, z down, as TartanAir has them). The world's axes stay the file's.
        quaternion: ``xyzw`` or ``wxyz``, for ``xyzquat`` alone.

    Returns:
        The trajectory. Rotations that are slightly off (rounded, or interpolated as matrices) are kept as they are and
        noted; quaternions are normalised.

    Raises:
        ArgumentError: An unknown format, a convention or order that is missing or contradicts the format.
        FileFormatError: What a line or pose lacks, with its number: not 8 or 12 columns, a zero quaternion, a
            reflection (det −1), a matrix that is no rotation, a last row other than 0 0 0 1 (of transposed matrices).

    Numerics:
        w2c is inverted as a rigid motion: R^T and −R^T t.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "poses.txt"
        ...     _ = file.write_text("0.5 1 2 3 0 0 0 1\\n0.6 1 2 4 0 0 0 1\\n")
        ...     read = read_trajectory(file, format="tum")
        >>> read.poses[1, :3, 3].tolist(), read.stamps.tolist()
        ([1.0, 2.0, 4.0], [0.5, 0.6])
    """
    file = Path(path)
    one_of(WHO, "format", format, FORMATS)
    one_of(WHO, "axes", axes, AXES)
    if convention is not None:
        one_of(WHO, "convention", convention, ("c2w", "w2c"))
    if quaternion is not None and format != "xyzquat":
        raise bad_value(WHO, "quaternion", f"be left out: {format} fixes the order", repr(quaternion))
    if format == "xyzquat":
        one_of(WHO, "quaternion", quaternion, ("xyzw", "wxyz"))
    if not file.is_file():
        raise FileFormatError(f"{WHO}: path must be a file, got {'a folder' if file.is_dir() else 'nothing'}: {file}")
    raw = READERS[format](file, quaternion)
    way = _convention(file, format, convention, raw)
    poses, notes = _checked(file, raw)
    if way == "w2c":
        poses = _rigid_inverse(poses)
    poses[:, :3, :3] = poses[:, :3, :3] @ AXES[axes]
    frames = np.arange(len(poses)) if raw.frames is None else np.asarray(raw.frames)
    return Trajectory(poses, frames, raw.stamps, raw.intrinsics, raw.normalised, (*raw.notes, *notes))


def _convention(file: Path, format: str, given: str | None, raw: Raw) -> str:
    if raw.convention is None and given is None:
        raise bad_value(WHO, "convention", f"be c2w or w2c: {format} does not fix it", f"None: {file}")
    if raw.convention is not None and given not in (None, raw.convention):
        raise bad_value(WHO, "convention", f"be {raw.convention}, which {raw.fixed_by} fixes", f"{given!r}: {file}")
    return raw.convention or str(given)


def _checked(file: Path, raw: Raw) -> tuple[Poses, list[str]]:
    """Poses as (N, 4, 4), every one a rigid motion or NaN, and what is to be noted."""
    poses, notes = np.array(raw.poses, dtype=np.float64), []
    if len(poses) == 0:
        raise FileFormatError(f"{WHO}: file must hold at least one pose, got none: {file}")
    missing = _of_each(np.isnan(poses))
    rows = np.where(missing[:, None, None], np.eye(4), poses)
    _require(file, raw, ~_of_each(np.isinf(poses)), "be finite or NaN", lambda i: "an infinite number")
    _require(
        file, raw, ~_of_each(rows[:, 3] != (0, 0, 0, 1)), "have the last row 0 0 0 1", lambda i: _last_row(rows[i])
    )
    rotations = rows[:, :3, :3]
    volume, away = np.linalg.det(rotations), deviation(rotations)
    _require(file, raw, volume > 0, "hold a rotation", lambda i: f"a matrix with determinant {volume[i]:.4g}")
    _require(file, raw, away <= REFUSED, "hold a rotation", lambda i: f"a matrix with max |R'R - I| = {away[i]:.4g}")
    if (away > NOTED).any():
        notes.append(f"{int((away > NOTED).sum())} rotations are not orthonormal: max |R'R - I| = {away.max():.3g}")
    if missing.any():
        notes.append(f"{int(missing.sum())} of {len(poses)} poses are missing (NaN)")
        poses[missing] = np.nan
    return poses, notes


def _of_each(flags: Any) -> Flags:
    """Whether any cell of a pose is flagged."""
    return np.asarray(flags.reshape(len(flags), -1).any(axis=1))


def _last_row(pose: Poses) -> str:
    hint = " (a transposed matrix?)" if pose[3, 3] == 1 else ""
    return " ".join(f"{number:g}" for number in pose[3]) + hint


def _require(file: Path, raw: Raw, good: Any, requirement: str, got: Callable[[int], str]) -> None:
    if np.all(good):
        return
    index = int(np.argmin(good))
    which = f"frame {raw.frames[index]}" if raw.frames is not None else f"pose {index}"
    raise FileFormatError(f"{WHO}: {which} must {requirement}, got {got(index)}: {file}")


def _rigid_inverse(poses: Poses) -> Poses:
    inverse = poses.copy()
    inverse[:, :3, :3] = poses[:, :3, :3].swapaxes(1, 2)
    inverse[:, :3, 3] = -np.einsum("nij,nj->ni", inverse[:, :3, :3], poses[:, :3, 3])
    return inverse


def write_trajectory(
    path: str | os.PathLike[str],
    poses: npt.NDArray[np.floating],
    *,
    format: str,
    stamps: Sequence[float] | npt.NDArray[np.floating] | None = None,
) -> None:
    """Writes poses with all their digits, so that :func:`read_trajectory` gives them back.

    Args:
        path: The file; one that exists is replaced, whole or not at all.
        poses: (N, 4, 4), camera to world, OpenCV axes.
        format: ``tum`` (rotations become unit quaternions, w not negative) or ``kitti`` (no stamps).
        stamps: (N,) seconds, for ``tum``.

    Raises:
        ArgumentError: Another format or shape, stamps that are missing, too many or given for ``kitti``.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_trajectory(Path(folder) / "p.txt", np.eye(4)[None], format="kitti")
        ...     (Path(folder) / "p.txt").read_text()
        '1.0 0.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 0.0 1.0 0.0\\n'
    """
    who, file = "write_trajectory", Path(path)
    one_of(who, "format", format, ("tum", "kitti"))
    given = np.asarray(poses, dtype=np.float64)
    trailing(who, "poses", given, (4, 4))
    if given.ndim != 3:
        raise bad_value(who, "poses", "have shape (N, 4, 4)", shape_text(given))
    if (stamps is None) != (format == "kitti"):
        raise bad_value(who, "stamps", "be given for tum, and for tum alone", "none" if stamps is None else "some")
    if stamps is None:
        rows = given[:, :3].reshape(len(given), 12)
    else:
        times = np.asarray(stamps, dtype=np.float64)
        if times.shape != (len(given),):
            raise bad_value(who, "stamps", f"have shape ({len(given)},)", shape_text(times))
        rows = np.column_stack([times, given[:, :3, 3], quaternion_of(given[:, :3, :3])])
    lines = [" ".join(repr(float(number)) for number in row) for row in rows]
    drafts.write(file, "".join(line + "\n" for line in lines).encode("ascii"))


def pixel_intrinsics(trajectory: Trajectory, width: int, height: int) -> npt.NDArray[np.float64]:
    """Intrinsics in pixels, out of normalised ones: fx W, fy H, cx W − 1/2, cy H − 1/2.

    Integer coordinates are pixel centres, so the middle of the image (0.5, 0.5) is ((W − 1)/2, (H − 1)/2).

    Raises:
        ArgumentError: A trajectory without intrinsics, or whose intrinsics are in pixels already.
    """
    if trajectory.intrinsics is None or not trajectory.normalised:
        got = "none" if trajectory.intrinsics is None else "pixels"
        raise bad_value("pixel_intrinsics", "trajectory", "have normalised intrinsics", got)
    sides = [_side("pixel_intrinsics", "width", width), _side("pixel_intrinsics", "height", height)]
    return np.hstack([trajectory.intrinsics[:, :2] * sides, trajectory.intrinsics[:, 2:] * sides - 0.5])


def resized_intrinsics(
    intrinsics: npt.NDArray[np.floating], size: tuple[int, int], new_size: tuple[int, int]
) -> npt.NDArray[np.float64]:
    """Intrinsics of the same camera after its image was resized (not cropped).

    With s = new / old, by side: f' = s f and c' = s (c + 1/2) − 1/2, for integer coordinates are pixel centres: edges
    scale, centres do not.

    Args:
        intrinsics: (..., 4) fx, fy, cx, cy.
        size: Old width and height.
        new_size: New width and height.

    Example:
        >>> resized_intrinsics(np.array([500, 500, 639.5, 359.5]), (1280, 720), (640, 360)).tolist()
        [250.0, 250.0, 319.5, 179.5]
    """
    who = "resized_intrinsics"
    given = np.asarray(intrinsics, dtype=np.float64)
    trailing(who, "intrinsics", given, (4,))
    scale = np.array([_side(who, "new_size", b) / _side(who, "size", a) for a, b in zip(size, new_size, strict=True)])
    return np.concatenate([given[..., :2] * scale, (given[..., 2:] + 0.5) * scale - 0.5], axis=-1)


def _side(who: str, argument: str, value: object) -> int:
    return integer(who, argument, value, at_least=1)
