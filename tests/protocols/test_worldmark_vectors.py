# SPDX-License-Identifier: Apache-2.0
"""The published evaluator's numbers, by vector file; and that a constant a little off makes them fail."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from wmb_fast.oracles import runner
from wmb_fast.oracles.worldmark import ADAPTERS
from wmb_fast.protocols.worldmark import arcs, constants, geometry, local, parallax, revisit, segments


def statuses(oracles: Path, file: str) -> list[tuple[str, str, str]]:
    lines = runner.run(oracles / "A_worldmark")
    return [(line["case"], line["status"], line["why"]) for line in lines if line["file"] == file]


@pytest.mark.parametrize("file", sorted(ADAPTERS))
def test_every_case_passes(oracles: Path, file: str) -> None:
    found = statuses(oracles, file)
    assert len(found) >= 10
    assert [line for line in found if line[1] != "pass"] == []


@pytest.mark.parametrize(
    ("module", "constant", "value", "file"),
    [
        (constants.PUBLISHED, "decay_cap", 1.1, "A1_flow_segments"),
        (constants.PUBLISHED, "stall_exit_factor", 0.45, "A1_flow_segments"),
        (segments, "TRIM_AFTER_SWITCH_S", 2.9, "A1_flow_segments"),
        (parallax, "PARALLAX_EVERY", 5, "A2_signals"),
        (constants.PUBLISHED, "mutation_distance", 0.1002, "A3_local_C1"),
        (local, "LOCAL_FEWEST_FRAMES", 4, "A3_local_C1"),
        (revisit, "GAIN_GATE", 0.51, "A4_revisit_C2"),
        (arcs, "DEPTHS_TRIED", 190, "A4_revisit_C2"),
        (geometry, "GLOBAL_CONFIDENCE_QUANTILE", 0.29, "A5_global_C3"),
        (geometry, "GLOBAL_OCCLUSION", (0.7, 1.41), "A5_global_C3"),
        (geometry, "GLOBAL_MOST_FRAMES", 63, "A5_global_C3"),
        (constants.PUBLISHED, "global_scale", 0.06, "A6_report"),
    ],
)
def test_the_vectors_see_a_changed_constant(
    oracles: Path, monkeypatch: pytest.MonkeyPatch, module: object, constant: str, value: object, file: str
) -> None:
    if isinstance(module, ModuleType):
        monkeypatch.setattr(module, constant, value)
    else:
        monkeypatch.setitem(vars(module), constant, value)  # it is frozen
    assert "fail" in {status for _, status, _ in statuses(oracles, f"A_worldmark/{file}")}
