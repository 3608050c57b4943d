# SPDX-License-Identifier: Apache-2.0
"""Rankings of models: by raw revisit similarity, by MemoryGain, by NMR; of a metric, of a family, over all.

A family's rank is the mean of a model's ranks in the family's metrics, the overall one the mean over families (the
paper's Table 9). Models that are equal share the mean of their places.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .constants import FAMILIES, METRICS
from .gain import Summary, Video, nan_mean

SCORES = ("raw", "mg", "nmr")
Values = Mapping[str, Mapping[str, float]]  # model, metric


@dataclass(frozen=True)
class Ranks:
    """Mean ranks of models by one score; 1 is best, NaN where a model has no value.

    Attributes:
        metrics: Model, metric.
        families: Model, family.
        overall: Model: over the families that have a rank.
    """

    metrics: Values
    families: Values
    overall: Mapping[str, float]


def raw_means(videos: Iterable[Video]) -> dict[str, dict[str, float]]:
    """Model, metric: the template-balanced mean over videos of the revisit pairs' mean, as it is.

    Every video with a revisit mean takes part, whatever its dynamic range. Of LPIPS less is better.
    """
    pools: dict[str, dict[str, dict[str, list[float]]]] = {}
    for video in videos:
        for metric, means in video.means.items():
            if means.revisit is not None and math.isfinite(means.revisit):
                by_template = pools.setdefault(video.model, {}).setdefault(metric, {})
                by_template.setdefault(video.template, []).append(means.revisit)
    return {
        model: {name: nan_mean(nan_mean(values) for values in by.values()) for name, by in metrics.items()}
        for model, metrics in sorted(pools.items())
    }


def mean_ranks(values: Values, *, by: str = "nmr") -> Ranks:
    """Ranks of models by metric, family, and over all.

    Args:
        values: Model, metric: a number. Metrics other than the eleven take no part; NaN and absent ones have no rank.
        by: ``raw``, ``mg`` or ``nmr``. More is better, except for raw LPIPS.

    Example:
        >>> ranks = mean_ranks({"a": {"psnr": 20, "ssim": 0.5}, "b": {"psnr": 18, "ssim": 0.6}, "c": {"psnr": 9}})
        >>> ranks.metrics["b"]["psnr"], ranks.families["a"]["appearance"], ranks.overall["c"]
        (2.0, 1.5, 3.0)
    """
    by_metric: dict[str, dict[str, float]] = {model: {} for model in values}
    for name, metric in METRICS.items():
        there = {model: row[name] for model, row in values.items() if not math.isnan(row.get(name, math.nan))}
        sign = 1.0 if by == "raw" and metric.lower_is_better else -1.0
        signed = {model: sign * value for model, value in there.items()}
        for model in values:
            by_metric[model][name] = _rank(signed[model], signed.values()) if model in signed else math.nan
    families = {
        model: {family: nan_mean(ranks[name] for name in names) for family, names in FAMILIES.items()}
        for model, ranks in by_metric.items()
    }
    return Ranks(by_metric, families, {model: nan_mean(row.values()) for model, row in families.items()})


def _rank(value: float, every: Iterable[float]) -> float:
    """The mean of the places that equal values share, from the smallest."""
    pool = list(every)
    before, equal = sum(x < value for x in pool), pool.count(value)
    return before + (equal + 1) / 2


def rankings(summary: Summary, videos: Iterable[Video]) -> dict[str, Ranks]:
    """The three rankings of a summary: raw, mg and nmr, all template-balanced."""
    tables: dict[str, Values] = {"raw": raw_means(videos)}
    for score in ("mg", "nmr"):
        tables[score] = {
            model: {name: getattr(gain, score) for name, gain in gains.items()}
            for model, gains in summary.balanced.items()
        }
    return {score: mean_ranks(values, by=score) for score, values in tables.items()}
