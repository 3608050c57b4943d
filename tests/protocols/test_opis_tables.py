# SPDX-License-Identifier: Apache-2.0
"""What the OPIS paper prints must follow from its formulas as we have them. Each test names its table."""

from __future__ import annotations

import math

import pytest

from wmb_fast.protocols import opis

# Table 2: P, I, S, C_S, OPIS.
TABLE_2 = {
    "Seedance 2.0": (89.75, 35.07, 60.08, 81.53, 56.01),
    "H3-Max-Turbo": (93.04, 36.77, 55.64, 76.77, 55.57),
    "Wan-3.0": (88.95, 34.47, 50.58, 75.86, 51.81),
    "Gemini-Omni-Flash": (93.49, 30.03, 49.30, 70.94, 50.43),
    "Echo-WM-Flash": (89.65, 34.73, 49.00, 80.22, 51.42),
    "LingBot-World 2.0": (89.71, 36.01, 45.04, 67.42, 50.36),
    "Matrix-Game 3.5": (85.63, 36.88, 45.85, 77.01, 50.22),
    "SANA-WM": (90.46, 28.12, 48.26, 75.97, 48.65),
}
# Table 5: strict, no gate, no coverage, minimum, uniform.
TABLE_5 = {
    "Gemini-Omni-Flash": (50.43, 55.48, 55.75, 46.72, 57.61),
    "H3-Max-Turbo": (55.57, 60.99, 59.87, 50.90, 61.81),
    "Wan-3.0": (51.81, 57.84, 55.97, 47.00, 58.00),
    "Seedance 2.0": (56.01, 61.08, 59.62, 50.93, 61.63),
    "SANA-WM": (48.65, 55.70, 53.96, 44.38, 55.62),
    "LingBot-World 2.0": (50.36, 55.78, 59.97, 45.60, 56.92),
    "Matrix-Game 3.5": (50.22, 58.27, 54.78, 44.97, 56.12),
    "Echo-WM-Flash": (51.42, 60.02, 55.86, 46.36, 57.80),
}
# Table 6: real-world, embodied, game.
TABLE_6 = {
    "Gemini-Omni-Flash": (43.92, 53.14, 54.23),
    "H3-Max-Turbo": (52.13, 53.92, 60.65),
    "Wan-3.0": (49.31, 52.19, 53.93),
    "Seedance 2.0": (53.13, 56.54, 58.35),
    "SANA-WM": (44.62, 49.21, 52.11),
    "LingBot-World 2.0": (48.35, 44.00, 58.74),
    "Matrix-Game 3.5": (45.79, 56.21, 48.65),
    "Echo-WM-Flash": (47.22, 49.23, 57.82),
}
# Tables 7 to 9: home, natural, public indoor, urban; industrial, laboratory, simulated; cartoon, pixel, realistic.
TABLES_7_TO_9 = {
    "Gemini-Omni-Flash": (36.89, 54.23, 32.57, 51.99, 43.50, 65.41, 50.50, 54.68, 55.03, 52.99),
    "H3-Max-Turbo": (41.02, 70.88, 45.81, 50.83, 45.17, 65.63, 50.95, 63.11, 58.09, 60.76),
    "Wan-3.0": (29.17, 70.69, 43.79, 53.61, 49.05, 64.79, 42.71, 45.49, 56.30, 60.00),
    "Seedance 2.0": (35.33, 69.12, 47.73, 60.34, 51.73, 67.21, 50.68, 54.24, 52.10, 68.71),
    "SANA-WM": (23.11, 54.68, 46.86, 53.83, 44.83, 62.44, 40.35, 46.97, 54.72, 54.64),
    "LingBot-World 2.0": (27.55, 66.33, 40.68, 58.84, 40.70, 48.72, 42.57, 56.06, 66.83, 53.32),
    "Matrix-Game 3.5": (26.12, 62.54, 40.70, 53.78, 51.35, 68.38, 48.89, 46.67, 41.01, 58.28),
    "Echo-WM-Flash": (32.24, 64.36, 41.68, 50.62, 45.70, 68.08, 33.90, 52.57, 61.78, 59.12),
}
SUBCATEGORIES = (
    "home_indoor", "natural_outdoor", "public_indoor", "urban_outdoor", "industrial", "robot_lab_setup",
    "simulated_environment", "cartoon", "pixel", "Realistic_style_3D_world",
)  # fmt: skip
# Table 14: P, I, S, OPIS, one case a model.
TABLE_14 = {
    "Seedance 2.0": (100.0, 2.5, 52.4, 41.9),
    "Gemini-Omni-Flash": (63.0, 5.2, 24.3, 24.4),
    "Wan 3.0": (94.1, 4.2, 14.7, 26.4),
    "H3-Max-Turbo": (92.6, 27.5, 24.4, 39.3),
    "Echo-WM-Flash": (100.0, 11.4, 51.2, 45.0),
    "LingBot-World 2.0": (100.0, 4.9, 60.8, 46.3),
    "Matrix-Game 3.5": (84.6, 73.6, 66.2, 72.8),
    "SANA-WM": (100.0, 25.4, 0.0, 30.2),
}


def combined(p: float, i: float, s: float, **weights: object) -> float:
    score = opis.opis_score(p / 100, i / 100, s / 100, **weights)  # type: ignore[arg-type]
    assert score is not None
    return score


@pytest.mark.parametrize("model", TABLE_2)
def test_table_2_the_score_is_the_weighted_mean(model: str) -> None:
    """Equation 8 is linear, so the means of the hierarchy obey it; inputs are rounded to 0.01."""
    p, i, s, _, opis_printed = TABLE_2[model]
    assert combined(p, i, s) == pytest.approx(opis_printed, abs=0.011)


@pytest.mark.parametrize("model", TABLE_14)
def test_table_14_single_cases(model: str) -> None:
    """Inputs are rounded to 0.1: half of that in each component, and in the score."""
    p, i, s, printed = TABLE_14[model]
    assert combined(p, i, s) == pytest.approx(printed, abs=0.1)


@pytest.mark.parametrize("model", TABLE_5)
def test_table_5_uniform_weights(model: str) -> None:
    p, i, s, _, strict = TABLE_2[model]
    assert TABLE_5[model][0] == strict
    assert combined(p, i, s, weights=(1 / 3,) * 3) == pytest.approx(TABLE_5[model][4], abs=0.011)


@pytest.mark.parametrize("model", TABLE_5)
def test_table_5_directions(model: str) -> None:
    """Without the gate or the coverage a score can only rise; the minimum in place of the mean can only lower it."""
    strict, no_gate, no_coverage, minimum, _ = TABLE_5[model]
    assert minimum < strict < min(no_gate, no_coverage)


@pytest.mark.parametrize("model", TABLES_7_TO_9)
def test_tables_6_to_9_and_2_are_one_hierarchy(model: str) -> None:
    """Subcategories average to Table 6's domains, these to Table 2's score; the folders' names tell the domains."""
    cases = []
    for name, value in zip(SUBCATEGORIES, TABLES_7_TO_9[model], strict=True):
        domain = opis.domain_of(name)
        assert domain is not None
        cases.append(opis.CaseScores(name, name, domain, {"opis": value}))
    found = opis.aggregate(cases, ["opis"])
    by_name = {group.name[0]: group.metrics["opis"] for group in found.domains}
    for domain, printed in zip(("real_world", "embodied", "game"), TABLE_6[model], strict=True):
        assert by_name[domain] == pytest.approx(printed, abs=0.0101)
    assert found.overall.metrics["opis"] == pytest.approx(TABLE_2[model][4], abs=0.0101)


@pytest.mark.parametrize(
    ("n_frames", "fps", "samples"),
    [(300, 30.0, 34), (241, 24.0, 28), (240, 24.0, 27), (243, 24.0, 28), (160, 16.0, 18)],
    ids=["Wan-3.0", "H3-Max-Turbo", "Gemini-Omni-Flash", "Seedance 2.0", "SANA-WM and others"],
)
def test_table_12_samples(n_frames: int, fps: float, samples: int) -> None:
    """Durations of the table are n / fps plus what the container adds: 10.000, 10.042, 10.000, 10.125, 10.000 s."""
    assert len(opis.sampled_frames(n_frames, fps)) == samples


def test_section_i_frames_are_sampled() -> None:
    """Frame 56 at 24 fps is 2.33 s, 294 at 30 fps 9.80 s, 152 at 16 fps 9.50 s: sections I.1."""
    for frame, fps, seconds in ((56, 24.0, 2.33), (294, 30.0, 9.80), (152, 16.0, 9.50)):
        assert frame in opis.sampled_frames(10 * round(fps), fps)
        assert frame / fps == pytest.approx(seconds, abs=0.005)


def test_table_13_validity() -> None:
    printed = {"repeat": (200, 181, 90.5), "association": (150, 139, 92.7), "visibility": (150, 136, 90.7)}
    printed |= {"identity": (150, 129, 86.0), "structure": (150, 125, 83.3)}
    checks = {}
    for name, (n, agreeing, percent) in printed.items():
        found = opis.label_agreement(["same"] * n, ["same"] * agreeing + ["other"] * (n - agreeing))
        assert (found.n, found.n_agreeing) == (n, agreeing)
        assert found.percent is not None
        assert round(found.percent + 1e-9, 1) == percent
        checks[name] = found
    whole = opis.pooled([check for name, check in checks.items() if name != "repeat"])
    assert (whole.n, whole.n_agreeing) == (600, 529)
    assert whole.percent is not None
    assert round(whole.percent, 1) == 88.2
    assert [n - k for n, k, _ in list(printed.values())[1:]] == [11, 14, 21, 25]


def test_table_4_loads() -> None:
    assert [opis.load_of(n) for n in (0, 1, 20, 21, 40, 41, 200)] == ["<=20"] * 3 + ["21-40"] * 2 + [">40"] * 2


def test_section_5_tolerances() -> None:
    """A residual of lambda_g scores exp(-1), which passes the gate of 0.35; one of 1.05 lambda_g does not."""
    assert math.exp(-1) >= 0.35 > math.exp(-1.05)
