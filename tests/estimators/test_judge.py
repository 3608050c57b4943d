# SPDX-License-Identifier: Apache-2.0
"""A judge on 127.0.0.1: what it is sent, what is kept, what happens when it is busy, broken or gone."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimators.endpoints import Endpoint, completion

from wmb_fast._walls.errors import ArgumentError, FileFormatError
from wmb_fast.estimators.judge import Judge, JudgeUnreachableError, Transcript

PICTURE = np.random.default_rng(0).integers(0, 256, (9, 14, 3), dtype=np.uint8)


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.delenv("WMB_FAST_OFFLINE", raising=False)
    monkeypatch.delenv("WMB_FAST_JUDGE_KEY", raising=False)
    served = Endpoint()
    yield served
    served.close()


def judge(url: str, folder: Path, **settings: Any) -> Judge:
    return Judge(url, "judge-7b", folder=folder, **{"pause": 0.0, "timeout": 10.0, **settings})


def read(reply: str) -> int:
    """As a protocol reads replies."""
    score = json.loads(reply)["score"]
    if score not in range(1, 6):
        raise ValueError(f"score must be from 1 to 5, got {score}")
    return int(score)


def test_what_is_sent_and_kept(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WMB_FAST_JUDGE_KEY", "secret-word")
    found = judge(endpoint.url, tmp_path, seed=3).transcript("Which of the two?", [PICTURE, PICTURE[:, ::-1]])
    assert (found.reply, found.model, found.replayed) == ('{"score": 4}', "judge-7b-2026", False)
    (asked,) = endpoint.asked
    assert (asked["model"], asked["temperature"], asked["seed"]) == ("judge-7b", 0, 3)
    (message,) = asked["messages"]
    assert message["role"] == "user"
    words, first, second = message["content"]
    assert words == {"type": "text", "text": "Which of the two?"}
    for sent, picture in ((first, PICTURE), (second, PICTURE[:, ::-1])):
        kind, data = sent["image_url"]["url"].split(",")
        assert kind == "data:image/png;base64"
        assert (decoded(base64.b64decode(data)) == picture).all()
    assert endpoint.headers[0]["Authorization"] == "Bearer secret-word"
    (file,) = tmp_path.iterdir()
    assert file == found.path
    assert "secret-word" not in file.read_text()
    kept = json.loads(file.read_text())
    assert (kept["asked"]["prompt"], kept["reply"]) == ("Which of the two?", found.reply)


def decoded(png: bytes) -> np.ndarray[Any, Any]:
    cv2 = pytest.importorskip("cv2")
    bgr = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR)
    return np.asarray(bgr[..., ::-1])


def test_transcripts_are_replayed_without_a_network(endpoint: Endpoint, tmp_path: Path) -> None:
    first = judge(endpoint.url, tmp_path).transcript("a", [PICTURE], valid=read)
    gone = judge("http://127.0.0.1:9/v1", tmp_path, tries=1)
    again = gone.transcript("a", [PICTURE], valid=read)
    assert (again.reply, again.digest, again.replayed) == (first.reply, first.digest, True)
    assert len(endpoint.asked) == 1
    other = PICTURE.copy()
    other[0, 0, 0] ^= 1
    for prompt, pictures in (("b", [PICTURE]), ("a", [other]), ("a", [])):
        with pytest.raises(JudgeUnreachableError, match=r"^judge unreachable: "):
            gone.ask(prompt, pictures)
    with pytest.raises(JudgeUnreachableError):
        judge("http://127.0.0.1:9/v1", tmp_path, tries=1, seed=1).ask("a", [PICTURE])


def test_offline_only_what_was_asked_before(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(endpoint.url, tmp_path).ask("a")
    monkeypatch.setenv("WMB_FAST_OFFLINE", "1")
    assert judge(endpoint.url, tmp_path).ask("a") == '{"score": 4}'
    with pytest.raises(JudgeUnreachableError, match="WMB_FAST_OFFLINE forbids"):
        judge(endpoint.url, tmp_path).ask("b")
    assert len(endpoint.asked) == 1


def test_a_busy_judge_is_asked_again(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    endpoint.answers = [(429, {}), (503, {}), (200, completion("yes"))]
    assert judge(endpoint.url, tmp_path, pause=2.0).ask("a") == "yes"
    assert pauses == [2.0, 4.0]
    assert len(endpoint.asked) == 3


def test_the_pause_that_a_judge_asks_for_is_kept(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    endpoint.told, endpoint.answers = {"Retry-After": "7"}, [(429, {}), (200, completion("yes"))]
    assert judge(endpoint.url, tmp_path, pause=2.0).ask("a") == "yes"
    assert pauses == [7.0]
    endpoint.told, endpoint.answers = {"Retry-After": "3600"}, [(503, {}), (200, completion("yes"))]
    assert judge(endpoint.url, tmp_path, pause=2.0).ask("b") == "yes"
    assert pauses[1:] == [60.0]  # no longer than that


def test_a_dead_judge_is_tried_once_a_question_until_it_answers(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.answers = [(500, {})]
    asks = judge(endpoint.url, tmp_path, tries=3)
    for prompt, times in (("a", 3), ("b", 4), ("c", 5)):
        with pytest.raises(JudgeUnreachableError):
            asks.ask(prompt)
        assert len(endpoint.asked) == times
    endpoint.answers = [(200, completion("yes")), (500, {})]
    assert asks.ask("a") == "yes"
    with pytest.raises(JudgeUnreachableError, match=", 3 times"):
        asks.ask("b")


def test_without_an_endpoint_transcripts_are_replayed(endpoint: Endpoint, tmp_path: Path) -> None:
    assert judge(endpoint.url, tmp_path, seed=2).ask("a") == '{"score": 4}'
    replays = Judge(None, "judge-7b", folder=tmp_path, seed=2)
    assert replays.settings == judge(endpoint.url, tmp_path, seed=2).settings
    assert replays.ask("a") == '{"score": 4}'
    with pytest.raises(JudgeUnreachableError, match="nobody is to be asked, and it was never asked this"):
        replays.ask("b")


def test_a_run_that_stopped_at_a_dead_judge_goes_on(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.answers = [(200, completion("yes")), (500, {}), (500, {}), (200, completion("no"))]
    asks = judge(endpoint.url, tmp_path, tries=2)
    assert asks.ask("a") == "yes"
    with pytest.raises(JudgeUnreachableError, match=r"it answered 500 .*, 2 times"):
        asks.ask("b")
    assert [asks.transcript(p) for p in "ab"] == [
        Transcript("yes", *_rest(asks, "a"), True, tmp_path / f"{_rest(asks, 'a')[0]}.json"),
        Transcript("no", *_rest(asks, "b"), False, tmp_path / f"{_rest(asks, 'b')[0]}.json"),
    ]
    assert len(endpoint.asked) == 4  # "a" was not asked twice


def _rest(asks: Judge, prompt: str) -> tuple[str, str]:
    return asks._digest(prompt, []), "judge-7b-2026"


def test_a_question_that_is_refused_is_not_asked_again(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.answers = [(401, {})]
    with pytest.raises(JudgeUnreachableError, match="it answered 401"):
        judge(endpoint.url, tmp_path).ask("a")
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        b"[]",
        b"{}",
        {"choices": []},
        completion(None),
        completion([{"text": "x"}]),
        completion("\ud800"),  # half a character
        pytest.param(b"[" * 100_000 + b"]" * 100_000, id="deep"),
        pytest.param(b'{"n": ' + b"9" * 5000 + b"}", id="a long number"),
    ],
)
def test_answers_that_are_no_completion(endpoint: Endpoint, tmp_path: Path, answer: Any) -> None:
    endpoint.answers = [(200, answer)]
    with pytest.raises(FileFormatError, match=r"^judge: http://127\.0\.0\.1:\d+/v1 must answer with "):
        judge(endpoint.url, tmp_path).ask("a")
    assert list(tmp_path.iterdir()) == []


def test_a_reply_the_protocol_refuses_is_kept_for_the_eye_and_asked_again(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.answers = [(200, completion('{"score": 9}')), (200, completion('{"score": 5}'))]
    asks = judge(endpoint.url, tmp_path)
    with pytest.raises(ValueError, match="score must be from 1 to 5, got 9"):
        asks.transcript("a", valid=read)
    assert [path.name.endswith(".refused.json") for path in tmp_path.iterdir()] == [True]
    assert asks.transcript("a", valid=read).reply == '{"score": 5}'


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"digest": "0", "reply": "x"}'])
def test_a_damaged_transcript_is_asked_for_again(endpoint: Endpoint, tmp_path: Path, damage: bytes) -> None:
    asks = judge(endpoint.url, tmp_path)
    asks.transcript("a").path.write_bytes(damage)
    assert asks.ask("a") == '{"score": 4}'
    assert len(endpoint.asked) == 2


def test_a_reply_that_was_edited_is_asked_for_again(endpoint: Endpoint, tmp_path: Path) -> None:
    """It stands twice, as it is read and in the whole answer."""
    asks = judge(endpoint.url, tmp_path)
    path = asks.transcript("a").path
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "reply": '{"score": 5}'}))
    assert asks.ask("a") == '{"score": 4}'
    assert len(endpoint.asked) == 2
    assert json.loads(path.read_text())["reply"] == '{"score": 4}'


def test_an_answer_without_end_is_left(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dripping() -> Iterator[bytes]:
        for _ in range(100):
            time.sleep(0.05)
            yield b" "

    monkeypatch.setattr("wmb_fast.estimators.endpoint.MOST_BYTES", 100_000)
    endpoint.answers = [(200, b" " * 200_000)]
    with pytest.raises(JudgeUnreachableError, match="its answer is longer than 100000 bytes"):
        judge(endpoint.url, tmp_path, tries=1).ask("a")
    endpoint.answers = [(200, dripping())]
    with pytest.raises(JudgeUnreachableError, match="its answer took longer than"):
        judge(endpoint.url, tmp_path, tries=1, timeout=0.3).ask("a")


def test_the_key_goes_to_no_other_address(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """urllib would send it on to wherever a server points."""
    other = Endpoint()
    try:
        monkeypatch.setenv("WMB_FAST_JUDGE_KEY", "a secret\n")  # white space at its end is no part of it
        for status in (301, 302, 303, 307, 308):
            endpoint.answers, endpoint.told = [(status, b"")], {"Location": f"{other.url}/chat/completions"}
            with pytest.raises(JudgeUnreachableError, match=f"it answered {status}"):
                judge(endpoint.url, tmp_path).ask("a")
        assert endpoint.headers[0]["Authorization"] == "Bearer a secret"
        assert other.asked == []
    finally:
        other.close()


def test_what_a_server_says_of_a_refusal_is_told_without_the_key(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WMB_FAST_JUDGE_KEY", "sk-1")
    asks = judge(endpoint.url, tmp_path)
    for body, words in (
        ({"error": {"message": "no model m\nhere"}}, "400 Bad Request: no model m here"),
        ({"error": "wrong key sk-1"}, "400 Bad Request: wrong key …"),
        (b"too long", "400 Bad Request: too long"),
        (b"<html>", "400 Bad Request"),
    ):
        endpoint.answers = [(400, body)]
        with pytest.raises(JudgeUnreachableError) as caught:
            asks.ask("a")
        assert str(caught.value).endswith(f"it answered {words}")


@pytest.mark.parametrize("key", ["two\nlines", "ключ", "a\x01"])
def test_a_key_that_fits_into_no_header_is_not_told(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WMB_FAST_JUDGE_KEY", key)
    with pytest.raises(ArgumentError, match="WMB_FAST_JUDGE_KEY must be one line of ASCII") as caught:
        Judge("http://x", "m")
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("http://", "have the form http://host:port/v1"),
        ("http://[::1/v1", "have the form http://host:port/v1"),
        ("http://a b/v1", "have the form http://host:port/v1"),
        ("http://a/v1\n", "have the form http://host:port/v1"),
        ("http://a:port/v1", "have the form http://host:port/v1"),
        ("http://a:99999/v1", "have the form http://host:port/v1"),
        ("http://me:secret@a/v1", "hold no password, got one"),
        ("http://a/v1?version=1", "end with its path"),
    ],
)
def test_addresses_that_are_none(address: str, says: str) -> None:
    with pytest.raises(ArgumentError, match=f"^judge: endpoint must {re.escape(says)}"):
        Judge(address, "m")


def test_wrong_settings(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="endpoint must begin with http"):
        Judge("localhost:8000", "m")
    with pytest.raises(ArgumentError, match="tries must be at least 1"):
        Judge("http://x", "m", tries=0)
    with pytest.raises(ArgumentError, match=r"pictures must be \(H, W, 3\) uint8"):
        judge("http://127.0.0.1:9", tmp_path).ask("a", [np.zeros((4, 4), np.uint8)])


def test_a_folder_that_cannot_be_written(endpoint: Endpoint, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match="folder must be a folder that can be written"):
        judge(endpoint.url, tmp_path / "file").ask("a")
