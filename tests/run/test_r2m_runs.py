# SPDX-License-Identifier: Apache-2.0
"""R2M-Bench from videos to boards: the known-answer world, real clips, and the pairs for metrics made elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wmb_fast import run
from wmb_fast.cli import answer
from wmb_fast.protocols.record import Score, Status
from wmb_fast.rollout.r2m_files import read_pairs
from wmb_fast.world import build

pytest.importorskip("cv2")
pytest.importorskip("av")


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A walk out and back, remembered and forgotten, and one that never returns."""
    folder = tmp_path_factory.mktemp("worlds")
    for name, plan, faults in (("good", "WS", {}), ("repainted", "WS", {"repainted_wall": 1.0}), ("away", "W", {})):
        build(plan, faults, folder / name, seconds=8, fps=8, size=(160, 96))
    return folder


@pytest.fixture(scope="module")
def made(worlds: Path, tmp_path_factory: pytest.TempPathFactory) -> run.Outcome:
    folder = tmp_path_factory.mktemp("run")
    return run.score([worlds], ["worldmark", "r2m"], out=folder / "out", cache=folder / "cache", jobs=1)


def of(scores: object, rollout: str, metric: str) -> Score:
    [found] = [s for s in scores if s.protocol == "r2m" and rollout in s.rollout and s.metric == metric]
    return found


def test_what_is_remembered_gains_and_what_is_repainted_gains_less(made: run.Outcome) -> None:
    for metric in ("psnr", "ssim", "place_similarity"):
        good, bad = (of(made.scores, f"{name}/", metric) for name in ("good", "repainted"))
        assert good.value is not None
        assert bad.value is not None
        assert good.value > 0.8, metric
        assert bad.value < good.value - 0.2, metric
        assert good.detail["memory_gain"] > 0
    assert not of(made.scores, "good/", "psnr").proxy
    assert of(made.scores, "good/", "place_similarity").proxy
    assert of(made.scores, "good/", "overall").detail["trajectory"] == "poses"


def test_a_walk_that_never_returns_says_so_and_its_other_protocol_is_scored(made: run.Outcome) -> None:
    records = [s for s in made.scores if "away/" in s.rollout]
    assert {s.status for s in records if s.protocol == "r2m"} == {Status.NOT_EVALUABLE}
    assert all(s.reason.startswith("no_revisit") for s in records if s.protocol == "r2m")
    assert any(s.value is not None for s in records if s.protocol == "worldmark")


def test_the_board_has_both_protocols(made: run.Outcome) -> None:
    assert [table.protocol for table in made.tables] == ["r2m", "worldmark"]
    text = (made.out / "board.md").read_text()
    assert "NMR SSIM" in text
    for line in (made.out / "scorecard.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=lambda token: pytest.fail(f"{token} in the scorecard"))


def test_metrics_made_elsewhere_are_taken_for_the_pairs_that_were_written(
    worlds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken" / "video.mp4"
    broken.parent.mkdir()
    broken.write_bytes(b"")
    folders = [str(broken.parent), str(worlds)]
    code = answer(["pairs", *folders, "-o", str(tmp_path / "pairs"), "--cache", str(tmp_path / "cache")])
    said = capsys.readouterr().out
    assert code == 1  # one of them has no pairs, and one cannot be read
    assert "no_revisit" in said
    assert "failed: open_video: path must be a video, got an empty file" in said
    [path] = [path for path in (tmp_path / "pairs").rglob("*.json") if "good" in str(path)]
    kinds, meta = read_pairs(path)
    assert meta["protocol"] == "r2m"
    level = {"revisit": 0.1, "baseline": 0.5, "short": 0.05}
    rows = {pair: level[kind] for kind in ("baseline", "short", "revisit") for pair in kinds[kind]}
    beside = worlds / "good" / "video.lpips.npz"
    try:
        np.savez(beside, pairs=np.array(list(rows)), lpips=np.array(list(rows.values())))
        again = run.score([worlds / "good"], ["r2m"], out=tmp_path / "out", cache=tmp_path / "cache", jobs=1)
    finally:
        beside.unlink()
    record = of(again.scores, "good", "lpips")
    assert record.value == pytest.approx((0.5 - 0.1) / (0.5 - 0.05), rel=1e-6)
    assert record.n_used == record.n_total


def test_published_numbers_of_a_run(worlds: Path, tmp_path: Path) -> None:
    made = run.score([worlds / "good"], ["r2m"], out=tmp_path / "out", cache=tmp_path / "cache", jobs=1, compat=True)
    record = of(made.scores, "good", "ssim")
    assert record.compat
    assert record.value == round(record.value or 0.0, 6)
    assert of(made.scores, "good", "overall").status is Status.OK
    assert run.score([worlds / "good"], ["r2m"], out=tmp_path / "out", cache=tmp_path / "cache", compat=True) == made


def test_a_real_clip_that_returns_gains_and_one_that_does_not_gains_nothing(shared: Path, tmp_path: Path) -> None:
    clips = [shared / "data" / "rollouts" / "worldmark" / f"{name}.mp4" for name in ("m6_good", "m6_bad")]
    made = run.score(clips, ["r2m"], out=tmp_path / "out", cache=tmp_path / "cache", jobs=2)
    for metric in ("psnr", "ssim", "place_similarity"):
        good, bad = (of(made.scores, name, metric).value for name in ("m6_good", "m6_bad"))
        assert good is not None
        assert bad is not None
        assert good > 0.8
        assert abs(bad) < 0.3
