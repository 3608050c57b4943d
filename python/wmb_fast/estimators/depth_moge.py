# SPDX-License-Identifier: Apache-2.0
"""Metric depth and the focal length of single frames by MoGe-2, whose ONNX file the user brings.

The network sees one frame and gives a point a pixel, up to a shift along the optical axis and without a focal length,
whether the pixel has a depth at all, and the metric scale. Both unknowns follow from the points: a pinhole camera whose
axis meets the picture's centre sees them where they are. There are no poses: the channel ``geometry`` cannot be made of
this, and nothing ties the depths of different frames together but the network's own sense of scale.

Source: Wang et al., "MoGe: Unlocking Accurate Monocular Geometry Estimation", CVPR 2025, section 3.1 (affine-invariant
points, Eq. 2); "MoGe-2", 2025 (metric scale).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .catalogue import model_of
from .home import session_of
from .registry import Frame, Settings
from .resize import area_resized
from .session import CPU, Session
from .workers import InOrder

VERSION = 1
NETWORK = "moge-2-vitl"
_STEPS, _GRID = 100, 64
Floats = npt.NDArray[np.float32]
Reals = npt.NDArray[np.float64]


def settings(model: str | None) -> Settings:
    """The longest side it is shown, how many tokens it makes of a picture, and how surely a pixel must have a depth."""
    return {"longest": 640, "tokens": model_of(NETWORK).contract.whole["num_tokens"], "likelihood": 0.5}


def start(settings: Settings) -> DepthByMoGe:
    return DepthByMoGe(MoGe(session_of(NETWORK, settings.get("provider", CPU)), settings))


class Seen(NamedTuple):
    """What a picture shows.

    Attributes:
        depth: (H, W) z in metres; NaN where there is none.
        intrinsics: (3, 3) in pixels of (H, W), the centre of the first at (0, 0).
    """

    depth: Floats
    intrinsics: Reals


class MoGe:
    """The network, and the camera that its points imply."""

    def __init__(self, session: Session, settings: Settings) -> None:
        self._session, self._set = session, settings

    def depth(self, picture: Frame) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """(H, W) z in metres, and where it is valid."""
        seen = self.see(picture)
        return seen.depth, np.isfinite(seen.depth)

    def see(self, picture: Frame) -> Seen:
        """Of a picture, (H, W, 3) uint8 RGB, made no larger than the longest side allows."""
        shrink = min(1.0, self._set["longest"] / max(picture.shape[:2]))
        height, width = (max(1, round(side * shrink)) for side in picture.shape[:2])
        small = picture if shrink == 1 else area_resized(picture, width, height)
        values = np.ascontiguousarray((small.astype(np.float32) / np.float32(255)).transpose(2, 0, 1))[None]
        out = self._session.run({"image": values, "num_tokens": np.array(self._set["tokens"], dtype=np.int64)})
        points = out["points"][0].astype(np.float64)
        there = (out["mask"][0] > self._set["likelihood"]) & np.isfinite(points).all(axis=-1)
        plane = view_plane(height, width)
        focal, shift = focal_and_shift(points, plane, there)
        z = points[..., 2] + shift
        there &= z > 0
        depth = np.where(there, z * float(out["metric_scale"][0]), np.nan).astype(np.float32)
        pixels = focal * math.hypot(height, width) / 2
        return Seen(depth, np.array([[pixels, 0, (width - 1) / 2], [0, pixels, (height - 1) / 2], [0, 0, 1.0]]))


class DepthByMoGe:
    """Keeps the depth of each frame that it is shown."""

    def __init__(self, network: MoGe) -> None:
        self._network = network
        self._frames: list[int] = []
        self._seen = InOrder[Seen]()

    def feed(self, index: int, frame: Frame) -> None:
        self._frames.append(index)
        self._seen.put(self._network.see, frame.copy())

    def finish(self) -> dict[str, Any]:
        seen = self._seen.results()
        return {
            "frames": np.array(self._frames, dtype=np.int64),
            "depth": np.stack([one.depth for one in seen]) if seen else np.zeros((0, 0, 0), dtype=np.float32),
            "intrinsics": np.stack([one.intrinsics for one in seen]) if seen else np.zeros((0, 3, 3)),
        }


def view_plane(height: int, width: int) -> Reals:
    """(H, W, 2) right and down from the picture's centre to those of its pixels, in units of half its diagonal."""
    half = math.hypot(height, width) / 2
    y, x = ((np.arange(side) - (side - 1) / 2) / half for side in (height, width))
    plane: Reals = np.stack(np.meshgrid(x, y), axis=-1)
    return plane


def focal_and_shift(points: Reals, plane: Reals, there: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """The focal length, in half diagonals, and the shift of z under which points are seen where their pixels are.

    Least squares of ``f (x, y) / (z + s) - (u, v)`` over 64x64 pixels at most. For a shift the focal length follows in
    closed form, so one unknown is left; it is found by damped Gauss-Newton steps from 0, as its authors do.

    Args:
        points: (H, W, 3).
        plane: (H, W, 2), of :func:`view_plane`.
        there: (H, W) which pixels count.

    Returns:
        NaN and NaN where fewer than two pixels count, or the points imply no camera.
    """
    rows, columns = (np.arange(min(side, _GRID)) * side // min(side, _GRID) for side in there.shape)
    at = np.ix_(rows, columns)
    kept = there[at]
    xyz, uv = points[at][kept], plane[at][kept]
    if len(uv) < 2:
        return math.nan, math.nan
    shift, loss, damping = 0.0, _loss(xyz, uv, 0.0), 1e-3
    for _ in range(_STEPS):
        slope, curvature = _slope(xyz, uv, shift)
        if not curvature > 0:
            break
        step = -slope / (curvature * (1 + damping))
        tried = _loss(xyz, uv, shift + step)
        if tried < loss:
            shift, loss, damping = shift + step, tried, damping / 10
        else:
            damping *= 10
        if abs(step) <= 1e-12 * (abs(shift) + 1e-12):
            break
    focal = _focal(xyz, uv, shift)
    return (focal, shift) if focal > 0 else (math.nan, math.nan)


def _seen_at(xyz: Reals, shift: float) -> Reals:
    """(M, 2) where points fall on the plane at focal length 1; infinite in the camera's own plane."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return xyz[:, :2] / (xyz[:, 2:] + shift)


def _focal(xyz: Reals, uv: Reals, shift: float) -> float:
    seen = _seen_at(xyz, shift)
    return _dot(seen, uv) / max(_dot(seen, seen), 1e-300)


def _loss(xyz: Reals, uv: Reals, shift: float) -> float:
    if not (xyz[:, 2] + shift > 0).all():  # a point behind the camera is not seen
        return math.inf
    off = _focal(xyz, uv, shift) * _seen_at(xyz, shift) - uv
    return _dot(off, off)


def _slope(xyz: Reals, uv: Reals, shift: float) -> tuple[float, float]:
    """Half the loss's derivative by the shift, the focal length carried along, and its Gauss-Newton curvature."""
    seen, z = _seen_at(xyz, shift), xyz[:, 2:] + shift
    focal, size = _focal(xyz, uv, shift), max(_dot(seen, seen), 1e-300)
    moved = -seen / z
    bends = (_dot(moved, uv) - 2 * focal * _dot(seen, moved)) / size
    off, by_shift = focal * seen - uv, bends * seen + focal * moved
    return _dot(off, by_shift), _dot(by_shift, by_shift)


def _dot(a: Reals, b: Reals) -> float:
    """Sum of products, exactly rounded: the same bits whatever adds them."""
    return math.fsum((a * b).ravel().tolist())
