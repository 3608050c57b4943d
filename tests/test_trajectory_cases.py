# SPDX-License-Identifier: Apache-2.0
"""Faults seen in the wild, each with its right answer: the cases T01 to T29 that a trajectory op can answer.

docs/cases.md says where the others are answered.
"""

from __future__ import annotations

import numpy as np
import pytest
from test_align import FIELDS, pair
from tolerances import FLOAT64_ABS, FLOAT64_REL
from trajectories import placed, poses_from, rotations, stair, yaw

import wmb_fast as wmb

torch = pytest.importorskip("torch")

X, Y, Z = np.eye(3)
LINE = np.arange(5.0)[:, None] * X


def kinds(*arrays: np.ndarray) -> list[tuple]:
    """The same arguments as NumPy arrays and as tensors."""
    return [arrays, tuple(torch.from_numpy(a) for a in arrays)]


def inverted(poses: np.ndarray) -> np.ndarray:
    turned = np.swapaxes(poses[..., :3, :3], -1, -2)
    return poses_from(turned, -(turned @ poses[..., :3, 3:])[..., 0])


def test_t01_straight_line() -> None:
    est = (2 * np.arange(5.0) + 3)[:, None] * Y
    first = wmb.ate(est, LINE)
    for args in kinds(est, LINE):
        got = wmb.ate(*args)
        fit = got.alignment.sim3
        np.testing.assert_allclose(float(fit.scale), 0.5, rtol=FLOAT64_REL)
        assert float(got.rmse) <= 1e-12
        rotation = np.asarray(fit.rotation)
        np.testing.assert_allclose(np.linalg.det(rotation), 1)
        np.testing.assert_allclose(rotation @ Y, X, atol=FLOAT64_ABS)
        assert int(fit.rank) == 1
        assert int(fit.status) == int(got.status) == 1
        assert "line" in got.reason()
        assert rotation.tobytes() == first.alignment.sim3.rotation.tobytes()
    turned = wmb.ape(placed(est), placed(LINE), relation="rotation_deg")
    assert turned.status == 2
    assert turned.n == 0
    assert np.isnan(turned.rmse)
    assert "rotation about it is undetermined" in turned.reason()


def test_t03_frozen_estimate() -> None:
    for args in kinds(np.full((5, 3), 7.0), LINE):
        got = wmb.ate(*args)
        assert np.isnan(float(got.alignment.sim3.scale))
        assert int(got.alignment.sim3.status) == 2
        assert int(got.status) == 1
        assert "zero spread" in got.reason()
        np.testing.assert_allclose(float(got.rmse), np.sqrt(2), rtol=FLOAT64_REL)
        np.testing.assert_allclose(np.asarray(got.errors), [2, 1, 0, 1, 2], atol=FLOAT64_ABS)
        assert all(np.isfinite(float(getattr(got, name))) for name in FIELDS)
    moved = wmb.align_trajectory(np.full((5, 3), 7.0), LINE)
    np.testing.assert_allclose(moved.poses, np.tile(2 * X, (5, 1)))


def test_t05_two_poses_one_pose_none() -> None:
    est, ref = np.array([[5.0, 5, 5], [5, 5, 9]]), np.array([[0.0, 0, 0], [1, 0, 0]])
    two = wmb.ate(est, ref)
    np.testing.assert_allclose(two.alignment.sim3.scale, 0.25)
    assert two.rmse <= 1e-12
    assert two.status == 1
    assert two.alignment.sim3.rank == 1
    one = wmb.ate(est[:1], ref[:1])
    assert one.rmse == 0
    assert one.n == 1
    assert np.isnan(one.alignment.sim3.scale)
    assert np.isnan(one.alignment.sim3.rotation).all()
    assert "too few points" in one.reason()
    with pytest.raises(wmb.ArgumentError, match="at least one"):
        wmb.ate(est[:0], ref[:0])


def test_t06_self_comparison_in_float32() -> None:
    turns = np.stack([yaw(k) for k in range(1, 180)]).astype(np.float32)
    assert (np.array([np.trace(r.T @ r) for r in turns]) > 3).any()  # the arc cosine has no value there
    for args in kinds(turns, turns.copy()):
        angles = np.asarray(wmb.rotation_angle_deg(*args))
        assert np.isfinite(angles).all()
        assert (angles <= 1e-4).all()


def test_t07_tiny_angle() -> None:
    small = yaw(np.degrees(1e-4)).astype(np.float32)
    np.testing.assert_allclose(wmb.rotation_angle_deg(small, np.eye(3, dtype=np.float32)), 0.00572958, rtol=1e-3)
    tiny = yaw(np.degrees(1e-9))
    np.testing.assert_allclose(wmb.rotation_angle_deg(tiny, np.eye(3)), 5.729578e-8, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_t08_half_turns(dtype: type) -> None:
    halves = np.stack([np.diag(d) for d in ([1, -1, -1], [-1, 1, -1], [-1, -1, 1])]).astype(dtype)
    whole = np.broadcast_to(np.eye(3, dtype=dtype), halves.shape).copy()
    for args in kinds(halves, whole):
        np.testing.assert_array_equal(np.asarray(wmb.rotation_angle_deg(*args)), [180, 180, 180])
    near = yaw(179.999).astype(dtype)
    np.testing.assert_allclose(wmb.rotation_angle_deg(near, np.eye(3, dtype=dtype)), 179.999, atol=1e-3)


def test_t09_matrices_off_so3() -> None:
    assert wmb.rotation_angle_deg(1.01 * np.eye(3), np.eye(3)) == 0
    np.testing.assert_allclose(wmb.orthogonality_deviation(1.01 * np.eye(3)), 0.0201, rtol=1e-9)
    rounded = yaw(30).round(3)
    assert wmb.rotation_angle_deg(rounded, yaw(30)) < 0.05
    assert wmb.orthogonality_deviation(rounded) > 1e-5
    poses = poses_from(np.stack([1.01 * np.eye(3), np.eye(3)]), np.zeros((2, 3)))
    got = wmb.ape(poses, placed(np.zeros((2, 3))), align="none", relation="rotation_deg")
    assert got.errors.tolist() == [0, 0]
    np.testing.assert_allclose(got.deviation, 0.0201, rtol=1e-9)
    with pytest.raises(wmb.ArgumentError, match=r"not a rotation \(det=-1"):
        wmb.rotation_angle_deg(np.diag([1.0, 1, -1]), np.eye(3))


def test_t12_pose_convention() -> None:
    w2c = poses_from(yaw(90), X)
    np.testing.assert_allclose(inverted(w2c)[:3, 3], [0, 1, 0], atol=FLOAT64_ABS)
    est, ref = pair(1, 20)
    again = inverted(inverted(est))
    np.testing.assert_allclose(wmb.ate(again, ref).rmse, wmb.ate(est, ref).rmse, rtol=0, atol=1e-12)
    one, other = wmb.rpe(again, ref), wmb.rpe(est, ref)
    np.testing.assert_allclose(one.translation.rmse, other.translation.rmse, atol=1e-12)
    np.testing.assert_allclose(one.rotation_deg.rmse, other.rotation_deg.rmse, atol=1e-12)


def test_t14_mirrored_points() -> None:
    ref = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    est = ref * [1, 1, -1]
    np.testing.assert_allclose(wmb.ate(est, ref, align="se3").rmse, 0.5)
    got = wmb.ate(est, ref)
    np.testing.assert_allclose(got.rmse, np.sqrt(2) / 3)
    np.testing.assert_allclose(got.alignment.sim3.scale, 7 / 9)
    np.testing.assert_allclose(np.linalg.det(got.alignment.sim3.rotation), 1)
    planar = np.array([[0.0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 3, 0]])
    flat = wmb.ate(planar * [1, -1, 1], planar)
    assert flat.rmse <= 1e-12
    assert flat.status == 0
    np.testing.assert_allclose(flat.alignment.sim3.scale, 1)
    np.testing.assert_allclose(np.linalg.det(flat.alignment.sim3.rotation), 1)


def test_t15_argument_order() -> None:
    ref = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    est = 10 * ref
    est[2] = [10, 13, 0]
    np.testing.assert_allclose(wmb.ate(est, ref).rmse, 0.0974869011, rtol=1e-9)
    np.testing.assert_allclose(wmb.ate(ref, est).rmse, 1.0606601718, rtol=1e-9)
    np.testing.assert_allclose(wmb.ate(ref, est).rmse / wmb.ate(est, ref).rmse, 10.8800276, rtol=1e-8)


def test_t16_large_offset() -> None:
    angle = 2 * np.pi * np.arange(32) / 32
    ref = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1) + np.array([388096, 3948996, 0])
    assert wmb.ate(ref.copy(), ref).rmse <= 1e-7
    shifted = ref + 1e-3 * X
    np.testing.assert_allclose(wmb.ate(shifted, ref, align="none").rmse, 1e-3, atol=1e-6)
    for align in ("sim3", "none"):
        narrow = wmb.ate(shifted.astype(np.float32), ref.astype(np.float32), align=align)
        assert np.isfinite(narrow.rmse)
        assert narrow.status == 1
        assert "floating-point steps of the coordinates" in narrow.reason()


def test_t17_rpe_and_alignment() -> None:
    ref = placed(stair(11))
    rng = np.random.default_rng(17)
    away = poses_from(rotations(rng, 1)[0], rng.normal(size=3))
    est = away @ placed(2 * stair(11))
    for align, error in (("none", 1.0), ("se3", 1.0), ("sim3", 0.0), ("scale", 0.0)):
        got = wmb.rpe(est, ref, align=align)
        np.testing.assert_allclose(got.translation.rmse, error, atol=1e-12)
        np.testing.assert_allclose(got.rotation_deg.max, 0, atol=1e-6)
        if align in ("sim3", "scale"):
            np.testing.assert_allclose(got.alignment.sim3.scale, 0.5)


def test_t18_pair_selection() -> None:
    poses = placed(stair(5))
    assert wmb.rpe(poses, poses, delta=2).pairs.tolist() == [[0, 2], [1, 3], [2, 4]]
    assert wmb.rpe(poses, poses, delta=2, all_pairs=False).pairs.tolist() == [[0, 2], [2, 4]]
    none = wmb.rpe(poses, poses, delta=10)
    assert none.pairs.shape == (0, 2)
    assert none.translation.n == 0
    assert none.status == 2
    assert np.isnan(none.translation.rmse)
    assert np.isnan(none.rotation_deg.rmse)
    for delta in (0, -1):
        with pytest.raises(wmb.ArgumentError, match="delta must be at least 1"):
            wmb.rpe(poses, poses, delta=delta)


def test_t19_frame_of_the_translation_residual() -> None:
    ref = placed(np.array([[0.0, 0, 0], [1, 0, 0]]))
    est = ref.copy()
    est[:, :3, :3] = yaw(90)
    local, world = wmb.rpe(est, ref), wmb.rpe(est, ref, frame="world")
    np.testing.assert_allclose(local.translation.rmse, np.sqrt(2))
    np.testing.assert_allclose(local.rotation_deg.rmse, 0, atol=1e-6)
    assert world.translation.rmse == 0


def test_t20_unsorted_stamps() -> None:
    ref_t, est_t = np.array([0.0, 1, 2, 3]), np.array([0.0, 2, 1, 3])
    with pytest.raises(wmb.ArgumentError, match=r"stamps_b must ascend .* in row 2 after 2"):
        wmb.associate(ref_t, est_t)
    pairs = wmb.associate(ref_t, est_t, sort=True)
    ref = placed(stair(4))
    est = ref[[0, 2, 1, 3]]
    assert wmb.ate(est[pairs[:, 1]], ref[pairs[:, 0]]).rmse <= 1e-12
    assert wmb.rpe(est[pairs[:, 1]], ref[pairs[:, 0]]).translation.rmse == 0


def test_t21_duplicate_stamps() -> None:
    stamps = np.array([0.0, 0, 1, 1, 2])
    pairs = wmb.associate(stamps, stamps.copy())
    assert pairs.tolist() == [[k, k] for k in range(5)]
    poses = placed(LINE)
    assert wmb.ate(poses[pairs[:, 0]], poses[pairs[:, 1]]).rmse == 0
    assert wmb.rpe(poses[pairs[:, 0]], poses[pairs[:, 1]]).translation.rmse == 0


def test_t22_one_to_one_stamps() -> None:
    for args in kinds(np.array([0.0, 1, 2]), np.array([0.0, 0.4, 1, 2])):
        assert np.asarray(wmb.associate(*args, max_difference=0.5)).tolist() == [[0, 0], [1, 2], [2, 3]]


def test_t23_disjoint_clocks() -> None:
    ref, est = 1311875572.4 + np.arange(10.0), np.arange(10.0)
    with pytest.raises(wmb.ArgumentError, match=r"overlap .* 1311875572\.\d* to .* apart: 0 pairs"):
        wmb.associate(ref, est, max_difference=0.01)


def test_t25_missing_pose() -> None:
    ref = placed(stair(10))
    est = ref.copy()
    est[3] = np.nan
    ate = wmb.ate(est, ref, align="se3")
    assert ate.rmse <= 1e-12
    assert ate.n == 9
    assert ate.errors.shape == (10,)
    rpe = wmb.rpe(est, ref)
    assert rpe.translation.rmse == 0
    assert rpe.translation.n == 7
    assert rpe.pairs.shape == (9, 2)
    assert all(np.isfinite(getattr(stats, name)) for stats in (ate, rpe.translation) for name in FIELDS)


def test_t27_video_shorter_than_the_plan() -> None:
    """Of 100 poses 80 exist; of three windows the third lies outside the clip, and takes no part in the mean."""
    plan = placed(stair(100))
    seen = plan.copy()
    seen[80:] = np.nan
    ate = wmb.ate(seen, plan)
    assert ate.rmse <= 1e-12
    assert (ate.n, len(ate.errors)) == (80, 100)
    windows = wmb.bootstrap_ci(np.array([0.8, 0.6, np.nan]))
    np.testing.assert_allclose(windows.estimate, 0.7, rtol=FLOAT64_REL)
    assert (windows.n_used, windows.status) == (2, 1)
    assert "missing" in windows.reason()
    as_zero = wmb.bootstrap_ci(np.array([0.8, 0.6, 0.0]))
    np.testing.assert_allclose(as_zero.estimate, 0.4666666667, rtol=1e-9)


def test_t29_absolute_or_normalised_scale() -> None:
    ref = stair(5)
    est = 3 * ref
    absolute = wmb.ape(placed(est), placed(ref), align="none")
    np.testing.assert_allclose(absolute.errors.sum(), 13.19150823, rtol=1e-9)
    np.testing.assert_allclose(absolute.mean, 2.63830165, rtol=1e-8)
    far = [np.linalg.norm(p - p[0], axis=1).max() for p in (est, ref)]
    assert wmb.ape(placed(est / far[0]), placed(ref / far[1]), align="none").max <= 1e-15
    sim3 = wmb.ape(placed(est), placed(ref))
    assert sim3.rmse <= 1e-12
    np.testing.assert_allclose(sim3.alignment.sim3.scale, 1 / 3)
    assert wmb.ape(placed(est), placed(ref), align="none", relation="rotation_deg").max == 0
    assert wmb.path_length(np.zeros((4, 3))) == 0
