# SPDX-License-Identifier: Apache-2.0
"""The trajectory ops on a device against the host's: modes, relations, ragged batches, and what has no answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from every_op import assert_close
from tolerances import FLOAT32_REL, FLOAT64_ABS, FLOAT64_REL
from trajectories import disturbed, poses_from, walk

import wmb_fast as wmb
from wmb_fast.ops.align import ALIGNMENTS, RELATIONS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("on_device")
SIZES = [1, 2, 3, 17, 63, 65, 130, 257]
LONG = 2100  # beyond the errors that a block holds
ABSOLUTE = RELATIONS[:-1]
Array = np.ndarray[Any, Any]


def pair(*shape: int, dtype: str = "float64", seed: int = 0) -> tuple[Array, Array]:
    """An estimate and its reference, (*shape, 4, 4)."""
    rng = np.random.default_rng([*shape, seed])
    reference = walk(rng, *shape)
    return disturbed(rng, reference).astype(dtype), reference.astype(dtype)


def points(*shape: int, dtype: str = "float64", seed: int = 0) -> tuple[Array, Array]:
    est, ref = pair(*shape, dtype=dtype, seed=seed)
    return np.ascontiguousarray(est[..., :3, 3]), np.ascontiguousarray(ref[..., :3, 3])


def tensors(value: Any) -> Any:
    if isinstance(value, list):
        return [tensors(item) for item in value]
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def reasons(record: Any) -> list[str]:
    shape = np.shape(record.status)
    return [record.reason(at) for at in np.ndindex(*shape)]


def assert_same_as_host(op: Callable[..., Any], *arrays: Any, dtype: str = "float64", **options: Any) -> Any:
    want = op(*arrays, **options)
    got = op(*map(tensors, arrays), **{name: tensors(value) for name, value in options.items()})
    rel = FLOAT32_REL if dtype == "float32" else FLOAT64_REL
    size = 1e-6 if dtype == "float32" else 1e3 * FLOAT64_ABS
    assert_close(got, want, rel=rel, abs=size)
    assert reasons(got) == reasons(want)
    return got


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", SIZES)
def test_umeyama_of_odd_sizes(n: int, dtype: str) -> None:
    x, y = points(3, n, dtype=dtype)
    for with_scale in (True, False):
        assert_same_as_host(wmb.umeyama, x, y, with_scale=with_scale, dtype=dtype)
    one = assert_same_as_host(wmb.umeyama, x[0], y[0], dtype=dtype)
    assert one.rotation.shape == (3, 3)
    assert one.scale.shape == ()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_umeyama_with_weights_masks_and_lengths(dtype: str) -> None:
    x, y = points(2, 3, 140, dtype=dtype)
    rng = np.random.default_rng(1)
    weights = rng.random((2, 3, 140)).astype(dtype)
    weights[rng.random(weights.shape) < 0.3] = 0
    mask = rng.random(weights.shape) < 0.7
    lengths = np.array([[140, 0, 1], [17, 130, 64]])
    x[0, 0, 5] = np.nan
    y[1, 1, 0] = np.inf
    for options in ({"weights": weights}, {"mask": mask}, {"weights": weights, "mask": mask}, {}):
        assert_same_as_host(wmb.umeyama, x, y, lengths=lengths, dtype=dtype, **options)
        assert_same_as_host(wmb.umeyama, x, y, dtype=dtype, with_scale=False, **options)
    assert_same_as_host(wmb.umeyama, x, y, weights=np.zeros_like(weights), dtype=dtype)
    huge = np.where(weights > 0, weights * 1e30, 0).astype(dtype)
    assert_same_as_host(wmb.umeyama, x, y, weights=huge, dtype=dtype)


def test_lengths_on_the_device_are_held_within_the_room() -> None:
    x, y = points(3, 20)
    got = wmb.umeyama(*tensors([x, y]), lengths=torch.tensor([99, -5, 20]))
    want = wmb.umeyama(x, y, lengths=[20, 0, 20])
    assert_close(got, want, rel=FLOAT64_REL, abs=FLOAT64_ABS)


def degenerate(kind: str) -> tuple[Array, Array]:
    x, y = points(40, seed=3)
    if kind == "line":
        x = np.arange(40.0)[:, None] * [1, 2, 3]
    elif kind == "both lines":
        x, y = np.arange(40.0)[:, None] * [1, 2, 3], np.arange(40.0)[:, None] * [-1, -2, -3]
    elif kind == "still source":
        x = np.full_like(x, 7)
    elif kind == "still target":
        y = np.full_like(y, 7)
    elif kind == "uncorrelated":
        x, y = np.array([[1.0, 0, 0], [-1, 0, 0], [1, 0, 0], [-1, 0, 0]]), np.eye(3)[[0, 0, 1, 1]]
    elif kind == "mirror":
        x = np.concatenate([np.eye(3), -np.eye(3)])
        y = x * [1, 1, -1]
    elif kind == "coarse":
        x = x + 1e15
    elif kind == "one":
        x, y = x[:1], y[:1]
    elif kind == "missing":
        x = np.full_like(x, np.nan)
    elif kind == "late":
        x[:35] = np.nan
    return x, y


KINDS = (
    "line", "both lines", "still source", "still target", "uncorrelated", "mirror", "coarse", "one", "missing", "late",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_unique_answer(kind: str) -> None:
    x, y = degenerate(kind)
    assert_same_as_host(wmb.umeyama, x, y, with_scale=False)
    assert_same_as_host(wmb.umeyama, x, y)
    if kind == "coarse":  # the errors of what is not aligned have lost their digits
        assert_same_as_host(wmb.ate, x, y)
        return
    for align in ("sim3", "se3", "scale", "none"):
        assert_same_as_host(wmb.ate, x, y, align=align)
        assert_same_as_host(wmb.align_trajectory, x, y, mode=align)
    rotations = np.broadcast_to(np.eye(3), (len(x), 3, 3))
    est, ref = poses_from(rotations, x), poses_from(rotations, y)
    for align in ("sim3", "origin"):
        assert_same_as_host(wmb.ape, est, ref, align=align, relation="full")
        assert_same_as_host(wmb.align_trajectory, est, ref, mode=align)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("align", ALIGNMENTS)
def test_every_alignment(align: str, dtype: str) -> None:
    est, ref = pair(2, 3, 65, dtype=dtype)
    rng = np.random.default_rng(2)
    mask, lengths = rng.random((2, 3, 65)) < 0.8, np.array([[65, 1, 40], [64, 2, 0]])
    est[0, 0, 7, 1, 1] = np.nan
    ref[1, 1, 0, 2, 3] = np.inf
    for options in ({}, {"mask": mask, "lengths": lengths}, {"n_align": 5}, {"n_align": 3, "mask": mask}):
        assert_same_as_host(wmb.align_trajectory, est, ref, mode=align, dtype=dtype, **options)
        assert_same_as_host(wmb.ape, est, ref, align=align, dtype=dtype, **options)
        if align != "origin":
            x, y = est[..., :3, 3].copy(), ref[..., :3, 3].copy()
            assert_same_as_host(wmb.align_trajectory, x, y, mode=align, dtype=dtype, **options)
            assert_same_as_host(wmb.ape, x, y, align=align, dtype=dtype, **options)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("relation", ABSOLUTE)
def test_every_relation(relation: str, dtype: str) -> None:
    est, ref = pair(3, 33, dtype=dtype)
    est[1, 3, 0, 0] = np.nan
    options = {"relation": relation, "align": "se3"}
    got = assert_same_as_host(wmb.ape, est, ref, dtype=dtype, **options)
    assert got.errors.shape == (3, 33)
    off = est.astype(np.float64)
    off[..., :3, :3] *= 1 + 1e-3  # off SO(3): taken for the nearest rotation
    assert_same_as_host(wmb.ape, off.astype(dtype), ref, dtype=dtype, **options)
    assert_same_as_host(wmb.align_trajectory, off.astype(dtype), ref, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_trajectories(dtype: str) -> None:
    x, y = points(2, LONG, dtype=dtype)
    assert_same_as_host(wmb.ate, x, y, align="se3", dtype=dtype)
    assert_same_as_host(wmb.ate, x[:, :1537], y[:, :1537], dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lists_of_trajectories(dtype: str) -> None:
    pairs = [pair(n, dtype=dtype) for n in (1, 5, 130, 17, 64, 2)]
    est, ref = [list(side) for side in zip(*pairs, strict=True)]
    rng = np.random.default_rng(4)
    masks = [rng.random(len(e)) < 0.9 for e in est]
    for options in ({}, {"mask": masks}):
        assert_same_as_host(wmb.align_trajectory, est, ref, dtype=dtype, **options)
        assert_same_as_host(wmb.ape, est, ref, relation="full", dtype=dtype, **options)
    x, y = ([p[:, :3, 3].copy() for p in side] for side in (est, ref))
    weights = [rng.random(len(e)).astype(dtype) for e in est]
    assert_same_as_host(wmb.umeyama, x, y, weights=weights, mask=masks, dtype=dtype)
    assert_same_as_host(wmb.ate, x, y, dtype=dtype)


def test_a_view_that_begins_between_boundaries() -> None:
    est, ref = pair(9, dtype="float32")
    shifted = []
    for poses in (est, ref):
        flat = torch.zeros(1 + poses.size)
        flat[1:] = torch.from_numpy(poses.reshape(-1))
        shifted.append(flat[1:].reshape(poses.shape))
    got = wmb.ape(*shifted, relation="full")
    assert_close(got, wmb.ape(est, ref, relation="full"), rel=FLOAT32_REL, abs=1e-6)


def test_empty_batches() -> None:
    x, y = torch.zeros((0, 5, 3)), torch.zeros((0, 5, 3))
    assert wmb.umeyama(x, y).rotation.shape == (0, 3, 3)
    assert wmb.ate(x, y).errors.shape == (0, 5)
    assert wmb.align_trajectory(x, y).poses.shape == (0, 5, 3)


@pytest.mark.parametrize("fault", ["last row", "mirrored", "scaled"])
def test_a_matrix_that_is_no_pose_is_reported(fault: str) -> None:
    est, ref = pair(3, 30)
    bad = {"last row": (1, 7, 3, 0), "mirrored": (1, 7, slice(3), 0), "scaled": (1, 7, slice(3), slice(3))}[fault]
    side = ref if fault == "mirrored" else est
    side[bad] = 0.5 if fault == "last row" else side[bad] * (-1 if fault == "mirrored" else 2)
    with pytest.raises(wmb.ArgumentError):
        wmb.ape(est, ref)
    error, moved = wmb.ape(*tensors([est, ref])), wmb.align_trajectory(*tensors([est, ref]))
    want = wmb.ape(est[::2], ref[::2])
    for record in (error, error.alignment, error.alignment.sim3, moved):
        assert record.status.tolist() == [0, 2, 0]
        assert "no pose" in record.reason(1)
    np.testing.assert_allclose(error.rmse[::2], want.rmse, rtol=FLOAT64_REL)
    assert error.n.tolist() == [30, 0, 30]
    for value in (error.rmse[1], error.errors[1], moved.poses[1], moved.sim3.rotation[1], moved.sim3.rmse[1]):
        assert torch.isnan(value).all()
    mask = np.ones((3, 30), bool)
    mask[1, 7] = False
    assert_same_as_host(wmb.ape, est, ref, mask=mask)
    assert wmb.umeyama(*tensors([est[..., 3].copy()[..., :3], ref[..., 3].copy()[..., :3]])).status.tolist() == [0] * 3


def test_a_weight_that_is_none_is_reported() -> None:
    x, y = points(4, 10)
    weights = np.ones((4, 10))
    weights[1, 3], weights[2, 4], weights[3, 5] = -1, np.nan, np.inf
    fit = wmb.umeyama(*tensors([x, y]), weights=tensors(weights))
    assert fit.status.tolist() == [0, 2, 2, 2]
    assert fit.reason(1) == "a weight is negative or not finite"
    assert torch.isnan(fit.rotation[1:]).all()
    mask = np.isfinite(weights) & (weights > 0)
    assert_same_as_host(wmb.umeyama, x, y, weights=weights, mask=mask)


def test_a_fit_without_a_point_leaves_no_error() -> None:
    x, y = points(6)
    mask = np.arange(6) > 1
    error = wmb.ate(*tensors([x, y]), mask=tensors(mask))
    assert int(error.n) == 4
    nothing = wmb.ape(*tensors([x, y]), mask=tensors(mask), n_align=2)
    assert (int(nothing.n), int(nothing.status)) == (0, 2)
    assert nothing.reason() == wmb.ape(x, y, mask=mask, n_align=2, backend="reference").reason()
