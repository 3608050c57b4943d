# SPDX-License-Identifier: Apache-2.0
"""The camera's path from local features and two-view geometry: what can be known without a network, and no SLAM.

Every ``step`` frames SIFT features are matched with those of the last such frame (mutual nearest, Lowe's ratio). The
essential matrix of the matches gives the rotation and the direction of the translation; its length is carried on by
points that three frames in a row see, whose depths must agree, and is 1 at first. Where turning alone explains the
matches to half a pixel, the camera stood still. There is no loop closure: errors add up along the clip.

The focal length is not estimated; what is assumed (a picture 70 degrees wide) stands in the settings. Rotations scale
with it, nearly. On the known-answer world, whose width is 70 degrees, turns of 21 degrees are found to 0.01; over eight
steps of 0.23 m to the side or ahead rotations are off by up to 0.5 and 1.2 degrees, the directions of the steps by up
to 8 and 14 degrees, their lengths by up to 9 % of each other: two views tell strafing from turning no better.

Source: Nister, "An efficient solution to the five-point relative pose problem", PAMI 26(6), 2004; OpenCV's estimator.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..ops.align import umeyama
from ..ops.match import Matches, mutual_matches
from .opencv import opencv
from .registry import Frame, Settings
from .workers import InOrder

VERSION = 2
_WHO = "sift-essential"
_ROUNDS = 4
_TALLEST = 8  # heights to a width
Reals = npt.NDArray[np.float64]


def settings(model: str | None) -> Settings:
    """Sizes, limits and the assumed camera; the same for every model."""
    return {
        "step": 24,
        "width": 640,
        "features": 2000,
        "ratio": 0.8,
        "focal_of_width": 0.714,
        "threshold_px": 0.5,
        "still_px": 0.5,
        "fewest": 16,
    }


def start(settings: Settings) -> PosesBySift:
    return PosesBySift(settings)


class Points(NamedTuple):
    """SIFT features of a frame: (M, 2) rays' x, y at z = 1, and (M, 128) descriptors."""

    rays: Reals
    descriptors: npt.NDArray[np.float32]


class Step(NamedTuple):
    """From one frame to a later one: X_b = R X_a + length t, |t| = 1 or t = 0, and the points both see.

    Attributes:
        rotation, direction: R and t.
        index_a, index_b: Which features were triangulated.
        depth_a, depth_b: Their z in either frame, in units of the length.
    """

    rotation: Reals
    direction: Reals
    index_a: npt.NDArray[np.int64]
    index_b: npt.NDArray[np.int64]
    depth_a: Reals
    depth_b: Reals


class PosesBySift:
    """Keeps the features of two frames, and a pose every ``step`` frames."""

    def __init__(self, settings: Settings) -> None:
        self._geometry = TwoViews(settings)
        self._step = int(settings["step"])
        self._frames: list[int] = []
        self._points = InOrder[Points]()

    def feed(self, index: int, frame: Frame) -> None:
        if index % self._step == 0:
            self._frames.append(index)
            self._points.put(self._geometry.points, frame.copy())

    def finish(self) -> dict[str, Any]:
        points = self._points.results()
        steps = InOrder[Step | None]()
        for a, b in pairwise(points):
            steps.put(self._geometry.between, a, b)
        return {"frames": np.array(self._frames, dtype=np.int64), _WHO.replace("-", "_"): chained(steps.results())}


def chained(steps: list[Step | None]) -> Reals:
    """(K, 4, 4) poses, camera to world, the first the identity; NaN from the first step on that could not be seen."""
    poses = np.full((len(steps) + 1, 4, 4), np.nan)
    poses[0] = np.eye(4)
    length, before = 1.0, None
    for k, step in enumerate(steps):
        if step is None:
            return poses
        if step.direction.any():
            if before is not None:
                length *= _ratio(before, step)
            before = step
        motion = np.eye(4)  # X_b = R X_a + t, so the later camera to the earlier one is its inverse
        motion[:3, :3] = step.rotation.T
        motion[:3, 3] = -(step.rotation.T @ (length * step.direction))
        poses[k + 1] = poses[k] @ motion
    return poses


def _ratio(before: Step, step: Step) -> float:
    """The length of a step in units of the one before: the median over points that both see of their depths' ratio."""
    _, i, j = np.intersect1d(before.index_b, step.index_a, return_indices=True)
    depths = before.depth_b[i] / step.depth_a[j]
    return float(np.median(depths)) if len(depths) else 1.0


class TwoViews:
    """Features, and the motion between two frames."""

    def __init__(self, settings: Settings) -> None:
        self._cv2 = opencv(_WHO)
        self._set = settings

    def points(self, frame: Frame) -> Points:
        """The features of a frame, (H, W, 3) uint8 RGB. A strip has none: at this width it would fill the memory."""
        nothing = Points(np.zeros((0, 2)), np.zeros((0, 128), dtype=np.float32))
        width = int(self._set["width"])
        height = max(1, round(frame.shape[0] * width / frame.shape[1]))
        if height > _TALLEST * width:
            return nothing
        small = self._cv2.resize(frame, (width, height), interpolation=self._cv2.INTER_AREA)
        grey = self._cv2.cvtColor(small, self._cv2.COLOR_RGB2GRAY)
        # One detector a call: it keeps buffers, and threads share this object.
        found, rows = self._cv2.SIFT_create(self._set["features"]).detectAndCompute(grey, None)
        if not found:
            return nothing
        places = np.array([point.pt for point in found], dtype=np.float64)
        centre = np.array([(width - 1) / 2, (height - 1) / 2])
        return Points((places - centre) / (self._set["focal_of_width"] * width), rows.astype(np.float32))

    def between(self, a: Points, b: Points) -> Step | None:
        """The motion from one frame to the other; ``None`` where too little is seen in both."""
        if min(len(a.rays), len(b.rays)) < self._set["fewest"]:
            return None
        found = mutual_matches(a.descriptors, b.descriptors, ratio=self._set["ratio"])
        assert isinstance(found, Matches)  # of one pair, not of a batch
        i, j = np.asarray(found.index_a), np.asarray(found.index_b)
        if len(i) < self._set["fewest"]:
            return None
        pixel = 1 / (self._set["focal_of_width"] * self._set["width"])
        p, q = a.rays[i], b.rays[j]
        turn, off = _turned(p, q, self._set["threshold_px"] * pixel)
        if np.median(off) < self._set["still_px"] * pixel:
            nothing = np.zeros(0, dtype=np.int64)
            return Step(turn, np.zeros(3), nothing, nothing, np.zeros(0), np.zeros(0))
        matrix, inside = self._cv2.findEssentialMat(
            p, q, np.eye(3), self._cv2.RANSAC, 0.999, self._set["threshold_px"] * pixel
        )
        if matrix is None or matrix.shape != (3, 3) or int(inside.sum()) < self._set["fewest"]:
            return None
        kept = np.flatnonzero(inside.ravel())
        return self._placed(matrix, i[kept], j[kept], p[kept], q[kept])

    def _placed(
        self, matrix: Reals, i: npt.NDArray[np.int64], j: npt.NDArray[np.int64], p: Reals, q: Reals
    ) -> Step | None:
        """Of the four motions that an essential matrix allows, the one that has most points before both cameras.

        OpenCV's own choice leaves out points more than 50 baselines away, which in a slow video are all.
        """
        first, second, direction = self._cv2.decomposeEssentialMat(matrix)
        best = None
        for rotation in (first, second):
            for t in (direction.ravel(), -direction.ravel()):
                depth_a, depth_b = _depths(p, q, rotation, t)
                seen = (depth_a > 0) & (depth_b > 0)
                if best is None or seen.sum() > len(best.index_a):
                    best = Step(rotation, t, i[seen], j[seen], depth_a[seen], depth_b[seen])
        return best if best is not None and len(best.index_a) >= self._set["fewest"] else None


def _turned(p: Reals, q: Reals, slack: float) -> tuple[Reals, Reals]:
    """The rotation that takes rays to rays best, wrong matches left aside, and by how much each is off, at z = 1."""
    a, b = _unit(p), _unit(q)
    kept = np.ones(len(a), dtype=bool)
    rotation, off = np.eye(3), np.zeros(len(a))
    for _ in range(_ROUNDS):
        # With every ray's opposite the centroids are the origin, and the fit is a rotation about it.
        fit = umeyama(np.concatenate([a[kept], -a[kept]]), np.concatenate([b[kept], -b[kept]]))
        rotation = np.asarray(fit.rotation)
        moved = a @ rotation.T
        off = np.sqrt(((moved[:, :2] / moved[:, 2:] - q) ** 2).sum(axis=1))
        kept = off <= max(2 * float(np.median(off)), slack)
    return rotation, off


def _unit(rays: Reals) -> Reals:
    long = np.column_stack([rays, np.ones(len(rays))])
    unit: Reals = long / np.sqrt((long * long).sum(axis=1))[:, None]
    return unit


def _depths(p: Reals, q: Reals, rotation: Reals, direction: Reals) -> tuple[Reals, Reals]:
    """z of each point in both frames, in units of the translation: z_b q = z_a R p + t, by least squares."""
    a = np.column_stack([p, np.ones(len(p))]) @ rotation.T
    b = np.column_stack([q, np.ones(len(q))])
    aa, bb, ab = (a * a).sum(1), (b * b).sum(1), (a * b).sum(1)
    at, bt = a @ direction, b @ direction
    scale = np.where((determinant := aa * bb - ab * ab) > 1e-12, determinant, np.nan)
    depth_a, depth_b = (ab * bt - bb * at) / scale, (aa * bt - ab * at) / scale
    return np.nan_to_num(depth_a), np.nan_to_num(depth_b)
