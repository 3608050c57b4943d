# SPDX-License-Identifier: Apache-2.0
"""Gathering: one pass a round for all that is asked, nothing decoded twice, nothing lost where one thing fails."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evidence.rollouts import Counter, N, asks, rollout

from wmb_fast._walls.errors import FileFormatError
from wmb_fast.estimators.registry import ABSENT
from wmb_fast.evidence import make
from wmb_fast.evidence.make import gather
from wmb_fast.evidence.store import Store
from wmb_fast.protocols import worldmark
from wmb_fast.protocols.evidence import Evidence, Need
from wmb_fast.rollout.decode import FileSource
from wmb_fast.rollout.discover import Rollout, find_rollouts


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> dict[str, Counter]:
    """Counting estimators in the registry's place."""
    made = {
        "flow": Counter("flow", by_frame=False),
        "cuts": Counter("cuts", by_frame=False),
        "features": Counter("features", by_frame=True),
    }
    monkeypatch.setattr(make, "BUILTIN", made)
    return made


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many frames each pass over a video gave."""
    counts: list[int] = []
    pictures = FileSource.pictures

    def counted(self: FileSource, ledger: Any) -> Any:
        counts.append(0)
        me = len(counts) - 1
        for picture in pictures(self, ledger):
            counts[me] += 1
            yield picture

    monkeypatch.setattr(FileSource, "pictures", counted)
    return counts


def later(*frames: int) -> Any:
    """Features of these frames, once flow is there."""
    return lambda evidence: [Need("features", frames)] if "flow" in evidence.channels else []


def test_facts_channels_makers_and_provenance(tmp_path: Path, tools: dict[str, Counter]) -> None:
    clip = rollout(tmp_path)
    evidence = gather(clip, [asks(Need("flow"), later(2, 5))], store=Store(tmp_path / "cache"))
    facts = evidence.facts
    assert (facts.rollout, facts.model, facts.n_frames, facts.fps, facts.width, facts.height) == (
        "a",
        "model",
        N,
        8.0,
        128,
        96,
    )
    assert evidence.channels.keys() == {"flow", "features"}
    maker = evidence.channels["features"].maker
    assert (maker.role, maker.id, maker.tier, maker.fingerprint) == (
        "features",
        "count-features",
        "builtin",
        "features-0",
    )
    assert evidence.channels["features"].values["frames"].tolist() == [2, 5]
    assert evidence.channels["flow"].values["frames"].tolist() == list(range(N))
    assert len(evidence.provenance["video_sha256"]) == 64
    assert "pyav" in evidence.provenance["decoder"]
    assert evidence.provenance["truncated"] is False


@pytest.mark.parametrize("fits", [True, False])
def test_a_round_is_one_pass_and_nothing_is_decoded_twice(
    tmp_path: Path, tools: dict[str, Counter], passes: list[int], monkeypatch: pytest.MonkeyPatch, fits: bool
) -> None:
    clip = rollout(tmp_path)
    held = N * 128 * 96 * 3 // 2  # twelve frames of yuv420p
    monkeypatch.setattr(make, "_AT_HAND", held if fits else held - 1)
    gather(clip, [asks(Need("flow"), Need("cuts"), later(2, 5))], store=Store(tmp_path / "cache"))
    # The size of the first frame; the count of the frames; and, of a clip too large to be held, flow and cuts, and
    # features up to the last one asked for.
    assert passes == ([1, N] if fits else [1, N, N, 6])
    assert tools["flow"].seen == tools["cuts"].seen == list(range(N))
    assert tools["features"].seen == [2, 5]


def test_the_second_time_nothing_is_decoded_or_computed(
    tmp_path: Path, tools: dict[str, Counter], passes: list[int]
) -> None:
    clip, protocol = rollout(tmp_path), asks(Need("flow"), Need("cuts"), later(2, 5))
    first = gather(clip, [protocol], store=Store(tmp_path / "cache"))
    passes.clear()
    second = gather(clip, [protocol], store=Store(tmp_path / "cache"))
    assert passes == [1]  # the first frame alone, on opening
    assert [tools[name].starts for name in sorted(tools)] == [1, 1, 1]
    assert same(first, second)


def same(a: Evidence, b: Evidence) -> bool:
    assert (a.facts, a.missing, a.provenance, a.channels.keys()) == (
        b.facts,
        b.missing,
        b.provenance,
        b.channels.keys(),
    )
    for name, channel in a.channels.items():
        other = b.channels[name]
        assert channel.maker == other.maker
        assert channel.values.keys() == other.values.keys()
        for key, value in channel.values.items():
            assert type(value) is type(other.values[key])
            assert np.asarray(value).tobytes() == np.asarray(other.values[key]).tobytes()
    return True


def test_frames_of_all_protocols_are_united(tmp_path: Path, tools: dict[str, Counter]) -> None:
    clip = rollout(tmp_path)
    protocols = [asks(Need("features", (1, 4))), asks(Need("features", (4, 9)), Need("features", ()))]
    evidence = gather(clip, protocols, store=Store(tmp_path / "cache"))
    assert evidence.channels["features"].values["frames"].tolist() == [1, 4, 9]
    assert tools["features"].starts == 1


def test_more_frames_later_and_all_frames(tmp_path: Path, tools: dict[str, Counter]) -> None:
    clip, store = rollout(tmp_path), Store(tmp_path / "cache")
    more = asks(Need("features", (1,)), lambda e: [Need("features", (7,))] if "features" in e.channels else [])
    assert gather(clip, [more], store=store).channels["features"].values["frames"].tolist() == [1, 7]
    every = asks(Need("features", (1,)), Need("features"))
    assert len(gather(clip, [every], store=store).channels["features"].values["frames"]) == N


def test_frames_the_video_does_not_have_are_left_out(tmp_path: Path, tools: dict[str, Counter]) -> None:
    evidence = gather(rollout(tmp_path), [asks(Need("features", (3, N, 99)))], store=Store(tmp_path / "cache"))
    assert evidence.channels["features"].values["frames"].tolist() == [3]


@pytest.mark.parametrize("where", ["start", 0, 4, "finish"])
def test_one_that_fails_is_missing_and_the_others_go_on(tmp_path: Path, tools: dict[str, Counter], where: Any) -> None:
    tools["cuts"].fails_at = where
    evidence = gather(rollout(tmp_path), [asks(Need("flow"), Need("cuts"))], store=Store(tmp_path / "cache"))
    assert evidence.missing["cuts"].startswith("estimator error: RuntimeError: ")
    assert evidence.channels["flow"].values["frames"].tolist() == list(range(N))
    assert "cuts" not in evidence.channels
    tools["cuts"].fails_at = None  # a failure is not kept
    assert "cuts" in gather(rollout(tmp_path), [asks(Need("cuts"))], store=Store(tmp_path / "cache")).channels


def test_what_no_builtin_makes_is_missing_with_who_does(tmp_path: Path, tools: dict[str, Counter]) -> None:
    evidence = gather(rollout(tmp_path), [asks(Need("sound"))], store=Store(tmp_path / "cache"))
    assert evidence.missing.keys() == {"sound", *ABSENT}
    assert "sound.npz" in evidence.missing["sound"]
    assert "depth" in evidence.missing["parallax"]


def test_another_fingerprint_video_or_rate_is_computed_again(tmp_path: Path, tools: dict[str, Counter]) -> None:
    store, clip = Store(tmp_path / "cache"), rollout(tmp_path)
    gather(clip, [asks(Need("flow"))], store=store)
    tools["flow"].print = "1"
    gather(clip, [asks(Need("flow"))], store=store)
    assert tools["flow"].starts == 2
    gather(rollout(tmp_path, "b", seed=1), [asks(Need("flow"))], store=store)
    assert tools["flow"].starts == 3
    told = Rollout("a", clip.video_path, None, None, None, fps=24.0)
    assert gather(told, [asks(Need("flow"))], store=store).facts.fps == 24.0
    assert gather(clip, [asks(Need("flow"))], store=store).facts.fps == 8.0
    assert tools["flow"].starts == 3


def test_the_cache_goes_by_content_not_by_name(tmp_path: Path, tools: dict[str, Counter]) -> None:
    store, clip = Store(tmp_path / "cache"), rollout(tmp_path)
    gather(clip, [asks(Need("flow"))], store=store)
    moved = Rollout("elsewhere/b", clip.video_path.rename(tmp_path / "b.mp4"), None, None, None)
    assert gather(moved, [asks(Need("flow"))], store=store).facts.rollout == "elsewhere/b"
    assert tools["flow"].starts == 1


def test_damage_is_mended_and_said(tmp_path: Path, tools: dict[str, Counter]) -> None:
    store, clip, protocol = Store(tmp_path / "cache"), rollout(tmp_path), asks(Need("flow"), Need("cuts"), later(2))
    first = gather(clip, [protocol], store=store)
    assert first.notes == ()
    for path in store.folder.rglob("*.npz"):
        path.write_bytes(path.read_bytes()[:-30])
    second = gather(clip, [protocol], store=store)
    assert same(first, second)
    assert len(second.notes) == 4
    for channel in ("facts", "flow", "cuts", "features"):
        assert any(note.startswith(f"the cached {channel} is damaged") for note in second.notes)
    assert gather(clip, [protocol], store=store).notes == ()


def test_an_unreadable_video_raises(tmp_path: Path, tools: dict[str, Counter]) -> None:
    (tmp_path / "x.mp4").write_bytes(b"no video")
    with pytest.raises(FileFormatError):
        gather(Rollout("x", tmp_path / "x.mp4", None, None, None), [asks(Need("flow"))], store=Store(tmp_path / "c"))


def test_many_threads_with_one_store(tmp_path: Path) -> None:
    """The real estimators: the same evidence alone and beside others."""
    clips = [rollout(tmp_path, name, 6, seed) for seed, name in enumerate("abc")]
    protocol = asks(Need("flow"), Need("cuts"), Need("features", (1, 3)))
    alone = [gather(clip, [protocol], store=Store(tmp_path / "alone")) for clip in clips]
    found: dict[int, Evidence] = {}
    store = Store(tmp_path / "together")

    def work(i: int) -> None:
        found[i] = gather(clips[i % 3], [protocol], store=store)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert all(same(alone[i % 3], evidence) for i, evidence in found.items())


def test_real_evidence_of_a_real_protocol(tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """WorldMark's two rounds on a real clip, and the same again from the cache."""
    [clip] = find_rollouts(shared / "data/rollouts/worldmark/m3_bad.mp4")
    first = gather(clip, [worldmark], store=Store(tmp_path))
    assert len(first.channels["flow"].values["horizontal"]) == first.facts.n_frames - 2
    assert first.channels["cuts"].values["n_scenes"] == 1
    assert first.channels["features"].values["mean"].dtype == np.float32

    def refuse(settings: Any) -> Any:
        raise AssertionError("computed again")

    for role in make.BUILTIN:
        monkeypatch.setattr(f"wmb_fast.estimators.{make.BUILTIN[role].module}.start", refuse)
    assert same(first, gather(clip, [worldmark], store=Store(tmp_path)))
    stability = [s for s in worldmark.score(first) if s.metric == "motion_stability"]
    assert stability[0].value is not None
    assert stability[0].value < 0.1  # its motion dies away
