# SPDX-License-Identifier: Apache-2.0
"""The poses that a rollout was commanded to follow, as the channel ``commanded``.

They come from the file that a rollout names (:attr:`~wmb_fast.rollout.discover.Rollout.poses`). JSON is R2M-Bench's
own: ``{"<frame>": {"extrinsic": 4x4 camera to world, "K": 3x3}}``; npz holds ``commanded_cam_to_world`` or
``cam_to_world`` (N, 4, 4), OpenCV axes, and optionally ``frames`` (N,), rising.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np

from .._walls.errors import FileFormatError
from ..protocols.evidence import Channel, Maker
from ..rollout.trajectory import read_trajectory

NAME = "commanded"
_ARRAYS = ("commanded_cam_to_world", "cam_to_world")
_SLACK = 0.1  # max |R^T R - I| of what still passes for a rotation


def read(path: Path) -> Channel:
    """Reads and checks one.

    Raises:
        FileFormatError: No such file, another form, a pose that is no rigid motion.
    """
    if not path.is_file():
        raise FileFormatError(f"gather: poses must exist, got nothing at {path.name}")
    if path.suffix.lower() == ".npz":
        poses, frames = _of_npz(path)
    else:
        found = read_trajectory(path, format="r2m")
        poses, frames = found.poses, found.frames
    fingerprint = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return Channel({"frames": frames, "cam_to_world": poses}, Maker(NAME, path.stem, "external", fingerprint))


def _of_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        raise FileFormatError(f"gather: {path.name} must be an npz of plain arrays, got {error}") from error
    name = next((name for name in _ARRAYS if name in arrays), None)
    if name is None:
        got = ", ".join(sorted(arrays)) or "nothing"
        raise FileFormatError(f"gather: {path.name} must hold the array {_ARRAYS[0]} or {_ARRAYS[1]}, got {got}")
    poses = arrays[name]
    if poses.dtype.kind != "f" or poses.ndim != 3 or poses.shape[1:] != (4, 4):
        got = f"{poses.dtype} of shape {poses.shape}"
        raise FileFormatError(f"gather: {path.name} must hold poses (N, 4, 4) of floats in {name}, got {got}")
    frames = arrays.get("frames", np.arange(len(poses)))
    rising = frames.shape == (len(poses),) and frames.dtype.kind in "iu" and bool((np.diff(frames) > 0).all())
    if not rising or (len(frames) and frames[0] < 0):
        raise FileFormatError(f"gather: {path.name} must hold a rising frame number for each of its {len(poses)} poses")
    rotations = np.nan_to_num(poses[:, :3, :3].astype(np.float64))
    away = np.abs(rotations.transpose(0, 2, 1) @ rotations - np.eye(3)).max(axis=(1, 2), initial=0.0)
    off = np.isfinite(poses).all(axis=(1, 2)) & (away > _SLACK)
    if off.any():
        raise FileFormatError(f"gather: {path.name} must hold rotations, got none at frame {frames[off][0]}")
    return poses.astype(np.float64), frames.astype(np.int64)
