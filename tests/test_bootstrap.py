# SPDX-License-Identifier: Apache-2.0
"""bootstrap_ci against its reference, the distribution it samples, and what must hold for any cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import wmb_fast as wmb
from wmb_fast.reference.stats import philox

SUM = 1e-12  # two orders of summation
FIELDS = ("low", "high", "estimate")


def test_philox_gives_its_published_numbers() -> None:
    """The known answers of the Random123 distribution."""
    assert [f"{int(w):08x}" for w in philox(np.zeros(4, np.uint64), 0)] == [
        "6627e8d5",
        "e169c58d",
        "bc57ac4c",
        "9b00dbd8",
    ]
    ones = philox(np.full(4, 0xFFFFFFFF, np.uint64), 2**64 - 1)
    assert [f"{int(w):08x}" for w in ones] == ["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"]


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 12),
    st.integers(1, 10),
    st.integers(0, 2**32 - 1),
    st.sampled_from([None, "one", "two"]),
    st.sampled_from([None, "groups", "others"]),
    st.booleans(),
    st.integers(0, 2**64 - 1),
)
def test_the_reference_agrees(
    n_cases: int, n_items: int, data: int, levels: str | None, strata: str | None, holes: bool, seed: int
) -> None:
    rng = np.random.default_rng(data)
    values = rng.integers(0, 5, (n_items, n_cases)) / 4 if data % 2 else rng.normal(size=(n_items, n_cases))
    if holes:
        values[rng.random(values.shape) < 0.3] = np.nan
    groups, domains, others = rng.integers(0, 4, n_cases), rng.integers(0, 2, n_cases), rng.integers(0, 3, n_cases)
    options: dict[str, Any] = {
        "hierarchy": {None: None, "one": [groups], "two": [groups, domains]}[levels],
        "strata": {None: None, "groups": groups, "others": others}[strata],
        "n": 23,
        "seed": seed,
    }
    fast, slow = wmb.bootstrap_ci(values, **options), wmb.bootstrap_ci(values, **options, backend="reference")
    for name in FIELDS:
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=SUM, atol=SUM, equal_nan=True)
    np.testing.assert_array_equal(fast.status, slow.status)
    assert [fast.reason(i) for i in range(n_items)] == [slow.reason(i) for i in range(n_items)]


def test_the_interval_is_that_of_the_normal_limit() -> None:
    """400 cases: the mean's standard error, and the interval's share, to the noise of 20,000 resamples."""
    values = np.random.default_rng(1).exponential(size=400)
    found = wmb.bootstrap_ci(values, n=20_000, level=0.9)
    error = values.std() / np.sqrt(400)
    np.testing.assert_allclose([found.estimate - found.low, found.high - found.estimate], 1.645 * error, rtol=0.08)


def test_strata_are_resampled_within_themselves() -> None:
    """Two strata, constant each: nothing varies. Without strata the shares of the two do."""
    values, strata = np.repeat([0.0, 1.0], 20), np.repeat(["a", "b"], 20)
    within = wmb.bootstrap_ci(values, strata=strata)
    assert (within.low, within.high, within.status) == (0.5, 0.5, 1)
    assert within.reason() == "every resample has the same mean: the interval has no width"
    assert wmb.bootstrap_ci(values).high > 0.6


def test_draws_are_even() -> None:
    """Each case's share of the draws; a stratum of three, whose size does not divide 2^32."""
    shares = [wmb.bootstrap_ci(np.eye(3), n=1, seed=seed).low for seed in range(3000)]
    np.testing.assert_allclose(np.mean(shares, axis=0), 1 / 3, atol=4 * np.sqrt(2 / 9 / 9000))


def test_equal_values_have_exactly_that_mean() -> None:
    for value in (0.1, 1 / 3, 10000.0, 1e300):
        found = wmb.bootstrap_ci(np.full(35, value), hierarchy=[np.arange(35) % 7, np.arange(35) % 7 % 3], seed=3)
        assert (found.low, found.estimate, found.high, found.status) == (value, value, value, 1)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_bounds_order_and_equivariance(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, groups = rng.random(n), rng.integers(0, 5, n)
    found = wmb.bootstrap_ci(values, hierarchy=groups, strata=groups, n=200)
    assert values.min() - SUM <= found.low <= found.high <= values.max() + SUM
    wider = wmb.bootstrap_ci(values, hierarchy=groups, strata=groups, n=200, level=0.99)
    assert wider.low <= found.low
    assert wider.high >= found.high
    moved = wmb.bootstrap_ci(4 * values + 1, hierarchy=groups, strata=groups, n=200)
    np.testing.assert_allclose([moved.low, moved.high], [4 * found.low + 1, 4 * found.high + 1], rtol=1e-12)
    renamed = [f"group {'fcdab'[g]}" for g in groups]
    again = wmb.bootstrap_ci(values, hierarchy=renamed, n=200)
    np.testing.assert_allclose(again.estimate, found.estimate, rtol=SUM)


def test_missing_values() -> None:
    values = np.array([[1.0, np.nan, 3.0], [np.nan] * 3, [1.0, np.inf, 2.0], [2.0, np.nan, np.nan]])
    found = wmb.bootstrap_ci(values)
    assert found.status.tolist() == [1, 2, 2, 1]
    assert found.n_used.tolist() == [2, 0, 3, 1]
    assert found.reason(0) == "missing values were left out of the means"
    assert found.reason(2) == "a value is not finite"
    assert found.reason(3) == "one case cannot be resampled: there is no interval"
    np.testing.assert_array_equal(found.estimate, [2.0, np.nan, np.nan, 2.0])
    assert wmb.bootstrap_ci(values, nan_policy="propagate").status.tolist() == [2, 2, 2, 2]
    with pytest.raises(wmb.ArgumentError, match="values must hold no NaN under nan_policy='raise', got 6 of them"):
        wmb.bootstrap_ci(values, nan_policy="raise")


def test_equal_names_in_two_domains_are_two_groups() -> None:
    values = np.array([0.0, 1.0, 1.0, 1.0])
    found = wmb.bootstrap_ci(values, hierarchy=[["a", "a", "a", "b"], ["x", "y", "y", "y"]])
    assert found.estimate == 0.5  # x: a = 0; y: a = 1, b = 1


def test_same_bits_for_any_threads_batch_kind_and_order() -> None:
    rng = np.random.default_rng(2)
    values, strata = rng.random((11, 40)), rng.integers(0, 4, 40)
    before = wmb.get_num_threads()
    results = []
    try:
        for n in (1, 3):
            wmb.set_num_threads(n)
            results.append(wmb.bootstrap_ci(values, hierarchy=strata, strata=strata, n=500))
    finally:
        wmb.set_num_threads(before)
    mixed = rng.permutation(40)
    results.append(wmb.bootstrap_ci(values[:, mixed], hierarchy=strata[mixed], strata=strata[mixed], n=500))
    tensor = wmb.bootstrap_ci(torch.from_numpy(values), hierarchy=torch.from_numpy(strata), strata=strata, n=500)
    assert isinstance(tensor.low, torch.Tensor)
    results.append(tensor)
    alone = [wmb.bootstrap_ci(item, hierarchy=strata, strata=strata, n=500) for item in values]
    for name in FIELDS:
        for result in results:
            np.testing.assert_array_equal(np.asarray(getattr(result, name)), [getattr(item, name) for item in alone])


def test_given_indices_take_the_place_of_draws() -> None:
    values, strata = np.array([1.0, 10.0, 2.0, 20.0]), ["a", "b", "a", "b"]
    indices = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0]])
    found = [wmb.bootstrap_ci(values, strata=strata, indices=indices[b : b + 1]).low for b in range(3)]
    assert found == [5.5, 11.0, 8.25]  # (1, 10, 1, 10); (2, 20, 2, 20); (1, 20, 2, 10)
    single = wmb.bootstrap_ci(np.array([0.7]), indices=np.zeros((5, 1), dtype=np.int64))
    assert (single.low, single.high, single.status) == (0.7, 0.7, 1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"values": np.array(1.0)}, r"values must have shape \(..., N\)"),
        ({"strata": ["a"]}, r"strata must be one label a case, shape \(3,\), got shape \(1,\)"),
        ({"hierarchy": [["a", "b", "c"], ["x"]]}, r"hierarchy\[1\] must be one label a case"),
        ({"hierarchy": []}, "hierarchy must have at least one level, got none"),
        ({"strata": [0.5, 1.5, 2.5]}, "strata must hold strings or whole numbers, got dtype float64"),
        ({"indices": np.zeros((2, 2), np.int64)}, r"indices must have shape \(n, 3\) with n at least 1"),
        ({"indices": np.full((2, 3), 3)}, r"indices must be at least 0 and below the size of the case's stratum \(3\)"),
        ({"n": 0}, "n must be at least 1, got 0"),
        ({"level": 1.0}, "level must be below 1, got 1.0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"seed": 2**64}, r"seed must be below 2\^64"),
        ({"nan_policy": "drop"}, "nan_policy must be one of omit, propagate, raise, got 'drop'"),
    ],
)
def test_bad_arguments_say_what_is_wrong(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match="bootstrap_ci: " + sentence):
        wmb.bootstrap_ci(**{"values": np.arange(3.0), **arguments})
