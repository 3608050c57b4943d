# SPDX-License-Identifier: Apache-2.0
"""Correlations, their mean, and agreement with votes, against their references, SciPy, and what must always hold."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import wmb_fast as wmb

VALUE = 1e-12  # two orders of summation
P = 1e-12  # relative: two continued fractions
FINITE_SUM = 1e-12  # absolute: the reference's p is a difference from one


def p_of(r: float, freedom: float) -> float:
    """The two-sided p value by SciPy's incomplete beta function, from the side that keeps its digits."""
    if abs(r) < 0.5:
        return float(scipy.special.betaincc(0.5, freedom / 2, r * r))
    return float(scipy.special.betainc(freedom / 2, 0.5, (1 - r) * (1 + r)))


def samples(n: int, seed: int, kind: str = "normal") -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = 0.5 * a + rng.normal(size=n)
    return (a, b) if kind == "normal" else (np.round(a), np.round(b, 1))


@pytest.mark.parametrize("n", [3, 4, 5, 30, 399, 400, 401, 3000])
@pytest.mark.parametrize("kind", ["normal", "ties"])
def test_values_and_p_are_scipys(n: int, kind: str) -> None:
    a, b = samples(n, n, kind)
    for op, theirs in ((wmb.spearman, scipy.stats.spearmanr), (wmb.pearson, scipy.stats.pearsonr)):
        value, p = op(a, b)
        wanted = theirs(a, b)
        np.testing.assert_allclose(value, wanted[0], rtol=VALUE, atol=VALUE)
        np.testing.assert_allclose(p, p_of(value, n - 2), rtol=P)
        reference = getattr(wmb.reference, op.__name__)(a, b)
        np.testing.assert_allclose(value, reference.value, rtol=VALUE, atol=VALUE)
        np.testing.assert_allclose(p, reference.p, atol=FINITE_SUM)


@pytest.mark.parametrize("freedom", [1, 2, 3, 8, 41, 1000, 9998, 200_000])
def test_p_over_its_whole_range(freedom: int) -> None:
    """Straight lines with one point moved: correlations from nearly none to nearly one."""
    n = freedom + 2
    x = np.arange(n, dtype=float)
    for shift in (0.3, 1.0, 10.0, n, 30.0 * n, 1000.0 * n**1.5):
        y = x.copy()
        y[n // 2] += shift
        r, p = wmb.pearson(x, y)
        wanted = p_of(r, freedom)
        if wanted > 1e-290:
            np.testing.assert_allclose(p, wanted, rtol=P)


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 500), st.integers(0, 2**32 - 1))
def test_ranks_see_the_order_alone(n: int, seed: int) -> None:
    a, b = samples(n, seed, "ties")
    base = wmb.spearman(a, b).value
    if np.isnan(base):
        return
    mixed = np.random.default_rng(seed).permutation(n)
    assert wmb.spearman(a[mixed], b[mixed]).value == base
    assert wmb.spearman(np.exp(a), b * 1e9).value == base
    assert wmb.spearman(-a, b).value == -base
    assert wmb.spearman(b, a).value == base
    assert wmb.spearman(a, np.exp(a)).value == 1
    assert wmb.spearman(a, -a).value == -1


def test_both_zeros_tie_and_infinities_have_ranks() -> None:
    assert wmb.spearman(np.array([0.0, -0.0, 1.0]), np.array([1.0, 1.0, 2.0])).value == 1
    assert wmb.spearman(np.array([-np.inf, 0.0, 1.0, np.inf]), np.arange(4.0)).value == 1


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 60), st.integers(0, 2**32 - 1), st.integers(-300, 300))
def test_pearson_in_any_unit_and_from_any_origin(n: int, seed: int, power: int) -> None:
    a, b = samples(n, seed)
    base = wmb.pearson(a, b).value
    assert wmb.pearson(a * 2.0**power, b).value == base
    # The offset is taken away exactly; what it cost the values, a rounding of 1e6, is all that shows.
    np.testing.assert_allclose(wmb.pearson(a + 1e6, b).value, base, atol=1e-8)
    assert abs(wmb.pearson(a, 3 * a + 1).value) <= 1


def test_degenerate_items_are_reported() -> None:
    a = [
        np.array(x, dtype=float) for x in ([], [1], [1, 2], [1, 1, 1], [1, 2, np.nan], [1, np.inf, 3], [0.1, 0.1, 0.1])
    ]
    b = [np.array(x, dtype=float) for x in ([], [1], [2, 1], [1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3])]
    for op, inf_status in ((wmb.spearman, 0), (wmb.pearson, 2)):
        found = op(a, b)
        assert found.status.tolist() == [2, 2, 1, 2, 2, inf_status, 2]
        assert np.isnan(found.value).tolist() == [True, True, False, True, True, inf_status == 2, True]
        assert found.value[2] == -1
        assert "fewer than two" in found.reason(0)
        assert "constant" in found.reason(3)
        assert found.reason(4) == "a value is not finite"
        assert found.n_used.tolist() == [0, 1, 2, 3, 2, 3, 3]
        slow = op(a, b, backend="reference")
        assert slow.status.tolist() == found.status.tolist()
        np.testing.assert_array_equal(slow.n_used, found.n_used)
        np.testing.assert_allclose(slow.value, found.value, rtol=VALUE)


def test_nan_policies() -> None:
    a, b = samples(50, 1)
    a[3], b[7] = np.nan, np.nan
    known = np.delete(np.arange(50), [3, 7])
    for op in (wmb.spearman, wmb.pearson):
        assert op(a, b).status == 2
        left = op(a, b, nan_policy="omit")
        assert left.value == op(a[known], b[known]).value
        assert left.n_used == 48
        with pytest.raises(wmb.ArgumentError, match="a must hold no NaN under nan_policy='raise', got one at item 0"):
            op(a, b, nan_policy="raise")


def test_batches_lists_padding_and_threads_agree() -> None:
    pairs = [samples(n, n) for n in (5, 600, 33, 12)]
    listed = wmb.spearman([a for a, _ in pairs], [b for _, b in pairs])
    padded_a, padded_b = np.full((2, 4, 700), np.nan)
    for row, (a, b) in enumerate(pairs):
        padded_a[row, : a.size], padded_b[row, : b.size] = a, b
    lengths = np.array([5, 600, 33, 12])
    before = wmb.get_num_threads()
    try:
        for n in (1, 3):
            wmb.set_num_threads(n)
            padded = wmb.spearman(padded_a, padded_b, lengths=lengths)
            for name in ("value", "p", "n_used"):
                np.testing.assert_array_equal(getattr(padded, name), getattr(listed, name))
    finally:
        wmb.set_num_threads(before)
    np.testing.assert_array_equal(listed.value, [wmb.spearman(a, b).value for a, b in pairs])


def test_kinds_and_dtypes() -> None:
    a, b = (x.astype(np.float32) for x in samples(40, 2))
    found = wmb.pearson(torch.from_numpy(a), torch.from_numpy(b))
    assert isinstance(found.value, torch.Tensor)
    assert found.value.dtype == torch.float32
    assert float(found) == wmb.pearson(a, b).value == np.float32(wmb.pearson(a.astype(float), b.astype(float)).value)
    whole = wmb.spearman(np.arange(9), np.arange(9) ** 2)
    assert whole.value == 1
    assert whole.value.dtype == np.float64
    np.testing.assert_allclose(wmb.spearman(a, b), wmb.spearman(a, b).value)  # stands for its value
    with pytest.raises(wmb.ArgumentError, match="spearman: b must have the shape of a"):
        wmb.spearman(a, b[:5])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=9), st.integers(0, 2**32 - 1))
def test_fisher_mean_is_the_reference(rhos: list[float], seed: int) -> None:
    r = np.array(rhos)
    weights = np.random.default_rng(seed).random(r.size).round(1)
    for w in (None, weights):
        fast, slow = wmb.fisher_mean(r, w), wmb.fisher_mean(r, w, backend="reference")
        np.testing.assert_allclose(fast.value, slow.value, rtol=1e-9, atol=VALUE)  # tanh near one, twice over
        assert fast.status == slow.status
        assert fast.reason() == slow.reason()
        assert fast.status == 2 or abs(fast.value) < 1


def test_fisher_mean_reports() -> None:
    rhos = np.array([[0.5, 0.9, np.nan], [1.0, 0.5, np.nan], [np.nan] * 3, [1.1, 0.5, 0.5], [0.5, 0.5, 0.5]])
    found = wmb.fisher_mean(rhos, np.array([[1.0, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 0, 0]]))
    assert found.status.tolist() == [0, 1, 2, 2, 2]
    assert found.n_used.tolist() == [2, 2, 0, 3, 3]
    assert "no correlation" in found.reason(3)
    assert "add up to nothing" in found.reason(4)
    with pytest.raises(wmb.ArgumentError, match="fisher_mean: weights must be finite and at least 0, got -1"):
        wmb.fisher_mean(np.ones(2), np.array([1.0, -1.0]))


def votes_of(n: int, agree: int, disagree: int, tie: int, split: int) -> tuple[np.ndarray, np.ndarray]:
    metric = np.concatenate([np.ones(agree), -np.ones(disagree), np.zeros(tie), np.ones(split)])
    votes = np.concatenate([np.ones(agree + disagree + tie), np.zeros(split)])
    order = np.random.default_rng(n).permutation(metric.size)
    return metric[order], votes[order]


@pytest.mark.parametrize(
    ("agree", "decisive", "tie", "split", "percent"),
    [
        (65, 76, 1, 7, 85.5),
        (71, 80, 2, 2, 88.8),
        (62, 79, 0, 5, 78.5),
        (67, 80, 2, 2, 83.8),
        (74, 80, 1, 3, 92.5),
        (63, 77, 4, 3, 81.8),
    ],
)
def test_agreement_of_the_published_table(agree: int, decisive: int, tie: int, split: int, percent: float) -> None:
    """WorldMemBench, table 6."""
    metric, votes = votes_of(agree, agree, decisive - agree, tie, split)
    found = wmb.pairwise_agreement(metric, votes)
    assert (found.agree, found.decisive, found.tie, found.split, found.missing) == (agree, decisive, tie, split, 0)
    assert round(100 * float(found), 1) == pytest.approx(percent, abs=0.051)  # 88.75 is printed 88.8
    assert wmb.reference.pairwise_agreement(metric, votes) == found.value


def test_agreement_with_several_voters() -> None:
    votes = np.array([[1.0, 1, -1], [1, -1, np.nan], [np.nan] * 3, [-1, -1, np.nan], [5, 0, 0], [-1, -1, 1]])
    metric = np.array([0.2, 0.1, 0.3, 0.4, 0.0, np.nan])
    found = wmb.pairwise_agreement(np.stack([metric, -metric]), np.stack([votes, votes]))
    slow = wmb.pairwise_agreement(np.stack([metric, -metric]), np.stack([votes, votes]), backend="reference")
    for result in (found, slow):
        assert result.agree.tolist() == [1, 1]
        assert result.decisive.tolist() == [2, 2]
        assert result.split.tolist() == [1, 1]
        assert result.tie.tolist() == [1, 1]
        assert result.missing.tolist() == [2, 2]
    nothing = wmb.pairwise_agreement(np.zeros(3), np.ones(3))
    assert nothing.status == 2
    assert np.isnan(nothing.value)
    assert nothing.reason() == "no pair is decisive"
    with pytest.raises(wmb.ArgumentError, match=r"votes must have shape \(3,\) or \(3, 'V'\), got shape \(4,\)"):
        wmb.pairwise_agreement(np.zeros(3), np.zeros(4))
