# SPDX-License-Identifier: Apache-2.0
"""Faces as a detector finds them, given to people: by a tracker's masks, or by whom they resemble."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from protocols.membench_worlds import channel, exact, having, one

from wmb_fast.protocols import worldmembench as wb
from wmb_fast.protocols.evidence import Evidence
from wmb_fast.protocols.record import Status

ANNA, BERT, CARL = np.eye(3, 8, dtype=np.float32)
CASE = "human/lrlr/case_1"
V, RETURNS = (0,), (72, 120)  # of the world's lrlr


def faces(told: dict[int, list[tuple[Any, float]]], dim: int = 8) -> dict[str, np.ndarray[Any, Any]]:
    """A channel of frame to (embedding, x of the box's centre)."""
    flat = [(frame, *face) for frame, found in told.items() for face in found]
    return {
        "frames": np.array(sorted(told)),
        "face_frames": np.array([frame for frame, _, _ in flat], dtype=np.int64),
        "boxes": np.array([[x - 4, 10, x + 4, 20] for _, _, x in flat]).reshape(-1, 4),
        "scores": np.ones(len(flat)),
        "embedding": np.array([row for _, row, _ in flat], dtype=np.float32).reshape(-1, dim),
    }


def seen(told: dict[int, list[tuple[Any, float]]], tier: str = "packaged") -> Evidence:
    """No tracker: faces alone."""
    base = replace(exact("lrlr", case=CASE), channels={})
    return replace(base, channels={"faces": channel("faces", faces(told), tier)})


def identity(evidence: Evidence) -> list[float | None]:
    return [one(evidence, "human_identity", k).value for k in (1, 2)]


def test_without_a_tracker_people_are_the_faces_of_v() -> None:
    both = [(ANNA, 30.0), (BERT, 90.0)]
    swapped = [(BERT, 30.0), (ANNA, 90.0)]
    assert identity(seen({0: both, 72: both, 120: both})) == [1, 1]
    assert identity(seen({0: both, 72: swapped, 120: [(ANNA, 5.0)]})) == [1, 0.5]
    assert identity(seen({0: [(ANNA, 30.0)], 72: [(CARL, 30.0)], 120: [(CARL, 3.0), (ANNA, 9.0)]})) == [0, 1]
    record = one(seen({0: both, 72: both, 120: both}), "human_identity", 1)
    assert record.detail["people_by"] == "resemblance to the faces of V"
    assert "supported" not in record.detail  # nobody watched them leave
    assert [maker["role"] for maker in record.estimators] == ["faces"]


def test_no_face_is_told_and_never_a_silent_zero() -> None:
    lost = one(seen({0: [(ANNA, 30.0)], 72: [], 120: [(ANNA, 30.0)]}), "human_identity", 1)
    assert (lost.value, lost.reason) == (0, "lost: 1 of 1 targets not found after the return count 0")
    nobody = one(seen({0: [], 72: [(ANNA, 30.0)], 120: []}), "human_identity")
    assert (nobody.value, nobody.status) == (None, Status.NOT_EVALUABLE)
    assert nobody.reason.startswith("no_reference: no face was found in V, frames 0 to")
    not_looked = one(seen({72: [(ANNA, 30.0)], 120: []}), "human_identity")
    assert not_looked.status is Status.MISSING
    assert not_looked.reason.startswith("faces: no frame of V")
    unseen = one(seen({0: [(ANNA, 30.0)], 120: [(ANNA, 30.0)]}), "human_identity", 1)
    assert (unseen.value, unseen.reason) == (None, "faces: no frame of the return to be scored")
    nowhere = one(seen({0: [], 72: [], 120: []}), "human_identity")
    assert nowhere.status is Status.NOT_EVALUABLE


def test_a_broken_embedding_is_left_out_and_not_lost() -> None:
    broken = np.full(8, np.nan)
    record = one(seen({0: [(ANNA, 30.0)], 72: [(broken, 30.0)], 120: [(ANNA, 30.0)]}), "human_identity", 1)
    assert (record.value, record.status) == (None, Status.MISSING)
    assert record.detail["broken"] == 1


def tracked(told: dict[int, list[tuple[Any, float]]], **changes: Any) -> Evidence:
    """Two people side by side, the left one from 0 to 79, the right one beyond, in masks of half the video's size."""
    frames = np.array(sorted(told))
    masks = np.zeros((2, len(frames), 48, 80), dtype=bool)
    masks[0, :, :, :40], masks[1, :, :, 40:] = True, True
    found = np.ones((2, len(frames)), dtype=bool)
    tracks = {"frames": frames, "kinds": np.array([0, 0]), "found": found, "masks": masks, **changes}
    return having(having(seen(told), "tracks", **tracks), "faces", **faces(told))


def test_with_a_tracker_a_face_is_its_mask_holders() -> None:
    both = [(ANNA, 30.0), (BERT, 120.0)]
    swapped = [(BERT, 30.0), (ANNA, 120.0)]
    record = one(tracked({0: both, 72: both, 120: swapped}), "human_identity", 2)
    assert (record.value, record.detail["people_by"]) == (0, "the tracker's masks")
    assert record.detail["supported"] is False  # always in view
    assert [maker["role"] for maker in record.estimators] == ["tracks", "faces"]
    assert identity(tracked({0: both, 72: both, 120: [(BERT, 120.0)]})) == [1, 0.5]
    two_in_one = [(ANNA, 30.0), (CARL, 40.0), (BERT, 120.0)]
    assert identity(tracked({0: both, 72: two_in_one, 120: both})) == [1, 1]  # the likeliest
    gone = np.array([[True, True, True], [True, False, True]])
    assert identity(tracked({0: both, 72: both, 120: both}, found=gone)) == [0.5, 1]


def test_a_tracker_of_things_alone_has_no_part_in_it() -> None:
    both = [(ANNA, 30.0), (BERT, 120.0)]
    record = one(tracked({0: both, 72: both, 120: both}, kinds=np.array([1, 1])), "human_identity")
    assert record.value == 1
    assert [maker["role"] for maker in record.estimators] == ["faces"]


def test_a_tier_that_no_paper_used_is_a_proxy() -> None:
    told = {frame: [(ANNA, 30.0)] for frame in (0, 72, 120)}
    proxies = {tier: one(seen(told, tier), "human_identity").proxy for tier in ("packaged", "stand-in", "official")}
    assert proxies == {"packaged": True, "stand-in": True, "official": False}


def test_faces_are_looked_for_in_v_and_the_returns() -> None:
    evidence = exact("lrlr", case=CASE)
    asked = {need.channel: need.frames for need in wb.needs(evidence)}["faces"]
    assert asked is not None
    assert set(V) | set(RETURNS) <= set(asked)
    assert len(asked) < evidence.facts.n_frames // 2


@pytest.mark.parametrize("name", ["frames", "face_frames", "embedding"])
def test_a_channel_without_an_array_says_which(name: str) -> None:
    evidence = seen({0: [(ANNA, 30.0)], 72: [], 120: []})
    values = {key: value for key, value in evidence.channels["faces"].values.items() if key != name}
    record = one(replace(evidence, channels={"faces": channel("faces", values)}), "human_identity")
    assert record.reason.startswith(f"faces: the channel must hold {name}, got")


def test_faces_by_target_want_the_tracker_whose_targets_they_are() -> None:
    frames = np.array([0, 72, 120])
    values = {"frames": frames, "embedding": np.tile(ANNA, (1, 3, 1)), "valid": np.ones((1, 3), bool)}
    evidence = replace(exact("lrlr", case=CASE), channels={"faces": channel("faces", values)})
    assert one(evidence, "human_identity").reason.startswith("tracks: not in the evidence")


def test_arrays_that_do_not_go_together_cost_their_own_metric() -> None:
    evidence = seen({0: [(ANNA, 30.0)], 72: [(ANNA, 30.0)], 120: []})
    short = having(evidence, "faces", boxes=np.zeros((1, 4)))
    assert one(short, "human_identity").reason == "faces: boxes must have shape (F=2, 4), got shape (1, 4)"
    both = [(ANNA, 30.0), (BERT, 120.0)]
    thin = tracked({0: both, 72: both, 120: both}, masks=np.zeros((2, 3, 48), bool))
    assert one(thin, "human_identity").reason.startswith("tracks: masks must have shape (T=2, K=3, H, W), got")
    nameless = tracked({0: both, 72: both, 120: both}, kinds=np.array(["a", "b"]))
    assert one(nameless, "human_identity").value == 1  # follows nobody that it would call a person
