# SPDX-License-Identifier: Apache-2.0
"""WorldMemBench from the command line: worlds with exact evidence, their folder layout, prompts, real clips."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from protocols.test_worldmembench_dynamic import items, reply

from wmb_fast import cli, run
from wmb_fast.rollout.masks import to_runs
from wmb_fast.rollout.png import write_png

LAYOUT = "data/dynamic_memory/lingbot/lr_hold_sym_0p5dpf/case_001"


@pytest.fixture
def wmb(capsys):
    """Calls the command line in this process: (exit code, stdout, stderr)."""

    def call(*arguments):
        code = cli.answer([str(a) for a in arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good and a faulty world, with their evidence."""
    root = tmp_path_factory.mktemp("worlds") / "w"
    common = ["--evidence", "--seconds", "8", "--fps", "4", "--size", "128x80"]
    for name, fault in (("good", []), ("squashed", ["--fault", "squashed_box"])):
        assert cli.answer(["world", "lrlr", *fault, *common, "-o", str(root / name / "lrlr")]) == 0
    return root


def columns(out: Path) -> dict[str, dict[str, float | None]]:
    [table] = json.loads((out / "board.json").read_text())["boards"]
    return {row["model"]: {name: cell["value"] for name, cell in row["cells"].items()} for row in table["models"]}


def test_worlds_are_scored_from_what_is_handed_in(wmb, worlds, tmp_path):
    out = tmp_path / "out"
    call = ("score", worlds, "--protocol", "worldmembench", "--out", out, "--cache", tmp_path / "cache")
    code, printed, _ = wmb(*call)
    assert code == 0
    found = columns(out)
    assert found["good"]["ObjGeo"] == found["good"]["EnvDepth"] == found["good"]["EnvRecon"] == 1
    assert found["good"]["ObjApp"] == pytest.approx(1)
    assert found["good"]["Rot"] == pytest.approx(0, abs=1e-9)
    assert found["squashed"]["ObjGeo"] < 0.8
    assert "hand in <video>.frame_quality.npz" in " ".join(printed.split())
    assert "1.000" in (out / "board.md").read_text()
    first = (out / "scorecard.jsonl").read_bytes()
    again = tmp_path / "again"
    wmb("score", worlds, "--protocol", "worldmembench", "--out", again, "--cache", tmp_path / "c2", "--jobs", "1")
    assert (again / "scorecard.jsonl").read_bytes() == first


def test_a_changed_channel_is_scored_anew(wmb, worlds, tmp_path):
    mine, out = tmp_path / "w", tmp_path / "out"
    shutil.copytree(worlds / "good", mine / "good")
    call = ("score", mine, "--protocol", "worldmembench", "--out", out, "--cache", tmp_path / "cache")
    wmb(*call)
    (mine / "good" / "lrlr" / "video.tracks.npz").unlink()
    wmb(*call)
    assert columns(out)["good"]["ObjGeo"] is None


def test_tracks_as_run_lengths_and_pictures(wmb, worlds, tmp_path):
    """What a tracker wrote as run lengths and PNG files is scored as its arrays are, and anew when a PNG changes."""
    mine, out = tmp_path / "w", tmp_path / "out"
    shutil.copytree(worlds / "squashed", mine / "squashed")
    folder = mine / "squashed" / "lrlr"
    call = ("score", mine, "--protocol", "worldmembench", "--out", out, "--cache", tmp_path / "cache")
    wmb(*call)
    before = columns(out)["squashed"]["ObjGeo"]
    assert 0 < before < 1
    with np.load(folder / "video.tracks.npz") as held:
        masks, found = held["masks"], held["found"]
        told = {name: held[name].tolist() for name in ("frames", "kinds", "found")}
    (folder / "video.tracks").mkdir()
    pairs = [list(zip(*row, strict=True)) for row in zip(masks, found, strict=True)]
    spelled = [[to_runs(mask) if has else None for mask, has in row] for row in pairs]
    for t, mask in enumerate(masks[:, -1]):
        spelled[t][-1] = f"video.tracks/{t}.png"
        write_png(folder / spelled[t][-1], np.repeat(mask[..., None] * np.uint8(255), 3, axis=-1))
    told |= {"size": list(masks.shape[2:]), "masks": spelled}
    (folder / "video.tracks.npz").unlink()
    (folder / "video.tracks.json").write_text(json.dumps(told))
    wmb(*call)
    assert len({s.rollout for s in run.read_scorecards([out])}) == 1  # the folder of masks is none
    assert columns(out)["squashed"]["ObjGeo"] == before
    write_png(folder / spelled[0][-1], np.zeros((*masks.shape[2:], 3), np.uint8))
    wmb(*call)
    assert columns(out)["squashed"]["ObjGeo"] < before  # not found where it was
    (folder / spelled[0][-1]).write_bytes(b"")
    wmb(*call)
    [record] = [s for s in run.read_scorecards([out]) if s.metric == "object_geometry"]
    assert record.value is None
    assert "video.tracks.json, masks[0][5]: mask must be a picture that can be read, got an empty file" in record.reason
    code, _, err = wmb("evidence", "check", folder / "video.tracks.json")
    assert code == 1
    assert "must be a picture that can be read" in err


def test_their_layout_with_a_judge(wmb, tmp_path):
    """A case of the release: prompt out, reply in, scores by category."""
    folder = tmp_path / LAYOUT
    common = ["--seconds", "4", "--fps", "4", "--size", "64x48"]
    assert wmb("world", "lr_hold", *common, "-o", folder)[0] == 0
    (folder / "manifest.json").unlink()
    code, printed, _ = wmb("prompt", tmp_path / "data", "-o", tmp_path / "prompts")
    assert code == 1
    assert "must have a checklist beside its video" in printed
    (folder / "video.checklist.json").write_text(json.dumps(items()))
    code, printed, _ = wmb("prompt", tmp_path / "data", "-o", tmp_path / "prompts")
    assert code == 0
    [made] = (tmp_path / "prompts").iterdir()
    names = sorted(path.name for path in made.iterdir())
    assert names[0] == "001.png"
    assert names[-1] == "prompt.txt"
    assert len(names) == 1 + 9  # 65 frames: 0, 8, …, 64
    assert str(folder / "video.judge.json") in printed
    own = tmp_path / "own.txt"
    own.write_text("Look at {n_images}: {questions}")
    wmb("prompt", tmp_path / "data", "-o", tmp_path / "prompts", "--prompt", own)
    assert (made / "prompt.txt").read_text().startswith("Look at 9: [{")
    own.write_text("no questions")
    code, _, err = wmb("prompt", tmp_path / "data", "-o", tmp_path / "prompts", "--prompt", own)
    assert code == 2
    assert "template must have the fields" in err

    out = tmp_path / "out"
    call = ("score", tmp_path / "data", "--protocol", "worldmembench", "--out", out, "--cache", tmp_path / "cache")
    code, printed, _ = wmb(*call)
    assert code == 1
    assert "<video>.judge.json" in printed
    (folder / "video.judge.json").write_text(json.dumps(reply()))
    assert wmb(*call)[0] == 0
    scores = run.read_scorecards([out])
    assert {s.metric for s in scores} >= {"event_started", "dynamic_overall"}
    assert not any(s.metric.startswith(("human", "object", "environment")) for s in scores)
    assert {(s.model, s.case) for s in scores} == {("lingbot", LAYOUT.removeprefix("data/").replace("/lingbot", ""))}
    assert columns(out)["lingbot"]["Dynamic"] == 1
    (folder / "video.judge.json").write_text("Yes, I believe it started.")
    wmb(*call)
    [record] = [s for s in run.read_scorecards([out]) if s.metric == "dynamic_overall"]
    assert (record.value, record.reason) == (None, "not_json: the reply is no JSON object")


def test_real_clips_have_what_no_estimator_makes_told(wmb, shared, tmp_path):
    clips = [shared / "data" / "rollouts" / "worldmark" / f"{name}.mp4" for name in ("m6_good", "m6_bad")]
    out = tmp_path / "out"
    code, printed, _ = wmb("score", *clips, "--protocol", "worldmembench", "--out", out, "--cache", tmp_path / "cache")
    assert code == 0
    told = " ".join(printed.split())
    for channel in ("tracks", "geometry", "poses", "frame_quality"):
        assert f"<video>.{channel}.npz" in told
    seen = {
        s.rollout: s.value for s in run.read_scorecards([out]) if s.metric == "environment_visible" and len(s.part) == 1
    }
    values = {name.rsplit("/", 1)[-1]: value for name, value in seen.items()}
    assert values["m6_good"] > 0.9  # the camera comes back to what it left
    assert values["m6_bad"] < 0.5


def test_what_the_paper_leaves_open_is_chosen_by_option(wmb, worlds, tmp_path):
    call = ["score", worlds / "good", "--protocol", "worldmembench", "--out", tmp_path, "--cache", tmp_path / "cache"]
    key = "camera_rotation_rpe"
    assert wmb(*call)[0] == 0  # what this run kept is not taken for the next
    assert wmb(*call, "--option", "worldmembench.following.scale=none", "--option", "worldmembench.approach=1")[0] == 0
    found = {r.metric: r for r in run.read_scorecards([tmp_path]) if "revisit" not in r.part}
    assert found[key].detail["scale"] == "none"
    assert found["camera_translation_rpe"].value == pytest.approx(0, abs=1e-9)  # of turns on the spot: none by default
    assert found["environment_visible"].detail["approach"] == 1
    assert "worldmembench.approach=1" in (tmp_path / "run.json").read_text()


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("worldmembench.missing_answer", "option must be protocol.option=value"),
        ("worldmembench.mising_answer=zero", "option must be one of approach, reduce, missing_answer"),
        ("worldmembench.missing_answer=0", "missing_answer must be"),
        ("worldmembench.following.delta=half", "following.delta must be a whole number"),
        ("opis.contract=3.11", "option must be of a protocol that is scored and has options (worldmembench)"),
    ],
)
def test_an_option_that_is_none(wmb, worlds, tmp_path, option, said):
    code, _, told = wmb("score", worlds, "--protocol", "worldmembench", "--out", tmp_path, "--option", option)
    assert code == 2
    assert said in told
    assert "Traceback" not in told
