# SPDX-License-Identifier: Apache-2.0
"""The fixed reference: what objects the input shows, and which track each is judged on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from .association import Flags, Indices
from .described import Described, Floats, describe
from .records import check_objects, check_windows

Record = Mapping[str, Any]
_STILL = ("world_static", "protocol_frozen")


class Track(StrEnum):
    """How an object's structure is judged; presence and identity are judged on every track."""

    STATIC = "static_geometry"
    DYNAMIC = "dynamic_identity"
    EXCLUDED = "excluded"


@dataclass(frozen=True)
class Bank:
    """R reference objects, sorted by id as text.

    Attributes:
        ids: Unique.
        described: Embeddings, categories, attributes.
        boxes: (R, 4): x0, y0, x1, y1 in the input image; NaN where there is none.
        tracks: A :class:`Track` each.
        projectable: (R,) bool: of the static track, and fit to be projected.
        groups: The ambiguity group of each, or ``None``.
        points: (Q, 3) of each, in the input camera's coordinates, or ``None``.
        vocabulary: Of the text in ``described``; observations are described with it.
    """

    ids: tuple[str, ...]
    described: Described
    boxes: Floats
    tracks: tuple[Track, ...]
    projectable: Flags
    groups: tuple[str | None, ...]
    points: tuple[Floats | None, ...]
    vocabulary: dict[str, int] = field(repr=False, default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_dynamic(self) -> Flags:
        """(R,) bool: of the dynamic track."""
        return np.array([track is Track.DYNAMIC for track in self.tracks], dtype=bool)

    @classmethod
    def of_records(cls, objects: Sequence[Record]) -> Bank:
        """The bank of records like those of ``reference_scene.json``.

        Args:
            objects: ``object_id``, ``category``, ``bbox``, ``attributes``, ``embedding``, ``points`` (Q, 3), and
                ``metadata`` with ``mobility`` and ``ambiguity_group``; all but the id may be missing.

        Raises:
            ArgumentError: An id that is missing or stands twice, a value of another form.
        """
        check_objects(objects)
        ordered = sorted(objects, key=lambda one: str(one["object_id"]))
        ids = tuple(str(one["object_id"]) for one in ordered)
        vocabulary: dict[str, int] = {}
        told = [_mobility(one) for one in ordered]
        described = describe(
            [one.get("embedding") for one in ordered],
            [one.get("category") for one in ordered],
            [one.get("attributes") or {} for one in ordered],
            vocabulary,
        )
        points = [one.get("points") for one in ordered]
        return cls(
            ids,
            described,
            boxes_of([one.get("bbox") for one in ordered]),
            tuple(track for track, _ in told),
            np.array([fit for _, fit in told], dtype=bool),
            tuple((one.get("metadata") or {}).get("ambiguity_group") for one in ordered),
            tuple(None if p is None else np.asarray(p, dtype=np.float64).reshape(-1, 3) for p in points),
            vocabulary,
        )


@dataclass(frozen=True)
class Observations:
    """N observations in T frames, frame by frame; within a frame sorted by id as text.

    Attributes:
        windows: (T) ids, unique.
        frames: (T,) int64: frame indices in the video, -1 where there is none.
        sizes: (T, 2): width and height; NaN where they are not known.
        times_s: (T,): since the input; NaN where not known.
        starts: (T + 1,): where each frame begins among the observations, and N.
        ids, tracks: Of each observation; a track may be ``None``.
        boxes: (N, 4).
        described: N objects.
    """

    windows: tuple[str, ...]
    frames: Indices
    sizes: Floats
    times_s: Floats
    starts: Indices
    ids: tuple[str, ...]
    tracks: tuple[str | None, ...]
    boxes: Floats
    described: Described

    def __len__(self) -> int:
        return len(self.windows)

    @classmethod
    def of_records(cls, windows: Sequence[Record], vocabulary: dict[str, int]) -> Observations:
        """Observations of records like those of ``video_observation.json``.

        Args:
            windows: ``window_id``, ``frame_index``, ``frame_size``, ``timestamp`` and ``objects``, these with
                ``observed_id``, ``track_id``, ``category``, ``bbox``, ``attributes`` and ``embedding``.
            vocabulary: The bank's.

        Raises:
            ArgumentError: An id, of a window or of an object in it, that is missing or stands twice; a value of
                another form.
        """
        check_windows(windows)
        names = tuple(str(w.get("window_id", w.get("frame_index"))) for w in windows)
        per_window = [sorted(w.get("objects") or (), key=lambda one: str(one["observed_id"])) for w in windows]
        flat = [one for listed in per_window for one in listed]
        described = describe(
            [one.get("embedding") for one in flat],
            [one.get("category") for one in flat],
            [one.get("attributes") or {} for one in flat],
            vocabulary,
        )
        sizes = [(np.nan, np.nan) if w.get("frame_size") is None else w["frame_size"] for w in windows]
        times = [np.nan if w.get("timestamp") is None else float(w["timestamp"]) for w in windows]
        frames = [-1 if w.get("frame_index") is None else int(w["frame_index"]) for w in windows]
        return cls(
            names,
            np.array(frames, dtype=np.int64),
            np.array(sizes, dtype=np.float64).reshape(-1, 2),
            np.array(times, dtype=np.float64),
            np.cumsum([0, *map(len, per_window)], dtype=np.int64),
            tuple(str(one["observed_id"]) for one in flat),
            tuple(None if one.get("track_id") is None else str(one["track_id"]) for one in flat),
            boxes_of([one.get("bbox") for one in flat]),
            described,
        )


def boxes_of(boxes: Sequence[Sequence[float] | None]) -> Floats:
    """(N, 4), NaN rows for ``None``, and NaN for a ``None`` in a row: a number that was not finite."""
    rows = [(np.nan,) * 4 if box is None else box for box in boxes]
    return np.array(rows, dtype=np.float64).reshape(-1, 4)


def _mobility(one: Record) -> tuple[Track, bool]:
    told = (one.get("metadata") or {}).get("mobility") or {}
    return track_of(
        told.get("kinematic_class", "unknown"),
        told.get("motion_expectation", "unknown"),
        told.get("evaluation_track", Track.EXCLUDED),
        bool(told.get("geometry_eligible", False)),
    )


def track_of(kinematic_class: str, motion: str, track: str, geometry_eligible: bool = True) -> tuple[Track, bool]:
    """The track an object is judged on, and whether its geometry may be projected.

    Rigid things that are expected to stay are of the static track. Articulated and deformable ones, and what moves or
    may move, are of the dynamic one. Of what is not even known to be rigid, no structure is judged.

    Args:
        kinematic_class: ``rigid``, ``articulated``, ``deformable`` or something else: unknown.
        motion: ``world_static``, ``protocol_frozen``, ``independent_motion`` or something else: unknown.
        track: What the annotation asks for.
        geometry_eligible: What the annotation says.

    Source:
        OPIS (arXiv 2609.35052), sections 3.3 and 4.3; the released evaluator's reading of its annotations.

    Example:
        >>> track_of("rigid", "world_static", "static_geometry"), track_of("articulated", "unknown", "static_geometry")
        ((<Track.STATIC: 'static_geometry'>, True), (<Track.DYNAMIC: 'dynamic_identity'>, False))
    """
    asked = Track(track) if track in set(Track) else Track.EXCLUDED
    if kinematic_class == "rigid" and motion in _STILL and asked is Track.STATIC:
        return asked, geometry_eligible
    if kinematic_class not in ("rigid", "articulated", "deformable"):
        return Track.EXCLUDED, False
    moves = kinematic_class != "rigid" or motion not in _STILL
    return (Track.DYNAMIC if moves and asked is not Track.EXCLUDED else asked), False
