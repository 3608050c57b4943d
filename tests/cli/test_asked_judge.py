# SPDX-License-Identifier: Apache-2.0
"""A judge asked from the command line: its reply is scored; while it is dead nothing is lost or asked twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

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


def test_a_judge_is_asked_once_and_its_reply_scored(
    endpoint: Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for case in ("case_001", "case_002"):
        folder = tmp_path / "data/dynamic_memory/lingbot/lr_hold_sym_0p5dpf" / case
        size = ["--seconds", "4", "--fps", "4", "--size", "64x48", "--seed", case[-1]]
        assert cli.answer(["world", "lr_hold", *size, "-o", str(folder)]) == 0
        (folder / "manifest.json").unlink()
        (folder / "video.checklist.json").write_text(json.dumps(items()))
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
    folder = tmp_path / "data/dynamic_memory/lingbot/lr_hold_sym_0p5dpf/case_001"
    size = ["--seconds", "4", "--fps", "4", "--size", "64x48"]
    assert cli.answer(["world", "lr_hold", *size, "-o", str(folder)]) == 0
    (folder / "manifest.json").unlink()
    (folder / "video.checklist.json").write_text(json.dumps(items()))
    (folder / "video.judge.json").write_text("mine")
    ask = ["prompt", str(tmp_path / "data"), "-o", str(tmp_path / "prompts"), "--ask", endpoint.url, "--judge", "j-7b"]
    assert cli.answer(ask) == 0
    assert (folder / "video.judge.json").read_text() == "mine"
    assert endpoint.asked == []
