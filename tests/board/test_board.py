# SPDX-License-Identifier: Apache-2.0
"""The leaderboard: coverage, intervals, places, and what it refuses to hide."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from wmb_fast import ArgumentError, board
from wmb_fast.board.intervals import draws, percentile_interval, resampled
from wmb_fast.protocols.record import WHOLE_ROLLOUT, Column, Score, Status, Term

DIS = {"role": "flow", "id": "opencv-dis", "tier": "builtin", "fingerprint": "f00"}
RAFT = {"role": "flow", "id": "sea-raft", "tier": "official", "fingerprint": "0ff"}


def score(rollout, value, *, model="X", metric="m", reason="", maker=RAFT, **more):
    status = Status.OK if value is not None else more.pop("status", Status.MISSING)
    return Score(
        rollout=rollout,
        model=model,
        case=more.pop("case", rollout.split("/")[-1]),
        protocol=more.pop("protocol", "toy"),
        metric=metric,
        part=more.pop("part", {}),
        value=value,
        status=status,
        reason=reason,
        n_used=1,
        n_total=1,
        definition="toy.m/1",
        compat=more.pop("compat", False),
        estimators=[maker],
        **more,
    )


def of(metric):
    return Term(lambda s: s.value if s.metric == metric else None)


MEAN = Column("M", (of("m"),), lambda m: m[0], about=lambda s: s.metric == "m")
RATE = Column("R", (of("m"), of("r")), lambda m: 100 * m[0] * (1 - m[1]), about=lambda s: s.metric in "mr")
LOW = Column("L", (of("m"),), lambda m: m[0], higher_is_better=False)


def only(scores, *columns):
    (table,) = board.tables(scores, {"toy": columns or (MEAN,)})
    return table


def test_the_divisor_is_the_number_of_records():
    table = only([score(f"X/{i}", v) for i, v in enumerate([0.9, 0.8, 0.7])])
    assert table.rows[0].cells["M"].value == pytest.approx(0.8, abs=1e-15)


def test_two_terms_pool_records_over_rollouts():
    scores = [score("X/a", 1.0), score("X/b", 0.5), score("X/b", 0.0, part={"segment": 2})]
    scores += [score("X/a", 0.2, metric="r"), score("X/c", 0.6, metric="r")]
    cell = only(scores, RATE).rows[0].cells["R"]
    assert cell.value == pytest.approx(100 * 0.5 * 0.6)
    assert (cell.n_used, cell.n_records) == (3, 5)


def test_missing_values_lower_the_coverage_and_give_their_reasons():
    scores = [
        score("X/a", 0.5),
        score("X/b", None, reason="depth: no depth was given"),
        score("X/c", None, reason="depth"),
    ]
    cell = only(scores).rows[0].cells["M"]
    assert (cell.value, cell.n_used, cell.n_total, cell.reason) == (0.5, 1, 3, "depth (2)")


def test_a_column_without_any_value_is_null_with_a_reason():
    scores = [score("X/a", None, reason="depth"), score("X/b", None, reason="frozen", status=Status.NOT_EVALUABLE)]
    table = only(scores, MEAN, Column("Z", (of("z"),), lambda m: m[0], about=lambda s: s.metric == "z"))
    cells = json.loads(board.to_json([table]))["boards"][0]["models"][0]["cells"]
    assert (cells["M"]["value"], cells["M"]["reason"], cells["M"]["n_total"]) == (None, "depth (1), frozen (1)", 2)
    assert (cells["Z"]["value"], cells["Z"]["reason"], cells["Z"]["n_total"]) == (None, "no record of this kind", 0)


def test_a_rollout_that_failed_counts_against_every_column():
    scores = [score("X/a", 0.5), score("X/b", None, metric=WHOLE_ROLLOUT, status=Status.ERROR, reason="unreadable")]
    table = only(scores)
    assert (table.rows[0].n_rollouts, table.rows[0].n_failed) == (2, 1)
    assert (table.rows[0].cells["M"].n_used, table.rows[0].cells["M"].n_total) == (1, 2)
    assert "rollout failed (1)" in board.to_markdown([table])
    assert any("could not be scored" in note for note in table.notes)


def test_all_equal_values_give_a_degenerate_interval():
    cell = only([score(f"X/{i}", 10000.0) for i in range(35)]).rows[0].cells["M"]
    assert (cell.interval.low, cell.interval.high, cell.interval.note) == (10000.0, 10000.0, "degenerate")


def test_one_rollout_has_a_value_and_no_interval():
    cell = only([score("X/a", 3.0)]).rows[0].cells["M"]
    assert (cell.value, cell.interval.low, cell.interval.note) == (3.0, None, "one rollout")


def test_clipped_scores_give_a_finite_interval_around_the_mean():
    cell = only([score(f"X/{i:02}", float(i < 2)) for i in range(30)]).rows[0].cells["M"]
    assert 0 <= cell.interval.low <= 2 / 30 <= cell.interval.high <= 1
    assert cell.interval.low < cell.interval.high


def test_the_order_of_records_changes_no_byte():
    rng = random.Random(5)
    scores = [
        score(f"{m}/{i}", rng.random(), model=m, part={"segment": s}) for m in "XYZ" for i in range(9) for s in (0, 1)
    ]
    first = board.to_json([only(scores, MEAN, LOW)])
    rng.shuffle(scores)
    assert board.to_json([only(scores, MEAN, LOW)]) == first


def philox_block(counter: int, key: int) -> list[int]:
    """Philox4x64-10 (Salmon et al., 2011, section 4.2), written from the paper."""
    word = (1 << 64) - 1
    c, k = [counter, 0, 0, 0], [key, 0]
    for _ in range(10):
        left, right = c[0] * 0xD2E7470EE14C6C93, c[2] * 0xCA5A826395121157
        c = [(right >> 64) ^ c[1] ^ k[0], right & word, (left >> 64) ^ c[3] ^ k[1], left & word]
        k = [(k[0] + 0x9E3779B97F4A7C15) & word, (k[1] + 0xBB67AE8584CAA73B) & word]
    return c


def test_draws_are_those_of_the_published_generator():
    words = [w for counter in range(1, 10) for w in philox_block(counter, 3)][: 7 * 5]
    expected = np.array([((w >> 32) * 7) >> 32 for w in words]).reshape(7, 5)
    np.testing.assert_array_equal(draws(7, 5, seed=3), expected)


def test_draws_are_uniform():
    counts = np.bincount(draws(8, 4000, seed=1).ravel(), minlength=8)
    assert counts.size == 8
    assert abs(counts - 4000).max() < 5 * np.sqrt(32000 * (1 / 8) * (7 / 8))


def test_the_interval_is_that_of_a_plain_bootstrap():
    values = np.linspace(0, 1, 40) ** 2
    sums, counts = values[:, None], np.ones((40, 1), dtype=np.int64)
    got = percentile_interval(resampled(sums, counts, lambda m: m[0], draws(40)), 40)
    rng = np.random.default_rng(0)
    plain = np.percentile([rng.choice(values, 40).mean() for _ in range(4000)], [2.5, 97.5])
    assert (got.low, got.high) == (pytest.approx(plain[0], abs=0.02), pytest.approx(plain[1], abs=0.02))


def test_best_and_second_follow_the_columns_direction():
    scores = [score(f"{m}/a", v, model=m) for m, v in (("A", 1.0), ("B", 3.0), ("C", 2.0), ("D", 3.0))]
    table = only(scores, MEAN, LOW)
    places = {row.model: (row.cells["M"].place, row.cells["L"].place) for row in table.rows}
    assert places == {"A": (0, 1), "B": (1, 0), "C": (2, 2), "D": (1, 0)}
    assert "**3.00**" in board.to_markdown([table])


def test_one_model_has_no_place():
    assert only([score("X/a", 3.0)]).rows[0].cells["M"].place == 0


def test_proxies_are_marked_in_both_forms():
    table = only([score("X/a", 0.5, maker=DIS)])
    assert "~0.50" in board.to_markdown([table])
    assert json.loads(board.to_json([table]))["boards"][0]["models"][0]["cells"]["M"]["proxy"] is True
    assert "~0.50" not in board.to_markdown([only([score("X/a", 0.5)])])


def test_two_estimators_of_one_role_are_told():
    table = only([score("X/a", 0.5, maker=DIS), score("Y/a", 0.5, model="Y")])
    assert any("same estimator" in note for note in table.notes)


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        ([score("X/a", 1.0), score("X/a", 1.0)], "each record once"),
        ([score("X/a", 1.0), score("X/b", 1.0, compat=True)], "all be compat or all default"),
        ([score("X/a", 1.0, protocol="other")], "a protocol of this version"),
    ],
)
def test_what_cannot_be_one_board_is_refused(scores, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        board.tables(scores, {"toy": (MEAN,)})


def test_markdown_columns_line_up():
    scores = [score("X/a", None, reason="no 画 | here"), score("Y/a", 12.5, model="a longer name")]
    for block in board.to_markdown([only(scores)]).split("\n\n"):
        lines = [line.replace("画", "xx") for line in block.splitlines() if line.startswith("|")]
        assert len({len(line) for line in lines}) <= 1


def test_a_comparison_pairs_common_cases_and_counts_the_rest():
    scores = [score(f"X/{i}", 0.5) for i in range(60)]
    scores += [
        score(f"Y/{i}", 0.6 if i < 50 else None, model="Y", reason="" if i < 50 else "frozen") for i in range(60)
    ]
    comparison = board.compare(scores, (MEAN,), "Y", "X")
    (d,) = comparison.differences
    assert d.difference == pytest.approx(0.1)
    assert (d.n_common, d.n_only_a, d.n_only_b) == (50, 0, 10)
    assert (d.all_a, d.all_b) == (pytest.approx(0.6), pytest.approx(0.5))
    text = board.comparison_markdown(comparison)
    assert "only X" in text
    assert "in none of the differences" in text
    json.dumps(board.comparison_json(comparison), allow_nan=False)


def test_a_paired_difference_is_tighter_than_two_means():
    rng = np.random.default_rng(2)
    level = rng.uniform(0, 1, 40)
    scores = [score(f"X/{i}", float(v)) for i, v in enumerate(level)]
    scores += [score(f"Y/{i}", float(v) + 0.05 + 0.01 * rng.normal(), model="Y") for i, v in enumerate(level)]
    (d,) = board.compare(scores, (MEAN,), "Y", "X").differences
    assert d.interval.low > 0
    assert d.interval.high - d.interval.low < 0.02


def test_without_a_common_case_there_is_no_difference():
    (d,) = board.compare([score("X/a", 1.0), score("Y/b", 2.0, model="Y")], (MEAN,), "X", "Y").differences
    assert (d.difference, d.interval.note, d.n_only_a, d.n_only_b) == (None, "no common case", 1, 1)


def test_a_comparison_marks_a_proxy_among_the_cases_left_out_too():
    scores = [score("X/a", 1.0), score("Y/a", 2.0, model="Y"), score("Y/b", 3.0, model="Y", maker=DIS)]
    assert "~2.50" in board.comparison_markdown(board.compare(scores, (MEAN,), "X", "Y"))


@pytest.mark.parametrize(("a", "b"), [("X", "Q"), ("X", "X")])
def test_a_comparison_needs_two_models_of_the_board(a, b):
    with pytest.raises(ArgumentError, match="compare must name"):
        board.compare([score("X/a", 1.0), score("Y/a", 1.0, model="Y")], (MEAN,), a, b)
