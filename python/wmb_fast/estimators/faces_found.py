# SPDX-License-Identifier: Apache-2.0
"""The faces of frames, as vectors: a detector finds them and their points, an embedder turns them into numbers.

Whose face is whose is not for an estimator to say: a channel holds every face of every frame that was looked at, and a
frame without any is one that was looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .face_embedder import Aligned, ArcFace, Embeddings, Loose
from .faces import FaceDetector as Cascade
from .faces import Faces
from .faces_scrfd import NETWORK, Scrfd
from .home import session_of
from .registry import Frame, Settings
from .roles import FaceDetector, FaceEmbedder
from .session import CPU, Session
from .workers import InOrder

VERSION = 1
_STAGES = ("mtcnn-first", "mtcnn-second", "mtcnn-third")
# How sure they must be of a face. MTCNN surer than the 0.7 of the cascade itself: what is taken for a face in V and is
# none will be lost at every return. On clips of empty landscapes it finds some with up to 0.96; portraits have 0.999.
_LIKELIHOOD = {"mtcnn": 0.99, "scrfd": 0.5}
_SMALLEST = 20  # the least side of a face that MTCNN looks for, in pixels
_EMBEDDERS: dict[str, Callable[[Session], FaceEmbedder]] = {
    "mobileface": Aligned,
    "faceres": Loose,
    "arcface-w600k-r50": ArcFace,
}


def settings(model: str | None) -> Settings:
    """How sure the detectors must be of a face, and the least side that MTCNN looks for; the same for every model."""
    return {"likelihood": dict(_LIKELIHOOD), "smallest": _SMALLEST}


def start(settings: Settings) -> FacesFound:
    name, provider = settings["embedder"], settings.get("provider", CPU)
    likelihood = settings["likelihood"][settings["detector"]]
    detector: FaceDetector
    if settings["detector"] == "scrfd":
        detector = Scrfd(session_of(NETWORK, provider), likelihood=likelihood)
    else:
        detector = Cascade(*(session_of(stage, provider) for stage in _STAGES), smallest=settings["smallest"])
    return FacesFound(detector, _EMBEDDERS[name](session_of(name, provider)), likelihood)


class FacesFound:
    """Keeps the faces of each frame.

    Args:
        detector: Finds them.
        embedder: Turns them into vectors.
        likelihood: How sure the detector must be.
    """

    def __init__(self, detector: FaceDetector, embedder: FaceEmbedder, likelihood: float) -> None:
        self._detector, self._embedder, self._likelihood = detector, embedder, likelihood
        self._frames: list[int] = []
        self._found = InOrder[tuple[Faces, Embeddings]]()

    def feed(self, index: int, frame: Frame) -> None:
        self._frames.append(index)
        self._found.put(self._embedded, frame.copy())

    def _embedded(self, picture: Frame) -> tuple[Faces, Embeddings]:
        every = self._detector.detect(picture)
        sure = every.scores >= self._likelihood
        faces = Faces(*(values[sure] for values in every))
        return faces, self._embedder.embed(picture, faces)

    def finish(self) -> dict[str, Any]:
        """The ``frames`` looked at; of F faces ``face_frames``, ``boxes`` (F, 4), ``scores``, ``embedding`` (F, D)."""
        found = self._found.results()
        frames = np.array(self._frames, dtype=np.int64)
        nothing = np.zeros((0, 0), dtype=np.float32)
        return {
            "frames": frames,
            "face_frames": np.repeat(frames, [len(faces.boxes) for faces, _ in found]),
            "boxes": np.concatenate([np.zeros((0, 4)), *(faces.boxes for faces, _ in found)]),
            "scores": np.concatenate([np.zeros(0), *(faces.scores for faces, _ in found)]),
            "embedding": np.concatenate([rows for _, rows in found]) if found else nothing,
        }
