# SPDX-License-Identifier: Apache-2.0
"""The command line: exit codes, one sentence for a wrong call, and nothing left out in silence."""

from __future__ import annotations

import functools
import importlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest
from clips import FPS, SECONDS, there_and_back, truncate, write_clip
from rich.console import Console

from wmb_fast import __version__, cli, run
from wmb_fast.rollout.video import write_video
from wmb_fast.screen import Screen


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cli-cache")


@pytest.fixture(scope="session")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("given") / "rollouts"
    write_clip(folder / "Alpha" / "001_006.mp4", seed=1)
    return folder


@pytest.fixture
def wmb(capsys, cache):
    """Calls the command line in this process: (exit code, stdout, stderr)."""

    def call(*arguments):
        code = cli.answer([str(a) for a in arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


@pytest.fixture
def score(wmb, cache, tmp_path):
    def call(*arguments, out=tmp_path / "out"):
        return wmb("score", *arguments, "--protocol", "worldmark", "--out", out, "--cache", cache)

    return call


def one_sentence(err: str) -> bool:
    return len(err.strip().splitlines()) == 1 and "Traceback" not in err


def records(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / "scorecard.jsonl").read_text().splitlines()]


def test_a_good_rollout_is_scored_and_shown(score, good, tmp_path):
    code, out, err = score(good)
    assert code == 0
    assert "Alpha/001_006" in out
    assert "~" in out
    assert str(tmp_path / "out" / "scorecard.jsonl") in out
    assert "[1/1] scored rollouts/Alpha/001_006" in err
    assert "\x1b[" not in out + err


def test_every_missing_metric_is_shown_with_its_reason(score, good, tmp_path):
    _, out, _ = score(good)
    empty = [r for r in records(tmp_path / "out") if r["value"] is None]
    assert empty
    for record in empty:
        assert record["reason"].split(": ")[0] in out
        assert record["metric"] in out


# One thing wrong with the file, and what the sentence about it must contain.
def empty(path):
    path.write_bytes(b"")


def unreadable(path):
    path.write_bytes(bytes(range(256)) * 64)


def audio_only(path):
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=8000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 8000
        for packet in (*stream.encode(frame), *stream.encode(None)):
            container.mux(packet)


def one_frame(path):
    write_video(path, there_and_back(0)[:1], fps=16)


def headless(path):
    truncate(write_clip(path, seconds=2), 0.02)


BAD = [empty, unreadable, audio_only, one_frame, headless]


@pytest.mark.parametrize("spoil", BAD)
def test_a_bad_video_is_told_and_the_others_are_scored(score, good, tmp_path, spoil):
    copy = tmp_path / "rollouts"
    shutil.copytree(good, copy)
    spoil(copy / "Alpha" / "002_006.mp4")
    code, out, err = score(copy)
    assert code == 1
    assert "Traceback" not in out + err
    assert "Alpha/002_006" in out
    scored = {r["rollout"] for r in records(tmp_path / "out") if r["value"] is not None}
    assert scored == {"rollouts/Alpha/001_006"}
    assert all(r["reason"] for r in records(tmp_path / "out") if r["rollout"] == "rollouts/Alpha/002_006")


@pytest.mark.parametrize("spoil", BAD)
def test_a_bad_video_alone_exits_with_1_too(score, tmp_path, spoil):
    (tmp_path / "in").mkdir()
    spoil(tmp_path / "in" / "002_006.mp4")
    code, _, err = score(tmp_path / "in" / "002_006.mp4")
    assert code == 1
    assert "Traceback" not in err


def test_a_truncated_video_gives_what_decodes_and_says_so(score, tmp_path):
    clip = write_clip(tmp_path / "in" / "001_006.mkv", seed=3)
    truncate(clip, 0.8)
    code, out, err = score(tmp_path / "in")
    document = json.loads((tmp_path / "out" / "run.json").read_text())
    assert 0 < document["rollouts"][0]["frames"] < FPS * SECONDS
    assert "truncated" in out + err
    assert code in (0, 1)
    assert code == (0 if any(r["value"] is not None for r in records(tmp_path / "out")) else 1)


def test_a_plan_longer_than_the_video_is_that_rollouts_error(score, good, tmp_path):
    plan = tmp_path / "long.yaml"
    plan.write_text("steps: [forward, back]\nboundaries: [0, 400, 800]\n")
    code, out, err = score(good, "--plan", plan)
    assert code == 1
    assert f"{FPS * SECONDS} frames" in out
    assert "Traceback" not in err


WRONG = {
    "unknown protocol": (
        ["--protocol", "nosuch"],
        "protocols must be among worldmark, r2m, worldmembench, opis, got 'nosuch'",
    ),
    "unknown plan": (["--plan", "nosuch-plan"], "nosuch-plan"),
    "unknown option": (["--nosuch"], "--nosuch"),
    "unknown engine": (["--engine", "ray"], "engine must be local, the one engine of this version, got 'ray'"),
    "bad shard": (["--shard", "5/2"], "shard must be i/n"),
    "shard in words": (["--shard", "half"], "shard must be i/n"),
    "no jobs": (["--jobs", "0"], "jobs must be at least 1"),
    "jobs in words": (["--jobs", "many"], "--jobs"),
}


@pytest.mark.parametrize("arguments", WRONG.values(), ids=WRONG)
def test_a_wrong_call_is_one_sentence_and_exit_2(score, good, tmp_path, arguments):
    options, sentence = arguments
    code, out, err = score(good, *options)
    assert (code, out) == (2, "")
    assert one_sentence(err)
    assert sentence in err
    assert not (tmp_path / "out").exists()


def test_paths_without_a_video_are_a_wrong_call(score, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "notes.txt").write_text("no video")
    for path in ("empty", "texts", "not-there", "texts/notes.txt"):
        code, _, err = score(tmp_path / path)
        assert code == 2, path
        assert one_sentence(err)
        assert path.split("/")[-1] in err
    assert not (tmp_path / "out").exists()


EMPTY = ["score {} --protocol worldmark --out", "world WS --out", "demo --out", "board", "score"]


@pytest.mark.parametrize("call", EMPTY)
def test_an_empty_name_is_not_the_current_folder(wmb, good, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    code, _, err = wmb(*(part.format(good) for part in call.split()), "")
    assert code == 2
    assert one_sentence(err)
    assert "must be a path, got ''" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["--out", "--cache"])
def test_a_folder_that_cannot_be_written_is_a_wrong_call(wmb, good, tmp_path, what):
    (tmp_path / "file").write_text("")
    places = {"--out": tmp_path / "out", "--cache": tmp_path / "cache", what: tmp_path / "file" / "below"}
    code, _, err = wmb("score", good, "--protocol", "worldmark", *(a for item in places.items() for a in item))
    assert code == 2
    assert one_sentence(err)
    assert "can be written" in err


def test_without_a_protocol_the_call_is_wrong(wmb, good):
    code, _, err = wmb("score", good)
    assert code == 2
    assert one_sentence(err)
    assert "--protocol" in err


def test_require_official_exits_with_1_and_shows_no_proxy(score, good, tmp_path):
    code, out, _ = score(good, "--require-official")
    assert code == 1
    assert "official estimators were required" in out
    assert not re.search(r"~\d", out)
    assert all(r["value"] is None for r in records(tmp_path / "out"))


def test_the_board_prints_what_was_written(score, wmb, good, tmp_path):
    score(good)
    code, out, _ = wmb("board", tmp_path / "out")
    assert (code, out) == (0, (tmp_path / "out" / "board.md").read_text())
    code, out, _ = wmb("board", tmp_path / "out", "--json")
    assert (code, out) == (0, (tmp_path / "out" / "board.json").read_text())


def test_two_models_are_compared_with_their_coverage(score, wmb, good, tmp_path):
    copy = tmp_path / "rollouts"
    shutil.copytree(good, copy)
    shutil.copytree(good / "Alpha", copy / "Beta")
    write_clip(copy / "Beta" / "002_006.mp4", seed=4)
    score(copy)
    code, out, _ = wmb("board", tmp_path / "out", "--compare", "Alpha", "Beta")
    assert code == 0
    assert "only Beta" in out
    assert "in none of the differences" in out
    code, _, err = wmb("board", tmp_path / "out", "--compare", "Alpha", "Gamma")
    assert code == 2
    assert "'Gamma'" in err


@pytest.mark.parametrize("content", [None, "not json\n", '{"rollout": "x"}\n', "[]\n"])
def test_a_board_of_no_scorecard_is_a_wrong_call(wmb, tmp_path, content):
    if content is not None:
        (tmp_path / "scorecard.jsonl").write_text(content)
    code, _, err = wmb("board", tmp_path)
    assert code == 2
    assert one_sentence(err)


def test_the_version_is_printed(wmb):
    assert wmb("--version")[:2] == (0, f"wmb-fast {__version__}\n")


@pytest.mark.parametrize("arguments", [["--help"], ["score", "--help"], ["board", "--help"], []])
def test_help_is_no_error(wmb, arguments):
    code, out, err = wmb(*arguments)
    assert code == (0 if arguments else 2)
    assert "Usage" in out + err


def test_an_unknown_command_is_a_wrong_call(wmb):
    code, _, err = wmb("nosuch")
    assert code == 2
    assert one_sentence(err)


def test_doctor_knows_the_installation_and_the_answers(wmb, tmp_path):
    code, out, _ = wmb("doctor", "--check", "--cache", tmp_path)
    assert code == 0, out
    for fact in ("numpy", "SIMD", "cuda", "onnxruntime", str(tmp_path)):
        assert fact in out
    assert re.findall(r"^ok +(\w+):", out, re.M) == ["umeyama", "mutual_matches", "render", "decode"]
    assert "WRONG" not in out


def test_doctor_tells_a_cache_that_cannot_be_written(wmb, tmp_path):
    (tmp_path / "file").write_text("")
    code, out, _ = wmb("doctor", "--cache", tmp_path / "file" / "cache")
    assert code == 1
    assert "can be written" in out


def test_a_wrong_answer_fails_the_check(monkeypatch):
    doctor = importlib.import_module("wmb_fast.doctor")
    monkeypatch.setitem(doctor.QUESTIONS, "umeyama", lambda: (False, "off by a turn"))
    assert [c.name for c in doctor.checks() if not c.passed] == ["umeyama"]


def test_without_typer_one_sentence_names_the_extra(tmp_path):
    (tmp_path / "typer.py").write_text("raise ImportError('no typer here')")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    call = [sys.executable, "-c", "from wmb_fast.cli import main; main(['doctor'])"]
    result = subprocess.run(call, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 2
    assert one_sentence(result.stderr)
    assert "pip install 'wmb-fast[score]'" in result.stderr


def test_an_interrupt_keeps_what_is_done_and_leaves_at_once(good, tmp_path):
    for case in range(2, 7):
        shutil.copytree(good / "Alpha", tmp_path / "in" / f"Model{case}")
    call = ["score", str(tmp_path / "in"), "--protocol", "worldmark", "--out", str(tmp_path / "out"), "--jobs", "1"]
    command = [sys.executable, "-m", "wmb_fast", *call, "--cache", str(tmp_path / "cache")]
    heeding = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a background shell's children do not
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heeding) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "[1/5]" in line:
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
    assert process.returncode == 130
    assert "goes on from what is finished" in rest
    assert "Traceback" not in rest
    assert not (tmp_path / "out" / "scorecard.jsonl").exists()
    assert list((tmp_path / "out" / "parts").glob("[!.]*.jsonl"))


def test_a_world_is_rendered_with_faults_and_can_be_scored(wmb, score, tmp_path):
    options = ["--seconds", "3", "--fps", "8", "--size", "64x48", "-o", tmp_path / "world"]
    code, out, _ = wmb("world", "worldmark/06", "--fault", "stall=0.5", "--fault", "hard_cut", *options)
    assert code == 0
    assert str(tmp_path / "world") in out
    truth = json.loads((tmp_path / "world" / "truth.json").read_text())
    assert {f["name"]: f["strength"] for f in truth["faults"]} == {"stall": 0.5, "hard_cut": 0.4}
    code, out, _ = score(tmp_path / "world")
    assert code == 0, out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["worldmark/06", "--fault", "nosuch=1"], "fault must be one of"),
        (["worldmark/06", "--fault", "stall=much"], "strength"),
        (["worldmark/06", "--fault", "stall=7"], "stall must be above 0"),
        (
            ["worldmark/06", "--fault", "stall=0.2", "--fault", "stall"],
            "fault must be given once each, got stall",
        ),
        (["nosuch-plan"], "nosuch-plan"),
        (["worldmark/06", "--size", "large"], "size must be WIDTHxHEIGHT"),
    ],
)
def test_a_world_that_cannot_be_is_a_wrong_call(wmb, tmp_path, options, sentence):
    code, _, err = wmb("world", *options, "-o", tmp_path / "world")
    assert code == 2
    assert one_sentence(err)
    assert sentence in err
    assert not (tmp_path / "world").exists()


def test_the_help_of_world_names_every_fault() -> None:
    from wmb_fast.commands import _FAULT_HELP
    from wmb_fast.world import FAULTS

    assert all(name in _FAULT_HELP for name in FAULTS)


def test_what_stdout_cannot_show_is_spelled_out(good, cache, tmp_path):
    write_clip(tmp_path / "given" / "\u6df1\u5ea6" / "001_006.mp4", seed=1)
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    calls = (
        ["score", tmp_path / "given", "--protocol", "worldmark", "--out", tmp_path / "out", "--cache", cache],
        ["board", tmp_path / "out"],
    )
    for call in calls:
        done = subprocess.run([sys.executable, "-m", "wmb_fast", *call], env=ascii_only, capture_output=True)
        assert done.returncode == 0, done.stderr
        assert b"\\u6df1" in done.stdout


def test_a_reader_that_leaves_is_no_crash():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "wmb_fast", "--version"], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (cli.UNREAD, b"")


def test_names_are_no_markup_on_a_terminal():
    screen = Screen()
    screen.err = Console(file=io.StringIO(), force_terminal=True, width=80)
    with screen.progress() as watch:
        watch(run.Progress("[/red]model", "scored", (), 1, 2))
    assert "[/red]model" in screen.err.file.getvalue()
