# SPDX-License-Identifier: Apache-2.0
"""Relative errors and angles on a device against the host's: steps, relations, ragged batches, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from every_op import assert_close
from tolerances import ANGLE_DEG, ANGLE_FLOAT32_DEG, FLOAT32_REL, FLOAT64_REL
from trajectories import disturbed, rotations, walk

import wmb_fast as wmb
from wmb_fast.ops.align import ALIGNMENTS, RELATIONS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("on_device")
LONG = 700  # beyond the errors that a block holds
Array = np.ndarray[Any, Any]


def pair(*shape: int, dtype: str = "float64") -> tuple[Array, Array]:
    rng = np.random.default_rng(shape)
    reference = walk(rng, *shape)
    return disturbed(rng, reference).astype(dtype), reference.astype(dtype)


def tensors(value: Any) -> Any:
    if isinstance(value, list):
        return [tensors(item) for item in value]
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def assert_same_as_host(est: Any, ref: Any, dtype: str = "float64", **options: Any) -> Any:
    want = wmb.rpe(est, ref, **options)
    got = wmb.rpe(tensors(est), tensors(ref), **{name: tensors(value) for name, value in options.items()})
    rel, size = (FLOAT32_REL, ANGLE_FLOAT32_DEG) if dtype == "float32" else (FLOAT64_REL, 1e-10)
    assert_close(got, want, rel=rel, abs=size)
    for a, b in ((got, want), (got.rotation_deg, want.rotation_deg), (got.alignment.sim3, want.alignment.sim3)):
        for at in np.ndindex(*np.shape(b.status)):
            assert a.reason(at) == b.reason(at)
    return got


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 3, 17, 63, 65, 130])
def test_odd_sizes_and_steps(n: int, dtype: str) -> None:
    est, ref = pair(3, n, dtype=dtype)
    for delta, all_pairs in ((1, True), (2, False), (64, True), (n, False)):
        assert_same_as_host(est, ref, delta=delta, all_pairs=all_pairs, dtype=dtype)
    assert assert_same_as_host(est[0], ref[0], dtype=dtype).pairs.shape == (n - 1, 2)


@pytest.mark.parametrize("relation", RELATIONS)
def test_every_relation_in_either_frame(relation: str) -> None:
    est, ref = pair(2, 40)
    ref[0, 3, :3, 3] = ref[0, 2, :3, 3]  # a step of length zero
    for frame in ("local", "world"):
        assert_same_as_host(est, ref, relation=relation, frame=frame, align="sim3")
    assert_same_as_host(*pair(2, 40, dtype="float32"), relation=relation, dtype="float32")


@pytest.mark.parametrize("align", ALIGNMENTS)
def test_every_alignment_with_masks_and_lengths(align: str) -> None:
    est, ref = pair(2, 3, 50)
    rng = np.random.default_rng(1)
    mask = rng.random((2, 3, 50)) < 0.9
    est[0, 1, 3, 0, 0], ref[1, 2, 0, 3, 3] = np.nan, np.inf
    lengths = np.array([[50, 0, 1], [2, 33, 50]])
    for options in ({}, {"lengths": [[50, 0, 1], [2, 33, 49]]}, {"mask": mask}, {"n_align": 4}):
        assert_same_as_host(est, ref, align=align, frame="world", **options)
    assert_same_as_host(est, ref, align=align, mask=np.zeros((2, 3, 50), bool))
    wide = wmb.rpe(*tensors([est, ref]), align=align, lengths=tensors(lengths), delta=2)
    host = wmb.rpe(est, ref, align=align, lengths=lengths, delta=2)
    assert wide.pairs.shape == (2, 3, 48, 2)
    assert_close(wide.translation.rmse, host.translation.rmse, rel=FLOAT64_REL, abs=1e-10)
    np.testing.assert_array_equal(wide.pairs, host.pairs)


def test_lengths_that_only_the_device_knows_leave_room_for_all() -> None:
    est, ref = pair(2, 20)
    got = wmb.rpe(*tensors([est, ref]), lengths=torch.tensor([5, 30]))
    assert got.pairs.shape == (2, 19, 2)
    assert got.translation.n.tolist() == [4, 19]
    assert (got.pairs[0, 4:] == -1).all()
    assert torch.isnan(got.translation.errors[0, 4:]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lists_and_long_trajectories(dtype: str) -> None:
    est, ref = (list(side) for side in zip(*(pair(n, dtype=dtype) for n in (1, 5, 130, 2)), strict=True))
    rng = np.random.default_rng(2)
    assert_same_as_host(est, ref, delta=2, dtype=dtype)
    assert_same_as_host(est, ref, mask=[rng.random(len(e)) < 0.8 for e in est], relation="full", dtype=dtype)
    assert_same_as_host(*pair(2, LONG, dtype=dtype), relation="point_distance", dtype=dtype)
    est, ref = (list(side) for side in zip(*(pair(n, dtype=dtype) for n in (LONG, 3)), strict=True))
    assert_same_as_host(est, ref, relation="full", dtype=dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matrices_off_so3(dtype: str) -> None:
    est, ref = pair(2, 30, dtype=dtype)
    est[0, ::3, :3, :3] *= 1.001
    ref[1, 1::2, :3, :3] *= 0.98
    assert_same_as_host(est, ref, relation="full", dtype=dtype)


def test_a_matrix_that_is_no_pose_is_reported() -> None:
    est, ref = pair(2, 30)
    ref[1, 7, :3, 0] *= -1
    with pytest.raises(wmb.ArgumentError):
        wmb.rpe(est, ref)
    got = wmb.rpe(*tensors([est, ref]))
    for record in (got, got.translation, got.rotation_deg, got.alignment):
        assert record.status.tolist() == [0, 2]
        assert "no pose" in record.reason(1)
    assert got.translation.n.tolist() == [29, 0]
    assert torch.isnan(got.translation.errors[1]).all()
    assert_close(got.translation.rmse[0], wmb.rpe(est[0], ref[0]).translation.rmse[()], rel=FLOAT64_REL, abs=0)


def test_units_that_have_no_kernel_are_one_sentence() -> None:
    est, ref = tensors(list(pair(30)))
    for unit in ("metres", "degrees", "radians"):
        with pytest.raises(wmb.BackendError, match=f"^rpe: no kernel takes unit='{unit}'"):
            wmb.rpe(est, ref, unit=unit)


def test_empty_batches() -> None:
    nothing = torch.zeros((0, 5, 4, 4))
    assert wmb.rpe(nothing, nothing).translation.errors.shape == (0, 0)
    assert wmb.rotation_angle_deg(nothing[..., :3, :3], nothing[..., :3, :3]).shape == (0, 5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_angles_between_rotations(dtype: str, on_device: Callable[[bool], None]) -> None:
    rng = np.random.default_rng(3)
    a, b = (rotations(rng, 260).reshape(2, 130, 3, 3).astype(dtype) for _ in range(2))
    b[0, :5] = a[0, :5]
    b[0, 5] = a[0, 5] @ np.diag([1, -1, -1]).astype(dtype)
    a[1, 0, 1, 1] = np.nan
    b[1, 1] *= 1.001
    want, off = wmb.rotation_angle_deg(a, b), ANGLE_FLOAT32_DEG if dtype == "float32" else ANGLE_DEG
    np.testing.assert_allclose(wmb.rotation_angle_deg(*tensors([a, b])), want, rtol=0, atol=off)
    each = wmb.rotation_angle_deg(tensors(list(a)), tensors(list(b)))
    for got, host in zip(each, want, strict=True):
        np.testing.assert_allclose(got, host, rtol=0, atol=off)
    a[0, 3] *= -1
    assert int(torch.isnan(wmb.rotation_angle_deg(*tensors([a, b]))).sum()) == 2
