# SPDX-License-Identifier: Apache-2.0
"""OPIS's files: what the input shows, what was observed in a rollout, its geometry, its structure.

A case folder, ``…/<subcategory>/<case>/``, holds ``reference_scene.json`` and, for a rollout of it, a video with

- ``video_observation.json``: the objects that were found in each evaluated frame;
- ``geometry_v3.json``, if there is any: cameras, correspondences and projections (schema version 3);
- ``structure_v3.json``, if there is any: claims, judgements and landmarks (schema version 1).

The last three may also lie in folders ``observation``, ``geometry`` and ``structure``, and carry the video's stem in
front (``wan.video_observation.json`` beside ``wan.mp4``) where several videos share a case folder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .._walls.errors import FileFormatError
from .masks import Mask, read_mask
from .tables import Row, load, wrong

REFERENCE = "reference_scene.json"
FILES = {
    "reference": (REFERENCE,),
    "observation": ("video_observation.json", "observation/video_observation.json"),
    "geometry": ("geometry_v3.json", "geometry/geometry_v3.json"),
    "structure": ("structure_v3.json", "structure/structure_v3.json"),
}
GEOMETRY_SCHEMA, STRUCTURE_SCHEMA = 3, 1
WHO = "opis"


def is_case_folder(folder: Path) -> bool:
    """Whether a folder is that of an OPIS case."""
    return (folder / REFERENCE).is_file()


def files_of(video: Path) -> dict[str, Path]:
    """The files that belong to a video, by what they tell; empty unless it lies in a case folder."""
    folder, stem = video.parent, video.name if video.is_dir() else video.stem
    if not is_case_folder(folder):
        return {}
    found = {}
    for what, names in FILES.items():
        places = [folder / f"{stem}.{Path(names[0]).name}", *(folder / name for name in names)]
        there = next((place for place in places if place.is_file()), None)
        if there is not None:
            found[what] = there
    return found


def read_all(files: Mapping[str, Path]) -> dict[str, Any]:
    """The records of a rollout, as plain data, with its subcategory and, where the scene says so, its domain.

    Raises:
        FileFormatError: No observation, a file that is not what it should be: file and key are named.
    """
    if "observation" not in files:
        where = files["reference"].parent
        raise wrong(WHO, where, "a case folder", "hold video_observation.json beside the video", "none")
    read: dict[str, Callable[[Path], Row]] = {
        "reference": read_reference_scene,
        "observation": read_video_observation,
        "geometry": read_geometry,
        "structure": read_structure,
    }
    values: dict[str, Any] = {what: read[what](path) for what, path in files.items()}
    told = values["reference"].get("metadata") or {}
    values["subcategory"] = str(told.get("subcategory") or files["reference"].resolve().parent.parent.name)
    if told.get("domain"):
        values["domain"] = str(told["domain"])
    return values


def read_reference_scene(path: Path) -> Row:
    """``reference_scene.json``: objects with an id of their own, and perhaps category, box, embedding, mobility.

    Raises:
        FileFormatError: Another form, an id twice, a box or an embedding that is none.
    """
    scene = _mapping(path, "a scene", load(WHO, path))
    _mapping(path, "metadata", scene.get("metadata") or {})
    _ids(path, "objects", _list(path, "objects", scene.get("objects")), "object_id")
    for i, one in enumerate(scene["objects"]):
        _object(path, f"objects[{i}]", one, box_needed=False)
        _mapping(path, f"objects[{i}].metadata", one.get("metadata") or {})
    return scene


def read_video_observation(path: Path) -> Row:
    """``video_observation.json``: evaluated frames (windows), each with the objects found in it.

    Raises:
        FileFormatError: Another form, a window's or within a window an object's id twice, a box that is none.
    """
    seen = _mapping(path, "an observation", load(WHO, path))
    _mapping(path, "metadata", seen.get("metadata") or {})
    windows = _list(path, "windows", seen.get("windows"))
    for i, window in enumerate(windows):
        _mapping(path, f"windows[{i}]", window).setdefault("window_id", str(window.get("frame_index", f"window {i}")))
        index = window.get("frame_index")
        if index is not None and (isinstance(index, bool) or not isinstance(index, int) or index < 0):
            raise wrong(WHO, path, f"windows[{i}].frame_index", "be a whole number of at least 0", repr(index))
        _numbers(path, f"windows[{i}].frame_size", window.get("frame_size"), 2)
        objects = window.setdefault("objects", [])
        _ids(path, f"windows[{i}].objects", _list(path, f"windows[{i}].objects", objects), "observed_id")
        for k, one in enumerate(objects):
            _object(path, f"windows[{i}].objects[{k}]", one, box_needed=True)
    _ids(path, "windows", windows, "window_id")
    return seen


def read_geometry(path: Path) -> Row:
    """A geometry artefact of schema version 3: frames by index.

    Raises:
        FileFormatError: Another schema, frames without a status.
    """
    made = _mapping(path, "a geometry artefact", load(WHO, path))
    _version(path, made, GEOMETRY_SCHEMA)
    frames = _mapping(path, "frames", made.get("frames"))
    for index, frame in frames.items():
        if not isinstance(_mapping(path, f"frames.{index}", frame).get("status"), str):
            raise wrong(WHO, path, f"frames.{index}.status", "be text", repr(frame.get("status")))
    return made


def read_structure(path: Path) -> Row:
    """A structure artefact of schema version 1: claims, judgements, landmarks.

    Raises:
        FileFormatError: Another schema, lists that are none.
    """
    made = _mapping(path, "a structure artefact", load(WHO, path))
    _version(path, made, STRUCTURE_SCHEMA)
    for name in ("claims", "judgments", "pose_measurements"):
        _list(path, name, made.setdefault(name, []))
    _mapping(path, "pose_references", made.setdefault("pose_references", {}))
    return made


def _object(path: Path, at: str, one: Row, *, box_needed: bool) -> None:
    if one.get("bbox") is not None or box_needed:
        _numbers(path, f"{at}.bbox", one.get("bbox"), 4)
    embedding = one.get("embedding")
    if embedding is not None:
        _numbers(path, f"{at}.embedding", embedding, None)
    _mapping(path, f"{at}.attributes", one.setdefault("attributes", {}))


def _numbers(path: Path, at: str, values: object, count: int | None) -> None:
    """Requires numbers; one that is not finite passes: the protocol has its own rule for it."""
    wanted = "numbers" if count is None else f"{count} numbers"
    if not isinstance(values, list) or (count is not None and len(values) != count):
        raise wrong(WHO, path, at, f"be a list of {wanted}", f"{values!r:.60}")
    if any(isinstance(x, bool) or not isinstance(x, (int, float)) for x in values):
        raise wrong(WHO, path, at, f"be a list of {wanted}", f"{values!r:.60}")
    if any(isinstance(x, int) and not math.isfinite(_as_float(x)) for x in values):
        raise wrong(WHO, path, at, "hold numbers within the range of float64", f"{values!r:.60}")


def _as_float(x: int) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf


def _ids(path: Path, at: str, items: list[Any], key: str) -> None:
    seen: set[str] = set()
    for i, one in enumerate(items):
        name = _mapping(path, f"{at}[{i}]", one).get(key)
        if not isinstance(name, (str, int)) or isinstance(name, bool):
            raise wrong(WHO, path, f"{at}[{i}].{key}", "be text", repr(name))
        if str(name) in seen:
            raise wrong(WHO, path, f"{at}[{i}].{key}", "be unique", f"{name!r} twice")
        seen.add(str(name))


def _version(path: Path, made: Row, wanted: int) -> None:
    if made.get("schema_version") != wanted:
        raise wrong(WHO, path, "schema_version", f"be {wanted}", repr(made.get("schema_version")))


def _list(path: Path, at: str, value: object) -> list[Any]:
    if not isinstance(value, list):
        raise wrong(WHO, path, at, "be a list", type(value).__name__)
    return value


def _mapping(path: Path, at: str, value: object) -> Row:
    if not isinstance(value, dict):
        raise wrong(WHO, path, at, "be a mapping", type(value).__name__)
    return value


def masks_of(scene: Mapping[str, Any], folder: Path) -> tuple[dict[str, Mask], dict[str, str]]:
    """The masks of a scene's objects, to build a bank of: and why there is none, of the others.

    Args:
        scene: Of :func:`read_reference_scene`; its ``metadata.image_size`` is width and height.
        folder: What ``mask_path`` is relative to.

    Returns:
        Object id to mask (H, W), and object id to the reason: one damaged mask does not lose the others.

    Raises:
        FileFormatError: The scene does not state its size.
    """
    size = (scene.get("metadata") or {}).get("image_size")
    if not isinstance(size, list) or len(size) != 2 or not all(isinstance(n, int) and n > 0 for n in size):
        raise wrong(WHO, folder / REFERENCE, "metadata.image_size", "be width and height", repr(size))
    masks, reasons = {}, {}
    for one in scene["objects"]:
        name = str(one["object_id"])
        told = one.get("mask")
        told = one.get("mask_path") or (one.get("metadata") or {}).get("mask_path") if told is None else told
        try:
            if told is None:
                reasons[name] = "no_mask: the scene has none"
            else:
                masks[name] = read_mask(told, (size[0], size[1]), beside=folder)
        except FileFormatError as error:
            reasons[name] = f"unusable_mask: {error}"
    return masks, reasons
