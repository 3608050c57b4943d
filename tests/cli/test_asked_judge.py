# SPDX-License-Identifier: Apache-2.0
"""A judge asked from the command line: its reply is scored; while it is dead nothing is lost or asked twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from estimators.endpoints import Endpoint, completion
from protocols.test_worldmembench_dynamic import items, reply

from wmb_fast import cli, run


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("WMB_FAST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("WMB_FAST_OFFLINE", raising=False)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    served = Endpoint()
    yield served
    served.close()


def render(tmp_path: Path, case: str) -> Path:
    """A rollout with a checklist."""
    folder = tmp_path / "data/dynamic_memory/lingbot/lr_hold_sym_0p5dpf" / case
    size = ["--seconds", "4", "--fps", "4", "--size", "64x48", "--seed", case[-1]]
    assert cli.answer(["world", "lr_hold", *size, "-o", str(folder)]) == 0
    (folder / "manifest.json").unlink()
    (folder / "video.checklist.json").write_text(json.dumps(items()))
    return folder


def test_a_judge_is_asked_once_and_its_reply_scored(
    endpoint: Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for case in ("case_001", "case_002"):
        render(tmp_path, case)
    ask = ["prompt", str(tmp_path / "data"), "-o", str(tmp_path / "prompts"), "--ask", endpoint.url, "--judge", "j-7b"]
    good = (200, completion(json.dumps(reply())))
    endpoint.answers = [good, (500, {})]  # it dies after the first
    capsys.readouterr()
    assert cli.answer(ask) == 1
    printed = capsys.readouterr().out
    assert "not asked" in printed
    assert "judge unreachable: " in printed
    assert len(list((tmp_path / "data").rglob("video.judge.json"))) == 1
    endpoint.answers = [good]
    before = len(endpoint.asked)
    assert cli.answer(ask) == 0
    assert len(endpoint.asked) == before + 1  # the first was not asked again
    assert cli.answer(ask) == 0
    assert len(endpoint.asked) == before + 1
    [message] = endpoint.asked[-1]["messages"]
    assert [part["type"] for part in message["content"]] == ["text", *["image_url"] * 9]

    out = tmp_path / "out"
    call = ["score", str(tmp_path / "data"), "--protocol", "worldmembench", "--out", str(out)]
    assert cli.answer([*call, "--cache", str(tmp_path / "cache")]) == 0
    values = [s.value for s in run.read_scorecards([out]) if s.metric == "dynamic_overall"]
    assert values == [1.0, 1.0]


def test_a_reply_that_is_there_is_left_alone(endpoint: Endpoint, tmp_path: Path) -> None:
    folder = render(tmp_path, "case_001")
    (folder / "video.judge.json").write_text("mine")
    ask = ["prompt", str(tmp_path / "data"), "-o", str(tmp_path / "prompts"), "--ask", endpoint.url, "--judge", "j-7b"]
    assert cli.answer(ask) == 0
    assert (folder / "video.judge.json").read_text() == "mine"
    assert endpoint.asked == []


GOOD = (200, completion(json.dumps(reply())))


def score(tmp_path: Path, url: str, out: str = "out", cache: str = "cache") -> int:
    call = ["score", str(tmp_path / "data"), "--protocol", "worldmembench", "--out", str(tmp_path / out)]
    return cli.answer([*call, "--cache", str(tmp_path / cache), "--jobs", "1", "--ask", url, "--judge", "j-7b"])


def overall(tmp_path: Path, out: str = "out") -> list[tuple[float | None, str, str]]:
    records = run.read_scorecards([tmp_path / out])
    return [(s.value, s.status.value, s.reason) for s in records if s.metric == "dynamic_overall"]


UNREACHABLE = (None, "missing", "judge: judge unreachable")


def test_a_run_asks_and_goes_on_when_the_judge_is_back(
    endpoint: Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for case in ("case_001", "case_002"):
        render(tmp_path, case)
    endpoint.answers = [GOOD, (500, {})]
    assert score(tmp_path, endpoint.url) == 1
    assert overall(tmp_path) == [(1.0, "ok", ""), UNREACHABLE]
    assert f"judge unreachable: {endpoint.url}: it answered 500" in capsys.readouterr().err
    assert cli.answer(["verify", str(tmp_path / "out")]) == 0  # it says the truth of what it has
    asked = len(endpoint.asked)
    endpoint.answers = [GOOD]
    assert score(tmp_path, endpoint.url) == 0
    assert overall(tmp_path) == [(1.0, "ok", "")] * 2
    assert len(endpoint.asked) == asked + 1
    [message] = endpoint.asked[-1]["messages"]
    assert [part["type"] for part in message["content"]] == ["text", *["image_url"] * 9]
    # From the transcripts alone: another machine's cache, no network.
    monkeypatch.setenv("WMB_FAST_OFFLINE", "1")
    assert score(tmp_path, "http://127.0.0.1:9/v1", "again", "other") == 0
    assert (tmp_path / "again/scorecard.jsonl").read_bytes() == (tmp_path / "out/scorecard.jsonl").read_bytes()
    assert cli.answer(["verify", str(tmp_path / "again")]) == 0
    assert len(endpoint.asked) == asked + 1
    monkeypatch.delenv("WMB_FAST_OFFLINE")
    # What `prompt` asks is the same question.
    ask = ["prompt", str(tmp_path / "data"), "-o", str(tmp_path / "prompts"), "--ask", endpoint.url, "--judge", "j-7b"]
    assert cli.answer(ask) == 0
    assert len(endpoint.asked) == asked + 1


@pytest.mark.parametrize(
    ("answers", "found", "code", "times"),
    [
        ([(401, {})], UNREACHABLE, 1, 1),
        ([(404, {})], UNREACHABLE, 1, 1),
        ([(429, {})], UNREACHABLE, 1, 4),
        ([(500, {})], UNREACHABLE, 1, 4),
        ([(429, {}), (500, {}), GOOD], (1.0, "ok", ""), 0, 3),
        ([(200, b'{"choices": [{"mess'), GOOD], (1.0, "ok", ""), 0, 2),  # cut off once
        ([(200, b'{"choices": [{"mess')], "estimator error: FileFormatError: judge: ", 1, 4),
        ([(200, b"<html>sign in</html>")], "must answer with JSON, got b'<html>", 1, 4),
        ([(200, {"error": "no such model"})], "must answer with a chat completion, got KeyError", 1, 1),
        ([(200, completion("The event starts, and yes to all."))], "not_json: the reply is no JSON object", 1, 1),
        ([(200, completion(json.dumps(reply())[:-40]))], "not_json: the reply is no JSON object", 1, 1),
    ],
)
def test_what_a_broken_judge_leaves_in_the_scorecard(
    endpoint: Endpoint, tmp_path: Path, answers: list[tuple[int, Any]], found: Any, code: int, times: int
) -> None:
    render(tmp_path, "case_001")
    endpoint.answers = answers
    assert score(tmp_path, endpoint.url) == code
    assert len(endpoint.asked) == times
    [(value, status, reason)] = overall(tmp_path)
    if isinstance(found, str):
        assert value is None
        assert found in reason
        assert status == ("missing" if "not_json" in found else "error")
    else:
        assert (value, status, reason) == found


def test_the_call_says_both_where_and_whom(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.answer(["score", str(tmp_path), "--protocol", "worldmembench", "--ask", "http://x/v1"]) == 2
    assert capsys.readouterr().err == "judge: call must have both --ask URL and --judge MODEL, got one of them\n"
