# SPDX-License-Identifier: Apache-2.0
"""The public API as it is promised: names, order of arguments, defaults, returned fields. More may be, less may not."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from pathlib import Path
from typing import Any

import pytest

import wmb_fast as wmb
from wmb_fast.ops import align, assign, bootstrap, flow, match, reproject, reproject_pairs, rpe, stats

NEEDED = inspect.Parameter.empty

# Positional arguments in their order (those without a default are `NEEDED`), then keywords. What the library adds
# stands behind, or is a keyword.
SIGNATURES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "umeyama": ({"source": NEEDED, "target": NEEDED}, {"weights": None, "mask": None, "with_scale": True}),
    "align_trajectory": ({"estimate": NEEDED, "reference": NEEDED}, {"mode": "sim3", "n_align": None, "mask": None}),
    "ape": (
        {"estimate": NEEDED, "reference": NEEDED},
        {"align": "sim3", "relation": "translation", "n_align": None, "mask": None},
    ),
    "ate": ({"estimate": NEEDED, "reference": NEEDED}, {"align": "sim3", "mask": None}),
    "rpe": (
        {"estimate": NEEDED, "reference": NEEDED},
        {
            "delta": 1, "unit": "frames", "all_pairs": True, "relative_tolerance": 0.1, "pairs_from": "estimate",
            "relation": None, "frame": "local", "align": "none", "mask": None,
        },
    ),
    "associate": (
        {"stamps_a": NEEDED, "stamps_b": NEEDED},
        {"max_difference": 0.01, "offset": 0.0, "sort": False, "one_to_one": True},
    ),
    "rotation_angle_deg": ({"R_a": NEEDED, "R_b": NEEDED}, {}),
    "project": ({"points": NEEDED, "intrinsics": NEEDED, "T_cam_world": NEEDED}, {}),
    "unproject": ({"depth": NEEDED, "intrinsics": NEEDED}, {}),
    "reproject_depth": ({"depth": NEEDED, "intrinsics": NEEDED, "T_dst_src": NEEDED}, {"intrinsics_dst": None}),
    "splat_depth": (
        {"depth": NEEDED, "intrinsics": NEEDED, "T_dst_src": NEEDED, "shape": NEEDED},
        {"intrinsics_dst": None},
    ),
    "depth_agreement": (
        {"depth_src": NEEDED, "depth_dst": NEEDED, "intrinsics": NEEDED, "T_dst_src": NEEDED},
        {"intrinsics_dst": None, "occlusion": (0.7, 1.4), "sampling": "nearest"},
    ),
    "reprojection_error": (
        {"depth": NEEDED, "poses": NEEDED, "intrinsics": NEEDED},
        {"confidence": None, "grid": 16, "occlusion": (0.7, 1.4), "confidence_quantile": 0.3, "unit": "depth"},
    ),
    "visibility": (
        {"points": NEEDED, "depth": NEEDED, "intrinsics": NEEDED, "T_cam_world": NEEDED},
        {"min_inside": 0.3, "min_area": 16, "occlusion": 0.95, "min_visible": 0.3},
    ),
    "nearest": ({"a": NEEDED, "b": NEEDED}, {}),
    "mutual_matches": ({"a": NEEDED, "b": NEEDED}, {"ratio": None, "min_score": None, "metric": "cosine"}),
    "cosine_pairs": ({"a": NEEDED, "b": NEEDED}, {}),
    "cosine_matrix": ({"a": NEEDED, "b": None}, {}),
    "mask_iou": ({"a": NEEDED, "b": NEEDED}, {}),
    "flow_channels": ({"flow": NEEDED}, {}),
    "parallax_split": ({"u": NEEDED, "inverse_depth": NEEDED}, {}),
    "assign": ({"cost": NEEDED}, {"null_cost": None, "maximize": False, "ties": "lowest"}),
    "spearman": ({"a": NEEDED, "b": NEEDED}, {"nan_policy": "propagate"}),
    "pearson": ({"a": NEEDED, "b": NEEDED}, {"nan_policy": "propagate"}),
    "fisher_mean": ({"rhos": NEEDED, "weights": None}, {}),
    "pairwise_agreement": ({"metric": NEEDED, "votes": NEEDED}, {}),
    "bootstrap_ci": (
        {"values": NEEDED},
        {"hierarchy": None, "strata": None, "indices": None, "n": 2000, "level": 0.95, "seed": 0},
    ),
}  # fmt: skip
# Promised, and built when their families are.
LATER: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "patch_best_match": ({"a": NEEDED, "b": NEEDED}, {}),
    "topk": ({"queries": NEEDED, "gallery": NEEDED, "k": NEEDED}, {}),
    "verify_identity": ({"a": NEEDED, "b": NEEDED}, {"threshold": NEEDED}),
    "mse": ({"a": NEEDED, "b": NEEDED}, {}),
    "psnr": ({"a": NEEDED, "b": NEEDED}, {"data_range": NEEDED, "identical": math.inf}),
    "ssim": ({"a": NEEDED, "b": NEEDED}, {"data_range": NEEDED, "variant": NEEDED}),
}
BUILT = {**SIGNATURES, **{op: promised for op, promised in LATER.items() if hasattr(wmb, op)}}

RECORDS: dict[type, tuple[str, ...]] = {
    align.Sim3: ("rotation", "translation", "scale", "rmse", "rank", "status"),
    align.Alignment: ("poses", "sim3", "status"),
    align.ErrorStats: (
        "rmse", "mean", "median", "std", "min", "max", "sse", "errors", "n", "alignment", "status",
    ),
    rpe.PoseErrors: ("translation", "rotation_deg", "pairs", "alignment", "status"),
    reproject.Projection: ("pixels", "depth", "valid"),
    reproject.Reprojection: ("pixels", "depth", "valid"),
    reproject.Splat: ("depth", "source_index", "valid"),
    reproject_pairs.DepthAgreement: ("median_relative_error", "covisible_fraction", "n", "status"),
    reproject_pairs.ReprojectionError: ("median", "per_pair", "n_pairs", "status"),
    match.Nearest: ("index", "score"),
    match.Matches: ("index_a", "index_b", "score"),
    flow.FlowChannels: ("horizontal", "radial"),
    flow.Parallax: ("translation", "rotation"),
    bootstrap.Interval: ("low", "high", "estimate"),
    stats.Correlation: ("value", "p"),
    assign.Assignment: ("columns", "total", "status"),
}  # fmt: skip


@pytest.mark.parametrize("op", BUILT)
def test_arguments_and_defaults(op: str) -> None:
    positional, keywords = BUILT[op]
    found = inspect.signature(getattr(wmb, op)).parameters
    by_place = [p for p in found.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert {p.name: p.default for p in by_place} == positional
    assert [p.name for p in by_place] == list(positional)
    by_name = {p.name: p.default for p in found.values() if p.kind is p.KEYWORD_ONLY}
    assert {name: by_name.get(name, "missing") for name in keywords} == keywords
    assert not [p for p in found.values() if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    added = {name: default for name, default in by_name.items() if name not in keywords}
    assert NEEDED not in added.values()  # what we add has a default
    assert added.get("backend") == "auto"


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_returned_fields(record: type) -> None:
    have = {f.name for f in dataclasses.fields(record)} | {
        name for name, member in vars(record).items() if isinstance(member, property)
    }
    assert set(RECORDS[record]) <= have
    assert getattr(wmb, record.__name__) is record
    assert record.__dataclass_params__.frozen  # type: ignore[attr-defined]
    if "status" in RECORDS[record]:
        assert callable(record.reason)  # type: ignore[attr-defined]


def test_the_states_of_visibility() -> None:
    assert [state.name.lower() for state in wmb.Visibility] == [
        "visible", "occluded", "outside", "too_small", "unknown",
    ]  # fmt: skip


def test_every_op_has_its_reference_with_the_same_arguments() -> None:
    for op in BUILT:
        positional, keywords = BUILT[op]
        found = inspect.signature(getattr(wmb.reference, op)).parameters
        assert list(found)[: len(positional)] == list(positional), op
        assert set(keywords) <= set(found), op


def test_every_argument_is_documented_and_every_function_has_an_example() -> None:
    for name in wmb.__all__:
        public = getattr(wmb, name)
        if not inspect.isfunction(public):
            continue
        said = inspect.getdoc(public) or ""
        assert ">>> " in said, name
        for argument in inspect.signature(public).parameters:
            assert re.search(rf"^ +([\w, ]+, )?{argument}(, [\w, ]+)?( [^:\n]*)?:", said, re.M), f"{name}: {argument}"


def test_the_public_list_is_what_there_is() -> None:
    assert wmb.__all__ == sorted(wmb.__all__)
    assert all(hasattr(wmb, name) for name in wmb.__all__)


def test_the_page_on_gpus_names_the_ops_that_have_kernels() -> None:
    from wmb_fast._walls.dispatch import _declared

    page = (Path(__file__).resolve().parent.parent / "docs" / "gpu.md").read_text()
    table = page.partition("<!-- ops:begin -->\n")[2].partition("<!-- ops:end -->")[0]
    wanted = {op: next((b for b in backends if b in ("cuda", "triton")), None) for op, backends in _declared.items()}
    rows = [f"| `{op}` | {backend} |" for op, backend in sorted(wanted.items()) if backend]
    assert table.splitlines() == rows
