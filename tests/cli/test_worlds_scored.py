# SPDX-License-Identifier: Apache-2.0
"""``wmb-fast world … --evidence``, then ``wmb-fast score``: a perfect memory is whole, and each fault lowers its own.

Small worlds through the real command line; what must fall and what must not is :data:`wmb_fast.world.FAULTS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from wmb_fast import cli, run
from wmb_fast.world import FAULTS

SCENE = ("squashed_box", "retextured_box", "missing_box", "repainted_wall", "displaced_wall")
MOVED = 0.05
Values = Mapping[str, float | None]


def scored(folder: Path, plan: str, protocol: str, best: float, *options: str) -> dict[str, Values]:
    """World to metric to value of the whole video, as a share of the best."""
    for name in ("good", *SCENE):
        fault = [] if name == "good" else ["--fault", name]
        call = ["world", plan, *fault, "--evidence", *options, "-o", str(folder / "w" / name)]
        assert cli.answer(call) == 0
    call = ["score", str(folder / "w"), "--protocol", protocol, "--out", str(folder / "out")]
    assert cli.answer([*call, "--cache", str(folder / "cache")]) == 0
    found: dict[str, dict[str, float | None]] = {}
    for record in run.read_scorecards([folder / "out"]):
        if not set(record.part) - {"subcategory", "domain", "trajectory"}:
            value = None if record.value is None else record.value / best
            found.setdefault(record.rollout.split("/")[1], {})[record.metric] = value
    return dict(found)


def listed(metrics: tuple[str, ...], protocol: str) -> set[str]:
    return {metric.removeprefix(f"{protocol}.") for metric in metrics if metric.startswith(f"{protocol}.")}


def hold(found: Mapping[str, Values], protocol: str) -> None:
    """Every fault against the good world."""
    for name in SCENE:
        for metric in listed(FAULTS[name].must_lower, protocol):
            assert found[name][metric] < found["good"][metric] - MOVED, (name, metric)
        for metric in listed(FAULTS[name].must_not_move, protocol):
            assert found[name][metric] == pytest.approx(found["good"][metric], abs=0.01), (name, metric)


@pytest.fixture(scope="module")
def opis_worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Values]:
    return scored(
        tmp_path_factory.mktemp("opis"), "AD", "opis", 100.0, "--seconds", "3", "--fps", "8", "--size", "96x64"
    )


@pytest.fixture(scope="module")
def membench_worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Values]:
    common = ("--seconds", "8", "--fps", "4", "--size", "128x80")
    return scored(tmp_path_factory.mktemp("wmb"), "lrlr", "worldmembench", 1.0, *common)


def test_opis_of_a_perfect_memory_is_whole(opis_worlds: dict[str, Values]) -> None:
    for metric in ("presence", "identity", "structure", "structure_coverage", "opis"):
        assert opis_worlds["good"][metric] == pytest.approx(1.0, abs=1e-9), metric


def test_each_fault_lowers_its_own_of_opis_and_it_alone(opis_worlds: dict[str, Values]) -> None:
    hold(opis_worlds, "opis")
    own = {"squashed_box": "structure", "retextured_box": "identity", "missing_box": "presence"}
    for fault, metric in own.items():
        found = opis_worlds[fault]
        assert {m for m in ("presence", "identity", "structure") if found[m] < 1 - MOVED} == {metric}


def test_worldmembench_of_a_perfect_memory_is_whole(membench_worlds: dict[str, Values]) -> None:
    good = membench_worlds["good"]
    for metric in ("object_appearance", "object_geometry", "environment_visible", "environment_depth",
                   "environment_reconstruction"):  # fmt: skip
        # What the video's compression leaves of the view is not quite the same; all else is exact.
        slack = 0.01 if metric == "environment_visible" else 1e-6
        assert good[metric] == pytest.approx(1.0, abs=slack), metric
    assert good["camera_rotation_rpe"] == pytest.approx(0.0, abs=1e-9)


def test_each_fault_lowers_its_own_of_worldmembench(membench_worlds: dict[str, Values]) -> None:
    hold(membench_worlds, "worldmembench")
    found = membench_worlds["retextured_box"]
    static = [m for m in found if m.startswith(("object", "environment"))]
    assert {m for m in static if found[m] < 1 - MOVED} == {"object_appearance"}
