# SPDX-License-Identifier: Apache-2.0
"""Synthetic OPIS cases whose answers are known, as plain records and as case folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from wmb_fast.protocols import opis
from wmb_fast.protocols.evidence import Channel, Evidence, Maker
from wmb_fast.protocols.record import Score
from wmb_fast.rollout.plan import Facts
from wmb_fast.rollout.video import write_video

Record = dict[str, Any]
SIZE = (96, 64)
STATIC = {"kinematic_class": "rigid", "motion_expectation": "world_static", "evaluation_track": "static_geometry"}
MOVING = {"kinematic_class": "articulated", "motion_expectation": "independent_motion"}
MAKER = Maker("objects", "external", "external", "synthetic")
COMPONENTS = ("presence", "identity", "structure", "structure_coverage", "opis")
Fault = Callable[[dict[str, Any]], None]


def box_of(i: int) -> list[float]:
    return [10.0 + 20 * i, 10.0, 26.0 + 20 * i, 40.0]


def scene(n: int = 4, dynamic: tuple[int, ...] = (3,), **metadata: str) -> Record:
    """n objects with orthogonal embeddings; those named move."""
    objects = []
    for i in range(n):
        mobility = MOVING | {"evaluation_track": "dynamic_identity"} if i in dynamic else STATIC
        objects.append(
            {
                "object_id": f"o{i}",
                "category": "cup",
                "bbox": box_of(i),
                "embedding": np.eye(n)[i].tolist(),
                "metadata": {"mobility": {**mobility, "geometry_eligible": i not in dynamic}},
            }
        )
    return {"scene_id": "synthetic", "metadata": {"image_size": list(SIZE), **metadata}, "objects": objects}


def observation(reference: Record, frames: list[int], fps: float = 8.0) -> Record:
    """Everything is seen in every frame, as it is in the input."""
    windows = []
    for frame in frames:
        objects = [
            {
                "observed_id": f"{frame}_{one['object_id']}",
                "track_id": f"t_{one['object_id']}",
                "category": one["category"],
                "bbox": list(one["bbox"]),
                "embedding": list(one["embedding"]),
            }
            for one in reference["objects"]
        ]
        window = {"window_id": f"w{frame}", "frame_index": frame, "frame_size": list(SIZE), "timestamp": frame / fps}
        windows.append({**window, "objects": objects})
    return {"video_id": "synthetic", "windows": windows}


def geometry(reference: Record, frames: list[int], residual: float = 0.0) -> Record:
    """The camera stays: everything projects where it was, off by ``residual`` pixels."""
    static = [one for one in reference["objects"] if one["metadata"]["mobility"]["geometry_eligible"]]
    grid = {one["object_id"]: _grid(one["bbox"]) for one in static}
    pixels = [point for points in grid.values() for point in points]
    visibility = {
        name: {
            "reference_source": "input_only",
            "camera_confidence": 0.9,
            "projected_pixels": points,
            "projected_depth": [3.0] * len(points),
            "current_depth": [3.0] * len(points),
            "depth_confidence": [1.0] * len(points),
        }
        for name, points in grid.items()
    }
    frame = {
        "status": "scored",
        "reference_pixels": pixels,
        "current_pixels": pixels,
        "reprojection_errors": [residual] * len(pixels),
        "error_space": "source_pixels",
        "instance_visibility": visibility,
    }
    return {"schema_version": 3, "status": "available", "frames": {str(index): dict(frame) for index in frames}}


def _grid(box: list[float]) -> list[list[float]]:
    xs, ys = (np.linspace(box[i] + 1, box[i + 2] - 1, 4) for i in (0, 1))
    return [[float(x), float(y)] for y in ys for x in xs]


def structure(reference: Record, seen: Record, supported: int = 4) -> Record:
    """Of four claims about each moving object a judge supports so many, in every frame."""
    families = ("parts", "connectivity", "local_shape", "material_continuity")
    moving = [one["object_id"] for one in reference["objects"] if not one["metadata"]["mobility"]["geometry_eligible"]]
    claims = [
        {"reference_id": name, "fact_id": f"f{k}", "family": family, "confidence": 0.9}
        for name in moving
        for k, family in enumerate(families)
    ]
    judgments = [
        {
            "window_id": window["window_id"],
            "reference_id": name,
            "observed_id": f"{window['frame_index']}_{name}",
            "fact_id": f"f{k}",
            "status": "supported" if k < supported else "contradicted",
            "confidence": 0.9,
            "visible": True,
        }
        for window in seen["windows"]
        for name in moving
        for k in range(len(families))
    ]
    return {"schema_version": 1, "artifact_version": 1, "metadata": {}, "claims": claims, "judgments": judgments}


FRAMES = list(range(8, 80, 8))


def records(**scene_options: Any) -> Record:
    """The values of a perfect case's channel."""
    reference = scene(**scene_options)
    seen = observation(reference, FRAMES)
    return {
        "reference": reference,
        "observation": seen,
        "geometry": geometry(reference, FRAMES),
        "structure": structure(reference, seen),
        "subcategory": "home_indoor",
    }


def write_case(folder: Path, values: Record, *, n_frames: int = 80, fps: int = 8) -> Path:
    """A case folder with a grey video in it."""
    folder.mkdir(parents=True)
    names = {
        "reference": "reference_scene",
        "observation": "video_observation",
        "geometry": "geometry_v3",
        "structure": "structure_v3",
    }
    for what, name in names.items():
        if values.get(what) is not None:
            (folder / f"{name}.json").write_text(json.dumps(values[what]))
    clip = np.full((n_frames, SIZE[1], SIZE[0], 3), 128, np.uint8)
    write_video(folder / "generated.mp4", clip, fps=fps)
    return folder


def evidence(values: dict[str, Any] | None, rollout: str = "m/home/1", model: str = "m") -> Evidence:
    facts = Facts(rollout, model, rollout.split("/", 1)[1], None, 80, 8.0, *SIZE)
    return Evidence(facts, {} if values is None else {"objects": Channel(values, MAKER)})


def whole(records: list[Score]) -> dict[str, float | None]:
    return {r.metric: r.value for r in records if not set(r.part) - {"subcategory", "domain"}}


def scored(values: dict[str, Any], **options: Any) -> dict[str, float | None]:
    return whole(opis.score(evidence(values), **options))
