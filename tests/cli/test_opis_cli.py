# SPDX-License-Identifier: Apache-2.0
"""``wmb-fast score --protocol opis`` over OPIS's own folders, from files to board, and what it says of damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import opis_cases as synthetic
import pytest

from wmb_fast import run


def rollouts(root: Path) -> Path:
    """Two models on three cases; the second loses an object in every other frame."""
    for model in ("keeps", "loses"):
        for subcategory in ("home_indoor", "robot_lab_setup", "Realistic_style_3D_world"):
            values = synthetic.records()
            if model == "loses":
                for window in values["observation"]["windows"][1::2]:
                    window["objects"].pop(0)
            synthetic.write_case(root / model / subcategory / f"{subcategory}_0001", values)
    return root


def scored(path: Path, tmp_path: Path, **options: Any) -> run.Outcome:
    return run.score([path], ["opis"], out=tmp_path / "out", cache=tmp_path / "cache", **options)


def test_from_folders_to_a_board(tmp_path: Path) -> None:
    made = scored(rollouts(tmp_path / "rollouts"), tmp_path)
    assert made.complete
    [table] = made.tables
    keeps, loses = table.rows
    assert (keeps.model, loses.model) == ("keeps", "loses")
    assert {name: cell.value for name, cell in keeps.cells.items()} == {
        "P": 100.0, "I": 100.0, "S": 100.0, "C_S": 100.0, "OPIS": pytest.approx(100.0), "Fail-I": 0.0, "No-S": 0.0,
    }  # fmt: skip
    assert loses.cells["P"].value == pytest.approx(100 * 5 / 9)
    assert table.notes == ()
    written = [json.loads(line) for line in (tmp_path / "out" / "scorecard.jsonl").read_text().splitlines()]
    where = {"subcategory": "home_indoor", "domain": "real_world"}
    [record] = [r for r in written if (r["metric"], r["model"], r["part"]) == ("opis", "loses", where)]
    assert record["case"] == "home_indoor_0001"
    assert len(record["provenance"]["objects_sha256"]) == 16
    again = scored(tmp_path / "rollouts", tmp_path)
    assert again.scores == made.scores


def test_a_changed_observation_is_scored_again(tmp_path: Path) -> None:
    root = rollouts(tmp_path / "rollouts")
    scored(root, tmp_path)
    path = root / "keeps" / "home_indoor" / "home_indoor_0001" / "video_observation.json"
    seen = json.loads(path.read_text())
    for window in seen["windows"]:
        window["objects"].pop(0)
    path.write_text(json.dumps(seen))
    made = scored(root, tmp_path)
    assert made.tables[0].rows[0].cells["P"].value == pytest.approx(200 / 3)


def test_compat(tmp_path: Path) -> None:
    made = scored(rollouts(tmp_path / "rollouts"), tmp_path, compat=True)
    assert [c.name for c in made.tables[0].columns] == ["P", "I", "core_2d", "full_igm"]
    assert {s.compat for s in made.scores} == {True}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda folder: (folder / "video_observation.json").unlink(), "must hold video_observation.json"),
        (lambda folder: (folder / "geometry_v3.json").write_text("{"), "file must be JSON"),
        (
            lambda folder: (folder / "structure_v3.json").write_text('{"schema_version": 9}'),
            "schema_version must be 1, got 9",
        ),
    ],
)
def test_damaged_files_leave_one_case_without_a_score(tmp_path: Path, damage: Any, said: str) -> None:
    root = rollouts(tmp_path / "rollouts")
    damage(root / "keeps" / "home_indoor" / "home_indoor_0001")
    made = scored(root, tmp_path)
    assert not made.complete
    without = [s for s in made.scores if s.value is None]
    assert {s.rollout for s in without} == {"rollouts/keeps/home_indoor/home_indoor_0001/generated"}
    assert all(s.reason.startswith("objects: ") and said in s.reason for s in without)
    cell = made.tables[0].rows[0].cells["OPIS"]
    assert (cell.value, cell.n_used, cell.n_total) == (pytest.approx(100.0), 2, 3)


def test_a_video_outside_a_case_folder_says_what_is_missing(tmp_path: Path) -> None:
    folder = synthetic.write_case(tmp_path / "home" / "1", synthetic.records())
    (folder / "generated.mp4").rename(tmp_path / "000_001.mp4")  # a name that tells a plan
    made = scored(tmp_path / "000_001.mp4", tmp_path)
    assert {s.value for s in made.scores} == {None}
    assert "put the video into its case folder, with reference_scene.json" in made.scores[0].reason
