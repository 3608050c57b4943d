# SPDX-License-Identifier: Apache-2.0
"""The eleven pair metrics on plain arrays."""

from __future__ import annotations

import numpy as np
import pytest

import wmb_fast as wmb
from wmb_fast._walls.errors import ArgumentError
from wmb_fast.protocols import r2m


def test_appearance_is_the_ops_of_each_pair() -> None:
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (5, 20, 24, 3), dtype=np.uint8)
    numbers, pairs = [2, 3, 7, 8, 20], [(2, 20), (7, 3), (8, 8)]
    decibel, alike = r2m.appearance(pictures, numbers, pairs)
    for k, (u, v) in enumerate(pairs):
        a, b = (pictures[numbers.index(frame)] for frame in (u, v))
        assert decibel[k] == wmb.psnr(a, b, data_range=255)
        assert alike[k] == wmb.ssim(a, b, data_range=255, variant="uniform7")
        assert alike[k] == pytest.approx(
            wmb.reference.ssim(a * 1.0, b * 1.0, data_range=255, variant="uniform7"), abs=1e-12
        )
    assert (decibel[2], alike[2]) == (np.inf, 1.0)


def test_appearance_of_pictures_that_are_not_there_or_too_small() -> None:
    decibel, alike = r2m.appearance(np.zeros((2, 6, 9, 3), np.uint8), [0, 1], [(0, 1), (0, 5)])
    assert (decibel[0], np.isnan(alike[0])) == (np.inf, True)  # no window of 7 fits in 6 rows
    assert np.isnan(decibel[1])
    assert np.isnan(alike[1])
    nothing = r2m.appearance(np.zeros((0, 8, 8, 3), np.uint8), [], [(0, 1)])
    assert np.isnan(nothing).all()


def test_cosines_by_frame() -> None:
    rng = np.random.default_rng(1)
    features, numbers = rng.standard_normal((6, 40)), [0, 2, 4, 6, 8, 10]
    pairs = np.array([(0, 10), (4, 6), (4, 5)])
    found = r2m.cosine_similarity(features, numbers, pairs)
    a, b = features[[0, 2]], features[[5, 3]]
    expected = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert found[:2] == pytest.approx(expected, abs=1e-12)
    assert np.isnan(found[2])
    features[0] = 0
    assert np.isnan(r2m.cosine_similarity(features, numbers, pairs)[0])


def test_matches_and_inliers() -> None:
    assert r2m.match_ratio([5, 0, 7], [10, 0, 7], [20, 0, 9]).tolist() == [0.5, 0.0, 1.0]
    assert r2m.ransac_inlier_ratio([8, 7, np.nan, 0, -1], [8, 7, 20, 0, 30]).tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]


def test_a_judge() -> None:
    assert r2m.state_scores([1, 5, 5.5, 0, -1, np.nan]).tolist() == [1, 5, 5, 1, -1, -1]


def test_objects_found_again() -> None:
    one = {"looks_cosine": [1.0], "meaning_cosine": [1.0], "confidence": [1.0]}
    poor = {"looks_cosine": [-0.5], "meaning_cosine": [-0.5], "confidence": [0.3]}
    assert r2m.object_persistence([one]) == (1.0, 1.0)
    assert r2m.object_persistence([one, one]) == (1.0, 1.0)  # one detection may answer for both
    assert r2m.object_persistence([poor]) == (0.0, 0.0)
    assert r2m.object_persistence([one, poor]) == (0.5, 0.5)
    assert r2m.object_persistence([]) == (0.0, 0.0)
    # 0.5 looks + 0.5 meaning = 0.5: accepted; with the published class's own weights it is not.
    edge = {"looks_cosine": [-0.5], "meaning_cosine": [0.5], "confidence": [0.75]}
    assert r2m.object_persistence([edge]) == (0.25, 0.75)
    assert r2m.object_persistence([edge], weights=(0.7, 0.3)) == (0.0, 0.0)
    with pytest.raises(ArgumentError, match=r"^object_persistence: candidates must hold arrays of one shape, got"):
        r2m.object_persistence([{**one, "confidence": [1.0, 0.5]}])


def test_lpips_from_layers() -> None:
    rng = np.random.default_rng(2)
    a, b = ([rng.standard_normal((3, 4, 5, 6)), rng.standard_normal((3, 8, 2, 2))] for _ in range(2))
    weights = [rng.random(4), rng.random(8)]
    assert r2m.lpips_distance(a, a, weights).tolist() == [0, 0, 0]
    expected = np.zeros(3)
    for x, y, w in zip(a, b, weights, strict=True):
        for p in range(3):
            for i in range(x.shape[2]):
                for j in range(x.shape[3]):
                    u, v = x[p, :, i, j], y[p, :, i, j]
                    apart = u / np.linalg.norm(u) - v / np.linalg.norm(v)
                    expected[p] += (w * apart**2).sum() / (x.shape[2] * x.shape[3])
    assert r2m.lpips_distance(a, b, weights) == pytest.approx(expected, rel=1e-9)
    scaled = [2.5 * layer for layer in a]
    assert r2m.lpips_distance(scaled, b, weights) == pytest.approx(expected, rel=1e-9)


def test_means_over_pairs() -> None:
    assert r2m.pair_mean([], "ssim") == (None, 0, {})
    assert r2m.pair_mean([0.25, np.nan, 0.75], "ssim") == (0.5, 2, {"not_finite": 1})
    assert r2m.pair_mean([np.inf, np.inf], "psnr") == (100.0, 2, {"identical": 2})
    assert r2m.pair_mean([-1, -1], "state_score") == (None, 0, {"judge_failed": 2})
    assert r2m.pair_mean([4, -1], "state_score", compat=True) == (1.5, 2, {})
    assert r2m.pair_mean([20.00004, 20.00006], "psnr", compat=True)[0] == 20.00005  # 20.0 and 20.0001
    assert r2m.pair_mean([np.inf, 3.0], "psnr", compat=True)[0] == np.inf
