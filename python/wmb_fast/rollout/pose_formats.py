# SPDX-License-Identifier: Apache-2.0
"""The parsers of :func:`.trajectory.read_trajectory`, one a format. They check form, not rigidity."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._walls.errors import FileFormatError
from .rotations import rotation_of
from .tables import load

WHO = "read_trajectory"
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Raw:
    """What stands in a file: poses (N, 4, 4) in the file's own convention, unchecked."""

    poses: Floats
    convention: str | None = None
    fixed_by: str = ""
    stamps: Floats | None = None
    frames: list[int] | None = None
    intrinsics: Floats | None = None
    normalised: bool = False
    notes: tuple[str, ...] = ()


def _bad(path: Path, where: str, requirement: str, got: object) -> FileFormatError:
    return FileFormatError(f"{WHO}: {where} must {requirement}, got {got}: {path}")


def _lines(path: Path) -> list[tuple[int, str]]:
    """Lines that are neither blank nor comments, with their numbers from 1."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(path, "file", "be readable text", str(error).split(":")[0]) from error
    numbered = ((i, line.strip()) for i, line in enumerate(text.splitlines(), start=1))
    return [(i, line) for i, line in numbered if line and not line.startswith("#")]


def _numbers(
    path: Path, number: int, line: str, count: int, *, comma: bool = False, at_least: bool = False
) -> list[str]:
    cells = [cell.strip() for cell in line.rstrip(",").split(",")] if comma else line.split()
    if len(cells) != count and not (at_least and len(cells) > count):
        wanted = f"have {'at least ' if at_least else ''}{count} numbers"
        raise _bad(path, f"line {number}", wanted, len(cells))
    return cells[:count]


def _table(path: Path, lines: list[tuple[int, str]], count: int) -> Floats:
    rows = [_floats(path, number, _numbers(path, number, line, count)) for number, line in lines]
    return np.array(rows, dtype=np.float64).reshape(-1, count)


def _floats(path: Path, number: int, cells: list[str]) -> list[float]:
    values = []
    for cell in cells:
        try:
            if "_" in cell:  # Python reads 1_0 as ten
                raise ValueError
            values.append(float(cell))
        except ValueError:
            raise _bad(path, f"line {number}", "hold numbers alone", repr(cell)) from None
    return values


def _with_quaternions(
    path: Path, lines: list[tuple[int, str]], at: Floats, quat: Floats, order: str
) -> tuple[Floats, list[str]]:
    """Poses of positions and quaternions, which are normalised; a zero one names its line."""
    xyzw = quat if order == "xyzw" else np.roll(quat, -1, axis=1)
    largest = np.abs(xyzw).max(axis=1)
    for bad, got in ((largest == 0, "one of norm 0"), (np.isinf(largest), "an infinite number")):
        if bad.any():
            raise _bad(path, f"line {lines[int(np.argmax(bad))][0]}", "hold a quaternion", got)
    unit = xyzw / largest[:, None]  # so that no square leaves float64
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(unit, axis=1) * largest
    poses = np.tile(np.eye(4), (len(at), 1, 1))
    poses[:, :3, :3], poses[:, :3, 3] = rotation_of(unit), at
    known = norms[np.isfinite(norms)]
    far = np.abs(known - 1) > 1e-2
    notes = (
        [f"{int(far.sum())} quaternions were not of norm 1: {known.min():.4g} to {known.max():.4g}"]
        if far.any()
        else []
    )
    return poses, notes


def _steady(path: Path, stamps: Floats, lines: list[tuple[int, str]]) -> list[str]:
    if not np.isfinite(stamps).all():
        raise _bad(path, f"line {lines[int(np.argmin(np.isfinite(stamps)))][0]}", "have a finite stamp", "none")
    falls = np.flatnonzero(np.diff(stamps) <= 0)
    return [f"stamps do not increase: first at row {int(falls[0]) + 1}"] if len(falls) else []


def _tum(path: Path, _: str | None) -> Raw:
    lines = _lines(path)
    table = _table(path, lines, 8)
    poses, notes = _with_quaternions(path, lines, table[:, 1:4], table[:, 4:], "xyzw")
    return Raw(poses, "c2w", "tum", table[:, 0], notes=(*notes, *_steady(path, table[:, 0], lines)))


def _xyzquat(path: Path, order: str | None) -> Raw:
    lines = _lines(path)
    table = _table(path, lines, 7)
    poses, notes = _with_quaternions(path, lines, table[:, :3], table[:, 3:], str(order))
    return Raw(poses, notes=tuple(notes))


def _kitti(path: Path, _: str | None) -> Raw:
    table = _table(path, _lines(path), 12)
    return Raw(_closed(table.reshape(-1, 3, 4)), "c2w", "kitti")


def _euroc(path: Path, _: str | None) -> Raw:
    lines = _lines(path)
    rows = [(i, _numbers(path, i, line, 8, comma=True, at_least=True)) for i, line in lines]
    table = np.array([_floats(path, i, cells) for i, cells in rows], dtype=np.float64).reshape(-1, 8)
    whole = [cells[0] for _, cells in rows]
    stamps = np.array([int(ns) / 10**9 if ns.isdecimal() else float(ns) / 1e9 for ns in whole], dtype=np.float64)
    poses, notes = _with_quaternions(path, lines, table[:, 1:4], table[:, 4:], "wxyz")
    notes = ["poses are those of the body, not of a camera", *notes, *_steady(path, stamps, lines)]
    return Raw(poses, "c2w", "euroc", stamps, notes=tuple(notes))


def _re10k(path: Path, _: str | None) -> Raw:
    lines = _lines(path)
    if not lines or len(lines[0][1].split()) != 1:
        raise _bad(path, "line 1", "be the address of the video", repr(lines[0][1][:40]) if lines else "an empty file")
    table = _table(path, lines[1:], 19)
    stamps = table[:, 0] / 1e6
    notes = _steady(path, stamps, lines[1:])
    if table[:, 5:7].any():
        notes.append("lens distortion is stated and not applied")
    return Raw(_closed(table[:, 7:].reshape(-1, 3, 4)), "w2c", "re10k", stamps, None, table[:, 1:5], True, tuple(notes))


def _r2m(path: Path, _: str | None) -> Raw:
    data = load(WHO, path)
    if not isinstance(data, dict) or not data:
        raise _bad(path, "file", "map frame numbers to poses", "no frame" if data == {} else type(data).__name__)
    unnumbered = [key for key in data if not key.isdecimal()]
    if unnumbered:
        raise _bad(path, "file", "map frame numbers (0, 1, ...) to poses", f"the frame {unnumbered[0]!r}")
    frames = sorted(data, key=int)
    poses = [_matrix(path, f"frame {key}", data[key], "extrinsic", (4, 4)) for key in frames]
    cameras = [_matrix(path, f"frame {key}", data[key], "K", (3, 3)) for key in frames]
    intrinsics = _four(path, np.stack(cameras), len(frames))
    return Raw(np.stack(poses), "c2w", "r2m", None, [int(key) for key in frames], intrinsics)


def _matrix(path: Path, where: str, entry: object, key: str, shape: tuple[int, int]) -> Floats:
    value = entry.get(key) if isinstance(entry, dict) else None
    try:
        matrix = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if value is None or matrix.shape != shape:
        raise _bad(
            path, where, f"have {key}, a {shape[0]}x{shape[1]} matrix", "none" if value is None else matrix.shape
        )
    return matrix


def _npy(path: Path, _: str | None) -> Raw:
    return Raw(_array_of_poses(path, "the array", _loaded(path)))


def _npz(path: Path, _: str | None) -> Raw:
    found = _loaded(path)
    if isinstance(found, np.ndarray):
        raise _bad(path, "file", "be an npz archive", "a single array")
    names = [name for name, array in found.items() if array.ndim == 3 and array.shape[1:] in ((4, 4), (3, 4))]
    if len(names) != 1:
        got = ", ".join(names) or "none" + " of " * bool(found) + ", ".join(found)
        raise _bad(path, "file", "hold one array of poses, (N, 4, 4) or (N, 3, 4)", got)
    stated = [way for way in ("c2w", "w2c") if way in names[0].lower()]
    convention = stated[0] if len(stated) == 1 else None
    poses = _array_of_poses(path, names[0], found[names[0]])
    named = [array for name, array in found.items() if name.lower() in ("intrinsics", "k", "ks")]
    intrinsics = _four(path, np.asarray(named[0], dtype=np.float64), len(poses)) if named else None
    return Raw(poses, convention, f"the name of the array, {names[0]},", intrinsics=intrinsics)


def _loaded(path: Path) -> Any:
    """The array of an npy file, or the arrays of an npz archive by name."""
    try:
        loaded = np.load(io.BytesIO(path.read_bytes()), allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            return {name: loaded[name] for name in loaded.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise _bad(path, "file", "be a NumPy file without pickled objects", type(error).__name__) from error


def _array_of_poses(path: Path, name: str, array: Any) -> Floats:
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
        raise _bad(path, name, "be an array of floats", getattr(array, "dtype", type(array).__name__))
    if array.ndim != 3 or array.shape[1:] not in ((4, 4), (3, 4)):
        raise _bad(path, name, "have shape (N, 4, 4) or (N, 3, 4)", tuple(array.shape))
    return _closed(array.astype(np.float64))


def _closed(rows: Floats) -> Floats:
    """(N, 3, 4) with the last row that makes them (N, 4, 4); those that have one keep it."""
    if rows.shape[1] == 4:
        return rows
    return np.concatenate([rows, np.tile([[[0.0, 0.0, 0.0, 1.0]]], (len(rows), 1, 1))], axis=1)


def _four(path: Path, cameras: Floats, n: int) -> Floats:
    """Intrinsics as (N, 4) fx, fy, cx, cy, out of (N, 3, 3), (N, 4), (3, 3) or (4,)."""
    if cameras.shape[-2:] == (3, 3):
        rest = cameras - cameras * [[1, 0, 1], [0, 1, 1], [0, 0, 0]]
        if not np.array_equal(rest, np.broadcast_to(np.diag([0.0, 0.0, 1.0]), rest.shape)):
            raise _bad(path, "intrinsics", "be fx 0 cx, 0 fy cy, 0 0 1", "other numbers (a skew, or transposed)")
        cameras = np.stack([cameras[..., 0, 0], cameras[..., 1, 1], cameras[..., 0, 2], cameras[..., 1, 2]], axis=-1)
    if cameras.shape not in ((n, 4), (4,), (1, 4)):
        raise _bad(path, "intrinsics", f"be one for all or for each of the {n} poses", cameras.shape)
    if not all(math.isfinite(number) for number in cameras.ravel()):
        raise _bad(path, "intrinsics", "be finite", "others")
    return np.array(np.broadcast_to(cameras, (n, 4)))


READERS: dict[str, Callable[[Path, str | None], Raw]] = {
    "tum": _tum,
    "kitti": _kitti,
    "euroc": _euroc,
    "xyzquat": _xyzquat,
    "npz": _npz,
    "npy": _npy,
    "re10k": _re10k,
    "r2m": _r2m,
}
FORMATS = tuple(READERS)
