# SPDX-License-Identifier: Apache-2.0
"""The records of OPIS's files, checked key by key before anything is made of them.

What is wrong is one sentence with the key; so an exception of any other kind is a fault of this library, and is not
taken for bad evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._walls.errors import bad_value

Record = Mapping[str, Any]
_INT64 = np.iinfo(np.int64)


def check_objects(objects: Any) -> None:
    """The objects of ``reference_scene.json``: a list, each with an id of its own."""
    items = _items("reference.objects", objects)
    _ids(items, "object_id")
    for at, one in items:
        _check_object(at, one)
        _numbers(f"{at}.points", one.get("points"), -1, 3)
        mobility = mapping(f"{at}.metadata.mobility", mapping(f"{at}.metadata", one.get("metadata")).get("mobility"))
        for key in ("kinematic_class", "motion_expectation", "evaluation_track"):
            if key in mobility:
                _text(f"{at}.metadata.mobility.{key}", mobility[key])


def check_windows(windows: Any) -> None:
    """The frames of ``video_observation.json``: a list, each with an id of its own and a list of such objects."""
    items = _items("observation.windows", windows)
    _ids(items, "window_id", "frame_index")
    for at, window in items:
        index = window.get("frame_index")
        whole = isinstance(index, (int, np.integer)) and not isinstance(index, bool)
        if index is not None and not (whole and -1 <= int(index) <= _INT64.max):
            raise bad_value("opis", f"{at}.frame_index", "be a whole number of at least 0", f"{index!r:.40}")
        _numbers(f"{at}.frame_size", window.get("frame_size"), 2)
        _numbers(f"{at}.timestamp", window.get("timestamp"))
        objects = _items(f"{at}.objects", window.get("objects") or [])
        _ids(objects, "observed_id")
        for place, one in objects:
            _check_object(place, one)


def frames_of(geometry: Any, wanted: Sequence[int]) -> list[Record | None]:
    """The frames of a geometry artefact by index, checked; ``None`` where it has none."""
    told = mapping("geometry.frames", mapping("geometry", geometry).get("frames"))
    frames = [told.get(str(index)) for index in wanted]
    for index, frame in zip(wanted, frames, strict=True):
        if frame is not None:
            _check_frame(f"geometry.frames.{index}", mapping(f"geometry.frames.{index}", frame))
    return frames


def check_projection(at: str, one: Any) -> None:
    """What is known of one reference object in one frame: as many depths and confidences as points."""
    record = mapping(at, one)
    if "projected_pixels" in record:
        count = len(_given(at, record, "projected_pixels", -1, 2))
        _given(at, record, "projected_depth", count)
    else:
        count = len(_given(at, record, "reference_points_3d", -1, 3))
        _given(at, record, "intrinsics", 3, 3)
        if len(_given(at, record, "world_to_camera", -1, 4)) not in (3, 4):
            raise bad_value("opis", f"{at}.world_to_camera", "be a matrix (3, 4) or (4, 4)", "another")
    _given(at, record, "current_depth", count)
    if "depth_confidence" in record:
        _given(at, record, "depth_confidence", count)
    _numbers(f"{at}.camera_confidence", record.get("camera_confidence"))


def check_structure(structure: Any) -> None:
    """A structure artefact: claims, judgements, landmarks."""
    made = mapping("structure", structure)
    config = mapping("structure.metadata", made.get("metadata")).get("structure_config")
    if "min_confidence" in (told := mapping("structure_config", config)):
        _given("structure_config", told, "min_confidence")
    for name, body in mapping("structure.pose_references", made.get("pose_references")).items():
        check_body(f"pose_references.{name}", body)
    for at, item in _items("structure.pose_measurements", made.get("pose_measurements") or []):
        _check_texts(at, item, "window_id", "reference_id", "observed_id")
        check_body(f"{at}.record", item.get("record"))
    for at, item in _items("structure.claims", made.get("claims") or []):
        _check_texts(at, item, "reference_id", "fact_id", "family")
        _given(at, item, "confidence")
    for at, item in _items("structure.judgments", made.get("judgments") or []):
        _check_texts(at, item, "window_id", "reference_id", "observed_id", "fact_id", "status")
        _given(at, item, "confidence")


def _check_object(at: str, one: Record) -> None:
    _numbers(f"{at}.bbox", one.get("bbox"), 4)
    if one.get("embedding") is not None:
        _numbers(f"{at}.embedding", one["embedding"], -1)
    mapping(f"{at}.attributes", one.get("attributes"))
    if one.get("category") is not None:
        _text(f"{at}.category", one["category"])


def _check_frame(at: str, frame: Record) -> None:
    _text(f"{at}.status", frame.get("status"))
    for name in ("reference_pixels", "current_pixels"):
        _numbers(f"{at}.{name}", frame.get(name), -1, 2)
    _numbers(f"{at}.reprojection_errors", frame.get("reprojection_errors"), -1)
    _numbers(f"{at}.homography", frame.get("homography"), 3, 3)
    mapping(f"{at}.instance_visibility", frame.get("instance_visibility"))


def check_body(at: str, body: Any) -> None:
    """One body's landmarks and segments."""
    record = mapping(at, body)
    _text(f"{at}.profile", record.get("profile"))
    points = _items(f"{at}.points", record.get("points"))
    _ids(points, "name")
    for place, point in points:
        _numbers(f"{place}.xyz", point.get("xyz"), 3)
        _given(place, point, "confidence")
    edges = record.get("edges")
    if not isinstance(edges, (list, tuple)) or any(not isinstance(e, (list, tuple)) or len(e) != 2 for e in edges):
        raise bad_value("opis", f"{at}.edges", "be a list of pairs of names", f"{edges!r:.40}")


def _check_texts(at: str, item: Record, *keys: str) -> None:
    for key in keys:
        _text(f"{at}.{key}", item.get(key))


def mapping(at: str, value: Any) -> Record:
    """A mapping; nothing is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise bad_value("opis", at, "be a mapping", f"{value!r:.40}")
    return value


def _items(at: str, value: Any) -> list[tuple[str, Record]]:
    """A list of mappings, each with its place."""
    if not isinstance(value, (list, tuple)):
        raise bad_value("opis", at, "be a list", f"{value!r:.40}")
    for i, one in enumerate(value):
        if not isinstance(one, Mapping):
            raise bad_value("opis", f"{at}[{i}]", "be a mapping", f"{one!r:.40}")
    return [(f"{at}[{i}]", one) for i, one in enumerate(value)]


def _ids(items: Sequence[tuple[str, Record]], key: str, other: str = "") -> None:
    """Requires a text or whole number under ``key`` (or else ``other``) of every item, no two alike."""
    seen: set[str] = set()
    for at, one in items:
        name = one.get(key, one.get(other)) if other else one.get(key)
        _text(f"{at}.{key}", name)
        if str(name) in seen:
            raise bad_value("opis", f"{at}.{key}", "be unique", f"{name!r} twice")
        seen.add(str(name))


def _text(at: str, value: Any) -> None:
    """Text, or a whole number that stands for it."""
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise bad_value("opis", at, "be text", f"{value!r:.40}")


def _given(at: str, record: Record, key: str, *shape: int) -> Any:
    """Numbers that must be there."""
    value = record.get(key)
    return _numbers(f"{at}.{key}", "" if value is None else value, *shape)


def _numbers(at: str, value: Any, *shape: int) -> Any:
    """Numbers of a shape, -1 for any length; ``None`` is one that was not finite, or nothing at all."""
    if value is None:
        return ()
    wanted = f"be numbers of shape {shape}".replace("-1", "any") if shape else "be a number"
    try:
        made = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise bad_value("opis", at, wanted, f"{value!r:.40}") from None
    empty = not made.size and -1 in shape
    fits = made.ndim == len(shape) and all(n in (-1, m) for n, m in zip(shape, made.shape, strict=True))
    if not (fits or empty):
        raise bad_value("opis", at, wanted, f"shape {made.shape}")
    return made
