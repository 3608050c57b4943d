# SPDX-License-Identifier: Apache-2.0
"""How well the scores agree with people: the paper's Tables 3 and 7.

A row of ratings a rollout: consistency, motion and camera control, the means of its annotators' (0 bad, 1 normal,
2 good, in the paper's study; only their order and the threshold of action-valid count).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from .constants import FAMILIES
from .study import (
    Correlation,
    Real,
    Table,
    cluster_bootstrap,
    correlations,
    family_balanced,
    fisher,
    partial_spearman,
)

ACTION_VALID = 1.5  # the least mean rating of motion, and of camera control
RANKED = ("raw", "mg", "nmr", "overall")


@dataclass(frozen=True, eq=False)
class Ratings:
    """Mean ratings (N,), in the rows' order of the table; NaN where a rollout was not rated."""

    consistency: Real
    motion: Real
    control: Real

    @property
    def action_valid(self) -> npt.NDArray[np.bool_]:
        """Rollouts that move, and move as commanded."""
        return (self.motion >= ACTION_VALID) & (self.control >= ACTION_VALID)


@dataclass(frozen=True)
class Agreement:
    """What one score says of people's judgement.

    Attributes:
        consistency: Spearman's correlation with the rating of consistency; its interval over trajectory and scene.
        by_method: The same with the conservative interval, over methods.
        partial: Given camera control, motion and trajectory.
        action_valid: Over the action-valid rollouts alone.
        motion: With the rating of motion.
        n, n_action_valid: Rated rollouts.
    """

    consistency: Correlation
    by_method: Correlation
    partial: Correlation
    action_valid: float
    motion: float
    n: int
    n_action_valid: int


def human_validation(table: Table, ratings: Ratings, *, n_resamples: int = 2000, seed: int = 0) -> dict[str, Agreement]:
    """The paper's Table 3(a): Raw, MG, NMR and Overall NMR against people.

    Raw, MG and NMR correlate metric by metric, averaged by Fisher's transform within families and then over them;
    Overall is the rollouts' own family-first score.

    Args:
        table: Scores, see :func:`.study.table_of`.
        ratings: Of the same rollouts.
        n_resamples: For every interval.
        seed: Of the resampling.
    """
    _check(table, ratings)
    rated = ~np.isnan(ratings.consistency)
    found = {}
    for score in RANKED:
        metrics = {"overall": table.overall} if score == "overall" else dict(table.scores[score])

        def plain(rows: npt.NDArray[np.int64], target: Real, metrics: Mapping[str, Real] = metrics) -> float:
            return _pooled(correlations({name: values[rows] for name, values in metrics.items()}, target[rows]))

        def partial(rows: npt.NDArray[np.int64], metrics: Mapping[str, Real] = metrics) -> float:
            return _pooled({name: _given(table, ratings, values, rows) for name, values in metrics.items()})

        def both(rows: npt.NDArray[np.int64]) -> Real:
            return np.array([plain(rows, ratings.consistency), partial(rows)])

        every = np.arange(len(rated))
        value, given = both(every)
        low, high = cluster_bootstrap(both, table.clusters, n=n_resamples, seed=seed)
        wide = cluster_bootstrap(
            lambda rows: [plain(rows, ratings.consistency)], table.models, n=n_resamples, seed=seed
        )
        valid = np.flatnonzero(ratings.action_valid & rated)
        found[score] = Agreement(
            Correlation(value, float(low[0]), float(high[0])),
            Correlation(value, float(wide[0][0]), float(wide[1][0])),
            Correlation(given, float(low[1]), float(high[1])),
            plain(valid, ratings.consistency),
            plain(every, ratings.motion),
            int(rated.sum()),
            len(valid),
        )
    return found


def _check(table: Table, ratings: Ratings) -> None:
    for name in ("consistency", "motion", "control"):
        shape = np.shape(getattr(ratings, name))
        if shape != (len(table.rollouts),):
            raise bad_value("human_validation", f"ratings.{name}", f"have shape ({len(table.rollouts)},)", shape)


def _pooled(rhos: Mapping[str, float]) -> float:
    return rhos["overall"] if "overall" in rhos else family_balanced(rhos)


def _given(table: Table, ratings: Ratings, values: Real, rows: npt.NDArray[np.int64]) -> float:
    controls = [ratings.control[rows], ratings.motion[rows]]
    templates = [table.templates[i] for i in rows]
    return partial_spearman(values[rows], ratings.consistency[rows], controls, templates)


def family_validation(table: Table, ratings: Ratings) -> dict[str, dict[str, float]]:
    """The paper's Table 7(a): family, score (raw, mg, nmr): correlation with the rating of consistency."""
    _check(table, ratings)
    found: dict[str, dict[str, float]] = {family: {} for family in FAMILIES}
    for score in ("raw", "mg", "nmr"):
        rhos = correlations(table.scores[score], ratings.consistency)
        for family, names in FAMILIES.items():
            found[family][score] = fisher(rhos[name] for name in names)
    return found
