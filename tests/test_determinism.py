# SPDX-License-Identifier: Apache-2.0
"""The same bits from every op, for any number of threads, any instruction set, and any split of the batch."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

import wmb_fast as wmb
from wmb_fast._walls.dispatch import declared_ops
from wmb_fast._walls.ext import core


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([*shape, seed]).standard_normal(shape)


def poses(*batch: int, seed: int = 0) -> np.ndarray:
    """Random rigid motions (..., 4, 4) that move on smoothly."""
    q, _ = np.linalg.qr(random(*batch, 3, 3, seed=seed))
    q *= np.sign(np.linalg.det(q))[..., None, None]
    out = np.zeros((*batch, 4, 4))
    out[..., :3, :3] = q
    out[..., :3, 3] = np.cumsum(random(*batch, 3, seed=seed + 1), axis=-2)
    out[..., 3, 3] = 1
    return out


POINTS = random(61, 301, 3)
ESTIMATE, REFERENCE = poses(23, 101), poses(23, 101, seed=3)
ROWS = random(5, 203, 97).astype(np.float32)
STRATA = np.arange(101) % 7

# Depth maps of a smooth scene with holes, seen by a camera that turns.
DEPTH = (2 + np.abs(random(6, 75, 131)) * 0.1 * (random(6, 75, 131, seed=1) < 2)).astype(np.float32)
WIDE_DEPTH = DEPTH.astype(float)
CAMERA = np.array([90.0, -80.0, 65.0, 37.0], dtype=np.float32)
NEARBY = np.tile(np.eye(4, dtype=np.float32), (6, 1, 1))
NEARBY[:, :3, 3] = 0.05 * random(6, 3)
CLIPS, CLIP_POSES = np.stack([DEPTH, DEPTH[::-1]] * 2), np.stack([NEARBY] * 4)

# Pictures of more than one band of rows, and not of whole strips.
FRAMES = np.random.default_rng(0).integers(0, 256, (2, 5, 101, 139, 3), dtype=np.uint8)
UNIT_FRAMES = (FRAMES / 255).astype(np.float32)


def similarities(b: slice) -> list[Any]:
    """Every variant of bytes, of floats and of channels first."""
    variants = ("uniform7", "gaussian11", "gaussian11_valid", "gaussian11_gray")
    planes = np.ascontiguousarray(np.moveaxis(FRAMES[:, b], -1, -3))
    return [
        wmb.ssim(*frames, data_range=data_range, variant=variant, layout=layout)
        for variant in variants
        for frames, data_range, layout in (
            (FRAMES[:, b], 255, "hwc"),
            (UNIT_FRAMES[:, b], 1, "hwc"),
            (planes, 255, "chw"),
        )
    ]


# Every public op on a slice of its batch: how long the batch is (None: the op has no batch), and the call.
# Sizes are not round, and give more than one chunk.
CALLS: dict[str, tuple[int | None, Callable[[slice], Any]]] = {
    "umeyama": (61, lambda b: wmb.umeyama(POINTS[b], random(61, 301, 3, seed=1)[b])),
    "align_trajectory": (23, lambda b: wmb.align_trajectory(ESTIMATE[b], REFERENCE[b])),
    "ape": (23, lambda b: wmb.ape(ESTIMATE[b], REFERENCE[b], relation="full")),
    "ate": (23, lambda b: wmb.ate(ESTIMATE[b], REFERENCE[b])),
    "rpe": (23, lambda b: wmb.rpe(ESTIMATE[b], REFERENCE[b], delta=3)),
    "rotation_angle_deg": (23, lambda b: wmb.rotation_angle_deg(ESTIMATE[b, :, :3, :3], REFERENCE[b, :, :3, :3])),
    "associate": (None, lambda _: wmb.associate(np.sort(random(5000)), np.sort(random(4000)), max_difference=0.1)),
    "cosine_pairs": (5, lambda b: wmb.cosine_pairs(ROWS[b], ROWS[b, ::-1])),
    "cosine_matrix": (5, lambda b: wmb.cosine_matrix(ROWS[b], ROWS[b, :53])),
    "nearest": (5, lambda b: wmb.nearest(ROWS[b], ROWS[b, 7:150])),
    "mutual_matches": (5, lambda b: wmb.mutual_matches(ROWS[b], ROWS[b, 7:150] + ROWS[b, :143], ratio=0.95)),
    "patch_best_match": (5, lambda b: wmb.patch_best_match(ROWS[b], ROWS[b, 7:150])),
    "topk": (5, lambda b: [wmb.topk(ROWS[b], ROWS[b, 7:150], 9), wmb.topk(ROWS[b, :3], ROWS[b], 2)]),
    "verify_identity": (5, lambda b: wmb.verify_identity(ROWS[b], ROWS[b, ::-1], threshold=0.05)),
    "assign": (61, lambda b: wmb.assign(np.round(random(61, 33, 37), 1)[b])),
    "assignment": (61, lambda b: wmb.assignment(random(61, 41, 41)[b], null_cost=0.1)),
    "box_medians": (
        9,
        lambda b: wmb.box_medians(
            random(9, 301, 2)[b],
            random(9, 301, 2, seed=1)[b],
            random(9, 301)[b],
            np.sort(random(9, 17, 2, 2), axis=2).reshape(9, 17, 4)[b],
            np.tile([-1.0, -1.0, 2.0, 2.0], (9, 17, 1))[b],
        ),
    ),
    "mask_iou": (9, lambda b: wmb.mask_iou((random(9, 67, 131) > 0)[b], (random(9, 67, 131, seed=1) > 0)[b])),
    "mse": (5, lambda b: [wmb.mse(*frames[:, b]) for frames in (FRAMES, UNIT_FRAMES)]),
    "psnr": (5, lambda b: wmb.psnr(*UNIT_FRAMES[:, b], data_range=1)),
    "ssim": (5, similarities),
    "spearman": (9, lambda b: wmb.spearman(np.round(random(9, 4001), 1)[b], random(9, 4001, seed=1)[b])),
    "pearson": (9, lambda b: wmb.pearson(random(9, 4001)[b], random(9, 4001, seed=1)[b])),
    "fisher_mean": (9, lambda b: wmb.fisher_mean(np.tanh(random(9, 31))[b])),
    "pairwise_agreement": (9, lambda b: wmb.pairwise_agreement(random(9, 31)[b], np.sign(random(9, 31, 3))[b])),
    "bootstrap_ci": (19, lambda b: wmb.bootstrap_ci(random(19, 101)[b], hierarchy=STRATA, strata=STRATA, n=333)),
    "flow_channels": (9, lambda b: wmb.flow_channels(random(9, 67, 131, 2).astype(np.float32)[b])),
    "project": (6, lambda b: wmb.project(random(6, 70001, 3)[b], CAMERA.astype(float), NEARBY.astype(float)[b])),
    "unproject": (6, lambda b: wmb.unproject(DEPTH[b], CAMERA)),
    "reproject_depth": (6, lambda b: wmb.reproject_depth(DEPTH[b], CAMERA, NEARBY[b])),
    "splat_depth": (6, lambda b: wmb.splat_depth(DEPTH[b], CAMERA, NEARBY[b], (40, 67))),
    "depth_agreement": (
        6,
        lambda b: [
            wmb.depth_agreement(DEPTH[b], DEPTH[::-1][b], CAMERA, NEARBY[b], sampling=s)
            for s in ("nearest", "bilinear")
        ],
    ),
    "reprojection_error": (
        4,
        lambda b: [
            wmb.reprojection_error(CLIPS[b], CLIP_POSES[b], CAMERA, confidence=c, grid=3, unit=unit)
            for c, unit in ((None, "depth"), (CLIPS[b], "pixels"))
        ],
    ),
    "sampled_visibility": (
        61,
        lambda b: wmb.sampled_visibility(
            9 * random(61, 33, 2)[b] + 20,
            np.abs(random(61, 33))[b],
            np.abs(random(61, 33, seed=1))[b],
            (40, 40),
            confidence=np.abs(random(61, 33, seed=2))[b],
            with_area=True,
        ),
    ),
    "visibility": (
        6,
        lambda b: wmb.visibility(random(6, 9, 17, 3)[b] + 2, WIDE_DEPTH[b], CAMERA.astype(float), np.eye(4)),
    ),
    "parallax_split": (9, lambda b: wmb.parallax_split(random(9, 4001)[b], random(9, 4001, seed=1)[b])),
}


def arrays_of(result: Any) -> list[np.ndarray]:
    """All arrays of a result, in order."""
    if is_dataclass(result):
        return [a for f in fields(result) for a in arrays_of(getattr(result, f.name))]
    if isinstance(result, (list, tuple)):
        return [a for item in result for a in arrays_of(item)]
    return [] if result is None or isinstance(result, str) else [np.asarray(result)]


def digest(result: Any) -> str:
    total = hashlib.sha256()
    for array in arrays_of(result):
        total.update(f"{array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def all_digests() -> str:
    return "\n".join(f"{op} {digest(call(slice(None)))}" for op, (_, call) in CALLS.items())


def test_every_op_is_here() -> None:
    assert set(CALLS) == set(declared_ops())


@pytest.fixture(scope="module")
def digests_here() -> str:
    return all_digests()


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("simd", core.simd_levels())
def test_threads_and_instruction_sets(threads: int, simd: str, digests_here: str) -> None:
    program = "import sys; sys.path.insert(0, sys.argv[1]); import test_determinism as t; print(t.all_digests())"
    environment = os.environ | {"WMB_NUM_THREADS": str(threads), "WMB_SIMD": simd}
    done = subprocess.run(
        [sys.executable, "-c", program, os.path.dirname(__file__)],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert done.stdout.strip() == digests_here


@pytest.mark.parametrize("op", [op for op, (n, _) in CALLS.items() if n is not None])
def test_batch_splits(op: str) -> None:
    n, call = CALLS[op]
    assert n is not None
    parts = [arrays_of(call(slice(*cut))) for cut in ((0, 1), (1, n // 2), (n // 2, n))]
    whole = arrays_of(call(slice(None)))
    if op == "mutual_matches":  # a list of records, one a batch item
        joined = [array for part in parts for array in part]
    else:
        joined = [np.concatenate([part[i] for part in parts]) for i in range(len(whole))]
    assert len(joined) == len(whole)
    for a, b in zip(joined, whole, strict=True):
        np.testing.assert_array_equal(a, b)


def test_denormals_stay_whatever_the_caller_has_set() -> None:
    torch = pytest.importorskip("torch")
    tiny = np.full((40, 8), 1e-41, dtype=np.float32) * np.arange(1, 9, dtype=np.float32)
    ops = (wmb.cosine_pairs, wmb.cosine_matrix, wmb.patch_best_match, lambda a, b: wmb.topk(a, b, 3))
    before = [digest(op(tiny, tiny[::-1])) for op in ops]
    if not torch.set_flush_denormal(True):
        pytest.skip("this machine cannot flush denormals")
    try:
        after = [digest(op(tiny, tiny[::-1])) for op in ops]
    finally:
        torch.set_flush_denormal(False)
    assert after == before
