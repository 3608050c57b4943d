# SPDX-License-Identifier: Apache-2.0
"""What each role consumes and returns. Whatever fits can stand in for any other of its role.

Pictures are (H, W, 3) uint8 RGB; places are x, y in pixels, the centre of the first pixel at (0, 0); N, M, K, D stand
for any number. Nothing is normalised, thresholded or rounded that is not said to be. The answers of one role by two
estimators have one meaning and different numbers, which is why each carries its maker's name.

Inside of a run an estimator is a :class:`.registry.Consumer` of frames; these are the parts that consumers are made of,
and what a caller with pictures of his own uses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from .faces import Faces
from .objects_nanodet import Objects
from .registry import Frame

Floats = npt.NDArray[np.float32]
Reals = npt.NDArray[np.float64]


class Flow(Protocol):
    def prepared(self, picture: Frame) -> npt.NDArray[np.uint8]:
        """The picture as it is compared: resized to the estimator's grid, grey where it works on grey."""

    def between(self, earlier: npt.NDArray[np.uint8], later: npt.NDArray[np.uint8]) -> Floats:
        """(H, W, 2): how far each pixel of the earlier prepared picture moves, right and down, in its pixels."""


class Depth(Protocol):
    def depth(self, picture: Frame) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """(H, W) z along the optical axis, in metres where the network is metric, and where it is valid."""


class Views(NamedTuple):
    """Cameras and depth of a few pictures in one frame of reference.

    Attributes:
        depth: (K, H, W) z along each optical axis.
        confidence: (K, H, W), larger is surer.
        cam_from_world: (K, 3, 4): X_cam = R X_world + t, OpenCV axes.
        intrinsics: (K, 3, 3) in pixels of (H, W).
    """

    depth: Floats
    confidence: Floats
    cam_from_world: Reals
    intrinsics: Reals


class Geometry(Protocol):
    def views(self, pictures: Sequence[Frame]) -> Views:
        """Pictures of one scene, all of a size, seen together."""


class Features(Protocol):
    def mean(self, picture: Frame) -> Floats:
        """(D,), the mean over the network's places, not normalised."""


class FaceDetector(Protocol):
    def detect(self, picture: Frame) -> Faces:
        """Boxes, scores and five points, the likeliest first."""


class FaceEmbedder(Protocol):
    def embed(self, picture: Frame, faces: Faces) -> Floats:
        """(M, D), a vector a face, not normalised; cosines tell whether two are of one person."""


class Matcher(Protocol):
    def match_pictures(self, a: Frame, b: Frame) -> tuple[Reals, Reals, Reals]:
        """(M, 2) places in either picture that show the same, and (M,) how surely, larger is surer."""


class Cuts(Protocol):
    def feed(self, index: int, frame: Frame) -> None:
        """Takes the next frame of a clip."""

    def finish(self) -> dict[str, Any]:
        """``frames`` (M,), the first frame after each hard cut, and ``n_scenes``, the number of shots."""


class Segmenter(Protocol):
    def masks(self, picture: Frame, prompts: Mapping[str, Any]) -> npt.NDArray[np.bool_]:
        """(M, H, W), a mask for each thing that the prompts (texts, boxes, points) ask for."""


class ObjectDetector(Protocol):
    def detect(self, picture: Frame) -> Objects:
        """Boxes, scores and classes, the likeliest first."""


class Keypoints(Protocol):
    def points(self, picture: Frame, boxes: Reals) -> tuple[Reals, Reals]:
        """(M, J, 2) places of J joints of the body in each of M boxes, and (M, J) how surely."""


class Points(Protocol):
    def found(self, picture: npt.NDArray[np.uint8], taken: Reals) -> Reals:
        """(M, 2) places of a prepared picture that can be followed, besides those taken already."""

    def followed(self, earlier: npt.NDArray[np.uint8], later: npt.NDArray[np.uint8], places: Reals) -> Reals:
        """(M, 2): where the earlier prepared picture's places are in the later one; NaN where that is not known."""


class Quality(Protocol):
    def rate(self, picture: Frame) -> float:
        """One number, larger is better; on which scale, the estimator's entry says. NaN where it cannot be rated."""


class PerceptualDistance(Protocol):
    def distance(self, a: Frame, b: Frame) -> float:
        """0 for equal pictures, larger is more unlike; pictures of one size."""


class PlaceDescriptor(Protocol):
    def place(self, picture: Frame) -> Floats:
        """(D,) of length one; cosines tell whether two pictures are of one place."""


class Judge(Protocol):
    def ask(self, prompt: str, pictures: Sequence[Frame]) -> str:
        """The reply as it came. Whether it is what was asked for is for the protocol to say."""
