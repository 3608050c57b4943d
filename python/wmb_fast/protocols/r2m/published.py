# SPDX-License-Identifier: Apache-2.0
"""The published evaluator's own results: its per-video path, and the summary of its results files.

Two paths of that evaluator give an NMR. :func:`video_results` and :func:`global_results` are the first, written beside
every video (:mod:`.gain` has the second, which the paper reports): a dynamic range of 1e-5 and below gives 0.0, and the
summary over videos takes a negative range for good. :func:`videos_of_results` reads what the second starts from.

Source: eval_revisit_nmr.py, compute_nmr_summary.py of AMAP-ML/R2MBench at 88e0cd91.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .constants import EPS, KINDS, METRICS, PER_VIDEO_EPS, TEMPLATES
from .gain import Means, Video, dynamic_range, memory_gain

# The first path's metrics, in its order. The number of matches has statistics, and no NMR of a video.
PATH_METRICS = (
    "psnr",
    "ssim",
    "dino_similarity",
    "lpips",
    "num_matches",
    "match_ratio",
)
_COUNT = "num_matches"
_FAMILIES = ("appearance", "scene_identity", "geometric", "object", "unified")  # read in this order; later ones win

Row = Mapping[str, Any]


def video_results(pairs: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """One video's entry of results.json: statistics by kind of pair, and NMR by metric.

    Args:
        pairs: By kind (revisit, baseline, short), a row a pair: ``status`` and the metrics' values. Rows whose status
            is not ``ok`` take no part.

    Returns:
        By kind and metric ``mean``, population ``std``, ``median`` (six decimals) and ``count``; and ``nmr`` by metric,
        from the rounded means: 0.0 where the dynamic range is 1e-5 or less. NaN and infinities stay.

    Example:
        >>> found = video_results({kind: [{"status": "ok", "ssim": x}] for kind, x in
        ...     {"revisit": 0.5, "baseline": 0.2, "short": 0.8}.items()})
        >>> found["revisit"]["ssim"]["mean"], found["nmr"]
        (0.5, {'ssim': 0.5})
    """
    found: dict[str, Any] = {kind: _statistics(pairs.get(kind, ())) for kind in KINDS}
    nmr = {}
    for name in found["revisit"]:
        if name != _COUNT and all(name in found[kind] for kind in KINDS):
            r, b, s = (found[kind][name]["mean"] for kind in KINDS)
            lower = name in METRICS and METRICS[name].lower_is_better
            span = dynamic_range(s, b, lower_is_better=lower)
            gain = memory_gain(r, b, lower_is_better=lower)
            nmr[name] = 0.0 if span <= PER_VIDEO_EPS else _rounded(gain / span)
    return {**found, "nmr": nmr}


def _rounded(value: float) -> float:
    return round(float(value), 6)


def _statistics(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    ok = [row for row in rows if row.get("status") == "ok"]
    names = [*PATH_METRICS, *sorted({name for row in ok for name in row} - {*PATH_METRICS, "status"})]
    found = {}
    for name in names:
        values = np.array([row[name] for row in ok if row.get(name) is not None], dtype=np.float64)
        if values.size:
            with np.errstate(invalid="ignore"):
                numbers = {"mean": values.mean(), "std": values.std(), "median": np.median(values)}
            found[name] = {**{key: _rounded(value) for key, value in numbers.items()}, "count": int(values.size)}
    return found


def global_results(per_video: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The ``global_summary`` of results.json: means over videos of each video's means, and the NMR of these.

    A dynamic range of either sign is taken, if it is above 1e-8 in size. Entries that are not mappings are left out.
    """
    videos = [video for video in per_video.values() if isinstance(video, Mapping)]
    means: dict[str, dict[str, float]] = {kind: {} for kind in KINDS}
    for kind in KINDS:
        names = dict.fromkeys(name for video in videos for name in video.get(kind, {}))
        for name in names:
            values = [video[kind][name]["mean"] for video in videos if name in video.get(kind, {})]
            means[kind][name] = sum(values) / len(values)
    nmr = {}
    for name in means["revisit"]:
        if all(name in means[kind] for kind in KINDS):
            r, b, s = (means[kind][name] for kind in KINDS)
            if abs(s - b) > EPS:
                nmr[name] = _rounded((r - b) / (s - b))
    rounded = {kind: {name: _rounded(value) for name, value in means[kind].items()} for kind in KINDS}
    return {"nmr": nmr, **rounded}


def task_of(name: str) -> tuple[str, str] | None:
    """Model and template of a task's name.

    ``<model>_<template>_30s``; of another form the lower-case name without the template, or ``None`` where no template
    is in it.

    Example:
        >>> task_of("lingbot_fast_WSLRRLL_30s"), task_of("dddaaa_modelC"), task_of("other")
        (('lingbot_fast', 'WSLRRLL'), ('modelc', 'DDDAAA'), None)
    """
    clean = re.fullmatch(rf"(.+)_({'|'.join(TEMPLATES)})_30s", name)
    if clean:
        return clean[1], clean[2]
    lower = name.lower()
    for template in TEMPLATES:
        if template.lower() in lower:
            return lower.replace(template.lower(), "").strip("_"), template
    return None


def videos_of_results(visual: Mapping[str, Any], state: Mapping[str, Any] | None = None) -> list[Video]:
    """Videos out of results files.

    Args:
        visual: Family (appearance, scene_identity, geometric, object, unified), task, then a list of shards, each a
            ``per_video`` mapping; shards of a task merge by video.
        state: Task, video, ``revisit_scores``, ``baseline_scores`` and ``short_scores``; failures (-1) are averaged in,
            as published. Where a list is empty, ``nmr.mean_revisit`` and so on are taken.

    Returns:
        For :func:`.gain.summarise`. Tasks that name no template are left out.
    """
    found: dict[tuple[str, str, str], dict[str, Means]] = {}
    for family in [name for name in _FAMILIES if name in visual] + [name for name in visual if name not in _FAMILIES]:
        for task, shards in visual[family].items():
            named = task_of(task)
            if named is None:
                continue
            for video, entry in ((v, e) for shard in shards for v, e in shard.items() if isinstance(e, Mapping)):
                metrics = dict.fromkeys(m for kind in KINDS for m in (entry.get(kind) or {}))
                means = {m: Means(*(_mean_of(entry, kind, m) for kind in KINDS)) for m in metrics}
                found.setdefault((*named, video), {}).update(means)
    for task, videos in (state or {}).items():
        named = task_of(task)
        if named is not None:
            for video, entry in videos.items():
                found.setdefault((*named, video), {})["state_score"] = Means(*(_judged(entry, k) for k in KINDS))
    return [Video(model, template, means) for (model, template, _), means in found.items()]


def _mean_of(entry: Mapping[str, Any], kind: str, metric: str) -> float | None:
    value = ((entry.get(kind) or {}).get(metric) or {}).get("mean")
    return None if value is None else float(value)


def _judged(entry: Mapping[str, Any], kind: str) -> float | None:
    scores = entry.get(f"{kind}_scores") or ()
    if scores:
        return math.fsum(scores) / len(scores)
    value = (entry.get("nmr") or {}).get(f"mean_{kind}")
    return None if value is None else float(value)
