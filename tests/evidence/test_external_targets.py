# SPDX-License-Identifier: Apache-2.0
"""Cameras, targets, ratings, checklists and replies that the user hands in: used as they are, or missing with why."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evidence.rollouts import N, asks, rollout

from wmb_fast.evidence.make import gather
from wmb_fast.evidence.store import Store
from wmb_fast.protocols.evidence import Evidence, Need

FRAMES = np.array([0, 4, 9])
POSES = np.tile(np.eye(4), (N, 1, 1))
AWAY = POSES.copy()
AWAY[:, 0, 3] = 2
TRACKS = {"frames": FRAMES, "kinds": [0, 1], "found": np.ones((2, 3)), "masks": np.ones((2, 3, 4, 6), np.uint8)}
FACES = {"frames": FRAMES, "embedding": np.ones((2, 3, 5)), "valid": np.ones((2, 3), bool)}
BOXES = {"frames": FRAMES, "face_frames": [0, 0, 9], "boxes": [[1, 2, 5, 8]] * 3, "embedding": np.ones((3, 5))}
RATINGS = {"frames": FRAMES, "imaging": np.full(3, 70.0), "aesthetic": np.full(3, 5.0)}


def gathered(tmp_path: Path, *needs: Need) -> Evidence:
    return gather(rollout(tmp_path), [asks(*needs)], store=Store(tmp_path / "cache"))


def test_they_are_taken_as_they_are(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.poses.npz", vipe=POSES, da3=AWAY)
    np.savez(tmp_path / "a.tracks.npz", **TRACKS)
    np.savez(tmp_path / "a.faces.npz", **FACES, estimator="arcface")
    np.savez(tmp_path / "a.frame_quality.npz", **RATINGS)
    (tmp_path / "a.checklist.json").write_text('{"questions": []}')
    (tmp_path / "a.judge.json").write_text("I would say yes.")
    channels = gathered(tmp_path, Need("tracks")).channels
    assert channels["poses"].values["frames"].tolist() == list(range(N))
    np.testing.assert_array_equal(channels["poses"].values["da3"], AWAY)
    assert channels["tracks"].values["masks"].dtype == channels["tracks"].values["found"].dtype == bool
    assert (channels["faces"].maker.id, channels["faces"].maker.tier) == ("arcface", "external")
    assert channels["frame_quality"].values["imaging"].tolist() == [70, 70, 70]
    assert channels["checklist"].values == {"document": {"questions": []}}
    assert channels["judge"].values == {"text": "I would say yes."}  # whether that is an answer is not asked here


def test_faces_may_come_as_they_were_found(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.faces.npz", **BOXES)
    found = gathered(tmp_path, Need("faces", (0, 4))).channels["faces"]
    assert found.maker.tier == "external"
    assert found.values["face_frames"].tolist() == [0, 0, 9]


def test_nobody_made_them(tmp_path: Path) -> None:
    missing = gathered(tmp_path, Need("tracks"), Need("judge", (0,))).missing
    assert missing["tracks"].startswith("no builtin estimator tracks people and things: hand in <video>.tracks.npz")
    assert "wmb-fast prompt" in missing["judge"]


@pytest.mark.parametrize(
    ("channel", "arrays", "sentence"),
    [
        ("poses", {"vipe": POSES[:-1]}, f"hold vipe of shape ({N}, 4, 4), got shape ({N - 1}, 4, 4)"),
        ("poses", {"vipe": POSES[:2], "frames": [3, 1]}, "hold frames that are integers in rising order"),
        ("tracks", TRACKS | {"kinds": [0, 2]}, "hold kinds that are 0 or 1, got [0, 2]"),
        ("tracks", TRACKS | {"found": np.ones((3, 2))}, "hold found of shape (2, 3), 0 or 1, got shape (3, 2)"),
        ("tracks", TRACKS | {"found": np.full((2, 3), np.nan)}, "hold found of shape (2, 3), 0 or 1"),
        ("tracks", TRACKS | {"masks": np.ones((2, 3, 4))}, "hold masks of shape (2, 3, H, W), got shape (2, 3, 4)"),
        ("tracks", {"frames": FRAMES, "kinds": [0]}, "hold the array found, got frames, kinds"),
        ("faces", FACES | {"embedding": np.ones((2, 4, 5))}, "hold embedding of shape (T, 3, D), got shape (2, 4, 5)"),
        ("faces", {"frames": FRAMES, "embedding": np.ones((2, 3, 5))}, "hold the array valid, or boxes, got embedding"),
        ("faces", BOXES | {"face_frames": [0, 1, 9]}, "hold face_frames that are integers among its frames"),
        ("faces", BOXES | {"boxes": np.ones((3, 5))}, "hold boxes of shape (3, 4), got shape (3, 5)"),
        ("faces", BOXES | {"embedding": np.ones((2, 5))}, "hold embedding of shape (3, D), got shape (2, 5)"),
        ("appearance", FACES | {"valid": np.ones((2, 2), bool)}, "hold valid of shape (2, 3), 0 or 1"),
        ("frame_quality", RATINGS | {"imaging": np.ones(2)}, "hold imaging of shape (3,), got shape (2,)"),
        ("frame_quality", RATINGS | {"frames": [0, 4, N]}, f"hold frames within the video's {N}"),
    ],
)
def test_arrays_that_do_not_fit_are_missing(
    tmp_path: Path, channel: str, arrays: dict[str, Any], sentence: str
) -> None:
    np.savez(tmp_path / f"a.{channel}.npz", **arrays)
    evidence = gathered(tmp_path, Need(channel))
    assert channel not in evidence.channels
    assert re.search(re.escape(sentence), evidence.missing[channel]), evidence.missing[channel]


def test_texts_that_cannot_be_read_are_missing(tmp_path: Path) -> None:
    (tmp_path / "a.checklist.json").write_text("{")
    (tmp_path / "a.judge.json").write_bytes(b"\xff\xfe")
    missing = gathered(tmp_path, Need("checklist"), Need("judge")).missing
    assert "file must be JSON" in missing["checklist"]
    assert missing["judge"].startswith("gather: a.judge.json must be UTF-8 text")
