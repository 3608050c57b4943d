# SPDX-License-Identifier: Apache-2.0
"""Files of evidence looked at before a run: what a run would take, or the one thing that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evidence.rollouts import N, asks, rollout

from wmb_fast._walls.errors import ArgumentError, FileFormatError
from wmb_fast.cli import main
from wmb_fast.evidence.inspect import inspect
from wmb_fast.evidence.make import gather
from wmb_fast.evidence.store import Store, digest_of
from wmb_fast.protocols.evidence import Need

CUTS = {"frames": np.array([3, 7])}


def hand_in(folder: Path, **values: Any) -> Path:
    path = folder / "a.cuts.npz"
    np.savez(path, **{**CUTS, **values})
    return path


def test_what_a_run_would_take(tmp_path: Path) -> None:
    clip = rollout(tmp_path)
    origin = {"version": "1.2", "weights_sha256": "ab" * 32, "command": "transnetv2 a.mp4"}
    path = hand_in(tmp_path, estimator="transnetv2-tf", origin=json.dumps(origin))
    found = inspect(path)
    assert (found.channel, found.estimator, found.origin, found.n_frames) == ("cuts", "transnetv2-tf", origin, N)
    assert found.values == {"frames": "int64 (2,), 3 to 7", "n_scenes": "3"}
    taken = gather(clip, [asks(Need("cuts"))], store=Store(tmp_path / "cache")).channels["cuts"]
    assert (taken.maker.id, taken.maker.tier, taken.maker.fingerprint) == (
        "transnetv2-tf",
        "external",
        found.fingerprint,
    )
    other = hand_in(tmp_path, estimator="transnetv2-tf", origin=json.dumps({**origin, "version": "1.3"}))
    assert inspect(other).fingerprint != found.fingerprint  # the origin belongs to the record


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"origin": "version 1"}, "must hold JSON in origin"),
        ({"origin": "[1]"}, "must hold a JSON object in origin, got list"),
        ({"frames": np.array([3, N])}, f"must hold frames within the video's {N}, got 3 to {N}"),
        ({"frames": np.array(["a"])}, "must hold numbers in frames"),
        ({"frames": np.array([3.5])}, "must hold frames that are integers"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, values: Any, sentence: str) -> None:
    with pytest.raises(FileFormatError, match=rf"^gather: a\.cuts\.npz {sentence}"):
        inspect(hand_in(tmp_path, **values), n_frames=N)


def test_files_channels_and_frames_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="must exist, got nothing there"):
        inspect(tmp_path / "a.cuts.npz", n_frames=N)
    with pytest.raises(ArgumentError, match="channel must be one of flow, cuts"):
        inspect(tmp_path / "a.npz")
    path = hand_in(tmp_path)
    with pytest.raises(ArgumentError, match=r"frames must be said where no video lies beside the file, got none"):
        inspect(path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FileFormatError, match="must be an npz of plain arrays"):
        inspect(path, n_frames=N)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = hand_in(tmp_path, estimator="mine")
    bad = tmp_path / "b.cuts.npz"
    np.savez(bad, cuts=np.arange(3))
    with pytest.raises(SystemExit) as ended:
        main(["evidence", "check", str(good), str(bad), "--frames", "12"])
    assert ended.value.code == 1
    told = capsys.readouterr()
    assert "a.cuts.npz: cuts by mine" in told.out
    assert "b.cuts.npz must hold the array frames, got cuts" in told.err


@pytest.mark.parametrize("content", ["{}", "[]", '{"questions": 5}'])
def test_a_checklist_that_no_protocol_will_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    (tmp_path / "a.checklist.json").write_text(content)
    with pytest.raises(SystemExit) as ended:
        main(["evidence", "check", str(tmp_path / "a.checklist.json"), "--frames", "12"])
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith("a.checklist.json: checklist: ")


def test_a_digest_tells_values_apart() -> None:
    values: dict[str, Any] = {"a": np.arange(3.0), "b": (1, 2), "c": {"d": [np.arange(2)], "e": None}}
    same: dict[str, Any] = {"c": {"e": None, "d": [np.arange(2)]}, "b": [1, 2], "a": np.arange(3.0)}
    assert digest_of(values) == digest_of(same)
    others = [
        {**values, "a": np.array([0.0, 1.0, np.nextafter(2, 3)])},
        {**values, "a": np.arange(3.0, dtype=np.float32)},
        {**values, "a": np.arange(3.0)[None]},
        {**values, "b": (1, 3)},
        {**values, "c": {"d": [np.arange(3)], "e": None}},
        {"a": np.arange(3.0), "b": (1, 2)},
    ]
    assert len({digest_of(other) for other in [values, *others]}) == len(others) + 1
