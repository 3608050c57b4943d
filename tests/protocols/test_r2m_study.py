# SPDX-License-Identifier: Apache-2.0
"""Rankings, agreement with people, dependence on motion: by hand, by SciPy, by the paper's cells."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from protocols.trips import evidence, seen
from scipy import stats

from wmb_fast._walls.errors import ArgumentError
from wmb_fast.protocols import r2m
from wmb_fast.protocols.r2m.rank import SCORES
from wmb_fast.protocols.r2m.study import fisher, midranks

METHODS, SCENES = 7, 30


def table(seed: int = 0, *, noise: float = 0.5) -> tuple[r2m.Table, r2m.Ratings, np.ndarray]:
    """210 rollouts of seven methods, whose consistency drives every score, and whose motion drives raw ones down."""
    rng = np.random.default_rng(seed)
    n = METHODS * SCENES
    quality = np.repeat(rng.standard_normal(METHODS), SCENES) + rng.standard_normal(n)
    motion = rng.random(n)
    raw_like = -3 * motion

    def made(score: str) -> np.ndarray:
        base = quality * (score != "baseline") + raw_like * (score in ("raw", "baseline"))
        return base + noise * rng.standard_normal(n)

    scores = {score: {name: made(score) for name in r2m.METRICS} for score in ("raw", "baseline", "mg", "nmr")}
    models = [f"m{k // SCENES}" for k in range(n)]
    templates = [list(r2m.TEMPLATES.values())[k % 3] for k in range(n)]
    cases = [f"s{k % SCENES}" for k in range(n)]
    ratings = r2m.Ratings(np.round(np.clip(1 + quality / 2, 0, 2), 1), np.round(2 * motion, 1), np.full(n, 1.6))
    rollouts = [f"{model}/{case}" for model, case in zip(models, cases, strict=True)]
    return r2m.Table(rollouts, models, templates, cases, scores, quality), ratings, motion


def test_ranks_by_hand() -> None:
    values = {
        "a": {"psnr": 20.0, "ssim": 0.5, "lpips": 0.2, "state_score": 3.0},
        "b": {"psnr": 18.0, "ssim": 0.5, "lpips": 0.1, "state_score": 4.0},
        "c": {"psnr": 25.0, "ssim": 0.4, "lpips": math.nan, "state_score": 4.0},
    }
    raw = r2m.mean_ranks(values, by="raw")
    wanted = dict.fromkeys(r2m.METRICS, math.nan) | {"psnr": 2, "ssim": 1.5, "lpips": 2, "state_score": 3}
    assert raw.metrics["a"] == pytest.approx(wanted, nan_ok=True)
    assert raw.families["b"]["appearance"] == pytest.approx((3 + 1.5 + 1) / 3)
    assert raw.families["c"]["persistent_state"] == 1.5
    assert raw.overall["c"] == pytest.approx(((1 + 3) / 2 + 1.5) / 2)
    assert r2m.mean_ranks(values, by="mg").metrics["a"]["lpips"] == 1  # MG is oriented already


def test_the_papers_overall_ranks_are_means_over_families() -> None:
    """Table 9: the overall cell is the mean of the five families' ranks, to the two decimals that are printed."""
    rows = {
        "LingBot-World-Fast": [(6.33, 6.67, 5.50, 6.00, 6.00, 6.10), (6.00, 5.00, 5.00, 5.50, 5.00, 5.30)],
        "LingBot-World-2-Fast": [(6.33, 5.00, 5.50, 5.00, 5.00, 5.37), (6.33, 6.00, 6.50, 6.50, 6.00, 6.27)],
        "Matrix-Game 3.0": [(4.00, 4.00, 1.50, 3.50, 4.00, 3.40), (4.00, 2.33, 1.00, 2.50, 3.00, 2.57)],
        "HY-WorldPlay": [(2.00, 1.00, 1.50, 1.00, 1.00, 1.30), (2.00, 2.67, 2.50, 3.00, 2.00, 2.43)],
        "SANA-WM": [(5.00, 6.33, 7.00, 7.00, 7.00, 6.47), (5.67, 7.00, 6.50, 6.00, 7.00, 6.43)],
    }
    for cells in rows.values():
        for *families, overall in cells:
            values = dict(zip(r2m.FAMILIES, families, strict=True))
            named = {names[0]: values[family] for family, names in r2m.FAMILIES.items()}
            assert r2m.overall(named) == pytest.approx(overall, abs=0.0101)


def test_rankings_of_videos() -> None:
    records = []
    for k, model in enumerate(("best", "mid", "worst")):
        for memory in [True] * (2 - k) + [False] * k:
            name = f"{model}/{len(records)}"
            records += r2m.score(evidence(name=name, dino=seen(memory=memory)))
    videos = r2m.videos_of(records)
    found = r2m.rankings(r2m.leaderboard(records), videos)
    assert tuple(found) == SCORES
    for ranks in found.values():
        assert [ranks.overall[m] for m in ("best", "mid", "worst")] == [1, 2, 3]


def test_partial_correlation_is_scipys_of_residuals() -> None:
    rng = np.random.default_rng(4)
    c, d = rng.standard_normal((2, 60))
    x, y = c + rng.standard_normal(60), c - d + rng.standard_normal(60)
    groups = [str(k % 3) for k in range(60)]
    dummies = [np.array([g == name for g in groups], float) for name in ("1", "2")]
    design = np.stack([np.ones(60), stats.rankdata(c), stats.rankdata(d), *dummies], axis=1)
    left = [v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in map(stats.rankdata, (x, y))]
    expected = stats.pearsonr(*left).statistic
    assert r2m.partial_spearman(x, y, [c, d], groups) == pytest.approx(expected, abs=1e-10)
    x[3] = np.nan
    assert math.isfinite(r2m.partial_spearman(x, y, [c, d], groups))
    assert math.isnan(r2m.partial_spearman(c, y, [c]))  # nothing of c is left, given c
    assert math.isnan(r2m.partial_spearman([1.0, 2.0], [1.0, 2.0], []))


def test_midranks_are_scipys() -> None:
    values = np.random.default_rng(0).integers(0, 9, 40).astype(float)
    assert midranks(values).tolist() == stats.rankdata(values).tolist()


def test_human_validation_finds_what_was_put_in() -> None:
    scores, ratings, _ = table()
    found = r2m.human_validation(scores, ratings, n_resamples=40)
    assert tuple(found) == ("raw", "mg", "nmr", "overall")
    for name, agreement in found.items():
        assert agreement.consistency.low < agreement.consistency.value < agreement.consistency.high
        assert agreement.consistency.excludes_zero
        assert (agreement.n, agreement.n_action_valid) == (210, int((ratings.motion >= 1.5).sum()))
        assert agreement.by_method.high - agreement.by_method.low > 0
        assert agreement.consistency.value == agreement.by_method.value
        assert agreement.action_valid > 0.3, name
    assert found["raw"].motion < -0.3 < found["nmr"].motion
    assert found["raw"].partial.value > found["raw"].consistency.value  # freed of motion, which hid it
    rho = stats.spearmanr(scores.overall, ratings.consistency).statistic
    assert found["overall"].consistency.value == pytest.approx(rho, abs=1e-12)
    rhos = [stats.spearmanr(v, ratings.consistency).statistic for v in scores.scores["nmr"].values()]
    by_name = dict(zip(r2m.METRICS, rhos, strict=True))
    assert found["nmr"].consistency.value == pytest.approx(r2m.family_balanced(by_name), abs=1e-12)
    by_family = r2m.family_validation(scores, ratings)
    expected = fisher(by_name[name] for name in r2m.FAMILIES["appearance"])
    assert by_family["appearance"]["nmr"] == pytest.approx(expected, abs=1e-12)


def test_rollouts_without_a_rating_or_a_score_take_no_part() -> None:
    scores, ratings, _ = table()
    some = replace(ratings, consistency=np.where(np.arange(210) % 2, np.nan, ratings.consistency))
    found = r2m.human_validation(scores, some, n_resamples=5)
    kept = np.arange(0, 210, 2)
    rho = stats.spearmanr(scores.overall[kept], ratings.consistency[kept]).statistic
    assert found["overall"].consistency.value == pytest.approx(rho, abs=1e-12)
    assert found["overall"].n == 105
    with pytest.raises(ArgumentError, match=r"^human_validation: ratings\.motion must have shape \(210,\), got"):
        r2m.human_validation(scores, replace(ratings, motion=np.zeros(3)), n_resamples=1)


def test_motion_dependence_is_within_models() -> None:
    scores, _, motion = table()
    # A model that moves more and is better raises the pooled correlation, and must not raise this one.
    shift = np.array([int(model[1:]) for model in scores.models]) * 10.0
    shifted = replace(scores, scores={k: {m: v + shift for m, v in by.items()} for k, by in scores.scores.items()})
    found = r2m.motion_dependence(shifted, motion + shift, n_resamples=20)
    plain = r2m.motion_dependence(scores, motion, n_resamples=0)
    for score, dependence in found.items():
        for name, one in dependence.metrics.items():
            assert one.value == pytest.approx(plain[score].metrics[name].value, abs=1e-9)
    rhos = []
    for k in range(METHODS):
        mine = slice(k * SCENES, (k + 1) * SCENES)
        rhos.append(stats.spearmanr(scores.scores["raw"]["ssim"][mine], motion[mine]).statistic)
    assert plain["raw"].metrics["ssim"].value == pytest.approx(fisher(rhos), abs=1e-12)
    assert found["raw"].metrics["ssim"].excludes_zero
    assert found["raw"].overall < -0.4
    assert abs(found["nmr"].overall) < 0.5 * abs(found["raw"].overall)
    means = [plain["raw"].metrics[name].value for name in r2m.FAMILIES["object_identity"]]
    assert plain["raw"].families["object_identity"] == pytest.approx(np.mean(means))


def test_the_bootstrap_resamples_whole_clusters() -> None:
    labels = ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    seen_rows = []

    def statistic(rows: np.ndarray) -> list[float]:
        seen_rows.append(rows)
        return [float(np.mean(rows // 3))]

    low, high = r2m.cluster_bootstrap(statistic, labels, n=200, seed=3)
    for rows in seen_rows:
        counts = np.bincount(rows, minlength=9).reshape(3, 3)
        assert counts.sum() == 9
        assert (counts == counts[:, :1]).all()  # the members of a cluster are drawn together
    drawn = [np.mean(rows // 3) for rows in seen_rows]
    assert (low[0], high[0]) == (np.percentile(drawn, 2.5), np.percentile(drawn, 97.5))
    again = r2m.cluster_bootstrap(statistic, labels, n=200, seed=3)
    assert (again[0][0], again[1][0]) == (low[0], high[0])
    one = r2m.cluster_bootstrap(statistic, ["a"] * 9)
    assert np.isnan(one).all()


def test_speed_splits() -> None:
    means = [{"ssim": r2m.Means(0.5 + k / 100, 0.4, 0.9), "lpips": r2m.Means(0.3, 0.5, 0.1)} for k in range(7)]
    motion = [3.0, 1.0, 2.0, 9.0, 8.0, 7.0, math.nan]
    found = r2m.speed_splits(means, motion)
    assert [found[name]["ssim"].n for name in ("low", "mid", "high")] == [2, 2, 2]
    low = found["low"]["ssim"]
    assert low.revisit == pytest.approx((0.51 + 0.52) / 2)
    assert low.gain == pytest.approx(0.115)
    assert low.nmr == pytest.approx(0.115 / 0.5, rel=1e-6)
    assert found["high"]["lpips"].gain == pytest.approx(0.2)
    assert found["high"]["lpips"].nmr == pytest.approx(0.5, rel=1e-6)


def test_worse_pictures_lower_raw_scores_more_than_nmr() -> None:
    rng = np.random.default_rng(0)
    scene = np.kron(rng.integers(0, 256, (6, 14, 3), dtype=np.uint8), np.ones((16, 16, 1), np.uint8))
    n = 121
    at = np.minimum(np.arange(n), n - 1 - np.arange(n))
    pictures = np.stack([scene[:, x : x + 96] for x in at])
    walk = r2m.trajectory_of(r2m.poses_of_plan(evidence().facts.plan, n))
    pairs = r2m.sample_pairs(walk, n).kinds()
    found = r2m.quality_perturbation(pictures, np.arange(n), pairs)
    assert tuple(found) == tuple(r2m.PERTURBATIONS)
    ratio = {name: r2m.normalized_ratio([by["ssim"]]).nmr for name, by in found.items()}
    raw = {name: by["ssim"].revisit for name, by in found.items()}
    assert raw["noise"] < raw["none"]
    assert abs(ratio["noise"] - ratio["none"]) < 0.5 * abs(raw["noise"] - raw["none"]) / raw["none"] + 0.1
    same = r2m.quality_perturbation(pictures, np.arange(n), pairs)
    assert same["noise"]["psnr"] == found["noise"]["psnr"]


def test_the_table_of_records() -> None:
    records = r2m.score(evidence(dino=seen())) + r2m.score(evidence(name="other/2", dino=seen(memory=False)))
    made = r2m.table_of(records)
    assert (made.rollouts, made.models, made.cases) == (["mine/1", "other/2"], ["mine", "other"], ["1", "2"])
    assert made.clusters == ["out_and_back/1", "out_and_back/2"]
    assert made.scores["nmr"]["dino_similarity"][0] > 0.9
    assert np.isnan(made.scores["nmr"]["psnr"]).all()
    assert np.isnan(made.overall).all()
