# SPDX-License-Identifier: Apache-2.0
"""assign and assignment against every assignment there is, their reference, SciPy, and what must hold for any costs."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import wmb_fast as wmb
from wmb_fast._walls.ext import simd_levels

TOTAL = 1e-12  # sums of up to 256 costs of order one
INF = np.inf


def lowest_by_enumeration(cost: np.ndarray, null_cost: float | None) -> list[int]:
    """The lexicographically smallest optimum in exact arithmetic: most rows first, then the total, then the columns."""
    n_rows, n_cols = cost.shape
    best: tuple[tuple[int, Fraction, list[int]], list[int]] | None = None
    for columns in itertools.product([*range(n_cols), -1], repeat=n_rows):
        taken = [j for j in columns if j >= 0]
        if len(set(taken)) < len(taken) or any(not np.isfinite(cost[i, j]) for i, j in enumerate(columns) if j >= 0):
            continue
        alone = columns.count(-1)
        total = sum((Fraction(float(cost[i, j])) for i, j in enumerate(columns) if j >= 0), Fraction(0))
        if null_cost is not None:
            total += alone * Fraction(null_cost)
        key = (0 if null_cost is not None else alone, total, [n_cols if j < 0 else j for j in columns])
        if best is None or key < best[0]:
            best = (key, list(columns))
    assert best is not None
    return best[1]


def costs(seed: int, kind: str, n_rows: int, n_cols: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, 3, (n_rows, n_cols)).astype(float)
    if kind == "forbidden":
        whole[rng.random(whole.shape) < 0.4] = INF
    if kind == "repeated":
        return np.array([0.65, 0.7, 0.1])[whole.astype(int)]
    return rng.random(whole.shape) if kind == "random" else whole


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["whole", "forbidden", "random"]),
    st.integers(0, 4),
    st.integers(0, 4),
    st.sampled_from([None, 0.0, 1.0, 2.0]),
)
def test_lowest_is_the_smallest_of_all_optima(
    seed: int, kind: str, n_rows: int, n_cols: int, null_cost: float | None
) -> None:
    cost = costs(seed, kind, n_rows, n_cols)
    got = wmb.assign(cost, null_cost=null_cost)
    assert got.dtype == np.int64
    assert got.tolist() == lowest_by_enumeration(cost, null_cost)


@settings(max_examples=120, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["whole", "forbidden", "random", "repeated"]),
    st.integers(0, 9),
    st.integers(0, 9),
    st.sampled_from([None, 0.65, 1.0]),
    st.sampled_from(["lowest", "opis"]),
    st.booleans(),
)
def test_the_reference_agrees(
    seed: int, kind: str, n_rows: int, n_cols: int, null_cost: float | None, ties: str, maximize: bool
) -> None:
    cost = costs(seed, kind, n_rows, n_cols) * (-1 if maximize else 1)
    options = {"null_cost": null_cost, "ties": ties, "maximize": maximize}
    fast, slow = wmb.assignment(cost, **options), wmb.assignment(cost, **options, backend="reference")
    np.testing.assert_array_equal(fast.columns, slow.columns)
    np.testing.assert_allclose(fast.total, slow.total, atol=TOTAL, equal_nan=True)
    assert fast.status == slow.status
    assert fast.reason() == slow.reason()


@pytest.mark.parametrize("seed", range(20))
def test_rows_that_stay_alone_as_the_public_solver_leaves_them(seed: int) -> None:
    """Rows that nothing is left for, that are too dear, or as dear as to be alone, between others that are not."""
    rng = np.random.default_rng(seed)
    cost = np.round(rng.random((40, 30)), 1)
    cost[rng.random(40) < 0.3] = np.inf
    cost[rng.random(40) < 0.3] += 0.4
    cost[:, rng.random(30) < 0.3] = 1.0
    for null_cost in (0.1, 0.65, 1.0):
        fast, slow = (wmb.assign(cost, null_cost=null_cost, ties="opis", backend=each) for each in ("cpu", "reference"))
        np.testing.assert_array_equal(fast, slow)
    assert (wmb.assign(np.full((300, 5), np.inf), null_cost=0.65, ties="opis") == -1).all()


@pytest.mark.parametrize("shape", [(1, 1), (3, 70), (70, 3), (40, 40), (65, 64), (129, 200), (256, 256)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_totals_are_scipys(shape: tuple[int, int], dtype: str) -> None:
    cost = np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)
    rows, cols = scipy.optimize.linear_sum_assignment(cost)
    for ties in ("lowest", "opis"):
        found = wmb.assignment(cost, ties=ties)
        assert found.total.dtype == dtype
        np.testing.assert_allclose(
            found.total, cost[rows, cols].sum(dtype=np.float64), rtol=1e-6 if dtype == "float32" else TOTAL
        )
        np.testing.assert_array_equal(found.columns[rows], cols)  # one optimum
        assert np.count_nonzero(found.columns >= 0) == min(shape)
        assert found.status == 0


def test_ties_of_decimal_totals_count_as_ties() -> None:
    """0.1 + 0.2 is not 0.3 in float64; the totals are equal to within their rounding."""
    cost = np.array([[0.1, 0.3], [0.0, 0.2]])
    assert cost[0, 0] + cost[1, 1] != cost[0, 1] + cost[1, 0]
    assert wmb.assign(cost).tolist() == [0, 1]
    assert wmb.assign(cost[:, ::-1]).tolist() == [0, 1]


def test_totals_that_differ_by_more_than_rounding_are_told_apart() -> None:
    for gap in (1e-12, 1e-9, 1.0):
        assert wmb.assign(np.array([[1.0 + gap, 1.0], [1.0, 1.0]])).tolist() == [1, 0]


def test_a_large_cost_for_forbidden_does_not_blunt_the_others() -> None:
    blocked = np.array([[0.3, 1e9, 1e9], [0.2, 0.5 + 1e-8, 0.5], [0.1, 0.4, 0.4]])
    assert wmb.assign(blocked).tolist() == [0, 2, 1]
    whole = np.array([[0.0, 1e12, 1e12], [1.0, 3.0, 2.0], [1.0, 2.0, 2.0]])
    assert wmb.assign(whole).tolist() == [0, 2, 1]


@pytest.mark.parametrize("n", [40, 64, 129])
def test_all_equal_is_the_diagonal_both_ways(n: int) -> None:
    for ties in ("lowest", "opis"):
        np.testing.assert_array_equal(wmb.assign(np.full((n, n + 3), 0.65), ties=ties), np.arange(n))
    tall = wmb.assign(np.full((n + 3, n), 0.65))
    np.testing.assert_array_equal(tall, [*range(n), -1, -1, -1])


def test_many_ties_at_size() -> None:
    """Row by row, no lower column can be had at the same total."""
    cost = np.random.default_rng(3).integers(0, 4, (70, 80)).astype(float)
    got = wmb.assignment(cost)
    rows, cols = scipy.optimize.linear_sum_assignment(cost)
    assert got.total == cost[rows, cols].sum()
    for i in range(0, 70, 7):
        for j in range(got.columns[i]):
            if j in got.columns[:i]:
                continue
            fixed = cost.copy()
            for row, column in enumerate([*got.columns[:i], j]):
                fixed[row] = np.where(np.arange(80) == column, cost[row], 1e6)
            assert fixed[scipy.optimize.linear_sum_assignment(fixed)].sum() > got.total


def test_null_cost_leaves_a_row_alone_where_that_is_cheaper() -> None:
    cost = np.array([[0.3, 0.9], [0.8, 0.7]])
    assert wmb.assign(cost, null_cost=0.65).tolist() == [0, -1]
    assert wmb.assign(cost, null_cost=0.65, ties="opis").tolist() == [0, -1]
    assert wmb.assign(-cost, null_cost=-0.65, maximize=True).tolist() == [0, -1]
    assert wmb.assign(np.full((3, 3), 0.65), null_cost=0.65).tolist() == [0, 1, 2]  # a column comes before none
    assert wmb.assignment(cost, null_cost=0.65).total == 0.3


def test_infeasible_and_nan_say_so() -> None:
    batch = np.array(
        [[[1.0, 2.0], [2.0, 1.0]], [[INF, INF], [1.0, 2.0]], [[np.nan, 1.0], [1.0, 2.0]], [[-INF, 3], [1, 1]]]
    )
    found = wmb.assignment(batch)
    assert found.columns.tolist() == [[0, 1], [-1, 0], [1, 0], [1, 0]]
    assert found.status.tolist() == [0, 1, 1, 1]
    assert found.reason(1) == "no full assignment exists: as many rows as possible are assigned"
    assert "NaN" in found.reason(2)
    assert "infinite where that is no forbidden pair" in found.reason(3)
    public = wmb.assignment(batch, ties="opis")
    assert public.columns.tolist() == [[0, 1], [-1, -1], [-1, -1], [-1, -1]]
    assert public.status.tolist() == [0, 2, 2, 2]
    assert np.isnan(public.total).tolist() == [False, True, True, True]
    assert "does not end" in public.reason(1)


def test_extreme_sizes_of_costs() -> None:
    cost = np.array([[2.0, 1.0, 4.0], [1.0, 3.0, 5.0], [4.0, 4.0, 1.0]])
    for unit in (1e-300, 1e-9, 1e9, 1e305):
        assert wmb.assign(cost * unit).tolist() == [1, 0, 2]
        assert wmb.assign(np.vstack([cost, cost]) * unit).tolist() == [1, 0, 2, -1, -1, -1]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 0, 3), (0, 2, 2)])
def test_nothing_to_assign(shape: tuple[int, ...]) -> None:
    for ties in ("lowest", "opis"):
        found = wmb.assignment(np.zeros(shape), ties=ties)
        assert found.columns.shape == shape[:-1]
        assert (found.columns == -1).all()
        assert np.shape(found.status) == shape[:-2]
        assert not np.any(found.status)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 8), st.integers(-9, 9))
def test_units_offsets_and_transposition(seed: int, n_rows: int, n_cols: int, power: int) -> None:
    cost = np.random.default_rng(seed).integers(0, 6, (n_rows, n_cols)).astype(float)
    found = wmb.assign(cost)
    np.testing.assert_array_equal(found, wmb.assign(cost * 2.0**power))
    np.testing.assert_array_equal(found, wmb.assign(-cost, maximize=True))
    if n_rows == n_cols:
        np.testing.assert_array_equal(found, wmb.assign(cost + 3))
        assert wmb.assignment(cost.T).total == wmb.assignment(cost).total


def test_same_bits_for_any_threads_batch_and_simd_level() -> None:
    rng = np.random.default_rng(4)
    batch = np.concatenate([rng.random((30, 33, 37)), rng.integers(0, 4, (30, 33, 37)).astype(float)])
    before = wmb.get_num_threads()
    results = []
    try:
        for level in simd_levels():
            wmb._core.set_simd_level(level)
            for n in (1, 3):
                wmb.set_num_threads(n)
                results.append(wmb.assignment(batch))
    finally:
        wmb.set_num_threads(before)
    alone = [wmb.assignment(item) for item in batch]
    for found in results:
        np.testing.assert_array_equal(found.columns, [item.columns for item in alone])
        np.testing.assert_array_equal(found.total, [item.total for item in alone])


def test_lists_strided_readonly_torch_and_whole_numbers() -> None:
    rng = np.random.default_rng(5)
    items = [rng.integers(0, 9, (r, c)) for r, c in ((3, 5), (0, 2), (6, 4), (1, 1))]
    listed = wmb.assignment(items)
    assert listed.total.dtype == np.float64
    for k, item in enumerate(items):
        one = wmb.assignment(item.astype(np.float64))
        np.testing.assert_array_equal(listed.columns[k], one.columns)
        assert listed.total[k] == one.total
    cost = rng.random((2, 12, 14)).astype(np.float32)[:, ::2, ::-1]
    cost.flags.writeable = False
    tensor = wmb.assign(torch.from_numpy(np.ascontiguousarray(cost)))
    assert isinstance(tensor, torch.Tensor)
    np.testing.assert_array_equal(tensor.numpy(), wmb.assign(cost))
    assert wmb.assign([]) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"cost": np.zeros(3)}, r"assign: cost must have shape \(..., R, C\), got shape \(3,\)"),
        ({"cost": [np.zeros((2, 2)), np.zeros(3)]}, r"assign: cost\[1\] must have shape \(R, C\), got shape \(3,\)"),
        ({"cost": np.zeros((2, 2), dtype=bool)}, "assign: cost must have dtype float32 or float64 or int64, got bool"),
        ({"cost": np.full((1, 1), 2**60)}, r"assign: cost must hold whole numbers below 2\^53"),
        ({"cost": np.zeros((2, 2)), "ties": "scipy"}, "assign: ties must be one of lowest, opis, got 'scipy'"),
        ({"cost": np.zeros((2, 2)), "null_cost": np.nan}, "assign: null_cost must be finite, got nan"),
        ({"cost": np.zeros((2, 2)), "maximize": 1}, "assign: maximize must be True or False, got 1"),
    ],
)
def test_bad_arguments_say_what_is_wrong(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        wmb.assign(**arguments)
