# SPDX-License-Identifier: Apache-2.0
"""A run as a whole: the same bytes however it was run, killed or resumed; one bad rollout stops no other."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from clips import FPS, SECONDS, truncate, write_clip

from wmb_fast import ArgumentError, FileFormatError, WmbError, run
from wmb_fast.protocols.record import WHOLE_ROLLOUT, Score, Status

WRITTEN = ("scorecard.jsonl", "board.json", "board.md", "run.json")


def content(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in WRITTEN}


def texts(scores) -> list[str]:
    return [score.to_json() for score in scores]


def strict(text: str):
    def refuse(token: str) -> None:
        raise AssertionError(f"not strict JSON: {token}")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def first(folder, cache, tmp_path_factory):
    out = tmp_path_factory.mktemp("first")
    return run.score([folder], ["worldmark"], out=out, cache=cache, jobs=1)


def test_the_scorecard_is_sorted_strict_and_complete(first):
    lines = (first.out / "scorecard.jsonl").read_text().splitlines()
    records = [strict(line) for line in lines]
    rollouts = [record["rollout"] for record in records]
    assert rollouts == sorted(rollouts)
    assert len(set(rollouts)) == 4
    assert [Score.from_json(line).to_json() for line in lines] == lines == texts(first.scores)
    assert {r["model"] for r in records} == {"Alpha", "Beta"}
    for record in records:
        assert (record["value"] is None) != (record["status"] == "ok")
        assert bool(record["reason"]) == (record["value"] is None)
    assert first.complete


def test_the_other_files_are_strict_json_too(first):
    for name in ("board.json", "run.json"):
        strict((first.out / name).read_text())
    facts = strict((first.out / "run.json").read_text())
    assert [r["frames"] for r in facts["rollouts"]] == [FPS * SECONDS] * 4
    assert facts["failed"] == []
    assert "numpy" in facts["versions"]


def test_a_second_run_keeps_everything_and_changes_no_byte(first, folder, cache):
    seen = []
    before = content(first.out)
    run.score([folder], ["worldmark"], out=first.out, cache=cache, jobs=2, watch=seen.append)
    assert [p.how for p in seen] == ["begun"] + ["kept"] * 4
    assert content(first.out) == before


def test_two_jobs_and_an_empty_cache_give_the_same_bytes(first, folder, tmp_path):
    run.score([folder], ["worldmark"], out=tmp_path / "out", cache=tmp_path / "cache", jobs=2)
    assert content(tmp_path / "out") == content(first.out)


def test_a_changed_video_is_scored_anew_and_the_others_are_kept(folder, cache, tmp_path):
    copy = tmp_path / "rollouts"
    shutil.copytree(folder, copy)
    run.score([copy], ["worldmark"], out=tmp_path / "out", cache=cache)
    write_clip(copy / "Alpha" / "001_006.mp4", seed=77)
    seen = {}
    run.score([copy], ["worldmark"], out=tmp_path / "out", cache=cache, watch=lambda p: seen.update({p.rollout: p.how}))
    assert sorted(how for rollout, how in seen.items() if rollout) == ["kept", "kept", "kept", "scored"]


def test_other_options_are_scored_anew(first, folder, cache, tmp_path):
    shutil.copytree(first.out, tmp_path / "out")
    seen = []
    run.score([folder], ["worldmark"], out=tmp_path / "out", cache=cache, compat=True, watch=seen.append)
    assert {p.how for p in seen if p.rollout} == {"scored"}
    assert all(json.loads(line)["compat"] for line in (tmp_path / "out" / "scorecard.jsonl").read_text().splitlines())


def test_bad_rollouts_say_why_and_the_others_are_scored(folder, cache, tmp_path, first):
    copy = tmp_path / "rollouts"
    shutil.copytree(folder, copy)
    (copy / "Alpha" / "003_006.mp4").write_bytes(b"")
    (copy / "Alpha" / "004_006.mp4").write_bytes(b"this is no video " * 400)
    seen = []
    outcome = run.score([copy], ["worldmark"], out=tmp_path / "out", cache=cache, watch=seen.append)
    assert not outcome.complete
    failed = [s for s in outcome.scores if s.metric == WHOLE_ROLLOUT]
    assert [(s.rollout.split("/")[-1][:3], s.status) for s in failed] == [("003", Status.ERROR), ("004", Status.ERROR)]
    assert all(s.reason.startswith("failed: ") for s in failed)
    assert texts(s for s in outcome.scores if s.metric != WHOLE_ROLLOUT) == texts(first.scores)
    document = strict((tmp_path / "out" / "run.json").read_text())
    assert len(document["failed"]) == 2
    assert sorted(p.how for p in seen if p.rollout) == ["failed"] * 2 + ["scored"] * 4


def test_a_video_that_is_listed_and_not_there_fails_alone(folder, cache, tmp_path):
    rows = [{"video": str(folder / "Alpha" / "001_006.mp4")}, {"video": "gone.mp4", "plan": "WS", "model": "Alpha"}]
    (tmp_path / "list.json").write_text(json.dumps(rows))
    outcome = run.score([tmp_path / "list.json"], ["worldmark"], out=tmp_path / "out", cache=cache)
    assert not outcome.complete
    [gone] = [s for s in outcome.scores if s.metric == WHOLE_ROLLOUT]
    assert gone.rollout.endswith("gone")
    assert gone.model == "Alpha"
    assert gone.reason.startswith("failed: open_video: path must exist, got nothing there: ")
    assert any(s.value is not None for s in outcome.scores)


def test_an_empty_name_of_a_folder_is_refused(folder, cache, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for change, sentence in (({"out": ""}, "out must name a folder"), ({"cache": ""}, "cache must name a folder")):
        with pytest.raises(ArgumentError, match=f"score: {sentence}, got ''"):
            run.score([folder], ["worldmark"], **{"out": tmp_path / "out", "cache": cache, **change})
    assert not (tmp_path / "parts").exists()


def test_requiring_official_estimators_leaves_no_proxy_number(folder, cache, tmp_path):
    outcome = run.score([folder], ["worldmark"], out=tmp_path, cache=cache, require_official=True)
    assert not outcome.complete
    assert all(s.value is None for s in outcome.scores if s.proxy)
    refused = [s for s in outcome.scores if s.reason.startswith("proxy: ")]
    assert refused
    assert all(s.status is Status.MISSING and not s.detail for s in refused)


def test_shards_cover_every_rollout_once(first, folder, cache, tmp_path):
    outs = [tmp_path / str(i) for i in (1, 2, 3)]
    for i, out in enumerate(outs, start=1):
        run.score([folder], ["worldmark"], out=out, cache=cache, shard=(i, 3))
    scores = run.read_scorecards(outs)
    assert sorted(texts(scores)) == sorted(texts(first.scores))
    assert run.boards(scores) == tuple(first.tables)


def test_a_record_in_two_folders_counts_once(first):
    assert texts(run.read_scorecards([first.out, first.out])) == texts(first.scores)


def test_a_killed_run_goes_on_and_gives_the_same_bytes(first, folder, cache, tmp_path):
    out, fresh = tmp_path / "out", tmp_path / "cache"
    call = [sys.executable, "-m", "wmb_fast", "score", str(folder), "--protocol", "worldmark", "--out", str(out)]
    process = subprocess.Popen([*call, "--cache", str(fresh), "--jobs", "1"], stderr=subprocess.DEVNULL)
    limit = time.monotonic() + 60
    while not any((out / "parts").glob("[!.]*.jsonl")) and time.monotonic() < limit:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    kept = len(list((out / "parts").glob("[!.]*.jsonl")))
    assert 1 <= kept < 4
    assert not (out / "scorecard.jsonl").exists()
    seen = []
    run.score([folder], ["worldmark"], out=out, cache=fresh, jobs=2, watch=seen.append)
    assert sorted(p.how for p in seen if p.rollout) == ["kept"] * kept + ["scored"] * (4 - kept)
    assert content(out) == content(first.out)
    assert not list(out.rglob("*.tmp"))


def test_a_damaged_part_is_made_anew_and_reported(first, folder, cache, tmp_path):
    shutil.copytree(first.out, tmp_path / "out")
    truncate(next((tmp_path / "out" / "parts").iterdir()), 0.7)
    seen = []
    run.score([folder], ["worldmark"], out=tmp_path / "out", cache=cache, watch=seen.append)
    assert [p.how for p in seen if p.notes] == ["scored"]
    assert content(tmp_path / "out") == content(first.out)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"protocols": ["nosuch"]}, "protocols must be among worldmark, r2m, worldmembench, opis, got 'nosuch'"),
        ({"protocols": []}, "protocols must name at least one"),
        ({"engine": "ray"}, "engine must be local, the one engine of this version, got 'ray'"),
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"shard": (3, 2)}, "shard must be i/n"),
        ({"plan": "no/such/plan"}, "no/such/plan"),
    ],
)
def test_a_wrong_call_raises_before_anything_is_written(folder, tmp_path, change, sentence):
    call = {
        "paths": [folder],
        "protocols": ["worldmark"],
        "out": tmp_path / "out",
        "cache": tmp_path / "cache",
        **change,
    }
    with pytest.raises(WmbError, match=sentence):
        run.score(call.pop("paths"), call.pop("protocols"), **call)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("what", ["out", "cache"])
def test_a_folder_that_cannot_be_written_raises_at_once(folder, tmp_path, what):
    (tmp_path / "file").write_text("")
    call = {"out": tmp_path / "out", "cache": tmp_path / "cache", what: tmp_path / "file" / "x"}
    with pytest.raises(ArgumentError, match=f"{what} must be a folder that can be written"):
        run.score([folder], ["worldmark"], **call)


def test_an_unexpected_error_in_one_rollout_stops_no_other(folder, cache, tmp_path, monkeypatch):
    from wmb_fast.protocols import worldmark

    real = worldmark.score

    def broken(evidence, **options):
        if evidence.facts.rollout.endswith("001_006") and evidence.facts.model == "Beta":
            raise ZeroDivisionError("an error nobody expected")
        return real(evidence, **options)

    monkeypatch.setattr(worldmark, "score", broken)
    outcome = run.score([folder], ["worldmark"], out=tmp_path, cache=cache)
    (failed,) = [s for s in outcome.scores if s.metric == WHOLE_ROLLOUT]
    assert failed.reason.startswith("internal_error: ZeroDivisionError in test_run.py")
    assert len({s.rollout for s in outcome.scores if s.value is not None}) == 3


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half", None])
def test_a_board_of_damaged_curves_says_so(folder, cache, tmp_path, content):
    run.score([folder / "Alpha"], ["worldmark"], out=tmp_path / "out", cache=cache, compat=True)
    damaged = sorted((tmp_path / "out" / "curves").iterdir())[0]
    damaged.write_bytes(damaged.read_bytes()[:-40] if content is None else content)
    with pytest.raises(FileFormatError, match=r"^board: .*npz must be whole \(score .* again\), got "):
        run.read_scorecards([tmp_path / "out"])


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"worldmark"', b'["x"]'), (b'"estimators": [', b'"estimators": [5, '), (b'"reason": "', b'"reason": "\xff')],
)
def test_a_line_that_is_no_record_is_named(first, tmp_path, old, new):
    text = (first.out / "scorecard.jsonl").read_bytes()
    assert old in text
    (tmp_path / "scorecard.jsonl").write_bytes(text.replace(old, new, 1))
    with pytest.raises(FileFormatError, match=r"^board: the scorecard must hold one record a line, got .*line 1"):
        run.read_scorecards([tmp_path])
