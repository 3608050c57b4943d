# SPDX-License-Identifier: Apache-2.0
"""Whose face is whose: from the faces that a detector found in each frame to the people that Human ID is about.

RECONSTRUCTED: the paper embeds the face of a tracked person, and does not say how faces and tracks come together.

- Where a tracker follows people by masks, a face belongs to the person whose mask holds its centre; of several the
  likeliest.
- Where none does, the people are the faces of the first frame of V that has any, and a later frame's faces are given to
  them so that the cosines add up to the most. With one person and one face that chooses nothing; with more, people who
  changed places resemble each other at best: the score is an upper bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...ops.assign import assign
from ...ops.cosine import cosine_matrix
from ...rollout.plan import Span
from ..measure import NotThereError, missing, without
from .arrays import Flags, Values
from .revisits import NO_REFERENCE
from .windows import within

Frames = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class People:
    """Faces by person.

    Attributes:
        frames: (K,) those that were looked at.
        embedding: (T, K, D), zeros where there is no face.
        valid: (T, K) where there is one.
    """

    frames: Frames
    embedding: Values
    valid: Flags


@dataclass(frozen=True, eq=False)
class FoundFaces:
    """The faces of some frames.

    Attributes:
        frames: (K,) that were looked at, rising.
        of_frame: (F,) the frame each face is in.
        boxes: (F, 4) left, top, right, bottom, in pixels of the video; of one frame the likeliest first.
        embedding: (F, D).
    """

    frames: Frames
    of_frame: Frames
    boxes: Values
    embedding: Values

    @staticmethod
    def of(values: Mapping[str, Any]) -> FoundFaces:
        """From a channel's values."""
        named = (np.asarray(values[name]) for name in ("frames", "face_frames", "boxes", "embedding"))
        return FoundFaces(*named)

    def at(self, frame: int) -> npt.NDArray[np.int64]:
        """Which faces are in a frame."""
        return np.flatnonzero(self.of_frame == frame)

    def nobody(self, count: int, frames: Frames) -> People:
        """People none of whom has a face yet."""
        shape = (count, len(frames))
        return People(frames, np.zeros((*shape, self.embedding.shape[1]), self.embedding.dtype), np.zeros(shape, bool))


def people_by_resemblance(faces: FoundFaces, reference: Span) -> People:
    """The people whom V shows, and in every frame the faces that resemble them most.

    Raises:
        NotThereError: V was not looked at, or no face was found in it.
    """
    seen = faces.frames[within(faces.frames, reference)]
    span = f"frames {reference.start} to {reference.stop - 1}"
    if not len(seen):
        raise NotThereError(missing(f"faces: no frame of V, {span}"))
    first = next((found for frame in seen if len(found := faces.at(frame))), None)
    if first is None:
        raise NotThereError(without(f"{NO_REFERENCE}: no face was found in V, {span} ({len(seen)} looked at)"))
    people = faces.nobody(len(first), faces.frames)
    for k, frame in enumerate(faces.frames):
        there = faces.at(frame)
        if not len(there):
            continue
        # A broken embedding resembles nobody, and is given away last: it must not pass for a face that is not there.
        cosines = np.nan_to_num(np.asarray(cosine_matrix(faces.embedding[first], faces.embedding[there])), nan=-1.0)
        chosen = np.asarray(assign(cosines.astype(np.float64), maximize=True))
        given = np.flatnonzero(chosen >= 0)
        people.embedding[given, k] = faces.embedding[there[chosen[given]]]
        people.valid[given, k] = True
    return people


def people_by_mask(faces: FoundFaces, frames: Frames, masks: Flags, found: Flags, size: tuple[int, int]) -> People:
    """The people whom a tracker follows, and the faces that their masks hold.

    Args:
        faces: Found ones.
        frames: (M,) that the tracker speaks of.
        masks: (T, M, H, W) of the people, of any size.
        found: (T, M) whether the tracker has them.
        size: Width and height of the video, which the faces' boxes are in.

    Returns:
        Of the frames that both speak of.
    """
    both, _, at = np.intersect1d(faces.frames, frames, return_indices=True)
    people = faces.nobody(len(masks), both)
    height, width = masks.shape[2:]
    for k, frame in enumerate(both):
        for face in faces.at(frame)[::-1]:  # the likeliest last, to stay
            centre = (faces.boxes[face, :2] + faces.boxes[face, 2:]) / 2
            x, y = (int(np.clip(c * n // s, 0, n - 1)) for c, n, s in zip(centre, (width, height), size, strict=True))
            whose = np.flatnonzero(masks[:, at[k], y, x] & found[:, at[k]])
            people.embedding[whose, k] = faces.embedding[face]
            people.valid[whose, k] = True
    return people
