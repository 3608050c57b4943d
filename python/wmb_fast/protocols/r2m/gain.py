# SPDX-License-Identifier: Apache-2.0
"""From pair values to MemoryGain and the Normalized Memory Ratio.

Of a video and a metric, R, B and S are the means over its revisit, baseline and short pairs. Where more is better:

    MemoryGain MG = R - B        dynamic range DR = S - B

(both with their sign turned where less is better). Over the videos of a model and a template with DR above 1e-8

    NMR = mean(MG) / (mean(DR) + 1e-8),

a ratio of means, not clipped. Template-balanced is the mean over the templates that have an NMR; Overall is the mean
over the families of the mean NMR of a family's metrics.

Source: R2M-Bench (arXiv 2608.27328), section 3; compute_nmr_summary.py of AMAP-ML/R2MBench at 88e0cd91.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .constants import EPS, FAMILIES, IDENTICAL_PSNR, METRICS, TEMPLATES


@dataclass(frozen=True)
class Means:
    """A metric's means over the pairs of one video; ``None`` where a kind has no value."""

    revisit: float | None
    baseline: float | None
    short: float | None


@dataclass(frozen=True)
class Gain:
    """What a metric says of some videos; NaN where nothing does.

    Attributes:
        n: Videos that take part.
        mg, dr: Their mean MemoryGain and dynamic range.
        nmr: Their ratio.
        n_dropped: Videos left out: a mean that is missing or not finite, a dynamic range that is not above eps.
    """

    n: int
    mg: float
    dr: float
    nmr: float
    n_dropped: int = 0


@dataclass(frozen=True)
class Video:
    """One video's means by metric, whose it is and which template it ran."""

    model: str
    template: str
    means: Mapping[str, Means]


@dataclass(frozen=True)
class Summary:
    """Models by name.

    Attributes:
        by_template: Model, template, metric.
        balanced: Model, metric: means over the templates that have an NMR; ``n`` counts videos.
        overall: Model: over families.
        overall_by_template: Model, template: the same within a template.
    """

    by_template: Mapping[str, Mapping[str, Mapping[str, Gain]]]
    balanced: Mapping[str, Mapping[str, Gain]]
    overall: Mapping[str, float]
    overall_by_template: Mapping[str, Mapping[str, float]]


def memory_gain(revisit: float, baseline: float, *, lower_is_better: bool = False) -> float:
    """How much more alike revisits are than baselines.

    Example:
        >>> memory_gain(0.75, 0.5), memory_gain(0.25, 0.5, lower_is_better=True)
        (0.25, 0.25)
    """
    return baseline - revisit if lower_is_better else revisit - baseline


def dynamic_range(short: float, baseline: float, *, lower_is_better: bool = False) -> float:
    """How much more alike short-range pairs are than baselines: what MemoryGain is measured by."""
    return memory_gain(short, baseline, lower_is_better=lower_is_better)


def normalized_ratio(
    means: Sequence[Means], *, lower_is_better: bool = False, eps: float = EPS, compat: bool = False
) -> Gain:
    """MemoryGain, dynamic range and NMR over videos.

    Args:
        means: One a video.
        lower_is_better: Of the metric.
        eps: What a dynamic range must exceed, and what the ratio's denominator gets on top.
        compat: Only ``DR > eps`` is asked of a video's numbers, as published: a revisit that is NaN or infinite stays.
            By default all three means must be finite.

    Example:
        >>> found = normalized_ratio([Means(0.75, 0.5, 1.0), Means(0.5, 0.5, 0.5)])
        >>> found.n, found.n_dropped, found.mg, found.dr, round(found.nmr, 6)
        (1, 1, 0.25, 0.5, 0.5)
    """
    gains, ranges = [], []
    for mean in means:
        if mean.revisit is None or mean.baseline is None or mean.short is None:
            continue
        if not compat and not all(map(math.isfinite, (mean.revisit, mean.baseline, mean.short))):
            continue
        span = dynamic_range(mean.short, mean.baseline, lower_is_better=lower_is_better)
        if span > eps:
            gains.append(memory_gain(mean.revisit, mean.baseline, lower_is_better=lower_is_better))
            ranges.append(span)
    if not gains:
        return Gain(0, math.nan, math.nan, math.nan, len(means))
    mg, dr = _mean(gains), _mean(ranges)
    return Gain(len(gains), mg, dr, mg / (dr + eps), len(means) - len(gains))


def _mean(values: Sequence[float]) -> float:
    """The mean; infinities and NaN as plain addition has them."""
    if all(map(math.isfinite, values)):
        return math.fsum(values) / len(values)
    return sum(values) / len(values)


def nan_mean(values: Iterable[float]) -> float:
    """The mean of those that are not NaN; NaN of none."""
    there = [value for value in values if not math.isnan(value)]
    return _mean(there) if there else math.nan


def pair_mean(
    values: npt.ArrayLike, metric: str, *, compat: bool = False
) -> tuple[float | None, int, Mapping[str, int]]:
    """The mean of a metric over pairs.

    By default a value that is not finite is left out, except that identical frames count as 100 dB; so is a judge's
    failure (below 0). Under ``compat`` each pair's value is rounded as the published evaluator rounds it, the mean to
    six decimals, and NaN, infinities and failures are averaged in.

    Args:
        values: (P,) float.
        metric: Its published name.
        compat: See above.

    Returns:
        The mean (``None`` of nothing), how many values it rests on, and what was done to others, by name.

    Example:
        >>> pair_mean([4.0, -1.0, 5.0], "state_score")
        (4.5, 2, {'judge_failed': 1})
    """
    given = np.asarray(values, dtype=np.float64)
    digits = METRICS[metric].digits if metric in METRICS else None
    if compat:
        rounded = [round(float(x), digits) if digits is not None and np.isfinite(x) else float(x) for x in given]
        mean = _mean(rounded) if rounded else None
        return (round(mean, 6) if mean is not None and math.isfinite(mean) else mean), len(rounded), {}
    told: dict[str, int] = {}
    if metric == "psnr":
        identical = np.isposinf(given)
        given = np.where(identical, IDENTICAL_PSNR, given)
        told["identical"] = int(identical.sum())
    if metric == "state_score":
        told["judge_failed"] = int((given < 0).sum())
        given = given[~(given < 0)]
    used = given[np.isfinite(given)]
    told["not_finite"] = int(given.size - used.size)
    mean = math.fsum(used.tolist()) / used.size if used.size else None
    return mean, int(used.size), {name: n for name, n in told.items() if n}


def summarise(videos: Iterable[Video], *, eps: float = EPS, compat: bool = False) -> Summary:
    """The published summary of videos.

    Models come in the order of their names, templates in the published order with others after them by name. A template
    that a model has no video of is not among ``by_template``.

    Args:
        videos: In any order.
        eps, compat: See :func:`normalized_ratio`.
    """
    pools: dict[str, dict[str, list[Video]]] = {}
    for video in videos:
        pools.setdefault(video.model, {}).setdefault(video.template, []).append(video)
    by_template = {
        model: {name: _gains(templates[name], eps, compat) for name in _ordered(templates)}
        for model, templates in sorted(pools.items())
    }
    balanced = {model: _balanced(gains) for model, gains in by_template.items()}
    every = {name for templates in pools.values() for name in templates}
    names = _ordered({*TEMPLATES, *every} if every <= set(TEMPLATES) else every)
    return Summary(
        by_template,
        balanced,
        {model: overall({name: gain.nmr for name, gain in gains.items()}) for model, gains in balanced.items()},
        {
            model: {name: overall({m: g.nmr for m, g in gains.get(name, {}).items()}) for name in names}
            for model, gains in by_template.items()
        },
    )


def _ordered(templates: Iterable[str]) -> list[str]:
    known = list(TEMPLATES)
    return sorted(templates, key=lambda name: (known.index(name) if name in known else len(known), name))


def _gains(videos: Sequence[Video], eps: float, compat: bool) -> dict[str, Gain]:
    extra = sorted({name for video in videos for name in video.means} - set(METRICS))
    return {
        name: normalized_ratio(
            [video.means[name] for video in videos if name in video.means],
            lower_is_better=name in METRICS and METRICS[name].lower_is_better,
            eps=eps,
            compat=compat,
        )
        for name in [*METRICS, *extra]
    }


def _balanced(templates: Mapping[str, Mapping[str, Gain]]) -> dict[str, Gain]:
    found = {}
    for name in dict.fromkeys(name for gains in templates.values() for name in gains):
        there = [gains[name] for gains in templates.values() if name in gains and not math.isnan(gains[name].nmr)]
        dropped = sum(gains[name].n_dropped for gains in templates.values() if name in gains)
        mg, dr, nmr = (
            _mean([getattr(gain, part) for gain in there]) if there else math.nan for part in ("mg", "dr", "nmr")
        )
        found[name] = Gain(sum(gain.n for gain in there), mg, dr, nmr, dropped)
    return found


def family_means(values: Mapping[str, float]) -> dict[str, float]:
    """A number a family: the mean over its metrics that are not NaN; NaN where none is."""
    return {family: nan_mean(values.get(name, math.nan) for name in names) for family, names in FAMILIES.items()}


def overall(values: Mapping[str, float]) -> float:
    """The mean over families of :func:`family_means`, over those that are not NaN: as published.

    Example:
        >>> overall({"psnr": 0.25, "ssim": 0.75, "state_score": 1.0})
        0.75
    """
    return nan_mean(family_means(values).values())
