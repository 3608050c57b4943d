# SPDX-License-Identifier: Apache-2.0
"""The eleven pair metrics of R2M-Bench, their families and templates, by the published names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

KINDS = ("revisit", "baseline", "short")
EPS = 1e-8  # of a dynamic range: at or below, there is none
PER_VIDEO_EPS = 1e-5  # the same in the published per-video path
IDENTICAL_PSNR = 100.0  # by default; as published infinite

# The published templates, and what kind of trajectory each is.
TEMPLATES = {"DDDAAA": "out_and_back", "WSLRRLL": "translation_rotation", "revisit_loop": "closed_loop"}


@dataclass(frozen=True)
class Metric:
    """A pair metric.

    Attributes:
        name: As published.
        family: What it is averaged with.
        title: Its heading in the paper's tables.
        channel, value: The evidence it is made from, and which array of it.
        digits: What the published evaluator rounds a pair's value to; ``None`` for none.
        lower_is_better: Of LPIPS alone.
    """

    name: str
    family: str
    title: str
    channel: str
    value: str
    digits: int | None = None
    lower_is_better: bool = False


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("psnr", "appearance", "PSNR", "fidelity", "psnr", digits=4),
        Metric("ssim", "appearance", "SSIM", "fidelity", "ssim", digits=6),
        Metric("lpips", "appearance", "LPIPS", "lpips", "lpips", digits=6, lower_is_better=True),
        Metric("dino_similarity", "scene_identity", "DINO", "dino", "features"),
        Metric("boq_similarity", "scene_identity", "BoQ", "boq", "features"),
        Metric("mvpr_similarity", "scene_identity", "MVPR", "mvpr", "features"),
        Metric("object_appearance_persistence", "object_identity", "App", "persistence", "appearance"),
        Metric("object_semantic_persistence", "object_identity", "Sem", "persistence", "semantic"),
        Metric("match_ratio", "local_geometry", "Match", "matches", "match_ratio", digits=4),
        Metric("ransac_inlier_ratio", "local_geometry", "Inlier", "matches", "inlier_ratio", digits=4),
        Metric("state_score", "persistent_state", "State", "states", "state_score"),
    )
}
FAMILIES: Mapping[str, tuple[str, ...]] = {
    family: tuple(m.name for m in METRICS.values() if m.family == family)
    for family in dict.fromkeys(m.family for m in METRICS.values())
}

# Ours: the same question with the builtin descriptor of colour, texture and place. In no family, and no network's name.
PLACE = Metric("place_similarity", "", "Place", "features", "mean")
