# SPDX-License-Identifier: Apache-2.0
"""Whether a score rewards standing still: the paper's Tables 4, 5 and 8.

Motion is a rollout's mean optical-flow magnitude between adjacent frames, in pixels a frame (the paper takes RAFT's).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from .constants import FAMILIES, METRICS
from .gain import Means, nan_mean, normalized_ratio, pair_mean
from .metrics import appearance
from .study import SCORES, Correlation, Real, Table, cluster_bootstrap, correlations, fisher

SPLITS = ("low", "mid", "high")
Pictures = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Dependence:
    """Within-model correlations of one score with motion.

    Attributes:
        metrics: With intervals over trajectory and scene.
        families: The mean over a family's metrics.
        overall: The mean over families.
    """

    metrics: Mapping[str, Correlation]
    families: Mapping[str, float]
    overall: float


def motion_dependence(
    table: Table, motion: npt.ArrayLike, *, n_resamples: int = 2000, seed: int = 0
) -> dict[str, Dependence]:
    """Spearman's correlation of each score with motion, within each model, by Fisher's mean over models.

    Args:
        table: Scores, see :func:`.study.table_of`.
        motion: (N,) of the same rollouts.
        n_resamples: For the intervals; 0 for none.
        seed: Of the resampling.

    Returns:
        By score: raw, baseline, mg and nmr.
    """
    flow = np.asarray(motion, dtype=np.float64)
    if flow.shape != (len(table.rollouts),):
        raise bad_value("motion_dependence", "motion", f"have shape ({len(table.rollouts)},)", flow.shape)
    models = np.asarray(list(table.models))
    found = {}
    for score in SCORES:
        metrics = table.scores[score]

        def within(rows: npt.NDArray[np.int64], metrics: Mapping[str, Real] = metrics) -> Real:
            by_model = []
            for model in sorted(set(models.tolist())):
                mine = rows[models[rows] == model]
                if len(mine):
                    by_model.append(correlations({m: v[mine] for m, v in metrics.items()}, flow[mine]))
            return np.array([fisher(rhos[name] for rhos in by_model) for name in metrics])

        values = within(np.arange(len(flow)))
        low = high = np.full(len(metrics), np.nan)
        if n_resamples:
            low, high = cluster_bootstrap(within, table.clusters, n=n_resamples, seed=seed)
        rows = zip(metrics, values.tolist(), low.tolist(), high.tolist(), strict=True)
        by_metric = {name: Correlation(*numbers) for name, *numbers in rows}
        families = {f: nan_mean(by_metric[name].value for name in names) for f, names in FAMILIES.items()}
        found[score] = Dependence(by_metric, families, nan_mean(families.values()))
    return found


@dataclass(frozen=True)
class Split:
    """A metric over some rollouts: means over revisits and baselines, MemoryGain and NMR as a ratio of means."""

    revisit: float
    baseline: float
    gain: float
    nmr: float
    n: int


def _split(means: Sequence[Means], lower_is_better: bool) -> Split:
    ratio = normalized_ratio(means, lower_is_better=lower_is_better)
    revisit, baseline = (
        nan_mean(float(x) for mean in means if (x := getattr(mean, kind)) is not None)
        for kind in ("revisit", "baseline")
    )
    gain = baseline - revisit if lower_is_better else revisit - baseline
    return Split(revisit, baseline, gain, ratio.nmr, len(means))


def speed_splits(means: Sequence[Mapping[str, Means]], motion: npt.ArrayLike) -> dict[str, dict[str, Split]]:
    """The upper half of Table 5: rollouts by thirds of their motion (low, mid, high), metric by metric.

    Args:
        means: Metric: means over pairs, of each of N rollouts.
        motion: (N,); a rollout whose motion is not finite is in no split. Equal motions stay in the order given.
    """
    flow = np.asarray(motion, dtype=np.float64)
    if flow.shape != (len(means),):
        raise bad_value("speed_splits", "motion", f"have shape ({len(means)},)", flow.shape)
    order = [int(i) for i in np.argsort(flow, kind="stable") if math.isfinite(flow[i])]
    thirds = zip(SPLITS, np.array_split(np.array(order, dtype=np.int64), 3), strict=True)
    return {name: _by_metric([means[i] for i in rows]) for name, rows in thirds}


def _by_metric(means: Sequence[Mapping[str, Means]]) -> dict[str, Split]:
    names = dict.fromkeys(name for row in means for name in row)
    return {
        name: _split([row[name] for row in means if name in row], name in METRICS and METRICS[name].lower_is_better)
        for name in names
    }


def blurred(pictures: Pictures) -> Pictures:
    """Means over 5x5 pixels, edges repeated."""
    padded = np.pad(pictures, ((0, 0), (2, 2), (2, 2), (0, 0)), mode="edge").astype(np.uint16)
    rows = np.zeros_like(padded[:, 4:])
    for k in range(5):
        rows += padded[:, k : k + pictures.shape[1]]
    total = np.zeros_like(rows[:, :, 4:])
    for k in range(5):
        total += rows[:, :, k : k + pictures.shape[2]]
    return np.asarray((total + 12) // 25, dtype=np.uint8)


def noisy(pictures: Pictures) -> Pictures:
    """Triangular noise of up to 20 levels, drawn anew for each picture, the same on every machine."""
    raw = np.random.Philox(key=0).random_raw((pictures.size + 3) // 4).view(np.uint16)[: pictures.size]
    noise = ((raw & 0xFF) * 21 >> 8).astype(np.int16) - ((raw >> 8) * 21 >> 8).astype(np.int16)
    return np.asarray(np.clip(pictures + noise.reshape(pictures.shape), 0, 255), dtype=np.uint8)


def flattened(pictures: Pictures) -> Pictures:
    """Half the contrast about mid-grey."""
    return np.asarray((pictures.astype(np.int16) - 128) // 2 + 128, dtype=np.uint8)


PERTURBATIONS: Mapping[str, Callable[[Pictures], Pictures]] = {
    "none": lambda pictures: pictures,
    "blur": blurred,
    "noise": noisy,
    "contrast": flattened,
}


def quality_perturbation(
    pictures: Pictures,
    frames: npt.ArrayLike,
    pairs: Mapping[str, npt.NDArray[np.int64]],
    *,
    perturbations: Mapping[str, Callable[[Pictures], Pictures]] = PERTURBATIONS,
) -> dict[str, dict[str, Means]]:
    """The lower half of Table 5: the same pairs of a rollout whose pictures were made worse.

    The paper's own perturbations are not stated where we could read them; these are ours, and others may be given.

    Args:
        pictures: (K, H, W, 3) uint8.
        frames: (K,) their numbers.
        pairs: revisit, baseline and short, (P, 2) each.
        perturbations: Name to a function of pictures.

    Returns:
        Perturbation, metric (psnr, ssim): means over pairs, for :func:`.gain.normalized_ratio`.
    """
    found: dict[str, dict[str, Means]] = {}
    for name, perturb in perturbations.items():
        changed = perturb(pictures)
        values = {kind: appearance(changed, frames, some) for kind, some in pairs.items()}
        found[name] = {
            metric: Means(*(pair_mean(values[kind][k], metric)[0] for kind in ("revisit", "baseline", "short")))
            for k, metric in enumerate(("psnr", "ssim"))
        }
    return found
