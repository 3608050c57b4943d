# SPDX-License-Identifier: Apache-2.0
"""OPIS on the known-answer world, with exact depth, poses and masks: one that forgets nothing, and some that do.

The boxes that the first frame shows are the reference. A perfect detector finds each of them in every frame that shows
enough of it, and nothing else: OPIS asks the segmenter for the kinds of things that the input shows, and each box is a
kind of its own.
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_worlds import small

from wmb_fast.protocols import opis
from wmb_fast.rollout.opis_files import masks_of
from wmb_fast.world import FAULTS, World, exact_case
from wmb_fast.world.truth import FIRST_BOX, measure

SIZE = (192, 128)
Spoil = Callable[[int, dict[str, Any]], None]


@functools.cache
def world_of(keys: str, fault: str = "") -> World:
    return small(keys, size=SIZE, **({fault: FAULTS[fault].default} if fault else {}))


@functools.cache
def records_of(keys: str, fault: str = "") -> dict[str, Any]:
    world = world_of(keys, fault)
    return exact_case(world, opis.sampled_frames(len(world), world.fps))


def case_of(keys: str, spoil: Spoil = lambda frame, found: None, bend_px: float = 0.0) -> opis.Case:
    """A case with its detections, or its residuals, spoilt."""
    told = copy.deepcopy(records_of(keys))
    for window in told["observation"]["windows"]:
        found = {one["observed_id"]: one for one in window["objects"]}
        spoil(window["frame_index"], found)
        window["objects"] = list(found.values())
    for frame in told["geometry"]["frames"].values():
        frame["reprojection_errors"] = [residual + bend_px for residual in frame["reprojection_errors"]]
    return opis.case_of(told["reference"], told["observation"], told["geometry"])


@functools.cache
def perfect(keys: str, fault: str = "") -> opis.Rows:
    told = records_of(keys, fault)
    return opis.observe(opis.case_of(told["reference"], told["observation"], told["geometry"]))


def late(keys: str) -> np.ndarray:
    """Which of the observed frames lie in the second half."""
    world = world_of(keys)
    return np.asarray(opis.sampled_frames(len(world), world.fps)) >= len(world) // 2


def steady(keys: str) -> str:
    """A box that its projection shows, and the detector finds, in every frame."""
    whole = np.flatnonzero((perfect(keys).presence == 1.0).all(axis=0))
    return case_of(keys).bank.ids[int(whole[0])]


@pytest.mark.parametrize("keys", ["W", "A", "L", "ADA"])
def test_a_perfect_memory(keys: str) -> None:
    """All is whole. A camera that turned away sees none of the reference: that is coverage."""
    rows = perfect(keys)
    found = opis.of_rows(rows)
    assert rows.presence.shape[1] >= 3
    assert (found.presence, found.identity, found.structure_mean) == (1.0, pytest.approx(1.0, abs=1e-12), 1.0)
    assert not rows.n_unmatched.any()
    assert found.coverage == (rows.presence == 1.0).any(axis=1).mean() > 0
    if keys != "L":
        assert found.opis == pytest.approx(100.0)


def test_the_bank_is_what_the_masks_and_embeddings_make_of_it() -> None:
    """What the file of the scene says, built by the protocol's own hands from its masks."""
    scene = records_of("A")["reference"]
    masks, reasons = masks_of(scene, Path())
    assert not reasons
    ids = [one["object_id"] for one in scene["objects"]]
    made = opis.reference_bank(
        np.stack([masks[name] for name in ids]),
        np.array([one["embedding"] for one in scene["objects"]]),
        ids=ids,
        categories=[one["category"] for one in scene["objects"]],
        attributes=[one["attributes"] for one in scene["objects"]],
        mobility=[one["metadata"]["mobility"] for one in scene["objects"]],
        depth=world_of("A").depth(0),
        intrinsics=world_of("A").intrinsics,
    )
    told = opis.Bank.of_records(scene["objects"])
    assert (made.ids, made.tracks, made.vocabulary) == (told.ids, told.tracks, told.vocabulary)
    np.testing.assert_array_equal(made.boxes, told.boxes)
    np.testing.assert_array_equal(made.described.embeddings, told.described.embeddings)
    first = measure(world_of("A").scene(0), world_of("A").poses[0], world_of("A").intrinsics, SIZE)[1]
    names = [box.name for box in world_of("A").scene(0).boxes]
    for name, mask in masks.items():
        np.testing.assert_array_equal(mask, first == FIRST_BOX + names.index(name))


def test_what_projects_is_what_depth_maps_show() -> None:
    """The projections of the file say what :func:`opis.look` makes of the depth maps themselves."""
    world = world_of("ADA")
    frames = list(opis.sampled_frames(len(world), world.fps))
    case = case_of("ADA")
    assert isinstance(case.projections, opis.Projections)
    told = opis.project(case.projections, len(frames), len(case.bank), np.tile(SIZE, (len(frames), 1)))
    z = world.depth(0).astype(np.float64)
    k, masks = world.intrinsics, masks_of(records_of("ADA")["reference"], Path())[0]
    points = []
    for name in case.bank.ids:
        y, x = np.nonzero(masks[name])
        points.append(np.stack([(x - k[0, 2]) / k[0, 0] * z[y, x], (y - k[1, 2]) / k[1, 1] * z[y, x], z[y, x]], axis=1))
    depth = np.stack([world.depth(frame) for frame in frames]).astype(np.float64)
    seen = opis.look(points, depth, k, np.linalg.inv(world.poses[frames]) @ world.poses[0])
    assert (told.state == seen.state).mean() > 0.9  # at 30 % a few points more or less may decide
    assert (told.state == opis.State.EXPECTED_VISIBLE).any()


@pytest.mark.parametrize("keys", ["WS", "AD"])
@pytest.mark.parametrize(
    ("fault", "lower", "still"),
    [
        ("squashed_box", {"structure_mean"}, {"presence", "identity"}),
        ("retextured_box", {"identity"}, {"presence", "structure_mean", "coverage"}),
        ("missing_box", {"presence"}, {"identity", "structure_mean"}),
        ("repainted_wall", set(), {"presence", "identity", "structure_mean", "coverage"}),
        ("displaced_wall", set(), {"presence", "identity", "structure_mean", "coverage"}),
    ],
)
def test_each_fault_of_the_world_lowers_its_own(keys: str, fault: str, lower: set[str], still: set[str]) -> None:
    """A box that is gone has no structure to measure, so coverage may fall with it: the paper's formula."""
    good, found = opis.of_rows(perfect(keys)), opis.of_rows(perfect(keys, fault))
    for name in lower:
        assert getattr(found, name) < getattr(good, name) - 0.05
    for name in still:
        assert getattr(found, name) == pytest.approx(getattr(good, name), abs=1e-9)
    mine = {m.removeprefix("opis.") for m in FAULTS[fault].must_lower if m.startswith("opis.")}
    assert mine == {name.removesuffix("_mean") for name in lower}


def test_stronger_faults_lower_more() -> None:
    def found(name: str, fault: str, strength: float) -> float:
        world = small("AD", size=SIZE, **{fault: strength})
        told = exact_case(world, opis.sampled_frames(len(world), world.fps))
        rows = opis.observe(opis.case_of(told["reference"], told["observation"], told["geometry"]))
        return float(getattr(opis.of_rows(rows), name))

    for name, fault, strengths in (
        ("structure_mean", "squashed_box", (0.02, 0.05, 0.5)),
        ("identity", "retextured_box", (0.2, 0.5, 1.0)),
    ):
        values = [1.0, *(found(name, fault, strength) for strength in strengths)]
        assert (np.diff(values) < 0).all(), (fault, values)


def test_a_box_forgotten_lowers_presence_alone() -> None:
    box, half = steady("A"), late("A")

    def forget(frame: int, found: dict[str, Any]) -> None:
        if frame >= len(world_of("A")) // 2:
            del found[box]

    after = opis.observe(case_of("A", forget))
    assert (opis.of_rows(after, half).presence, opis.of_rows(after).identity) == (0.0, pytest.approx(1.0))
    assert opis.of_rows(after, ~half) == opis.of_rows(perfect("A"), ~half)
    assert opis.of_rows(after).structure_mean == 1.0


def test_a_box_repainted_lowers_identity_alone() -> None:
    """Its embedding turns away until the cosine is 0.3: it is still the nearest, and fails the gate."""
    box, half = steady("A"), late("A")

    def repaint(frame: int, found: dict[str, Any]) -> None:
        if frame >= len(world_of("A")) // 2:
            own = np.array(found[box]["embedding"])
            other = np.roll(own, 1)
            other -= other @ own * own
            found[box]["embedding"] = (0.3 * own + (1 - 0.09) ** 0.5 * other / np.linalg.norm(other)).tolist()

    rows = opis.observe(case_of("A", repaint))
    before, after = opis.of_rows(perfect("A")), opis.of_rows(rows)
    assert opis.of_rows(rows, half).identity == 0.0
    assert opis.of_rows(rows, ~half).identity == pytest.approx(1.0)
    assert opis.identity_failures(rows) == half.mean()
    assert (after.presence, after.coverage) == (before.presence, before.coverage)


def test_bent_geometry_lowers_structure_alone() -> None:
    """A pixel more in every residual is exp(-20 / diagonal) in every score: Eq. 4."""
    case = case_of("A", bend_px=1.0)
    rows = opis.observe(case)
    boxes = case.observations.boxes[rows.observed]
    factor = np.exp(-20 / np.hypot(boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]))
    np.testing.assert_allclose(rows.geometry, perfect("A").geometry * factor, rtol=1e-9)
    before, after = opis.of_rows(perfect("A")), opis.of_rows(rows)
    assert (after.presence, after.identity, after.coverage) == (before.presence, before.identity, before.coverage)


def test_a_box_taken_away_is_missed_and_not_excused() -> None:
    """Its place is in view, and what stands behind it is farther away: nothing hides it, so it is missing."""
    world, box, frame = world_of("A"), steady("A"), 16
    scene = world.scene(0)
    emptied = replace(scene, boxes=tuple(b for b in scene.boxes if b.name != box))
    depth, _ = measure(emptied, world.poses[frame], world.intrinsics, SIZE)
    told = records_of("A")["geometry"]["frames"][str(frame)]["instance_visibility"][box]
    at = np.clip(np.rint(told["projected_pixels"]), 0, np.array(SIZE) - 1)
    x, y = at.astype(int).T
    projections = opis.Projections.of_records([(0, 0, told | {"current_depth": depth[y, x].tolist()})])
    assert opis.project(projections, 1, 1, [SIZE]).state[0, 0] == opis.State.EXPECTED_VISIBLE


def test_the_records_are_plain_json_and_the_same_each_time() -> None:
    text = json.dumps(records_of("ADA"), allow_nan=False)
    world = world_of("ADA")
    assert json.dumps(exact_case(world, opis.sampled_frames(len(world), world.fps))) == text
