# SPDX-License-Identifier: Apache-2.0
"""A small valid call of every public op: what tests that hold for all of them go through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
from trajectories import placed, rotations

import wmb_fast as wmb

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Call:
    """One op with its array arguments, in order; the rest by name.

    ``per_item`` says along which axis of which arguments N runs, the number of points, poses, rows or cases.
    """

    arrays: Mapping[str, Array]
    options: Mapping[str, Any] = field(default_factory=dict)
    per_item: Mapping[str, int] = field(default_factory=dict)
    floats: tuple[str, ...] = ("float32", "float64")

    def of(self, op: str, **changed: Any) -> Any:
        given = {**self.arrays, **changed}
        positional = [given.pop(name) for name in self.arrays if name in given and name not in self.options]
        return getattr(wmb, op)(*positional, **given, **self.options)


def random(*shape: int) -> Array:
    return np.random.default_rng(list(shape)).standard_normal(shape)


def poses(n: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    made = placed(np.cumsum(rng.standard_normal((n, 3)), axis=0))
    made[:, :3, :3] = rotations(rng, n)
    return made


CAMERA = np.array([20.0, 20.0, 5.5, 4.0])
DEPTH = 2 + 0.1 * np.abs(random(9, 12))
ASIDE = np.eye(4)
ASIDE[0, 3] = 0.1
TWO_SETS = {"a": random(7, 6), "b": random(9, 6)}
SMALL = ("float16", "bfloat16", "float32", "float64")
BOTH = {"estimate": 0, "reference": 0}
TRACKS = {"estimate": poses(9, 1), "reference": poses(9, 2)}

CALLS: dict[str, Call] = {
    "umeyama": Call({"source": random(8, 3), "target": random(8, 3) + 1}, per_item={"source": 0, "target": 0}),
    "align_trajectory": Call(TRACKS, per_item=BOTH),
    "ape": Call(TRACKS, {"relation": "full"}, BOTH),
    "ate": Call(TRACKS, per_item=BOTH),
    "rpe": Call(TRACKS, per_item=BOTH),
    "rotation_angle_deg": Call(
        {"R_a": rotations(np.random.default_rng(3), 5), "R_b": rotations(np.random.default_rng(4), 5)},
        per_item={"R_a": 0, "R_b": 0},
    ),
    "associate": Call(
        {"stamps_a": np.arange(8.0), "stamps_b": np.arange(8.0) + 0.01},
        {"max_difference": 0.1},
        {"stamps_a": 0, "stamps_b": 0},
    ),
    "cosine_pairs": Call({"a": random(7, 6), "b": random(7, 6) + 1}, per_item={"a": 0, "b": 0}, floats=SMALL),
    "cosine_matrix": Call(TWO_SETS, per_item={"a": 0, "b": 0}, floats=SMALL),
    "nearest": Call(TWO_SETS, per_item={"a": 0, "b": 0}, floats=SMALL),
    "mutual_matches": Call(TWO_SETS, {"ratio": 0.99}, {"a": 0, "b": 0}, floats=SMALL),
    "assign": Call({"cost": random(5, 7)}, per_item={"cost": 0}),
    "assignment": Call({"cost": random(5, 7)}, {"null_cost": 0.2}, per_item={"cost": 1}),
    "mask_iou": Call({"a": (random(2, 9, 12) > 0) * 1.0, "b": (random(2, 9, 13)[..., 1:] > 0) * 1.0}),
    "spearman": Call({"a": random(3, 8), "b": random(3, 8) ** 2}, per_item={"a": 1, "b": 1}),
    "pearson": Call({"a": random(3, 8), "b": random(3, 8) ** 2}, per_item={"a": 1, "b": 1}),
    "fisher_mean": Call(
        {"rhos": np.tanh(random(3, 8)), "weights": np.abs(random(3, 8))}, per_item={"rhos": 1, "weights": 1}
    ),
    "pairwise_agreement": Call(
        {"metric": random(3, 8), "votes": np.sign(random(3, 8, 5))}, per_item={"metric": 1, "votes": 1}
    ),
    "bootstrap_ci": Call({"values": random(3, 8)}, {"n": 50}, per_item={"values": 1}),
    "flow_channels": Call({"flow": random(3, 6, 8, 2)}),
    "parallax_split": Call(
        {"u": random(3, 8), "inverse_depth": np.abs(random(3, 8))}, per_item={"u": 1, "inverse_depth": 1}
    ),
    "project": Call(
        {"points": random(8, 3) + 4 * np.eye(3)[2], "intrinsics": CAMERA, "T_cam_world": ASIDE}, per_item={"points": 0}
    ),
    "unproject": Call({"depth": DEPTH, "intrinsics": CAMERA}),
    "reproject_depth": Call({"depth": DEPTH, "intrinsics": CAMERA, "T_dst_src": ASIDE}),
    "splat_depth": Call({"depth": DEPTH, "intrinsics": CAMERA, "T_dst_src": ASIDE}, {"shape": (9, 12)}),
    "depth_agreement": Call({"depth_src": DEPTH, "depth_dst": DEPTH + 0.1, "intrinsics": CAMERA, "T_dst_src": ASIDE}),
    "reprojection_error": Call(
        {"depth": np.stack([DEPTH] * 3), "poses": np.stack([np.eye(4), ASIDE, ASIDE]), "intrinsics": CAMERA},
        {"grid": 2},
        {"depth": 0, "poses": 0},
    ),
    "visibility": Call(
        {
            "points": random(2, 8, 3) * 0.3 + 2 * np.eye(3)[2],
            "depth": DEPTH,
            "intrinsics": CAMERA,
            "T_cam_world": np.eye(4),
        },
        per_item={"points": 1},
    ),
}  # fmt: skip
IMAGES = {"a": np.abs(random(2, 12, 16, 3)), "b": np.abs(random(2, 12, 16, 1)) * np.ones(3)}
CALLS |= {
    "mse": Call(IMAGES),
    "psnr": Call(IMAGES, {"data_range": 8.0}),
    "ssim": Call(IMAGES, {"data_range": 8.0, "variant": "uniform7"}),
    "topk": Call(
        {"queries": random(7, 6), "gallery": random(9, 6)}, {"k": 4}, {"queries": 0, "gallery": 0}, floats=SMALL
    ),
    "patch_best_match": Call(TWO_SETS, per_item={"a": 0, "b": 0}, floats=SMALL),
    "verify_identity": Call(
        {"a": random(7, 6), "b": random(7, 6) + 1}, {"threshold": 0.2}, {"a": 0, "b": 0}, floats=SMALL
    ),
    "sampled_visibility": Call(
        {
            "pixels": 40 + 20 * random(3, 8, 2),
            "depth": 4 + np.abs(random(3, 8)),
            "seen_depth": 4 + np.abs(random(3, 8)) ** 2,
        },
        {"size": (80, 64)},
        {"pixels": 1, "depth": 1, "seen_depth": 1},
    ),
    "box_medians": Call(
        {
            "points_a": random(3, 8, 2),
            "points_b": random(3, 8, 2),
            "values": random(3, 8),
            "boxes_a": np.tile([-1.0, -1, 1, 1], (3, 2, 1)),
            "boxes_b": np.tile([-2.0, -2, 2, 2], (3, 2, 1)),
        },
        per_item={"points_a": 1, "points_b": 1, "values": 1},
    ),
}  # fmt: skip


def leaves(result: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every array, tensor and number of a result, with its name; reason codes and text are none."""
    if is_dataclass(result):
        for f in fields(result):
            if not f.name.startswith("_"):
                yield from leaves(getattr(result, f.name), f"{path}.{f.name}")
    elif isinstance(result, (list, tuple)):
        for i, item in enumerate(result):
            yield from leaves(item, f"{path}[{i}]")
    elif result is not None and not isinstance(result, str):
        yield path, result


def assert_same(got: Any, want: Any) -> None:
    """Requires two results with the same bits."""
    a, b = dict(leaves(got)), dict(leaves(want))
    assert a.keys() == b.keys()
    for name, value in a.items():
        x, y = np.asarray(value), np.asarray(b[name])
        assert (x.dtype, x.shape) == (y.dtype, y.shape), name
        np.testing.assert_array_equal(x, y, err_msg=name)


def assert_close(got: Any, want: Any, *, rel: float, abs: float) -> None:
    """Requires two results with the same integers, and with floats this near to each other."""
    a, b = dict(leaves(got)), dict(leaves(want))
    assert a.keys() == b.keys()
    for name, value in a.items():
        x, y = np.asarray(value), np.asarray(b[name])
        assert (x.dtype, x.shape) == (y.dtype, y.shape), name
        if x.dtype.kind == "f":
            np.testing.assert_allclose(x, y, rtol=rel, atol=abs, err_msg=name)
        else:
            np.testing.assert_array_equal(x, y, err_msg=name)
