# SPDX-License-Identifier: Apache-2.0
"""The published evaluator's numbers, by vector file; and that a constant a little off makes them fail."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from wmb_fast.oracles import runner
from wmb_fast.oracles.r2m import ADAPTERS
from wmb_fast.protocols.r2m import gain, nearby, pairs, published, revisit, trajectory


def statuses(oracles: Path, file: str, folder: Path) -> list[tuple[str, str, str]]:
    """The cases of one file, run from a folder that holds it alone."""
    for ending in (".json", ".npz"):
        stored = (oracles / file).with_suffix(ending)
        if stored.is_file():
            (folder / stored.name).symlink_to(stored)
    return [(line["case"], line["status"], line["why"]) for line in runner.run(folder)]


@pytest.mark.parametrize("file", sorted(ADAPTERS))
def test_every_case_passes(oracles: Path, tmp_path: Path, file: str) -> None:
    found = statuses(oracles, file, tmp_path)
    assert len(found) >= 4
    assert [line for line in found if line[1] != "pass"] == []


@pytest.mark.parametrize(
    ("module", "constant", "value", "file"),
    [
        (trajectory, "STILL_DEG", 3.0, "B1_pose_pairs"),
        (revisit, "STILL_METRES", 0.02, "B1_pose_pairs"),
        (revisit, "STILL_DEG", 0.51, "B1_pose_pairs"),
        (revisit, "METRES", (0.1, 0.9), "B1_pose_pairs"),
        (revisit, "DEGREES", (1.1, 5.0), "B1_pose_pairs"),
        (revisit, "FEWEST_PAIRS", 4, "B1_pose_pairs"),
        (nearby, "FEWEST_FRAMES_APART", 9, "B1_pose_pairs"),
        (pairs, "FEWEST_SHORT", 21, "B1_pose_pairs"),
        (pairs, "FEWEST_BASELINES", 19, "B2_samplers"),
        (gain, "IDENTICAL_PSNR", float("inf"), "B4_nmr"),
        (published, "PER_VIDEO_EPS", 2.5e-5, "B5_nmr_per_video_path"),
        (published, "EPS", 0.3, "B5_nmr_per_video_path"),
        (revisit, "DEGREES", (1.1, 5.0), "B6_released_template_snippets"),
    ],
)
def test_the_vectors_see_a_wrong_constant(
    oracles: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    constant: str,
    value: object,
    file: str,
) -> None:
    monkeypatch.setattr(module, constant, value)
    assert any(status == "fail" for _, status, _ in statuses(oracles, f"B_r2m/{file}", tmp_path))
