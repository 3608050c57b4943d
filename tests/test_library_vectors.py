# SPDX-License-Identifier: Apache-2.0
"""Answers of SciPy, NumPy, image libraries and the OPIS solver, by vector file; and that a changed rule fails them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wmb_fast.oracles import images, libs, libs_stats, opis, runner

FILES = {**images.ADAPTERS, **libs_stats.ADAPTERS, **opis.ADAPTERS}


def statuses(oracles: Path, file: str) -> Counter[str]:
    lines = [line for line in runner.run(oracles / file.split("/", maxsplit=1)[0]) if line["file"] == file]
    return Counter(line["status"] for line in lines)


@pytest.mark.parametrize("file", sorted(FILES))
def test_every_case_passes(oracles: Path, file: str) -> None:
    found = statuses(oracles, file)
    assert found["pass"] >= 10
    assert set(found) == {"pass"}


@pytest.mark.parametrize(
    ("module", "op", "option", "file"),
    [
        (libs_stats, "assignment", {"maximize": True}, "F_libs/F3_hungarian"),
        (opis, "assignment", {"ties": "lowest"}, "C_opis/C2_hungarian"),
        (libs_stats, "spearman", {"nan_policy": "omit"}, "F_libs/F4_correlations"),
        (libs_stats, "bootstrap_ci", {"level": 0.9501}, "F_libs/F5_bootstrap"),
        (libs_stats, "bootstrap_ci", {"strata": None}, "F_libs/F5_bootstrap"),
        (images, "ssim", {"variant": "gaussian11"}, "B_r2m/B3_psnr_ssim"),
        (images, "ssim", {"variant": "gaussian11_valid"}, "F_libs/F1_ssim_variants"),
        (images, "psnr", {"identical": 100}, "F_libs/F2_psnr_guards"),
    ],
)
def test_the_vectors_see_a_changed_rule(
    oracles: Path, monkeypatch: pytest.MonkeyPatch, module: Any, op: str, option: dict[str, Any], file: str
) -> None:
    right = getattr(module, op)
    monkeypatch.setattr(module, op, lambda *arguments, **options: right(*arguments, **{**options, **option}))
    assert statuses(oracles, file)["fail"] > 0


@pytest.mark.parametrize("size", [1e-300, 1e-41, 1e-20, 1.0, 1e20, 1e90, 1e300])
def test_cosines_beyond_the_range_of_a_library(size: float) -> None:
    """SciPy and torch answer 0, NaN or worse there; the answer is that of the same directions at size 1."""
    a, b = np.array([1.0, 2.0, -1.0, 0.25]), np.array([0.5, 1.0, 2.0, -3.0])
    right = float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    in_range = size == 1.0
    expected = {"scipy_similarity": right if in_range else 0.0, "normalize_dot_f32": right if in_range else 0.0}
    if not in_range and 1e-70 < size < 1e75:
        expected["scipy_similarity"] = right
    case = runner.Case("F_libs/F7_cosine", "x", "edge", {"a": a * size, "b": b * size}, expected, None, None, {})
    assert libs.cosine(case).problems == []
    wrong = {name: value + 1e-3 for name, value in expected.items()}
    failed = libs.cosine(runner.Case("F_libs/F7_cosine", "x", "edge", case.inputs, wrong, None, None, {}))
    assert bool(failed.problems) == (1e-70 < size < 1e75)
