# SPDX-License-Identifier: Apache-2.0
"""Cases A (aggregation and statistics) and O (association and masks) of the collection of real faults.

docs/cases.md says where the others are answered. Of A06 the statistic min: the op resamples means.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import wmb_fast as wmb

NAN = np.nan


def test_a01_weighted_mean_with_gaps() -> None:
    """The rule for gaps, seen through Fisher's transform: values 1, NaN, 3 with weights 1, 1, 2."""
    rhos, weights = np.tanh(np.array([1.0, NAN, 3.0])), np.array([1.0, 1.0, 2.0])
    found = wmb.fisher_mean(rhos, weights)
    np.testing.assert_allclose(np.arctanh(found.value), 7 / 3, rtol=1e-9)
    assert found.n_used == 2
    for gone in (wmb.fisher_mean(np.full(3, NAN), weights), wmb.fisher_mean(rhos, np.zeros(3))):
        assert gone.status == 2
        assert np.isnan(gone.value)
        assert gone.reason()


def test_a03_divisor() -> None:
    """A mean over N videos is divided by N, not by N - 1: one video has a mean."""
    one, three = wmb.bootstrap_ci(np.array([0.9])), wmb.bootstrap_ci(np.array([0.9, 0.8, 0.7]))
    assert one.estimate == 0.9
    np.testing.assert_allclose(three.estimate, 0.8, rtol=1e-12)


def test_a04_missing_cases() -> None:
    """Model Y lacks ten of sixty cases: its mean says so, as zeros it is another, and pairs are of what both have."""
    x, y = np.full(60, 0.5), np.where(np.arange(60) < 50, 0.6, NAN)
    found = wmb.bootstrap_ci(np.stack([x, y, np.nan_to_num(y), y - x]))
    np.testing.assert_allclose(found.estimate, [0.5, 0.6, 0.5, 0.1], rtol=1e-9)
    assert found.n_used.tolist() == [60, 50, 60, 50]
    assert found.status[1] == 1


def test_a05_degenerate_bootstrap() -> None:
    flat = wmb.bootstrap_ci(np.full(35, 10000.0))
    assert (flat.low, flat.high, flat.status) == (10000, 10000, 1)
    one = wmb.bootstrap_ci(np.array([3.0]))
    assert one.estimate == 3
    assert np.isnan([one.low, one.high]).all()
    assert "one case" in one.reason()
    none = wmb.bootstrap_ci(np.array([]))
    assert np.isnan([none.low, none.high, none.estimate]).all()
    assert none.status == 2
    assert none.reason() == "there are no samples"


def test_a06_clipped_scores() -> None:
    found = wmb.bootstrap_ci(np.array([0.0] * 28 + [1.0] * 2), n=2000, seed=0)
    assert 0 <= found.low <= 2 / 30 <= found.high <= 1
    np.testing.assert_allclose(found.estimate, 2 / 30, rtol=1e-12)
    assert found.status == 0


def test_a07_reproducible_intervals() -> None:
    rng = np.random.default_rng(7)
    values, strata = rng.random(40), np.repeat(["a", "b", "c", "d"], 10)
    before = wmb.get_num_threads()
    found = []
    try:
        for n in (1, 16):
            wmb.set_num_threads(n)
            order = rng.permutation(40)
            for given in (values[order], torch.from_numpy(values[order])):
                found.append(wmb.bootstrap_ci(given, strata=strata[order], n=2000, seed=1))
    finally:
        wmb.set_num_threads(before)
    assert len({(float(f.low), float(f.high), float(f.estimate)) for f in found}) == 1


def test_a08_rank_correlation_with_ties() -> None:
    a = [[1, 0, 4, 1, 0, 3, 0], [1, 1, 1, 1, 2], [2, 1, 1, 1, 1], [1, 1, 1], [1]]
    b = [[4, 0, 3, 3, 3, 1, 1], [5, 4, 3, 2, 1], [1, 2, 2, 2, 2], [5, 5, 5], [1]]
    found = wmb.spearman([np.array(x, dtype=float) for x in a], [np.array(x, dtype=float) for x in b])
    np.testing.assert_allclose(found.value, [0.35294118, -0.70710678, -1, NAN, NAN], atol=5e-9)
    assert found.value[2] == -1
    assert found.status.tolist() == [0, 0, 0, 2, 2]
    assert found.reason(3)
    assert found.reason(4)


def test_a09_rank_precision() -> None:
    x = np.arange(5000, dtype=np.float32)
    for given in (x, torch.from_numpy(x)):
        assert float(wmb.spearman(given, given)) == 1
    assert float(wmb.spearman(x, np.ascontiguousarray(x[::-1]))) == -1


def test_a10_hierarchy_and_gate() -> None:
    values, subcategory = np.array([1.0, 1, 1, 1, 0]), ["A", "A", "A", "A", "B"]
    assert wmb.bootstrap_ci(values, hierarchy=subcategory).estimate == 0.5
    assert wmb.bootstrap_ci(values).estimate == 0.8
    # 19 of 60 cases started, with a conditional mean of 0.928: the others count as zero.
    gated = np.concatenate([np.full(19, 0.928), np.zeros(41)])
    np.testing.assert_allclose(wmb.bootstrap_ci(gated).estimate, 0.29386667, atol=5e-9)


def test_a12_averaging_correlations() -> None:
    np.testing.assert_allclose(float(wmb.fisher_mean(np.array([0.5, 0.9]))), 0.76607734, atol=5e-9)
    capped = wmb.fisher_mean(np.array([[1.0, 0.5], [1.0, -1.0]]))
    assert capped.status.tolist() == [1, 1]
    assert np.isfinite(capped.value).all()
    assert (np.abs(capped.value) < 1).all()
    assert "capped" in capped.reason(0)


def test_s09_no_face() -> None:
    """Of five frames two show no face: leaving them out and counting them as zero are two policies, never NaN."""
    sims = np.array([0.9, 0.8, NAN, 0.7, NAN])
    without, as_zero = wmb.bootstrap_ci(sims), wmb.bootstrap_ci(np.nan_to_num(sims))
    np.testing.assert_allclose([without.estimate, as_zero.estimate], [0.8, 0.48], rtol=1e-12)
    assert (without.n_used, as_zero.n_used) == (3, 5)
    none = wmb.bootstrap_ci(np.full(5, NAN))
    assert none.status == 2
    assert none.reason()


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_s10_several_faces(kind: str) -> None:
    similarity = np.array([[0.9, 0.8], [0.85, 0.2]])
    for rows, wanted in ((similarity, [1, 0]), (similarity[::-1].copy(), [0, 1])):
        found = wmb.assignment(rows if kind == "numpy" else torch.from_numpy(rows), maximize=True)
        assert found.columns.tolist() == wanted
        np.testing.assert_allclose(float(found.total), 1.65, rtol=1e-12)


def test_s11_degenerate_landmarks() -> None:
    """Five landmarks in a plane: all in one place; one that is not there; on a line."""
    template = np.array([[30.0, 50, 0], [65, 50, 0], [48, 70, 0], [33, 90, 0], [62, 90, 0]])
    same_place = wmb.umeyama(np.tile([50.0, 50, 0], (5, 1)), template)
    assert np.isnan(same_place.scale)
    assert same_place.status == 2
    broken = template * 2
    broken[3, 1] = NAN  # the op leaves a point out that is not there; who needs all five asks for all five
    assert wmb.umeyama(broken, template).scale == pytest.approx(0.5)
    none = wmb.umeyama(np.full((5, 3), NAN), template)
    assert none.status == 2
    assert "not finite" in none.reason()
    line = np.arange(5.0)[:, None] * [1.0, 2, 0]
    found = wmb.umeyama(line, 3 * line)
    assert found.scale == pytest.approx(3)
    assert (found.rank, found.status) == (1, 1)
    assert np.isfinite(found.rotation).all()


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_o01_nan_row(kind: str) -> None:
    cost = np.array([[0.70001] * 4, [0.03333333, 0.70001, 0.70001, 0.70001], [NAN] * 4])
    found = wmb.assignment(cost if kind == "numpy" else torch.from_numpy(cost))
    assert found.columns.tolist() == [1, 0, -1]
    np.testing.assert_allclose(float(found.total), 0.73334333, rtol=1e-9)
    assert "NaN" in found.reason()


@pytest.mark.parametrize("forbidden", [np.inf, NAN])
def test_o03_sentinel(forbidden: float) -> None:
    f = forbidden
    cost = np.array([[0.4, 1, 0.5, f], [0, f, 0, 0], [0.3166, 0.3166, f, f], [f, f, f, f]])
    found = wmb.assignment(cost)
    assert found.columns.tolist() == [0, 2, 1, -1]
    np.testing.assert_allclose(found.total, 0.7166, rtol=1e-12)
    assert found.status == 1


def test_o05_empty_masks() -> None:
    empty = np.zeros((8, 8), dtype=bool)
    ten = empty.copy()
    ten.ravel()[:10] = True
    assert np.isnan(wmb.mask_iou(empty, empty))
    assert wmb.mask_iou(empty, empty, empty=1.0) == 1
    assert wmb.mask_iou(ten, empty) == 0
    target = np.where(ten, 2, 0)
    by_class = target == np.arange(3)[:, None, None]
    assert np.nanmean(wmb.mask_iou(by_class, by_class)) == 1


@pytest.mark.parametrize(("dtype", "inside"), [("bool", 1), ("uint8", 1), ("uint8", 255), ("float32", 1), ("int64", 1)])
def test_o06_mask_dtype(dtype: str, inside: int) -> None:
    left, top = np.zeros((2, 64, 64), dtype=dtype)
    left[:, :32], top[:32] = inside, inside
    assert wmb.mask_iou(left, top) == 1024 / 3072
