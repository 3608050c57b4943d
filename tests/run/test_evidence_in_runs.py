# SPDX-License-Identifier: Apache-2.0
"""What a run makes of its evidence: handed in, broken, short, or dependent on the whole set."""

from __future__ import annotations

import json
import shutil
import types

import numpy as np
import pytest
from clips import FPS, SECONDS, truncate, write_clip

from wmb_fast import ArgumentError, run
from wmb_fast.estimators import registry
from wmb_fast.evidence.make import gather
from wmb_fast.evidence.store import Store
from wmb_fast.protocols import worldmark
from wmb_fast.protocols.record import Status
from wmb_fast.rollout.discover import find_rollouts


def locals_of(scores):
    return {s.rollout: (s.value, s.detail.get("step_px")) for s in scores if s.metric == "local_memory"}


@pytest.fixture(scope="module")
def as_published(folder, cache, tmp_path_factory):
    return run.score([folder], ["worldmark"], out=tmp_path_factory.mktemp("compat"), cache=cache, compat=True)


def test_under_compat_local_takes_its_step_from_the_set(as_published, folder, cache):
    store = Store(cache)
    evidence = [gather(r, [worldmark], store=store, compat=True) for r in find_rollouts(folder)]
    whole, each = worldmark.score(evidence, compat=True), [worldmark.score(e, compat=True) for e in evidence]
    got = locals_of(as_published.scores)
    assert got == locals_of(whole)
    assert got != locals_of([s for scores in each for s in scores])
    assert len({step for _, step in got.values()}) == 1


def test_shards_under_compat_make_the_board_of_the_whole_set(as_published, folder, cache, tmp_path):
    outs = [tmp_path / "1", tmp_path / "2"]
    for i, out in enumerate(outs, start=1):
        run.score([folder], ["worldmark"], out=out, cache=cache, compat=True, shard=(i, 2))
    scores = run.read_scorecards(outs)
    assert locals_of(scores) == locals_of(as_published.scores)
    assert run.boards(scores) == tuple(as_published.tables)
    shutil.rmtree(outs[1] / "curves")
    with pytest.raises(ArgumentError, match="which compat needs"):
        run.read_scorecards(outs)


def test_a_compat_run_resumes_to_the_same_bytes(as_published, folder, cache, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(as_published.out, out)
    truncate(next((out / "curves").iterdir()), 0.5)
    seen = []
    run.score([folder], ["worldmark"], out=out, cache=cache, compat=True, watch=seen.append)
    assert sorted(p.how for p in seen if p.rollout) == ["kept"] * 3 + ["scored"]
    for name in ("scorecard.jsonl", "board.json", "run.json"):
        assert (out / name).read_bytes() == (as_published.out / name).read_bytes()


def test_evidence_handed_in_counts_and_a_change_of_it_is_seen(folder, cache, tmp_path):
    copy = tmp_path / "rollouts"
    shutil.copytree(folder / "Alpha", copy / "Alpha")

    def quality(value):
        if value is not None:
            np.savez(copy / "Alpha" / "001_006.quality.npz", quality=value, aesthetic=2.0)
        outcome = run.score([copy], ["worldmark"], out=tmp_path / "out", cache=cache)
        return [s.value for s in outcome.scores if s.metric == "perceptual_quality"]

    assert [quality(v) for v in (None, 4.0, 3.0)] == [[None, None], [4.0, None], [3.0, None]]


def test_an_estimator_that_breaks_is_an_error_and_is_tried_again(folder, cache, tmp_path, monkeypatch):
    class Broken:
        def feed(self, index, frame):
            raise MemoryError("no room for a frame")

    module = types.SimpleNamespace(VERSION=99, settings=lambda model: {}, start=lambda settings: Broken())
    with monkeypatch.context() as broken:
        broken.setattr(registry.Estimator, "_load", lambda self: module)
        outcome = run.score([folder / "Alpha"], ["worldmark"], out=tmp_path, cache=cache)
    assert not outcome.complete
    flow = [s for s in outcome.scores if s.reason.startswith("flow: estimator error: MemoryError")]
    assert flow
    assert all(s.status is Status.ERROR for s in flow)
    assert json.loads((tmp_path / "run.json").read_text())["failed"]
    seen = []
    assert run.score([folder / "Alpha"], ["worldmark"], out=tmp_path, cache=cache, watch=seen.append).complete
    assert [p.how for p in seen if p.rollout] == ["scored"] * 2


def test_notes_on_a_file_are_told_each_time(cache, tmp_path):
    truncate(write_clip(tmp_path / "in" / "m" / "001_006.mkv", seed=5), 0.8)
    for how in ("scored", "kept"):
        seen = []
        run.score([tmp_path / "in"], ["worldmark"], out=tmp_path / "out", cache=cache, watch=seen.append)
        assert seen[-1].how == how
        assert any("truncated" in note for note in seen[-1].notes)
    (facts,) = json.loads((tmp_path / "out" / "run.json").read_text())["rollouts"]
    assert 0 < facts["frames"] < FPS * SECONDS
    assert any("truncated" in note for note in facts["notes"])
    record = json.loads((tmp_path / "out" / "scorecard.jsonl").read_text().split("\n")[0])
    assert record["provenance"]["truncated"] is True


def test_a_damaged_cache_entry_is_reported_and_changes_no_byte(folder, tmp_path):
    first = run.score([folder / "Alpha"], ["worldmark"], out=tmp_path / "a", cache=tmp_path / "cache")
    for entry in (tmp_path / "cache").rglob("*.npz"):
        truncate(entry, 0.6)
    seen = []
    run.score([folder / "Alpha"], ["worldmark"], out=tmp_path / "b", cache=tmp_path / "cache", watch=seen.append)
    assert any("damaged" in note for p in seen for note in p.notes)
    for name in ("scorecard.jsonl", "board.json", "board.md", "run.json"):
        assert (tmp_path / "b" / name).read_bytes() == (first.out / name).read_bytes()


def test_a_refused_proxy_stays_refused_when_the_set_is_scored(folder, cache, tmp_path):
    options = {"compat": True, "require_official": True}
    outcome = run.score([folder / "Alpha"], ["worldmark"], out=tmp_path, cache=cache, **options)
    assert all(s.value is None for s in outcome.scores if s.proxy)
    assert all(s.value is None for s in run.read_scorecards([tmp_path]) if s.proxy)
