# SPDX-License-Identifier: Apache-2.0
"""Tracks whose masks are run lengths or pictures: the same evidence as arrays, and damage in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evidence.rollouts import asks, rollout

from wmb_fast.evidence import external
from wmb_fast.evidence.make import gather
from wmb_fast.evidence.store import Store
from wmb_fast.protocols.evidence import Evidence, Need
from wmb_fast.rollout.masks import to_runs
from wmb_fast.rollout.png import write_png

SIZE = (21, 34)  # height, width
MASKS = np.random.default_rng(0).random((2, 3, *SIZE)) < 0.4
FRAMES = [0, 4, 9]


def runs(mask: np.ndarray) -> dict[str, Any]:
    return to_runs(mask)


def picture(folder: Path, name: str, mask: np.ndarray) -> str:
    (folder / "a.tracks").mkdir(exist_ok=True)
    write_png(folder / "a.tracks" / name, np.repeat(mask[..., None] * np.uint8(255), 3, axis=-1))
    return f"a.tracks/{name}"


def told(**changes: Any) -> dict[str, Any]:
    masks = [[runs(mask) for mask in row] for row in MASKS]
    return {"frames": FRAMES, "size": list(SIZE), "kinds": [0, 1], "masks": masks, **changes}


def gathered(tmp_path: Path, **changes: Any) -> Evidence:
    (tmp_path / "a.tracks.json").write_text(json.dumps(told(**changes)))
    return gather(rollout(tmp_path), [asks(Need("tracks"))], store=Store(tmp_path / "cache"))


def test_every_spelling_is_the_same_as_arrays(tmp_path: Path) -> None:
    mixed = [
        [runs(MASKS[0, 0]), picture(tmp_path, "0.png", MASKS[0, 1]), MASKS[0, 2].astype(int).tolist()],
        [picture(tmp_path, "1.png", MASKS[1, 0]), None, runs(MASKS[1, 2])],
    ]
    made = gathered(tmp_path, masks=mixed, estimator="sam2", origin={"version": "2.1"}).channels["tracks"]
    (tmp_path / "a.tracks.json").unlink()
    arrays = MASKS.copy()
    arrays[1, 1] = False
    found = np.array([[1, 1, 1], [1, 0, 1]])
    np.savez(tmp_path / "a.tracks.npz", frames=FRAMES, kinds=[0, 1], found=found, masks=arrays)
    plain = gather(rollout(tmp_path), [asks(Need("tracks"))], store=Store(tmp_path / "cache")).channels["tracks"]
    assert sorted(made.values) == sorted(plain.values)
    for name, array in plain.values.items():
        np.testing.assert_array_equal(made.values[name], array)
        assert made.values[name].dtype == array.dtype
    assert (made.maker.id, made.maker.tier) == ("sam2", "external")


def test_found_may_be_said(tmp_path: Path) -> None:
    made = gathered(tmp_path, found=[[True, False, True], [1, 1, 0]]).channels["tracks"]
    assert made.values["found"].tolist() == [[True, False, True], [True, True, False]]


def test_a_changed_picture_is_other_evidence(tmp_path: Path) -> None:
    masks = [[picture(tmp_path, "0.png", MASKS[0, 0]), None, None], [None] * 3]
    before = gathered(tmp_path, masks=masks).channels["tracks"].maker.fingerprint
    path = tmp_path / "a.tracks.json"
    assert external.digest(path, "tracks")[:16] == before
    picture(tmp_path, "0.png", MASKS[0, 1])
    after = external.digest(path, "tracks")
    assert after[:16] != before
    picture(tmp_path, "1.png", MASKS[0, 1])  # named by nothing
    assert external.digest(path, "tracks") == after
    assert external.origin(path) == {}


def one(mask: Any) -> dict[str, Any]:
    return {"masks": [[mask, None, None], [None] * 3]}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (one({"size": [21, 34], "counts": [3]}), "masks[0][0]: counts must add up to the 714 pixels, got 3"),
        (one({"size": [21, 34], "counts": "P"}), "masks[0][0]: counts must be whole, got text that ends in the middle"),
        (one({"size": [21, 34]}), "masks[0][0]: counts must be whole numbers of at least 0, or COCO's text, got None"),
        (
            one({"size": [20, 34], "counts": [680]}),
            "masks[0][0]: run lengths must have the size [21, 34], got [20",
        ),
        (one("a.tracks/none.png"), "masks[0][0]: mask must be a file that exists"),
        (one([[0, 1], [1, 0]]), "masks[0][0]: mask must have the size 34x21, got 2x2: rows"),
        (one([[0, 1], [1]]), "masks[0][0]: rows must be numbers, of one length"),
        ({"size": [34, 21]}, "masks[0][0]: run lengths must have the size [34, 21], got [21, 34]"),
        ({"size": None}, "size must be a list of whole numbers, got None"),
        ({"size": [0, 5]}, "size must be height and width, 1 to 16384, got [0, 5]"),
        ({"masks": [[None] * 3]}, "masks must be a list of 2 lists, one a target, got 1"),
        ({"masks": [[None] * 2] * 2}, "masks[0] must have one item for each of 3 frames, got 2"),
        ({"masks": [[None] * 3] * 2, "found": [[1, 0, 0]] * 2}, "masks[0][0] must be there for a target that is found"),
        ({"found": [["a"] * 3] * 2}, "found must hold true and false"),
        ({"kinds": [0, 2]}, "hold kinds that are 0 or 1, got [0, 2]"),
        ({"frames": [4, 0, 9]}, "hold frames that are integers in rising order"),
        ({"frames": [0, 4, 10**30]}, "frames must hold integers of 64 bits"),
        ({"mask": []}, "tracks must have no keys but frames, size, kinds, masks"),
        ({"origin": [1]}, "must hold a JSON object in origin, got list"),
        ({"estimator": 5}, "estimator must be text, got 5"),
    ],
)
def test_what_cannot_be_used_is_missing_with_one_sentence(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    evidence = gathered(tmp_path, **changes)
    assert "tracks" not in evidence.channels
    why = evidence.missing["tracks"]
    assert why.startswith("gather: ")
    assert sentence in why
    assert "a.tracks.json" in why


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"not a picture" * 9])
def test_a_damaged_picture_is_named(tmp_path: Path, damage: Any) -> None:
    name = picture(tmp_path, "0.png", MASKS[0, 0])
    (tmp_path / name).write_bytes(damage((tmp_path / name).read_bytes()))
    why = gathered(tmp_path, **one(name)).missing["tracks"]
    assert "a.tracks.json, masks[0][0]: mask must be a picture that can be read, got " in why
    assert "0.png" in why


def test_a_picture_of_another_size_is_named(tmp_path: Path) -> None:
    name = picture(tmp_path, "0.png", MASKS[0, 0, :5])
    assert "masks[0][0]: mask must have the size 34x21, got 34x5" in gathered(tmp_path, **one(name)).missing["tracks"]


@pytest.mark.parametrize("content", ["{", "[]", '{"frames": [0], "frames": [1]}'])
def test_no_such_json(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.tracks.json"
    path.write_text(content)
    evidence = gather(rollout(tmp_path), [asks(Need("tracks"))], store=Store(tmp_path / "cache"))
    assert evidence.missing["tracks"].startswith("gather: ")
    assert len(external.digest(path, "tracks")) == 64  # a run can tell that it changed all the same


def test_arrays_come_first(tmp_path: Path) -> None:
    (tmp_path / "a.tracks.json").write_text("{")
    np.savez(tmp_path / "a.tracks.npz", frames=FRAMES, kinds=[0, 1], found=np.ones((2, 3)), masks=MASKS)
    assert "tracks" in gather(rollout(tmp_path), [asks(Need("tracks"))], store=Store(tmp_path / "cache")).channels
