# SPDX-License-Identifier: Apache-2.0
"""OPIS on the known-answer world, with exact depth, poses and masks: one that forgets nothing, and some that do.

The boxes that the first frame shows are the reference. A perfect detector finds each of them in every frame, and
nothing else: OPIS asks the segmenter for the kinds of things that the input shows, and each box is a kind of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small_worlds import small

from wmb_fast.protocols import opis
from wmb_fast.world import World
from wmb_fast.world.truth import measure

SIZE = (192, 128)
FIRST_BOX = 6  # identities below are the room's
STILL = {"kinematic_class": "rigid", "motion_expectation": "world_static", "evaluation_track": "static_geometry"}
Spoil = Callable[[int, dict[int, Any]], None]


def seen_in(world: World, frame: int) -> dict[int, np.ndarray]:
    """Box to its mask, of those with at least 16 pixels."""
    identities = world.view(frame).identities
    masks = {int(k): identities == k for k in np.unique(identities[identities >= FIRST_BOX])}
    return {k: mask for k, mask in masks.items() if mask.sum() >= 16}


def bank_of(world: World, masks: dict[int, np.ndarray]) -> opis.Bank:
    return opis.reference_bank(
        np.stack(list(masks.values())),
        np.eye(len(masks)),
        ids=[f"box{k}" for k in masks],
        categories=[f"box{k}" for k in masks],
        mobility=[STILL | {"geometry_eligible": True}] * len(masks),
        depth=world.depth(0).astype(np.float64),
        intrinsics=world.intrinsics,
    )


def case_of(world: World, spoil: Spoil = lambda frame, found: None, bend_px: float = 0.0) -> opis.Case:
    reference = seen_in(world, 0)
    bank = bank_of(world, reference)
    frames = list(range(8, len(world), 8))
    poses = np.linalg.inv(world.poses[frames]) @ world.poses[0]
    windows, matches = [], []
    for frame, pose in zip(frames, poses, strict=True):
        found: dict[int, Any] = {k: np.eye(len(reference))[i] for i, k in enumerate(reference)}
        masks = seen_in(world, frame)
        found = {k: vector for k, vector in found.items() if k in masks}
        spoil(frame, found)
        objects = [
            {"observed_id": f"{k}", "category": f"box{k}", "bbox": _box(masks[k]), "embedding": v.tolist()}
            for k, v in found.items()
        ]
        window = {"window_id": str(frame), "frame_index": frame, "frame_size": SIZE, "timestamp": frame / world.fps}
        windows.append({**window, "objects": objects})
        matches.append(_matches(world, frame, pose, bend_px))
    seen = opis.Observations.of_records(windows, bank.vocabulary)
    depth = np.stack([world.depth(frame) for frame in frames]).astype(np.float64)
    points = [p for p in bank.points if p is not None]
    sighting = opis.look(points, depth, world.intrinsics, poses)
    return opis.Case(bank, seen, np.ones(len(frames), dtype=bool), sighting, matches)


def _box(mask: np.ndarray) -> list[float]:
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    return [float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)]


def _matches(world: World, frame: int, pose: np.ndarray, bend_px: float) -> opis.Correspondences:
    """Exact flow from the input, every other pixel; the residual is against the input's depth under the exact pose."""
    flow = world.flow(0, frame)
    y, x = (a.ravel() for a in np.mgrid[: SIZE[1] : 2, : SIZE[0] : 2])
    valid = flow.valid[y, x]
    x, y = x[valid], y[valid]
    there = np.stack([x, y], axis=1) + flow.uv[y, x]
    k, z = world.intrinsics, world.depth(0)[y, x].astype(np.float64)
    points = np.stack([(x - k[0, 2]) / k[0, 0] * z, (y - k[1, 2]) / k[1, 1] * z, z], axis=1)
    at = points @ pose[:3, :3].T + pose[:3, 3]
    projected = at[:, :2] / at[:, 2:] * [k[0, 0], k[1, 1]] + [k[0, 2], k[1, 2]]
    residual = np.linalg.norm(projected - there, axis=1) + bend_px
    return opis.Correspondences(np.stack([x, y], axis=1).astype(float), there, residual)


@functools.cache
def world_of(keys: str) -> World:
    return small(keys, size=SIZE)


@functools.cache
def perfect_case(keys: str) -> opis.Case:
    return case_of(world_of(keys))


@functools.cache
def perfect(keys: str) -> opis.Rows:
    return opis.observe(perfect_case(keys))


def steady(keys: str) -> int:
    """A box that its projection shows, and the detector finds, in every frame."""
    case = perfect_case(keys)
    assert isinstance(case.projections, opis.Sighting)
    shown = (case.projections.state == opis.State.EXPECTED_VISIBLE) & (perfect(keys).presence == 1.0)
    return int(case.bank.ids[int(np.flatnonzero(shown.all(axis=0))[0])].removeprefix("box"))


@pytest.mark.parametrize("keys", ["W", "A", "L", "ADA"])
def test_a_perfect_memory(keys: str) -> None:
    """Identity and structure are whole; so is presence, but for references that the protocol itself sets aside.

    An object of which less than 30 % is in view, or visible, is not asked for; where the detector finds it all the
    same, the released rule counts it as an extra: projection beats detection.
    """
    rows = perfect(keys)
    found = opis.of_rows(rows)
    assert rows.presence.shape[1] >= 3
    assert found.identity == 1.0
    assert found.structure_mean == pytest.approx(1.0, abs=2e-3)  # depth is float32
    assert not (rows.presence == 0.0).any()
    aside = rows.n_unmatched > 0
    assert rows.sighting.gone[aside].any(axis=1).all()
    whole = opis.of_rows(rows, ~aside)
    assert whole.presence == 1.0
    # A camera that turned away sees none of the reference.
    assert whole.n_structure <= rows.present[~aside].any(axis=1).sum()
    assert whole.n_structure == (~np.isnan(rows.geometry[~aside])).any(axis=1).sum() > 0


def test_a_box_forgotten_lowers_presence_alone() -> None:
    box, half = steady("A"), len(world_of("A")) // 2
    after = opis.observe(case_of(world_of("A"), lambda frame, found: found.pop(box) if frame >= half else None))
    late = np.arange(8, len(world_of("A")), 8) >= half
    assert (opis.of_rows(after, late).presence, opis.of_rows(after).identity) == (0.0, 1.0)
    assert opis.of_rows(after, ~late) == opis.of_rows(perfect("A"), ~late)
    assert opis.of_rows(after).structure_mean == pytest.approx(1.0, abs=2e-3)


def test_a_box_repainted_lowers_identity_alone() -> None:
    """Its embedding turns away until the cosine is 0.3: it is still the nearest, and fails the gate."""
    box, half = steady("A"), len(world_of("A")) // 2

    def repaint(frame: int, found: dict[int, Any]) -> None:
        if frame >= half:
            own = np.flatnonzero(found[box])
            found[box] = np.full(len(found[box]), -((1 - 0.09) ** 0.5) / (len(found[box]) - 1) ** 0.5)
            found[box][own] = 0.3

    rows = opis.observe(case_of(world_of("A"), repaint))
    late = np.arange(8, len(world_of("A")), 8) >= half
    before, after = opis.of_rows(perfect("A")), opis.of_rows(rows)
    assert opis.of_rows(rows, late).identity == 0.0
    assert opis.of_rows(rows, ~late).identity == 1.0
    assert opis.identity_failures(rows) == late.mean()
    assert (after.presence, after.coverage) == (before.presence, before.coverage)


def test_bent_geometry_lowers_structure_alone() -> None:
    """A pixel more in every residual is exp(-20 / diagonal) in every score: Eq. 4."""
    case = case_of(world_of("A"), bend_px=1.0)
    rows = opis.observe(case)
    boxes = case.observations.boxes[rows.observed]
    factor = np.exp(-20 / np.hypot(boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]))
    np.testing.assert_allclose(rows.geometry, perfect("A").geometry * factor, rtol=1e-9)
    before, after = opis.of_rows(perfect("A")), opis.of_rows(rows)
    assert (after.presence, after.identity, after.coverage) == (before.presence, before.identity, before.coverage)


def test_a_box_taken_away_is_missed_and_not_excused() -> None:
    """Its place is in view, and what stands behind it is farther away: nothing hides it, so it is missing."""
    world, box, frame = world_of("A"), steady("A"), 8
    scene = world.scene(0)
    emptied = replace(scene, boxes=tuple(b for i, b in enumerate(scene.boxes) if i != box - FIRST_BOX))
    depth, _ = measure(emptied, world.poses[frame], world.intrinsics, SIZE)
    bank = perfect_case("A").bank
    points = [p for p in bank.points if p is not None]
    pose = np.linalg.inv(world.poses[frame]) @ world.poses[0]
    seen = opis.look(points, depth[None].astype(np.float64), world.intrinsics, pose[None])
    assert seen.state[0, bank.ids.index(f"box{box}")] == opis.State.EXPECTED_VISIBLE
