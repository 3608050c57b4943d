# SPDX-License-Identifier: Apache-2.0
"""Channels that the user hands in: used as they are, labelled, checked, and never silently replaced."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evidence.rollouts import Counter, N, asks, rollout

from wmb_fast.evidence import make
from wmb_fast.evidence.make import gather
from wmb_fast.evidence.store import Store
from wmb_fast.protocols.evidence import Evidence, Need

FLOW = {"horizontal": np.arange(N - 2.0), "radial": np.zeros(N - 2)}


def gathered(tmp_path: Path, *needs: Need, **options: Any) -> Evidence:
    return gather(rollout(tmp_path), [asks(*needs)], store=Store(tmp_path / "cache"), **options)


def test_beside_the_video_and_labelled(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.flow.npz", **FLOW, estimator="sea-raft")
    channel = gathered(tmp_path, Need("flow")).channels["flow"]
    np.testing.assert_array_equal(channel.values["horizontal"], FLOW["horizontal"])
    assert (channel.values["stride"], channel.values["grid"]) == (2, (640, 432))
    assert (channel.maker.id, channel.maker.tier) == ("sea-raft", "external")
    np.savez(tmp_path / "a.flow.npz", horizontal=FLOW["horizontal"] + 1, radial=FLOW["radial"])
    other = gathered(tmp_path, Need("flow")).channels["flow"].maker
    assert other.id == "external"
    assert other.fingerprint != channel.maker.fingerprint


def test_a_folder_comes_first(tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    np.savez(tmp_path / "a.quality.npz", quality=2.0, aesthetic=3.0)
    np.savez(tmp_path / "given" / "a.quality.npz", quality=4.0, aesthetic=np.nan)
    evidence = gathered(tmp_path, external=tmp_path / "given")
    assert evidence.channels["quality"].values["quality"] == 4.0
    assert "quality" not in evidence.missing
    assert "geometry" in evidence.missing


def test_parallax_and_cuts(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "a.parallax.npz",
        segments=[0, 2],
        **{f"{k}_{j}": np.ones(5) for j in (0, 2) for k in ("inverse_depth", "flow")},
    )
    np.savez(tmp_path / "a.cuts.npz", frames=np.array([4, 9]))
    evidence = gathered(tmp_path, Need("cuts"))
    assert evidence.channels["parallax"].values["segments"] == [0, 2]
    assert evidence.channels["cuts"].values["n_scenes"] == 3


def test_features_must_have_the_frames_asked_for(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.features.npz", frames=np.arange(6), mean=np.eye(6, dtype=np.float32))
    assert "features" in gathered(tmp_path, Need("features", (1, 5))).channels
    evidence = gathered(tmp_path, Need("features", (1, 6, 8)))
    assert evidence.missing["features"] == "the external features lack 2 frames, the first is 6"
    assert "features" not in evidence.channels


@pytest.mark.parametrize(
    ("channel", "arrays", "says"),
    [
        ("flow", {"horizontal": FLOW["horizontal"]}, "hold the array radial, got horizontal"),
        ("flow", {**FLOW, "radial": np.zeros(N)}, r"hold radial of shape \(10,\), got shape \(12,\)"),
        ("cuts", {"frames": np.array([3.5])}, "integers in rising order"),
        ("cuts", {"frames": np.array([5, 2])}, "integers in rising order"),
        ("cuts", {"frames": np.array([2, N])}, f"within the video's {N}, got 2 to {N}"),
        (
            "features",
            {"frames": np.arange(3), "mean": np.ones((2, 4))},
            r"hold mean of shape \(3, D\), got shape \(2, 4\)",
        ),
        ("parallax", {"segments": [1], "inverse_depth_1": np.ones(3)}, "inverse_depth_1 and flow_1 of one length"),
        ("geometry", {"frames": np.arange(3)}, "hold the array depth"),
        ("quality", {"quality": 3.0}, "hold the array aesthetic"),
    ],
)
def test_a_file_that_does_not_fit_makes_the_channel_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, channel: str, arrays: dict[str, Any], says: str
) -> None:
    """Not even where a builtin estimator could make it."""
    tools = {role: Counter(role, by_frame=role == "features") for role in ("flow", "cuts", "features")}
    monkeypatch.setattr(make, "BUILTIN", tools)
    np.savez(tmp_path / f"a.{channel}.npz", **arrays)
    evidence = gathered(tmp_path, Need(channel))
    assert channel not in evidence.channels
    assert evidence.missing[channel].startswith(f"gather: a.{channel}.npz must ")
    assert re.search(says, evidence.missing[channel])
    assert all(tool.starts == 0 for tool in tools.values())


def test_a_file_that_is_no_npz(tmp_path: Path) -> None:
    (tmp_path / "a.flow.npz").write_bytes(b"rubbish")
    assert "must be an npz of plain arrays" in gathered(tmp_path, Need("flow")).missing["flow"]


@pytest.mark.parametrize(
    ("channel", "arrays"),
    [
        ("flow", {**FLOW, "stride": "abc"}),
        ("flow", {**FLOW, "stride": 0}),
        ("flow", {**FLOW, "stride": [2, 2]}),
        ("flow", {**FLOW, "grid": [640]}),
        ("flow", {**FLOW, "radial": ["x"] * (N - 2)}),
        ("cuts", {"frames": ["a"]}),
        ("features", {"frames": [0], "mean": [["x"]]}),
        ("quality", {"quality": [1.0, 2.0], "aesthetic": 3.0}),
        ("quality", {"quality": 1.0, "aesthetic": "fine"}),
        ("parallax", {"segments": ["a"]}),
    ],
)
def test_what_is_no_number_makes_the_channel_missing_and_nothing_else(
    tmp_path: Path, channel: str, arrays: dict[str, Any]
) -> None:
    np.savez(tmp_path / f"a.{channel}.npz", **arrays)
    evidence = gathered(tmp_path)
    assert f"a.{channel}.npz must hold" in evidence.missing[channel]
    assert channel not in evidence.channels
