# SPDX-License-Identifier: Apache-2.0
"""A run folder is held to its videos: it verifies, and whatever was changed is told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clips import write_clip

from wmb_fast import run
from wmb_fast._walls.errors import FileFormatError
from wmb_fast.cli import main
from wmb_fast.estimators import flow_dis


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """A folder of clips, and what a run made of it."""
    root = tmp_path_factory.mktemp("verified")
    for c, case in enumerate(("001_006", "002_006")):
        write_clip(root / "given" / "Alpha" / f"{case}.mp4", seed=c)
    run.score([root / "given"], ["worldmark"], out=root / "out", cache=cache)
    return root


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy"))


def verified(root: Path, **options: Any) -> run.Verified:
    return run.verify(root / "out", paths=[root / "given"], **options)


def test_a_true_folder(made: Path) -> None:
    found = run.verify(made / "out")  # from where the videos were
    assert found.differences == []
    assert (found.rollouts, found.channels) == (2, 6)
    assert found.records > 10


def test_the_command(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(made / "out"), "--from", str(made / "given")])
    assert ended.value.code == 0
    assert "no differences" in capsys.readouterr().out


def edited(path: Path, change: Callable[[str], str]) -> None:
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))


def test_a_changed_score_is_told_and_so_is_its_board(copied: Path) -> None:
    lines = (copied / "out" / "scorecard.jsonl").read_text().splitlines()
    k, record = next((k, json.loads(line)) for k, line in enumerate(lines) if json.loads(line)["value"] is not None)
    record["value"] += 1e-12
    lines[k] = json.dumps(record)
    (copied / "out" / "scorecard.jsonl").write_text("\n".join(lines) + "\n")
    told = verified(copied).differences
    assert [(d.rollout, d.what.split()[-1]) for d in told if d.rollout] == [(record["rollout"], "value")]
    assert record["metric"] in told[0].what


def test_another_video_is_told(copied: Path) -> None:
    write_clip(copied / "given" / "Alpha" / "002_006.mp4", seed=9)
    told = verified(copied).differences
    assert {d.rollout for d in told} == {"given/Alpha/002_006"}
    assert {"video_sha256", "evidence flow values"} <= {d.what for d in told}


def test_a_video_that_is_gone_is_told(copied: Path) -> None:
    (copied / "given" / "Alpha" / "002_006.mp4").unlink()
    told = verified(copied).differences
    assert ("given/Alpha/002_006", "rollout", "is there", "none") in [
        (d.rollout, d.what, d.recorded, d.found) for d in told
    ]


def test_another_estimator_is_told(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_dis, "VERSION", 99)
    told = {d.what for d in verified(copied).differences if d.rollout == "given/Alpha/001_006"}
    assert "evidence flow fingerprint" in told
    assert "evidence flow values" not in told  # other name, same numbers
    assert any(what.endswith(" estimators") for what in told)


@pytest.mark.parametrize(
    ("library", "what"),
    [
        ("numpy", "evidence features fingerprint"),
        ("cv2", "evidence flow fingerprint"),
        ("av", "decoder"),
    ],
)
def test_another_version_of_what_computes_is_told(
    copied: Path, monkeypatch: pytest.MonkeyPatch, library: str, what: str
) -> None:
    monkeypatch.setattr(f"{library}.__version__", "99.0")
    assert what in {d.what for d in verified(copied).differences if d.rollout == "given/Alpha/001_006"}


def test_a_changed_board_is_told(copied: Path) -> None:
    edited(copied / "out" / "board.json", lambda text: text.replace("Alpha", "Beta"))
    assert [d.what for d in verified(copied).differences] == ["board.json"]


def test_folders_that_cannot_be_verified(copied: Path, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"must be a run folder, got none \(no run\.json\)"):
        run.verify(tmp_path)
    (copied / "out" / "sources.json").unlink()
    with pytest.raises(FileFormatError, match=r"must say where the videos are, got none\. Say it with --from PATH"):
        run.verify(copied / "out")
    (copied / "out" / "run.json").write_text("{}")
    with pytest.raises(FileFormatError, match=r"run\.json must be what this version writes"):
        verified(copied)


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said["options"].pop("shard"),
        lambda said: said["options"].update(shard="x/y"),
        lambda said: said["options"].update(protocols=5),
        lambda said: said["options"].update(options=[1]),
        lambda said: said["options"].update(judge={"model": "m"}),
        lambda said: said.update(options=[]),
        lambda said: said.update(rollouts=7),
        lambda said: said["rollouts"][0].pop("rollout"),
        lambda said: said["rollouts"][0].update(evidence=3),
    ],
)
def test_a_run_file_that_was_changed_is_one_sentence(copied: Path, change: Callable[[Any], Any]) -> None:
    path = copied / "out" / "run.json"
    said = json.loads(path.read_text())
    change(said)
    path.write_text(json.dumps(said))
    with pytest.raises(FileFormatError, match=r"run\.json must be what this version writes, got "):
        verified(copied)
