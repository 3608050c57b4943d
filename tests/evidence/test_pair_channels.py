# SPDX-License-Identifier: Apache-2.0
"""Evidence of pairs of frames, and commanded poses: made once, streamed, handed in, refused with a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evidence.rollouts import N, asks, rollout

import wmb_fast as wmb
from wmb_fast.estimators import fidelity
from wmb_fast.evidence import make
from wmb_fast.evidence.make import gather
from wmb_fast.evidence.store import Store
from wmb_fast.protocols.evidence import Need
from wmb_fast.rollout.discover import Rollout, find_rollouts
from wmb_fast.rollout.video import open_video


def fed(frames: np.ndarray, pairs: list[tuple[int, int]]) -> tuple[dict[str, Any], int]:
    """What the estimator says of some frames, and the most frames that it held at once."""
    consumer = fidelity.start(fidelity.settings(None), pairs)
    most = 0
    for index, frame in enumerate(frames):
        consumer.feed(index, frame)
        most = max(most, len(consumer._held))
    return consumer.finish(), most


def test_each_pair_is_that_of_its_two_frames_and_frames_are_let_go() -> None:
    frames = np.random.default_rng(0).integers(0, 256, (30, 12, 16, 3), dtype=np.uint8)
    pairs = [(0, 29), (3, 5), (5, 9), (3, 9), (20, 4), (7, 7), (28, 29)]
    values, most = fed(frames, pairs)
    assert values["pairs"].tolist() == [list(pair) for pair in pairs]
    for k, (u, v) in enumerate(pairs):
        assert values["psnr"][k] == wmb.psnr(frames[u], frames[v], data_range=255)
        assert values["ssim"][k] == wmb.ssim(frames[u], frames[v], data_range=255, variant="uniform7")
    assert most == 4  # 0, 3, 4, 5
    assert not fed(frames, [])[0]["pairs"].size


def test_frames_smaller_than_the_window_have_no_ssim() -> None:
    values, _ = fed(np.zeros((2, 6, 20, 3), np.uint8), [(0, 1)])
    assert values["psnr"].tolist() == [np.inf]
    assert np.isnan(values["ssim"]).all()


def test_pairs_of_all_needs_are_made_together_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clip, store = rollout(tmp_path), Store(tmp_path / "cache")
    first, second = Need("fidelity", pairs=((0, 2), (1, 3))), Need("fidelity", pairs=((1, 3), (2, N + 5)))
    evidence = gather(clip, [asks(first), asks(second)], store=store)
    values = evidence.channels["fidelity"].values
    assert values["pairs"].tolist() == [[0, 2], [1, 3]]  # the video ends before the last pair
    frames = np.stack(list(open_video(clip.video_path).frames()))
    assert values["psnr"].tolist() == [wmb.psnr(frames[u], frames[v], data_range=255) for u, v in ((0, 2), (1, 3))]
    assert evidence.channels["fidelity"].maker.tier == "official"

    def refuse(*_: Any) -> Any:
        raise AssertionError("made again")

    monkeypatch.setattr(make.BUILTIN["fidelity"].__class__, "start", refuse)
    again = gather(clip, [asks(first, second)], store=store)
    assert again.channels["fidelity"].values["ssim"].tolist() == values["ssim"].tolist()
    other = gather(clip, [asks(Need("fidelity", pairs=((0, 1),)))], store=store)
    assert other.missing["fidelity"] == "estimator error: AssertionError: made again"


HANDED_IN = {
    "dino": {"frames": np.arange(3), "features": np.eye(3)},
    "lpips": {"pairs": np.array([[0, 1]]), "lpips": np.array([0.5])},
    "states": {"pairs": np.array([[0, 1], [1, 2]]), "state_score": np.array([4, -1])},
    "persistence": {"pairs": np.array([[0, 1]]), "appearance": np.array([0.5]), "semantic": np.array([0.25])},
    "matches": {"pairs": np.array([[0, 1]]), "n_matches": np.array([5]), "n_a": np.array([9]), "n_b": np.array([8])},
}


@pytest.mark.parametrize("name", sorted(HANDED_IN))
def test_channels_of_frames_and_pairs_are_handed_in(tmp_path: Path, name: str) -> None:
    clip = rollout(tmp_path)
    np.savez(tmp_path / f"a.{name}.npz", **HANDED_IN[name])
    found = gather(clip, [], store=Store(tmp_path / "cache")).channels[name]
    assert {key: value.tolist() for key, value in found.values.items()} == {
        key: value.tolist() for key, value in HANDED_IN[name].items()
    }
    assert found.maker.tier == "external"


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("dino", {"features": np.eye(4)}, "hold features of shape (3, D), got shape (4, 4)"),
        ("dino", {"features": np.ones(3)}, "hold features of shape (3, D), got shape (3,)"),
        ("dino", {"frames": np.array([0, 2, 1])}, "hold frames that are integers in rising order"),
        ("lpips", {"pairs": np.array([0, 1])}, "hold pairs that are integers of shape (P, 2)"),
        ("lpips", {"pairs": np.array([[0, 99]])}, f"hold pairs within the video's {N} frames, got 0 to 99"),
        ("lpips", {"lpips": np.array([0.5, 0.6])}, "hold lpips for each of its 1 pairs, got shape (2,)"),
        ("states", {"pairs": np.array([[0.5, 1], [1, 2]])}, "hold pairs that are integers of shape (P, 2)"),
    ],
)
def test_what_does_not_fit_is_missing(tmp_path: Path, name: str, change: dict[str, Any], said: str) -> None:
    clip = rollout(tmp_path)
    np.savez(tmp_path / f"a.{name}.npz", **{**HANDED_IN[name], **change})
    evidence = gather(clip, [], store=Store(tmp_path / "cache"))
    assert name not in evidence.channels
    assert evidence.missing[name].startswith(f"gather: a.{name}.npz must {said}")


def commanded(clip: Rollout) -> Any:
    evidence = gather(find_rollouts(clip.video_path)[0], [], store=Store(clip.video_path.parent / "cache"))
    return evidence.channels.get("commanded"), evidence.missing.get("commanded", "")


def pose_json(frames: list[int]) -> str:
    camera = [[100.0, 0, 8], [0, 100.0, 6], [0, 0, 1]]
    return json.dumps({str(frame): {"extrinsic": np.eye(4).tolist(), "K": camera} for frame in frames})


def test_poses_beside_the_video_stand_in_for_a_plan(tmp_path: Path) -> None:
    clip = rollout(tmp_path)
    (tmp_path / "a.commanded.json").write_text(pose_json([10, 0, 2]))
    found, said = commanded(clip)
    assert (found.values["frames"].tolist(), said) == ([0, 2, 10], "")  # in the order of time, whatever the file's
    (tmp_path / "a.commanded.json").unlink()
    np.savez(tmp_path / "a.commanded.npz", cam_to_world=np.tile(np.eye(4), (5, 1, 1)))
    assert commanded(clip)[0].values["frames"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"poses": np.eye(4)[None]}, "hold the array commanded_cam_to_world or cam_to_world, got poses"),
        ({"cam_to_world": np.eye(4)}, "hold poses (N, 4, 4) of floats in cam_to_world, got float64 of shape (4, 4)"),
        ({"cam_to_world": 2 * np.eye(4)[None]}, "hold rotations, got none at frame 0"),
        ({"cam_to_world": np.tile(np.eye(4), (2, 1, 1)), "frames": np.array([1, 0])}, "hold a rising frame number"),
    ],
)
def test_poses_that_do_not_fit_are_missing(tmp_path: Path, arrays: dict[str, Any], said: str) -> None:
    clip = rollout(tmp_path)
    np.savez(tmp_path / "a.commanded.npz", **arrays)
    found, reason = commanded(clip)
    assert found is None
    assert reason.startswith(f"gather: a.commanded.npz must {said}")


def test_a_manifest_names_poses(tmp_path: Path) -> None:
    rollout(tmp_path)
    (tmp_path / "loop.json").write_text(pose_json([0, 1]))
    (tmp_path / "m.csv").write_text("video,model,poses\na.mp4,mine,loop.json\n")
    [clip] = find_rollouts(tmp_path / "m.csv")
    assert (clip.poses, clip.plan) == (tmp_path / "loop.json", None)
    evidence = gather(clip, [], store=Store(tmp_path / "cache"))
    assert evidence.channels["commanded"].values["cam_to_world"].shape == (2, 4, 4)
    (tmp_path / "loop.json").unlink()
    missing = gather(clip, [], store=Store(tmp_path / "cache")).missing["commanded"]
    assert missing == "gather: poses must exist, got nothing at loop.json"
