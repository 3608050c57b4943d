# SPDX-License-Identifier: Apache-2.0
"""The numbers that the paper prints, recomputed: where two of its tables must agree, they do.

Sources: WorldMemBench (arXiv 2610.19063), tables 2 to 13, and definitions sections 1.1, 1.3, 1.7, 1.8.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from wmb_fast import ArgumentError, pairwise_agreement
from wmb_fast.protocols import worldmembench as wb
from wmb_fast.rollout.plans import named_plan

ROUNDED = 5e-4 + 1e-9  # of three printed decimals

MODELS = ("HY", "MG3", "MG3.5", "SANA", "YUME", "LingBot", "LingBot-v2", "Evoke", "DreamX")
# Table 10a: R1 and R2 under LRLR; table 8a: the trajectory's score.
LRLR = {
    "Human ID": (
        (0.873, 0.738, 0.030, 0.229, 0.431, 0.517, 0.663, 0.579, 0.349),
        (0.853, 0.416, 0.000, 0.072, 0.159, 0.261, 0.456, 0.514, 0.186),
        (0.863, 0.577, 0.015, 0.150, 0.295, 0.389, 0.559, 0.546, 0.267),
        (0.490, 0.324),
    ),
    "Human App.": (
        (0.894, 0.719, 0.076, 0.395, 0.620, 0.734, 0.785, 0.799, 0.582),
        (0.884, 0.476, 0.006, 0.168, 0.438, 0.553, 0.618, 0.767, 0.463),
        (0.889, 0.597, 0.041, 0.282, 0.529, 0.643, 0.702, 0.783, 0.522),
        (0.623, 0.486),
    ),
}


@pytest.mark.parametrize("metric", LRLR)
def test_eq_1_gives_table_8_from_table_10(metric: str) -> None:
    first, second, score, _ = LRLR[metric]
    for a, b, printed in zip(first, second, score, strict=True):
        assert wb.video_score([a, b]).value == pytest.approx(printed, abs=ROUNDED)


@pytest.mark.parametrize("metric", LRLR)
def test_the_mean_over_models_is_unweighted(metric: str) -> None:
    """Table 10's last column, table 9."""
    first, second, _, means = LRLR[metric]
    curves = wb.revisit_curves({m: [[a, b]] for m, a, b in zip(MODELS, first, second, strict=True)})
    np.testing.assert_allclose(curves["mean"], means, atol=ROUNDED)
    for i, rows in enumerate((first, second)):
        assert wb.model_score(rows).value == pytest.approx(means[i], abs=ROUNDED)


@pytest.mark.parametrize(
    ("metric", "lrlr", "lrud", "d_lrlr", "d_lrud", "delta"),
    [
        ("Human ID", (0.490, 0.324), (0.435, 0.249), 0.166, 0.186, 0.020),
        ("Human App.", (0.623, 0.486), (0.556, 0.371), 0.137, 0.185, 0.049),
        ("Object App.", (0.657, 0.496), (0.634, 0.345), 0.162, 0.288, 0.127),
        ("Object Geometry", (0.588, 0.457), (0.547, 0.296), 0.132, 0.251, 0.120),
        ("Env. Visible", (0.781, 0.655), (0.770, 0.492), 0.126, 0.278, 0.152),
    ],
)
def test_table_9(metric, lrlr, lrud, d_lrlr, d_lrud, delta) -> None:
    """d and Delta_axis from the four means, each rounded: d to 1e-3, their difference to 2e-3."""
    assert wb.multi_revisit_decrease({"mean": [lrlr]}).all_cases == pytest.approx(d_lrlr, abs=1.1e-3)
    assert wb.multi_revisit_decrease({"mean": [lrud]}).all_cases == pytest.approx(d_lrud, abs=1.1e-3)
    assert wb.cross_axis_excess({"mean": [lrlr]}, {"mean": [lrud]}).qualified == pytest.approx(delta, abs=2.1e-3)
    row = wb.axis_row({"mean": [lrlr]}, {"mean": [lrud]})
    assert (row.lrlr, row.lrud) == (lrlr, lrud)
    assert row.delta_axis == pytest.approx(delta, abs=2.1e-3)
    assert delta == pytest.approx(d_lrud - d_lrlr, abs=1.1e-3)


# Table 5.
DYNAMIC = [
    ("HY-WorldPlay", 19, 0.317, 0.294, 0.928),
    ("Matrix-Game 3", 3, 0.050, 0.046, 0.917),
    ("Matrix-Game 3.5", 23, 0.383, 0.240, 0.625),
    ("SANA-WM", 35, 0.583, 0.415, 0.711),
    ("YUME", 54, 0.900, 0.775, 0.861),
    ("LingBot World", 56, 0.933, 0.808, 0.866),
]


@pytest.mark.parametrize(("model", "started", "rate", "gated", "conditional"), DYNAMIC)
def test_table_5_and_the_gate(model, started, rate, gated, conditional) -> None:
    began = np.arange(60) < started
    found = wb.decompose(began, np.where(began, conditional, 0.0))
    assert (found.started, found.videos) == (started, 60)
    assert found.start_rate == pytest.approx(rate, abs=ROUNDED)
    assert found.gated == pytest.approx(gated, abs=1e-3)  # definitions 1.8
    assert found.gated == pytest.approx(found.start_rate * found.conditional, abs=1e-12)


def test_a10_the_gate_of_hy() -> None:
    began = np.arange(60) < 19
    assert wb.decompose(began, began * 0.928).gated == pytest.approx(0.29386667, abs=1e-8)


# Table 6: agree, decisive, tie, split, percent.
AGREEMENT = {
    "Human Identity": (65, 76, 1, 7, 85.5),
    "Human Appearance": (71, 80, 2, 2, 88.8),
    "Object Geometry": (62, 79, 0, 5, 78.5),
    "Object Appearance": (67, 80, 2, 2, 83.8),
    "Environment Visible": (74, 80, 1, 3, 92.5),
    "Environment Depth": (63, 77, 4, 3, 81.8),
}


@pytest.mark.parametrize("metric", AGREEMENT)
def test_table_6(metric: str) -> None:
    agree, decisive, tie, split, percent = AGREEMENT[metric]
    n = decisive + tie + split
    assert n == 84  # every row is of the same pairs
    votes = np.tile([1.0, 1.0, -1.0], (n, 1))
    votes[decisive + tie :] = (1, -1, 0)
    first, second = np.ones(n), np.zeros(n)
    second[agree:decisive], second[decisive : decisive + tie] = 2.0, 1.0
    found = wb.static_alignment(["a", "b"] * (n // 2), ["b", "a"] * (n // 2), first, second, votes)
    assert (found.agree, found.decisive, found.tie, found.split) == (agree, decisive, tie, split)
    assert 100 * found.agreement == pytest.approx(percent, abs=0.051)
    assert found.agreement == float(pairwise_agreement(first - second, votes))


def test_table_7_counts() -> None:
    """50 instances, two items an aspect, three people: 100 items and 300 judgements; 400 and 1200 in all."""
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 2, (50, 8))
    votes = np.where(rng.random((50, 8, 3)) < 0.2, 1 - truth[..., None], truth[..., None])
    for items in (2, 8):
        found = wb.checklist_alignment(votes[:, :items], truth[:, :items])
        assert (found.instances, found.items, found.judgements) == (50, 50 * items, 150 * items)
        assert 0.5 < found.spearman < 1
        assert 0.5 < found.plcc < 1


# Table 3: metric scores and latencies.
POLICIES = {
    "FullKV": ((0.534, 0.645, 0.564, 0.506, 0.694, 0.517, 0.253, 0.667, 0.733, 0.592, 0.792), 322.16, 1.00),
    "FoV": ((0.547, 0.663, 0.531, 0.485, 0.687, 0.550, 0.287, 0.725, 0.792, 0.675, 0.800), 262.69, 1.23),
    "Sliding": ((0.392, 0.540, 0.426, 0.392, 0.610, 0.501, 0.235, 0.667, 0.717, 0.600, 0.775), 260.42, 1.24),
}


def test_table_3() -> None:
    scores = {p: {f"m{i}": {"c": s} for i, s in enumerate(row)} for p, (row, _, _) in POLICIES.items()}
    latencies = {p: {f"v{i}": seconds for i in range(660)} for p, (_, seconds, _) in POLICIES.items()}
    found = wb.compare_policies(scores, latencies, baseline="FullKV")
    for policy, (_, seconds, speedup) in POLICIES.items():
        assert found[policy].speedup == pytest.approx(speedup, abs=0.005)
        assert found[policy].latency_s == pytest.approx(seconds)
        assert found[policy].videos == 660
    fov = found["FoV"].scores
    best = sum(fov[m] == max(found[p].scores[m] for p in POLICIES) for m in fov)
    assert best == 8  # section 5.5: best on eight of eleven, above Sliding Windows on all
    assert all(fov[m] > found["Sliding"].scores[m] for m in fov)


def test_counts_of_section_3_and_table_11() -> None:
    """260 cases, 200 static; 490 environment slots a model; 660 matched videos."""
    assert sum(wb.CASES.values()) == 260
    static = sum(count for family, count in wb.CASES.items() if family != "dynamic_memory")
    assert static == 200
    assert wb.CASES["environment"] * sum(wb.REVISITS[t] for t in wb.ROTATIONS) == 490
    assert static * len(wb.ROTATIONS) + wb.CASES["dynamic_memory"] == 660
    for name, count in wb.REVISITS.items():
        course = wb.course_of(named_plan(name), 493)
        assert course is not None
        assert len(course.revisits) == count


def test_table_11_percentages_are_of_slots() -> None:
    angles = [wb.Angles(np.array([40.0, 29.0, np.nan]), np.array([29.0, 31.0, 0.0]))] * 2
    found = wb.pose_coverage(angles)
    assert (found.slots, found.departed, found.returned) == (6, pytest.approx(100 / 3), pytest.approx(200 / 3))
    assert found.qualified == pytest.approx(100 / 3)
    assert wb.tracking_coverage([[[True, False], [True, True]], [[False], [False]]]) == pytest.approx(37.5)


def test_table_12_all_cases_are_of_the_models_that_contribute() -> None:
    """A model without a qualified case is in neither column; positive counts models."""
    scores = {"a": [[0.9, 0.8, 0.5], [0.9, 0.9, 0.9]], "b": [[0.2, 0.2, 0.4]], "c": [[1.0, 0.5, 0.0]]}
    found = wb.multi_revisit_decrease(scores, {"a": [True, False], "b": [True], "c": [False]})
    assert (found.n, found.models, found.positive) == (2, 2, 1)
    assert found.all_cases == pytest.approx(((0.4 + 0.0) / 2 - 0.2) / 2)
    assert found.qualified == pytest.approx((0.4 - 0.2) / 2)
    nothing = wb.multi_revisit_decrease(scores, {"a": [False, False], "b": [False], "c": [False]})
    assert (nothing.n, nothing.models) == (0, 0)
    assert math.isnan(nothing.qualified)


def test_table_13_stricter_tolerances_keep_fewer_cases() -> None:
    away = np.array([40.0, 40.0, 40.0])
    angles = {"a": [wb.Angles(away, np.full(3, e)) for e in (4.0, 5.0, 12.0, 31.0)] + [wb.Angles(away - 11, away * 0)]}
    scores = {"a": [[1.0, 0.9, 1.0 - i / 10] for i in range(5)]}
    found = wb.tolerance_sensitivity(scores, angles)
    assert {t: e.n for t, e in found.items()} == {5.0: 2, 15.0: 3, 30.0: 3}
    assert found[15.0].qualified == pytest.approx(0.1)


def test_diagnostics_that_do_not_go_together() -> None:
    with pytest.raises(ArgumentError, match="cross_axis_excess: lrud must have the models of lrlr"):
        wb.cross_axis_excess({"a": [[1.0, 1.0]]}, {"b": [[1.0, 1.0]]})
    with pytest.raises(ArgumentError, match=r"cross_axis_excess: lrlr and lrud\['a'\] must both have shape"):
        wb.cross_axis_excess({"a": [[1.0, 1.0]]}, {"a": [[1.0, 1.0], [1.0, 1.0]]})
    with pytest.raises(ArgumentError, match=r"decompose: scores must be 0 where the event did not start, got 0\.5"):
        wb.decompose([False], [0.5])
    with pytest.raises(ArgumentError, match="compare_policies: baseline must be one of a, got 'b'"):
        wb.compare_policies({"a": {}}, {"a": {}}, baseline="b")


@pytest.mark.parametrize("n_frames", [481, 493, 497, 505, 551])
@pytest.mark.parametrize("name", wb.REVISITS)
def test_table_4_lengths_have_all_phases_and_images(n_frames: int, name: str) -> None:
    """On the published frame counts every phase has frames, and the judge sees every phase."""
    plan = named_plan(name)
    course = wb.course_of(plan, n_frames)
    assert course is not None
    assert course.reference.start == 0
    before = course.reference.stop
    for revisit in course.revisits:
        assert before <= revisit.departure.start < revisit.departure.stop <= revisit.back.start
        assert revisit.back.start < revisit.window.start < revisit.window.stop <= n_frames
        before = revisit.departure.stop
    frames = wb.judged_frames(n_frames)
    assert (frames[0], frames[-1]) == (0, n_frames - 1)
    assert set(np.diff(frames[:-1])) == {8}
    ranges = wb.phase_ranges(course, frames)
    assert None not in (ranges.initial_hold, *ranges.departures, *ranges.revisits, ranges.returned_hold)
    poses = wb.target_poses(plan, n_frames, degrees_per_frame=0.5)
    angles = wb.departure_and_return(poses, range(n_frames), course)
    if name != "translate_square":
        assert angles.qualified().all()  # half a degree a frame departs by 30 degrees on every plan
        off = 0.5 * np.arange(1, len(course.revisits) + 1)  # equal shares are off by a frame a cycle at most
        assert (angles.return_deg <= off + 1e-9).all()


NAN = float("nan")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: wb.revisit_curves({"a": [[1.0, 2.0]], "b": [[1.0, 2.0, 3.0]]}),
         "revisit_curves: scores must have as many revisits of every model, got [2, 3]"),
        (lambda: wb.multi_revisit_decrease({"a": [[1.0]]}),
         "multi_revisit_decrease: scores['a'] must have at least two revisits, got shape (1, 1)"),
        (lambda: wb.multi_revisit_decrease({"a": [[1.0, 1.0]]}, {}),
         "multi_revisit_decrease: qualified must have the models ['a'], got no 'a'"),
        (lambda: wb.axis_row({"a": [[1.0, 1.0]]}, {"b": [[1.0, 1.0]]}),
         "axis_row: lrud must have the models of lrlr, ['a'], got ['b']"),
        (lambda: wb.tolerance_sensitivity({"a": [[1.0, 1.0]]}, {}),
         "tolerance_sensitivity: angles must have the models ['a'], got []"),
        (lambda: wb.compare_policies({"a": {}}, {}, baseline="a"),
         "compare_policies: latencies must have the policies ['a'], got []"),
        (lambda: wb.compare_policies({"a": {}}, {"a": {}}, baseline="b"),
         "compare_policies: baseline must be one of a, got 'b'"),
        (lambda: wb.compare_policies({"a": {}}, {"a": {"v": 0.0}}, baseline="a"),
         "compare_policies: latencies['a']['v'] must be above 0, got 0.0"),
        (lambda: wb.compare_policies({"a": {}}, {"a": {"v": NAN}}, baseline="a"),
         "compare_policies: latencies['a']['v'] must be finite, got nan"),
        (lambda: wb.static_alignment("x", "y", [1.0], [0.0], [[2, 1]]),
         "static_alignment: votes must hold -1, 0, 1 and NaN, got other numbers"),
        (lambda: wb.checklist_alignment([[[float("inf")]]], [[1.0]]),
         "checklist_alignment: votes must hold 0, 1 and NaN, got other numbers"),
    ],
)  # fmt: skip
def test_tables_of_what_does_not_go_together(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call()
    assert str(caught.value) == sentence


def test_a_case_without_one_of_its_revisits_has_no_decrease() -> None:
    """Not even where the first and the last are there."""
    found = wb.multi_revisit_decrease({"a": [[0.9, NAN, 0.1], [0.9, 0.8, 0.7]]})
    assert (found.n, round(found.qualified, 6)) == (1, 0.2)
