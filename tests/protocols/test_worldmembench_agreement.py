# SPDX-License-Identifier: Apache-2.0
"""Agreement with people on real ratings (data/stats/videoscore), against SciPy and by hand."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from wmb_fast import ArgumentError, pearson, spearman
from wmb_fast.protocols import worldmembench as wb

FILES = ("CLIP-Score", "MSE-dyn", "videoscore")


def ratings(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """(N, 5) of people, and of a metric."""
    rows = json.loads((folder / f"eval_video_feedback_{name}.json").read_text())
    return tuple(np.array([ast.literal_eval(row[key]) for row in rows], dtype=float) for key in ("ref", "ans"))


@pytest.mark.parametrize("name", FILES)
def test_correlations_are_scipys(shared: Path, name: str) -> None:
    people, metric = ratings(shared / "data" / "stats" / "videoscore", name)
    compared = 0
    for aspect in range(5):
        a, b = metric[:, aspect], people[:, aspect]
        if np.ptp(a) == 0 or np.ptp(b) == 0:
            assert np.isnan(float(spearman(a, b).value))
            continue
        compared += 1
        for ours, theirs in ((spearman, scipy.stats.spearmanr), (pearson, scipy.stats.pearsonr)):
            want = theirs(a, b)
            np.testing.assert_allclose(float(ours(a, b).value), want.statistic, rtol=0, atol=1e-12)
            np.testing.assert_allclose(float(ours(a, b).p), want.pvalue, rtol=1e-9, atol=1e-300)
    assert compared >= 1


def test_published_correlations_of_the_excerpt(shared: Path) -> None:
    """The publisher's own Spearman (in percent) of its own scores."""
    folder = shared / "data" / "stats" / "videoscore"
    listed = json.loads((folder / "spearman_corr_video_feedback.excerpt.json").read_text())
    published = {name: row for entry in listed for name, row in entry.items()}
    checked = 0
    for name in FILES:
        if name not in published:
            continue
        people, metric = ratings(folder, name)
        for aspect, want in enumerate(published[name]["spearman_list"]):
            found = float(spearman(metric[:, aspect], people[:, aspect]).value)
            if want is not None and np.isfinite(want) and np.isfinite(found):
                checked += abs(100 * found - want) < 0.01
    assert checked >= 5


def test_pairs_of_real_ratings(shared: Path) -> None:
    """Every pair of videos as an A/B comparison: counted here by hand, and by the library."""
    people, metric = ratings(shared / "data" / "stats" / "videoscore", "videoscore")
    a, b = np.triu_indices(len(people), 1)
    votes = np.sign(people[a] - people[b])  # the five aspects as five voters
    first, second = metric[a].mean(axis=1), metric[b].mean(axis=1)
    names = [f"m{i % 8}" for i in range(len(people))]
    found = wb.static_alignment([names[i] for i in a], [names[i] for i in b], first, second, votes)
    majority, margin = np.sign(votes.sum(axis=1)), np.sign(first - second)
    assert found.split == (majority == 0).sum()
    assert found.tie == ((majority != 0) & (margin == 0)).sum()
    assert found.decisive == ((majority != 0) & (margin != 0)).sum()
    assert found.agree == ((majority == margin) & (majority != 0)).sum()
    assert 0.5 < found.agreement < 1
    rates = np.array(list(found.win_rates.values()))
    assert len(rates) == 8
    want = scipy.stats.spearmanr(rates[:, 0], rates[:, 1]).statistic
    np.testing.assert_allclose(found.spearman, want, atol=1e-12)


def test_checklists_equal_scipy_on_majorities() -> None:
    rng = np.random.default_rng(3)
    votes = rng.integers(0, 2, (50, 8, 3)).astype(float)
    judged = np.where(rng.random((50, 8)) < 0.8, votes.mean(axis=2) > 0.5, rng.integers(0, 2, (50, 8))).astype(float)
    found = wb.checklist_alignment(votes, judged)
    people, judge = (votes.sum(axis=2) >= 2).mean(axis=1), judged.mean(axis=1)
    np.testing.assert_allclose(found.spearman, scipy.stats.spearmanr(people, judge).statistic, atol=1e-12)
    np.testing.assert_allclose(found.plcc, scipy.stats.pearsonr(people, judge).statistic, atol=1e-12)
    judged[0, 0], votes[1, 1] = np.nan, (1, 0, np.nan)  # no answer; two people who disagree
    again = wb.checklist_alignment(votes, judged)
    assert (again.items, again.judgements) == (398, 1199)
    with pytest.raises(ArgumentError, match="checklist_alignment: votes must hold 0, 1 and NaN"):
        wb.checklist_alignment(votes + 1, judged)
