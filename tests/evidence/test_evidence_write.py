# SPDX-License-Identifier: Apache-2.0
"""Evidence written as files: what a run would have, whose it is said to be, and what cannot be written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from evidence.rollouts import N, asks, rollout

from wmb_fast import cli
from wmb_fast._walls.errors import ArgumentError
from wmb_fast.evidence.inspect import inspect
from wmb_fast.evidence.make import gather
from wmb_fast.evidence.store import Store
from wmb_fast.evidence.write import write
from wmb_fast.protocols.evidence import Need

EVERY = "builtin,points=klt,frame_quality=sharpness-exposure,poses=sift-essential"
CHANNELS = ["cuts", "features", "flow", "flow_fields", "frame_quality", "points", "poses"]


def test_every_channel_of_frames_is_one_that_can_be_handed_in(tmp_path: Path) -> None:
    clip, cache = rollout(tmp_path), tmp_path / "cache"
    made = write([clip.video_path], CHANNELS, out=tmp_path / "made", estimators=EVERY, cache=cache)
    assert [one.problem for one in made] == [""] * len(CHANNELS)
    for one in made:
        assert one.path is not None
        assert inspect(one.path, channel=one.channel, n_frames=N).origin["source"] == "wmb-fast"
        (tmp_path / f"a.{one.channel}.npz").write_bytes(one.path.read_bytes())
    taken = gather(clip, [asks(*map(Need, CHANNELS))], store=Store(tmp_path / "other")).channels
    assert {taken[name].maker.tier for name in CHANNELS} == {"builtin"}  # a proxy stays one
    assert taken["points"].maker.id == "klt"
    assert taken["points"].values["places"].shape[1:] == (N, 2)
    [again] = write([clip.video_path], ["cuts"], out=tmp_path / "again", cache=cache)
    assert (again.path is None, again.problem) == (False, "")  # ours that was handed in is whose it was


def test_what_others_made_is_not_written_as_ours(tmp_path: Path) -> None:
    clip = rollout(tmp_path)
    np.savez(tmp_path / "a.cuts.npz", frames=np.array([4]))
    [made] = write([clip.video_path], ["cuts"], out=tmp_path / "made", cache=tmp_path / "cache")
    assert (made.path, made.problem) == (None, "it was handed in")


def test_the_same_bytes_each_time(tmp_path: Path) -> None:
    clip = rollout(tmp_path)
    contents = []
    for name in ("b", "c"):
        [made] = write([clip.video_path], ["flow"], out=tmp_path / name, cache=tmp_path / "cache" / name)
        assert made.path is not None
        contents.append(made.path.read_bytes())
    assert contents[0] == contents[1]


def test_two_videos_of_one_name(tmp_path: Path) -> None:
    clip = rollout(tmp_path)
    with pytest.raises(ArgumentError, match="videos must have names of their own, got a twice"):
        write([clip.video_path] * 2, ["cuts"], out=tmp_path / "made", cache=tmp_path / "cache")


@pytest.mark.parametrize(
    ("channel", "says"),
    [
        ("points", "have an estimator, got 'points': nothing follows points unasked"),
        ("depth", "have an estimator, got 'depth'"),
        ("sound", "have an estimator, got 'sound'"),
        ("fidelity", "have an estimator, got 'fidelity'"),
    ],
)
def test_channels_that_cannot_be_written(tmp_path: Path, channel: str, says: str) -> None:
    with pytest.raises(ArgumentError, match=f"^evidence make: channel must {says}"):
        write([rollout(tmp_path).video_path], [channel], out=tmp_path / "made", cache=tmp_path / "cache")


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rollout(tmp_path)
    (tmp_path / "b.mp4").write_bytes(b"no video")
    videos = [str(tmp_path / name) for name in ("a.mp4", "b.mp4")]
    call = ["evidence", "make", *videos, "--channel", "cuts, points", "--estimators", "points=klt"]
    assert cli.answer([*call, "-o", str(tmp_path / "made"), "--cache", str(tmp_path / "cache")]) == 1
    told = capsys.readouterr()
    cuts, points = (Path(line) for line in told.out.splitlines())
    assert "no cuts: open_video: path must" in told.err
    assert "no points: open_video: path must" in told.err
    with np.load(points) as stored:
        assert (str(stored["estimator"]), str(stored["tier"])) == ("klt", "builtin")
        assert json.loads(str(stored["origin"]))["fingerprint"]
    assert cli.answer(["evidence", "check", str(cuts), str(points), "--frames", str(N)]) == 0
