# SPDX-License-Identifier: Apache-2.0
"""bootstrap_ci on a device against the host's: hierarchies, strata, holes, given resamples, and what has no answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from every_op import assert_close
from tolerances import FLOAT32_REL, FLOAT64_ABS, FLOAT64_REL

import wmb_fast as wmb
from wmb_fast._walls.records import SENTENCES

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("on_device")
Array = np.ndarray[Any, Any]
TYPES = {"float32": FLOAT32_REL, "float64": FLOAT64_REL, "int64": FLOAT64_REL}


def assert_as_the_host(values: Array, rel: float = FLOAT64_REL, **options: Any) -> None:
    given = {name: torch.from_numpy(x) if name == "indices" else x for name, x in options.items()}
    got = wmb.bootstrap_ci(torch.from_numpy(values), **given)
    want = wmb.bootstrap_ci(values, **options)
    assert_close(got, want, rel=rel, abs=FLOAT64_ABS)
    for index in np.ndindex(np.shape(want._codes)):
        assert got.reason(index) == want.reason(index)


def labels(n: int, groups: int, seed: int = 0) -> Array:
    return np.random.default_rng([n, groups, seed]).integers(0, groups, n)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(1,), (17,), (3, 2), (2, 3, 63), (5, 130)])
def test_as_the_host(dtype: str, shape: tuple[int, ...]) -> None:
    values = (10 * np.random.default_rng(shape).standard_normal(shape)).astype(dtype)
    assert_as_the_host(values, TYPES[dtype], n=150, seed=2**64 - 1)


@pytest.mark.parametrize("strata", [None, "group", "other"])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("n_cases", [1, 17, 65])
def test_hierarchies_and_strata(depth: int, strata: str | None, n_cases: int) -> None:
    values = np.random.default_rng(n_cases).standard_normal((6, n_cases))
    values[1, labels(n_cases, 3) == 0] = np.nan
    hierarchy = [labels(n_cases, 7), labels(n_cases, 3), labels(n_cases, 2)][:depth]
    chosen = {None: None, "group": hierarchy[0], "other": labels(n_cases, 4, 1)}[strata]
    assert_as_the_host(values, hierarchy=hierarchy, strata=chosen, n=130, level=0.8)


@pytest.mark.parametrize("policy", ["omit", "propagate"])
def test_what_is_missing(policy: str) -> None:
    values = np.random.default_rng(5).standard_normal((9, 12))
    values[0, 3] = np.nan
    values[1] = np.nan
    values[2, 1:] = np.nan
    values[3, 5], values[4, 0] = np.inf, -np.inf
    values[5] = 0.1
    values[6, ::2] = -0.0
    values[7] = 1.7e308 * (-1.0) ** np.arange(12)
    assert_as_the_host(values, n=64, nan_policy=policy)
    assert_as_the_host(values, n=64, nan_policy=policy, hierarchy=labels(12, 3), strata=labels(12, 2))
    assert_as_the_host(np.full((2, 3), np.nan), n=3, nan_policy=policy)
    assert_as_the_host(np.empty((2, 0)), nan_policy=policy)
    assert_as_the_host(np.empty((0, 4)), nan_policy=policy)


@pytest.mark.parametrize("strata", [False, True])
def test_resamples_that_are_given(strata: bool) -> None:
    rng = np.random.default_rng(7)
    values, hierarchy = rng.standard_normal((3, 20)), labels(20, 4)
    stratum = labels(20, 3, 2) if strata else np.zeros(20, int)
    indices = rng.integers(0, np.bincount(stratum)[stratum], (70, 20))
    assert_as_the_host(values, indices=indices, strata=stratum, hierarchy=hierarchy)
    one = np.full((1, 20), np.nan)
    one[0, 4] = 1.5
    assert_as_the_host(one, indices=indices, strata=stratum)


@pytest.mark.parametrize("wrong", [-1, 5])
def test_an_index_beyond_its_stratum_is_reported(wrong: int) -> None:
    values, indices = torch.arange(10.0).reshape(2, 5), torch.zeros((3, 5), dtype=torch.int64)
    indices[2, 4] = wrong
    found = wmb.bootstrap_ci(values, indices=indices)
    assert found.status.tolist() == [2, 2]
    assert found.reason(1) == SENTENCES["index_beyond_stratum"]
    assert found.low.isnan().all()
    assert found.estimate.isnan().all()


def test_the_order_of_cases_is_nothing() -> None:
    values, group = torch.from_numpy(np.random.default_rng(1).standard_normal((2, 30))), labels(30, 4)
    turned = np.random.default_rng(2).permutation(30)
    first = wmb.bootstrap_ci(values, hierarchy=group, strata=group, n=50)
    second = wmb.bootstrap_ci(values[:, turned], hierarchy=group[turned], strata=group[turned], n=50)
    for name in ("low", "high", "estimate"):
        assert getattr(first, name).equal(getattr(second, name))


def test_the_rest_of_a_batch_changes_no_bit() -> None:
    values = torch.from_numpy(np.random.default_rng(3).standard_normal((6, 40)))
    values[2, 5] = torch.nan
    whole = wmb.bootstrap_ci(values, n=50, hierarchy=labels(40, 6))
    for k, item in enumerate(values):
        alone = wmb.bootstrap_ci(item, n=50, hierarchy=labels(40, 6))
        for name in ("low", "high", "estimate", "n_used", "status"):
            assert getattr(alone, name).equal(getattr(whole, name)[k])


def test_bad_arguments_are_told_as_on_the_host() -> None:
    values = torch.zeros((2, 5))
    with pytest.raises(wmb.ArgumentError, match="bootstrap_ci: nan_policy must be omit or propagate on a device"):
        wmb.bootstrap_ci(values, nan_policy="raise")
    with pytest.raises(wmb.ArgumentError, match=r"bootstrap_ci: indices must have shape \(n, 5\)"):
        wmb.bootstrap_ci(values, indices=torch.zeros((3, 4), dtype=torch.int64))
    with pytest.raises(wmb.ArgumentError, match="bootstrap_ci: n must be at least 1, got 0"):
        wmb.bootstrap_ci(values, n=0)
    with pytest.raises(wmb.ArgumentError, match="bootstrap_ci: strata must be one label a case"):
        wmb.bootstrap_ci(values, strata=[1, 2])
