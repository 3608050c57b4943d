# SPDX-License-Identifier: Apache-2.0
"""Worlds as folders: whole or not at all."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from small_worlds import plan_of, small

from wmb_fast._walls.errors import ArgumentError
from wmb_fast.rollout.discover import find_rollouts
from wmb_fast.rollout.planfile import read_plan
from wmb_fast.rollout.video import open_video
from wmb_fast.world import build, render_world, save_world


def test_a_folder_holds_all_that_is_known(tmp_path: Path) -> None:
    folder = build("LR", {"stall": 0.5, "hard_cut": 0.75}, tmp_path / "a" / "b", seconds=4, size=(64, 48), seed=1)
    assert folder == tmp_path / "a" / "b"
    assert sorted(path.name for path in folder.iterdir()) == [
        "manifest.json", "plan.yaml", "poses.npz", "truth.json", "video.mp4"]  # fmt: skip
    assert [path.name for path in folder.parent.iterdir()] == ["b"]
    assert read_plan(folder / "plan.yaml") == plan_of("LR")
    world = small("LR", seconds=4, size=(64, 48), seed=1, stall=0.5, hard_cut=0.75)
    with np.load(folder / "poses.npz") as poses:
        np.testing.assert_array_equal(poses["cam_to_world"], world.poses)
        np.testing.assert_array_equal(poses["commanded_cam_to_world"], world.commanded_poses)
        np.testing.assert_array_equal(poses["intrinsics"], world.intrinsics)
        assert poses["fps"] == 16
    truth = json.loads((folder / "truth.json").read_text())
    assert [fault["name"] for fault in truth["faults"]] == ["stall", "hard_cut"]
    assert truth["events"] == [{"frame": e.frame, "fault": e.fault, "what": e.what} for e in world.events]
    assert truth["must_lower"] == ["worldmark.local_memory", "worldmark.motion_stability"]
    assert truth["must_not_move"] == []  # what one of the faults may move, both together may
    assert truth["frames"] == 129


def test_the_video_shows_the_frames(tmp_path: Path) -> None:
    world = small("D", seconds=2, size=(320, 192))
    folder = save_world(world, tmp_path / "w", depth=True)
    video = open_video(folder / "video.mp4")
    frames = list(video.frames())
    assert len(frames) == len(world) == 33
    for i in (0, 16, 32):
        assert np.abs(np.asarray(frames[i][1] if isinstance(frames[i], tuple) else frames[i]).astype(int)
                      - world.view(i).rgb).mean() < 4  # fmt: skip
    with np.load(folder / "depth.npz") as depth:
        np.testing.assert_array_equal(depth["depth"][20], world.depth(20))


def test_the_manifest_gives_the_rollout_its_plan(tmp_path: Path) -> None:
    folder = save_world(small("WS", seconds=1, size=(64, 48)), tmp_path / "w")
    [rollout] = find_rollouts(folder / "manifest.json")
    assert rollout.plan == plan_of("WS")
    assert rollout.video_path.resolve() == (folder / "video.mp4").resolve()


def test_an_older_world_is_replaced_and_bytes_repeat(tmp_path: Path) -> None:
    def digest() -> list[str]:
        folder = save_world(small("L", seconds=1), tmp_path / "w")
        return [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())]

    first = digest()
    (tmp_path / "w" / "left.over").touch()
    assert digest() == first
    assert [path.name for path in tmp_path.iterdir()] == ["w"]


def test_nothing_else_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(ArgumentError, match="save_world: folder must be new, empty or an older world, got"):
        save_world(small("L", seconds=1), tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ArgumentError, match="save_world: folder must be one that can be written, got"):
        save_world(small("L", seconds=1), tmp_path / "file" / "w")


def test_what_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("wmb_fast.world.write.write_plan", fails)
    with pytest.raises(RuntimeError, match="the disk is full"):
        save_world(small("L", seconds=1), tmp_path / "w")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("wmb_fast.world.write.write_video", full)
    with pytest.raises(ArgumentError, match=r"be one that can be written, got .*w \(No space left on device\)"):
        save_world(small("L", seconds=1), tmp_path / "w")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_one_stands_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    save_world(small("L", seconds=1), ".")
    assert (tmp_path / "here" / "truth.json").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"seconds_per_step": 1e-4}, "plan must give 2 to"),
        ({"seconds_per_step": 1e9}, "plan must give 2 to"),
        ({"size": (100_000, 100_000)}, "size must be at most"),
    ],
)
def test_a_world_out_of_all_bounds(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(ArgumentError, match=f"world: {sentence}"):
        render_world(plan_of("W"), **change)  # type: ignore[arg-type]
