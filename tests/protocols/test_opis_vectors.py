# SPDX-License-Identifier: Apache-2.0
"""OPIS against the published evaluator's vectors, through the public functions."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wmb_fast.oracles import run
from wmb_fast.protocols import opis

FILES = {
    "C1_association": 25,
    "C2_hungarian": 19,
    "C3_visibility": 40,
    "C4_static_geometry": 17,
    "C5_pose_structure": 18,
    "C6_contract_3_11": 26,
    "C7_paper_formula": 16,
}


@pytest.fixture(scope="module")
def lines(oracles: Path) -> list[dict[str, Any]]:
    return list(run(oracles / "C_opis"))


@pytest.mark.parametrize("file", FILES)
def test_all_cases_pass(lines: list[dict[str, Any]], file: str) -> None:
    mine = [line for line in lines if line["file"] == f"C_opis/{file}"]
    assert [f"{line['case']}: {line['why']}" for line in mine if line["status"] != "pass"] == []
    assert Counter(line["status"] for line in mine) == {"pass": FILES[file]}


def altered(oracles: Path, tmp_path: Path, file: str, change: Any) -> list[dict[str, Any]]:
    for name in (f"{file}.json", f"{file}.npz"):
        if (oracles / "C_opis" / name).exists():
            shutil.copy(oracles / "C_opis" / name, tmp_path)
    path = tmp_path / f"{file}.json"
    path.chmod(0o644)
    document = json.loads(path.read_text())
    change(document["cases"])
    path.write_text(json.dumps(document))
    return [line for line in run(tmp_path) if line["status"] != "pass"]


def test_the_adapters_see_a_wrong_expectation(oracles: Path, tmp_path: Path) -> None:
    """A vector that says otherwise fails: the comparison is one."""

    def change(cases: list[dict[str, Any]]) -> None:
        cases[0]["expected"]["margins"]["r0"] += 1e-9
        cases[1]["expected"]["pairs"]["r0"] = "o1"
        cases[2]["expected"]["ambiguous"] = ["nobody"]

    assert [line["case"] for line in altered(oracles, tmp_path, "C1_association", change)] == [
        "scene0_3x3",
        "scene1_4x4",
        "scene2_5x3",
    ]


@pytest.mark.parametrize(
    ("file", "field"),
    [("C3_visibility", "confidence"), ("C4_static_geometry", "score"), ("C5_pose_structure", "score")],
)
def test_the_adapters_see_another_number(oracles: Path, tmp_path: Path, file: str, field: str) -> None:
    def change(cases: list[dict[str, Any]]) -> None:
        cases[0]["expected"][field] = cases[0]["expected"][field] * (1 + 1e-6)

    assert len(altered(oracles, tmp_path, file, change)) == 1


def test_a_forbidden_row_leaves_the_solver_its_choice() -> None:
    """What is no candidate is a row of forbidden pairs; without it the solver must choose the same among ties."""
    rng = np.random.default_rng(0)
    for _ in range(400):
        n, m = rng.integers(1, 7, 2)
        vectors = opis.Described.of_arrays(np.eye(n, 8)), opis.Described.of_arrays(rng.integers(0, 3, (m, 8)) + 1.0)
        candidates = rng.random((1, n)) < 0.6
        whole = opis.associate(*vectors, [0, m], candidates=candidates)
        kept = np.flatnonzero(candidates[0])
        alone = opis.associate(opis.Described.of_arrays(np.eye(n, 8)[kept]), vectors[1], [0, m])
        np.testing.assert_array_equal(whole.observed[0, kept], alone.observed[0])
        np.testing.assert_array_equal(whole.margin[0, kept], alone.margin[0])
        assert (whole.observed[0][~candidates[0]] == -1).all()
