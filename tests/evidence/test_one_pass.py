# SPDX-License-Identifier: Apache-2.0
"""Flow, features and cuts of a clip by the packaged networks: the bits of one after the other, in one pass."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evidence.rollouts import asks

import wmb_fast as wmb
from wmb_fast.estimators import cuts_transnet, features_lite0, flow_dis
from wmb_fast.estimators.choice import chosen
from wmb_fast.estimators.home import ModelHome, session_of
from wmb_fast.evidence import make
from wmb_fast.evidence.make import gather
from wmb_fast.evidence.store import Store
from wmb_fast.protocols.evidence import Need
from wmb_fast.rollout.discover import Rollout
from wmb_fast.rollout.planfile import plan_of
from wmb_fast.rollout.video import open_video, write_video
from wmb_fast.world import render_world

N = 60


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("onnxruntime")
    for name in ("transnetv2", "efficientnet-lite0"):
        if ModelHome().find(name) is None:
            told = f"{name} is not in WMB_FAST_HOME: wmb-fast models fetch {name}"
            (pytest.fail if os.environ.get("WMB_REQUIRE_MODELS") == "1" else pytest.skip)(told)
    path = tmp_path_factory.mktemp("clip") / "a.mp4"
    world = render_world(plan_of("worldmark/06"), seconds_per_step=N / 32, size=(192, 108), faults={"hard_cut": 0.4})
    write_video(path, list(world.frames())[:N], fps=16)
    return path


@pytest.fixture(scope="module")
def one_by_one(clip: Path) -> dict[str, Any]:
    """Each estimator by itself, on frames of its own decoding, in this thread."""
    search = flow_dis.Search(flow_dis.settings(None))
    greys = [search.prepared(frame) for frame in open_video(clip).frames()]
    flow = np.array([search.channels(a, b) for a, b in zip(greys[:-2], greys[2:], strict=True)])
    network = features_lite0.PooledFeatures(session_of("efficientnet-lite0"))
    small = [cuts_transnet.small(frame) for frame in open_video(clip).frames()]
    logits = []
    for first in range(0, N, 50):
        window = np.stack([small[i] for i in np.clip(np.arange(first - 25, first + 75), 0, N - 1)])
        logits.append(cuts_transnet.middle_logits(session_of("transnetv2"), window))
    return {
        "horizontal": flow[:, 0],
        "radial": flow[:, 1],
        "mean": np.stack([network.mean(frame) for frame in open_video(clip).frames()]),
        "cuts": np.array(cuts_transnet.cuts_in(np.concatenate(logits)[:N])[0]),
    }


@pytest.fixture
def restored() -> Iterator[None]:
    before = wmb.get_num_threads()
    yield
    wmb.set_num_threads(before)


@pytest.mark.parametrize(("threads", "at_hand"), [(1, 1 << 28), (2, 1 << 28), (2, 0)])
def test_the_bits_of_one_after_the_other(
    clip: Path,
    one_by_one: dict[str, Any],
    restored: None,
    threads: int,
    at_hand: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wmb.set_num_threads(threads)
    monkeypatch.setattr(make, "_AT_HAND", at_hand)
    wants = asks(*map(Need, ("flow", "features", "cuts")))
    evidence = gather(
        Rollout("a", clip, None, None, None), [wants], store=Store(tmp_path), estimators=chosen("packaged")
    )
    values = {name: evidence.channels[name].values for name in ("flow", "features", "cuts")}
    assert values["cuts"]["frames"].tolist() == one_by_one["cuts"].tolist() != []
    for channel, name in (("flow", "horizontal"), ("flow", "radial"), ("features", "mean")):
        assert values[channel][name].tobytes() == one_by_one[name].tobytes()
