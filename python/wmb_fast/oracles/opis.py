# SPDX-License-Identifier: Apache-2.0
"""C_opis: the published OPIS evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._walls.arrays import Array
from .._walls.errors import ArgumentError
from ..ops.assign import assign, assignment
from ..ops.visibility import Visibility
from ..ops.visibility import visibility as visibility_op
from .libs_stats import matrix
from .runner import Adapter, Case, Outcome


def hungarian(case: Case) -> Outcome:
    """C2: the public solver's assignment, its choice among ties included. What it should have refused, we refuse."""
    cost, outcome = case.inputs["cost"], Outcome()
    if case.raises is not None and case.raises["type"] == "ValueError":
        try:
            outcome.got = assign([np.asarray(row, dtype=np.float64) for row in cost], ties="opis")
            outcome.problems.append("rows of unequal length must raise an ArgumentError")
        except ArgumentError as error:
            outcome.got = str(error)
        return outcome
    found = assignment(matrix(cost), ties="opis")
    pairs = [[i, int(j)] for i, j in enumerate(found.columns) if j >= 0]
    outcome.got = {"assignment": pairs, "total": float(found.total), "reason": found.reason()}
    if case.recommended is not None:
        outcome.expect(found.status == 2 and not pairs, "costs that are not numbers must be refused, with a reason")
        return outcome
    outcome.expect(found.status == 0, f"status is {found.status}: {found.reason()}")
    outcome.same("assignment", pairs, case.expected["assignment"])
    if "total" in case.expected:
        outcome.close("total", found.total, case.expected["total"], abs_=case.tolerance["total"]["abs"])
    return outcome


# What the published evaluator calls the states; where it names a failure's cause, the op says unknown.
STATES = {"VISIBLE": "expected_visible", "OCCLUDED": "occluded", "OUTSIDE": "outside_view", "TOO_SMALL": "too_small"}
FINER = 16  # a power of two, so that every pixel of a finer frame is exact, and points do not share one


def visibility(case: Case) -> Outcome:
    """C3: what a view shows of an instance, told by its points alone.

    The vectors give a depth for each point, the op looks it up in a map: one is made, 16 times as fine as the frame.
    What is decided before or beside the projection (who made it, how sure the camera is, a box that was detected)
    belongs to the protocol, and such cases are skipped.
    """
    inputs, outcome = case.inputs, Outcome()
    evidence, frame = inputs["evidence"], inputs["frame_size"]
    outcome.skipped = _beside_the_projection(evidence, inputs)
    if outcome.skipped is not None:
        return outcome
    points, matrix_, to_camera = _view(evidence)
    width, height = (FINER * int(n) for n in frame)
    depth, confidence = (np.zeros((height, width)) for _ in range(2))
    camera = FINER * np.array([matrix_[0, 0], matrix_[1, 1], matrix_[0, 2], matrix_[1, 2]])
    moved = points @ to_camera[:3, :3].T + to_camera[:3, 3]
    taken: dict[tuple[int, int], int] = {}
    for i, (x, y, z) in enumerate(moved):
        with np.errstate(invalid="ignore", divide="ignore"):
            u, v = camera[0] * x / z + camera[2], camera[1] * y / z + camera[3]
        if not (0 <= u < width and 0 <= v < height and z > 0):
            continue
        at = min(int(v + 0.5), height - 1), min(int(u + 0.5), width - 1)
        depth[at], confidence[at] = evidence["current_depth"][i], evidence["depth_confidence"][i]
        first = taken.setdefault(at, i)
        same = all(evidence[name][first] == evidence[name][i] for name in ("current_depth", "depth_confidence"))
        outcome.expect(same or first == i, f"points {first} and {i} share a pixel of the map, with other depths")
    state = visibility_op(points[None], depth, camera, to_camera, min_area=16 * FINER**2, confidence=confidence)
    outcome.got = STATES.get(Visibility(int(state[0])).name, "unknown")
    expected = case.expected["state"] if case.expected["state"] in STATES.values() else "unknown"
    if case.expected["state"] == "insufficient_baseline":  # visible, and the protocol knows no more
        expected = "expected_visible"
    outcome.same("state", outcome.got, expected)
    return outcome


def _beside_the_projection(evidence: Mapping[str, Any] | None, inputs: Mapping[str, Any]) -> str | None:
    if evidence is None or inputs["observed_bbox"] is not None:
        return "an observed box is judged by protocols.opis"
    confidence = evidence["camera_confidence"]
    if evidence["reference_source"] != "input_only" or not confidence >= 0.65 or min(inputs["frame_size"]) <= 0:
        return "evidence that must not be used is refused by protocols.opis"
    return None


def _view(evidence: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """Points, intrinsics (3, 3) and T_cam_world. Projected pixels are taken back along the rays of a unit camera."""
    if "reference_points_3d" in evidence:
        names = ("reference_points_3d", "intrinsics", "world_to_camera")
        points, intrinsics, to_camera = (np.asarray(evidence[name], dtype=np.float64) for name in names)
        return points, intrinsics, to_camera
    pixels, z = (np.asarray(evidence[name], dtype=np.float64) for name in ("projected_pixels", "projected_depth"))
    return np.column_stack([pixels * z[:, None], z]), np.eye(3), np.eye(4)


ADAPTERS: dict[str, Adapter] = {"C_opis/C2_hungarian": hungarian, "C_opis/C3_visibility": visibility}
