# SPDX-License-Identifier: Apache-2.0
"""A whole file of every channel is taken; one that is broken in any of these ways is refused with what is wrong."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evidence.rollouts import N, asks, rollout

from wmb_fast._walls.errors import FileFormatError
from wmb_fast.evidence.inspect import inspect
from wmb_fast.evidence.make import gather
from wmb_fast.evidence.schema import REQUIRED, TEXTS
from wmb_fast.evidence.store import Store

K = np.array([0, 4, 9])
PAIRS = np.array([[0, 4], [4, 9]])
TURN = np.tile(np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), (3, 1, 1))
POSES = np.tile(np.eye(4), (3, 1, 1))
CAMERA = np.tile(np.array([[50.0, 0, 3], [0, 50, 2], [0, 0, 1]]), (3, 1, 1))
FILES: dict[str, dict[str, Any]] = {
    "flow": {"horizontal": np.zeros(N - 2), "radial": np.zeros(N - 2)},
    "flow_fields": {"frames": K, "horizontal": np.zeros((3, 4, 6), np.float32)},
    "cuts": {"frames": np.array([4])},
    "features": {"frames": K, "mean": np.ones((3, 8)), "cls": np.ones((3, 8)), "tokens": np.ones((3, 5, 8))},
    **{name: {"frames": K, "features": np.ones((3, 8))} for name in ("dino", "boq", "mvpr")},
    "poses": {"frames": K, "vipe": POSES, "target": POSES},
    "geometry": {
        "frames": K,
        "depth": np.ones((3, 4, 6)),
        "confidence": np.ones((3, 4, 6)),
        "cam_from_world": np.concatenate([TURN, np.ones((3, 3, 1))], axis=2),
        "intrinsics": CAMERA,
    },
    "depth": {"frames": K, "depth": np.full((3, 4, 6), np.inf)},
    "parallax": {"segments": [1], "inverse_depth_1": np.ones(5), "flow_1": np.ones(5)},
    "tracks": {"frames": K, "kinds": [0, 1], "found": np.ones((2, 3), bool), "masks": np.ones((2, 3, 4, 6), np.uint8)},
    "faces": {"frames": K, "embedding": np.ones((2, 3, 5)), "valid": np.ones((2, 3), bool)},
    "appearance": {"frames": K, "embedding": np.ones((2, 3, 5)), "valid": np.ones((2, 3), bool)},
    "boxes": {
        "frames": K,
        "box_frames": [0, 0, 9],
        "boxes": np.array([[1.0, 2, 5, 6], [0, 0, 9, 9], [3, 3, 4, 4]]),
        "scores": np.array([0.9, 0.4, 0.5]),
        "labels": [0, 1, 0],
        "phrases": np.array(["a chair", "a red ball"]),
    },
    "points": {"frames": K, "places": np.zeros((7, 3, 2)), "scores": np.ones((7, 3))},
    "quality": {"quality": 4.2, "aesthetic": np.nan},
    "frame_quality": {"frames": K, "imaging": np.full(3, 70.0), "aesthetic": np.full(3, 5.0)},
    "lpips": {"pairs": PAIRS, "lpips": np.array([0.1, np.nan])},
    "states": {"pairs": PAIRS, "state_score": np.array([4, -1])},
    "persistence": {"pairs": PAIRS, "appearance": np.array([0.5, 1.0]), "semantic": np.array([0.5, np.nan])},
    "matches": {
        "pairs": PAIRS,
        "n_a": np.array([9, 9]),
        "n_b": np.array([8, 8]),
        "match_pairs": np.array([0, 0, 1]),
        "places_a": np.zeros((3, 2)),
        "places_b": np.zeros((3, 2)),
        "n_inliers": np.array([2, -1]),
    },
}
BROKEN: list[tuple[str, dict[str, Any], str]] = [
    ("flow", {"radial": np.zeros(N)}, "hold radial of shape (10,), got shape (12,)"),
    ("flow", {"horizontal": np.full(N - 2, np.inf)}, "hold finite numbers, or NaN, in horizontal, got 10 infinite"),
    ("flow_fields", {"horizontal": np.zeros((3, 4))}, "hold horizontal of shape (3, H, W), got shape (3, 4)"),
    ("cuts", {"frames": np.array([0, 4])}, "hold the first frames after cuts, got frame 0"),
    ("features", {"cls": np.ones((2, 8))}, "hold cls of shape (3, D), got shape (2, 8)"),
    ("features", {"tokens": np.ones((3, 8))}, "hold tokens of shape (3, P, D), got shape (3, 8)"),
    ("boq", {"features": np.ones((3, 0))}, "hold features of shape (3, D), got shape (3, 0)"),
    ("mvpr", {"features": np.ones((3, 8), complex)}, "hold numbers in features, got complex128"),
    ("dino", {"frames": np.array([4, 0, 9])}, "hold frames that are integers in rising order"),
    ("poses", {"vipe": POSES[:, :3]}, "hold vipe of shape (3, 4, 4), got shape (3, 3, 4)"),
    ("poses", {"vipe": POSES * [1, 1, -1, 1]}, "hold rotations in vipe, got determinant -1"),
    ("poses", {"vipe": 2 * POSES}, "hold vipe with the last row 0 0 0 1, got [0. 0. 0. 2.]"),
    ("poses", {"vipe": POSES + np.eye(4)[3][:, None] * np.eye(4)[0]}, "last row 0 0 0 1, got [1. 0. 0. 1.]"),
    ("geometry", {"confidence": np.ones((3, 4, 5))}, "hold confidence of shape (3, 4, 6), got shape (3, 4, 5)"),
    ("geometry", {"confidence": np.full((3, 4, 6), -1.0)}, "hold numbers of at least 0 in confidence, got -1"),
    ("geometry", {"cam_from_world": POSES}, "hold cam_from_world of shape (3, 3, 4), got shape (3, 4, 4)"),
    ("geometry", {"cam_from_world": 2 * POSES[:, :3]}, "hold rotations in cam_from_world, got determinant 8"),
    ("geometry", {"cam_from_world": 1e300 * POSES[:, :3]}, "hold rotations in cam_from_world, got determinant "),
    ("geometry", {"intrinsics": CAMERA.swapaxes(1, 2)}, "hold intrinsics fx 0 cx, 0 fy cy, 0 0 1, got [50.0, 0.0, 0.0"),
    ("geometry", {"depth": np.ones((3, 4))}, "hold depth of shape (3, H, W), got shape (3, 4)"),
    ("depth", {"depth": np.ones((2, 4, 6))}, "hold depth of shape (3, H, W), got shape (2, 4, 6)"),
    ("parallax", {"segments": [1.5]}, "hold segments that are integers from 0 up, got float64"),
    ("parallax", {"segments": [2]}, "hold inverse_depth_2 and flow_2 of one length, got shapes None and None"),
    ("tracks", {"kinds": [0, 2]}, "hold kinds that are 0 or 1, got [0, 2]"),
    ("tracks", {"masks": np.full((2, 3, 4, 6), -3.5)}, "hold masks that are 0 or 1, got float64 from -3.5 to -3.5"),
    ("tracks", {"masks": np.ones((1, 3, 4, 6))}, "hold masks of shape (2, 3, H, W), got shape (1, 3, 4, 6)"),
    ("faces", {"embedding": np.ones((3, 5))}, "hold embedding of shape (T, 3, D), got shape (3, 5)"),
    ("faces", {"valid": None}, "hold the array valid, or boxes, got embedding, frames"),
    (
        "faces",
        {"valid": None, "boxes": np.ones((1, 4)), "face_frames": [5]},
        "hold face_frames that are integers among",
    ),
    ("appearance", {"valid": np.ones((3, 2), bool)}, "hold valid of shape (2, 3), 0 or 1, got shape (3, 2)"),
    ("boxes", {"scores": None}, "hold the array scores, got box_frames, boxes, frames, labels, phrases"),
    ("boxes", {"scores": np.array([0.9, 40.0, 0.5])}, "hold numbers from 0 to 1 in scores, got 40"),
    ("boxes", {"box_frames": [0, 0, 5]}, "hold box_frames that are integers among its frames"),
    ("boxes", {"boxes": np.array([[1.0, 2, 3, 1], [0, 0, 9, 9], [3, 3, 4, 4]])}, "top < bottom, got (1, 2, 3, 1)"),
    ("boxes", {"boxes": np.zeros((2, 4))}, "hold boxes of shape (3, 4), got shape (2, 4)"),
    ("boxes", {"phrases": None}, "hold labels and phrases, or neither, got one of them"),
    ("boxes", {"labels": [0, 2, 0]}, "hold numbers from 0 to 1 in labels, got 2"),
    ("boxes", {"phrases": [1, 2]}, "hold texts in phrases, got int64"),
    ("boxes", {"labels": np.array(["a", "b", "c"])}, "hold numbers in labels, got <U1"),
    ("points", {"places": np.zeros((7, 2, 2))}, "hold places of shape (7, 3, 2), got shape (7, 2, 2)"),
    ("points", {"scores": np.ones(7)}, "hold scores of shape (7, 3), got shape (7,)"),
    ("quality", {"quality": 0.8}, "hold numbers from 1 to 5 in quality, got 0.8"),
    ("quality", {"aesthetic": np.ones(3)}, "hold one number in aesthetic, got shape (3,)"),
    ("frame_quality", {"aesthetic": np.array([5.0, 52.0, 5.0])}, "hold numbers from 0 to 10 in aesthetic, got 52"),
    ("frame_quality", {"imaging": np.ones(2)}, "hold imaging of shape (3,), got shape (2,)"),
    ("lpips", {"lpips": np.array([-0.1, 0.0])}, "hold numbers of at least 0 in lpips, got -0.1"),
    ("lpips", {"pairs": np.array([[0, 4], [4, N]])}, f"hold pairs within the video's {N} frames, got 0 to {N}"),
    ("states", {"state_score": np.array([0, 5])}, "hold numbers from 1 to 5 in state_score, got 0"),
    ("persistence", {"semantic": np.array([25.0, 0])}, "hold numbers from -1 to 1 in semantic, got 25"),
    ("matches", {"places_b": None}, "hold the array places_b beside match_pairs"),
    ("matches", {"match_pairs": np.array([0, 0, 2])}, "hold numbers from 0 to 1 in match_pairs, got 2"),
    ("matches", {"places_a": np.zeros((3, 3))}, "hold places_a of shape (3, 2), got shape (3, 3)"),
    ("matches", {"n_matches": np.array([5, 1])}, "hold n_matches that count match_pairs, got [5, 1]"),
    ("matches", {"n_inliers": np.array([3, 0])}, "hold no more n_inliers than n_matches, got [3, 0]"),
    (
        "matches",
        dict.fromkeys(("match_pairs", "places_a", "places_b")),
        "hold n_matches, match_ratio or match_pairs, got n_a, n_b, n_inliers, pairs",
    ),
]


def test_there_is_a_file_of_every_channel() -> None:
    assert FILES.keys() | set(TEXTS) == REQUIRED.keys()


@pytest.mark.parametrize("channel", sorted(FILES))
def test_a_whole_file_is_taken_by_the_check_and_by_a_run(tmp_path: Path, channel: str) -> None:
    clip = rollout(tmp_path)
    path = tmp_path / f"a.{channel}.npz"
    np.savez(path, **FILES[channel], estimator="mine", origin=json.dumps({"version": "2"}))
    found = inspect(path)
    assert (found.channel, found.estimator, found.origin, found.n_frames) == (channel, "mine", {"version": "2"}, N)
    taken = gather(clip, [asks()], store=Store(tmp_path / "cache")).channels[channel]
    assert (taken.maker.id, taken.maker.tier, taken.maker.fingerprint) == ("mine", "external", found.fingerprint)
    assert found.values.keys() == taken.values.keys()


@pytest.mark.parametrize(("channel", "change", "sentence"), BROKEN)
def test_what_is_broken_is_told(tmp_path: Path, channel: str, change: dict[str, Any], sentence: str) -> None:
    path = tmp_path / f"a.{channel}.npz"
    arrays = {name: value for name, value in (FILES[channel] | change).items() if value is not None}
    np.savez(path, **arrays)
    with pytest.raises(FileFormatError, match=re.escape(sentence)) as told:
        inspect(path, n_frames=N)
    assert str(told.value).startswith(f"gather: a.{channel}.npz must hold ")


@pytest.mark.parametrize("channel", sorted(FILES))
@pytest.mark.parametrize("damage", ["empty", "cut off", "foreign", "pickled", "words", "lacking", "beyond"])
def test_every_kind_of_damage_to_every_kind_of_file(tmp_path: Path, channel: str, damage: str) -> None:
    path = tmp_path / f"a.{channel}.npz"
    arrays = dict(FILES[channel])
    first = next(iter(arrays))
    if damage == "pickled":
        arrays[first] = np.array([{"code": 1}], dtype=object)
    elif damage == "words":
        arrays[first] = np.array("three")
    elif damage == "lacking":
        arrays = {} if channel in ("poses", "matches") else {name: arrays[name] for name in arrays if name != first}
    elif damage == "beyond":
        arrays[first] = np.array([N]) if first == "frames" else np.array([[0, N]])
    np.savez(path, **arrays)
    whole = path.read_bytes()
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut off":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "foreign":
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + whole[8:200])
    with pytest.raises(FileFormatError, match=rf"^gather: a\.{channel}\.npz must "):
        inspect(path, n_frames=N)


def test_a_flipped_byte_is_told_wherever_it_is(tmp_path: Path) -> None:
    """Or it is of no consequence: in a date, say. No other exception gets out."""
    path = tmp_path / "a.cuts.npz"
    np.savez_compressed(path, frames=np.arange(1, N), estimator="mine")
    whole, refused = path.read_bytes(), 0
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 0xFF]) + whole[i + 1 :])
        try:
            found = inspect(path, n_frames=N)
        except FileFormatError:
            refused += 1
        else:
            assert found.values["frames"] == f"int64 ({N - 1},), 1 to {N - 1}"
    assert refused > len(whole) / 2


def test_matches_one_by_one_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.matches.npz"
    np.savez(path, **FILES["matches"])
    assert inspect(path, n_frames=N).values["n_matches"] == "int64 (2,), 1 to 2"


@pytest.mark.parametrize("tier", ["builtin", "packaged", "official"])
def test_whose_a_file_is_stays_said(tmp_path: Path, tier: str) -> None:
    clip = rollout(tmp_path)
    np.savez(tmp_path / "a.cuts.npz", **FILES["cuts"], estimator="theirs", tier=tier)
    assert gather(clip, [asks()], store=Store(tmp_path / "cache")).channels["cuts"].maker.tier == tier


def test_a_tier_that_there_is_not(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.cuts.npz", **FILES["cuts"], tier="best")
    with pytest.raises(FileFormatError, match="must hold a tier, external, builtin, packaged, stand-in, official, got"):
        inspect(tmp_path / "a.cuts.npz", n_frames=N)


@pytest.mark.parametrize("name", ["estimator", "origin", "tier"])
@pytest.mark.parametrize("said", [np.array(["a", "b"]), np.array(b"x"), 3.0, np.zeros(2, "datetime64[D]")])
def test_whose_a_file_is_is_one_text(tmp_path: Path, name: str, said: Any) -> None:
    np.savez(tmp_path / "a.cuts.npz", **FILES["cuts"], **{name: said})
    with pytest.raises(FileFormatError, match=f"must hold one text in {name}, got "):
        inspect(tmp_path / "a.cuts.npz", n_frames=N)


def test_members_that_are_no_arrays_and_two_of_one_name(tmp_path: Path) -> None:
    path, whole = tmp_path / "a.cuts.npz", io.BytesIO()
    np.save(whole, np.array([4]))
    for members, sentence in (
        ([("frames.npy", b"hello")], "got frames, which is no array"),
        ([("frames.npy", whole.getvalue()), ("frames", whole.getvalue())], "got two arrays of one name"),
    ):
        with zipfile.ZipFile(path, "w") as packed:
            for name, content in members:
                packed.writestr(name, content)
        with pytest.raises(FileFormatError, match=sentence):
            inspect(path, n_frames=N)


REPLY = json.dumps({"event_started": {}, "answers": []})


@pytest.mark.parametrize(
    ("content", "by", "origin"),
    [
        (REPLY, "external", {}),
        (json.dumps({"reply": REPLY}), "external", {}),
        (json.dumps({"reply": REPLY, "answered_by": "j-7b", "asked": {"seed": 0}}), "j-7b", {"asked": {"seed": 0}}),
        (json.dumps({"reply": REPLY, "answered_by": "j", "origin": {"version": 3}}), "j", {"version": 3}),
    ],
)
def test_replies_and_transcripts(tmp_path: Path, content: str, by: str, origin: dict[str, Any]) -> None:
    clip = rollout(tmp_path)
    (tmp_path / "a.judge.json").write_text(content)
    found = inspect(tmp_path / "a.judge.json")
    assert (found.estimator, found.origin) == (by, origin)
    taken = gather(clip, [asks()], store=Store(tmp_path / "cache")).channels["judge"]
    assert (taken.values, taken.maker.id) == ({"text": REPLY}, by)


@pytest.mark.parametrize(
    ("channel", "content", "sentence"),
    [
        ("judge", b"The event starts.", "must hold a reply that is one JSON object, got 'The event starts.'"),
        ("judge", REPLY[:-9].encode(), "must hold a reply that is one JSON object, got "),
        ("judge", b"[1]", "must hold a reply that is one JSON object, got '[1]'"),
        ("judge", json.dumps({"reply": "Yes."}).encode(), "must hold a reply that is one JSON object, got 'Yes.'"),
        ("judge", b"\xff", "must be UTF-8 text"),
        ("checklist", b"{", "must be JSON"),
    ],
)
def test_broken_texts(tmp_path: Path, channel: str, content: bytes, sentence: str) -> None:
    path = tmp_path / f"a.{channel}.json"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=re.escape(sentence)):
        inspect(path, n_frames=N)
