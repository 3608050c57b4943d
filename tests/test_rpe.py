# SPDX-License-Identifier: Apache-2.0
"""rpe and rotation_angle_deg: held to the readable statement, and to what must hold of any relative error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_align import FIELDS, assert_stats, bits, cut, pair
from tolerances import ANGLE_DEG, ANGLE_FLOAT32_DEG, FLOAT64_ABS, FLOAT64_REL
from trajectories import placed, poses_from, rotation_from, rotations, yaw

import wmb_fast as wmb
from wmb_fast import reference

torch = pytest.importorskip("torch")

STEPS = (("frames", 3), ("metres", 2.0), ("degrees", 40.0), ("radians", 0.5))
SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(
    "relation",
    [
        "translation",
        "rotation_deg",
        "rotation_rad",
        "rotation_part",
        "full",
        "point_distance",
        "point_distance_error_ratio",
    ],
)
@pytest.mark.parametrize("frame", ["local", "world"])
def test_every_relation_is_the_readable_statement(relation: str, frame: str) -> None:
    est, ref = pair(1, 60)
    ref[20] = ref[21]
    got = wmb.rpe(est, ref, relation=relation, frame=frame, align="sim3")
    want = reference.rpe(est, ref, relation=relation, frame=frame, align="sim3")
    for name in ("translation", "rotation_deg", "relation"):
        assert_stats(getattr(got, name), getattr(want, name), abs_=100 * ANGLE_DEG)
    np.testing.assert_array_equal(got.pairs, want.pairs)
    assert got.pairs.dtype == np.int64
    if relation == "point_distance_error_ratio":
        assert got.relation.n == 58


@pytest.mark.parametrize(("unit", "delta"), STEPS)
@pytest.mark.parametrize("all_pairs", [True, False])
@pytest.mark.parametrize("pairs_from", ["estimate", "reference"])
@pytest.mark.parametrize("align", ["none", "scale"])
def test_every_selection_is_the_readable_statement(
    unit: str, delta: float, all_pairs: bool, pairs_from: str, align: str
) -> None:
    est, ref = pair(2, 80)
    est[33] = np.nan
    options = {"unit": unit, "delta": delta, "all_pairs": all_pairs, "pairs_from": pairs_from, "align": align}
    got, want = wmb.rpe(est, ref, **options), reference.rpe(est, ref, **options)
    assert len(got.pairs) > 2
    np.testing.assert_array_equal(got.pairs, want.pairs)
    assert_stats(got.translation, want.translation, abs_=100 * FLOAT64_ABS)
    assert_stats(got.rotation_deg, want.rotation_deg, abs_=100 * ANGLE_DEG)


def test_distance_ties_go_to_the_earlier_pose() -> None:
    line = placed(np.array([0.0, 1, 1, 1, 2, 2.5, 4])[:, None] * [1, 0, 0])
    got = wmb.rpe(line, line, unit="metres", delta=1.0, relative_tolerance=0.5)
    assert got.pairs.tolist() == [[0, 1], [1, 4], [2, 4], [3, 4], [4, 5], [5, 6]]
    halves = placed(np.arange(5.0)[:, None] * [0.5, 0, 0])
    assert wmb.rpe(halves, halves, unit="metres", delta=0.75, relative_tolerance=0.5).pairs.tolist() == [
        [0, 1],
        [1, 2],
        [2, 3],
        [3, 4],
    ]


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0]), min_size=1, max_size=25), st.sampled_from([0.5, 1.0, 1.75])
)
def test_paths_that_stand_still_and_tie(steps: list[float], delta: float) -> None:
    poses = placed(np.concatenate([[0.0], np.cumsum(steps)])[:, None] * [0, 1, 0])
    for all_pairs in (True, False):
        options = {"unit": "metres", "delta": delta, "relative_tolerance": 0.5, "all_pairs": all_pairs}
        np.testing.assert_array_equal(
            wmb.rpe(poses, poses, **options).pairs, reference.rpe(poses, poses, **options).pairs
        )


def test_batches_of_unequal_pairs() -> None:
    est, ref = pair(3, 5, 40)
    options = {"unit": "metres", "delta": 3.0, "relation": "point_distance"}
    lengths = [40, 12, 0, 1, 33]
    padded = wmb.rpe(est, ref, lengths=lengths, **options)
    listed = wmb.rpe(*cut(lengths, est, ref), **options)
    assert isinstance(listed.pairs, list)
    for i, n in enumerate(lengths):
        m = len(listed.pairs[i])
        np.testing.assert_array_equal(padded.pairs[i, :m], listed.pairs[i])
        assert (padded.pairs[i, m:] == -1).all()
        assert np.isnan(padded.relation.errors[i, m:]).all()
        np.testing.assert_array_equal(padded.translation.errors[i, :m], listed.translation.errors[i])
        if n:
            alone = wmb.rpe(est[i, :n], ref[i, :n], **options)
            np.testing.assert_array_equal(alone.pairs, listed.pairs[i])
            np.testing.assert_array_equal(alone.rotation_deg.errors, listed.rotation_deg.errors[i])
    assert padded.status.tolist() == [0, 0, 2, 2, 0]
    assert padded.reason(3) == "no pair of poses satisfies the pair selection"


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_bits_do_not_depend_on_threads_or_batch(threads: int) -> None:
    est, ref = pair(4, 17, 30)
    whole = wmb.rpe(est, ref, relation="full", align="sim3")
    before = wmb.get_num_threads()
    wmb.set_num_threads(threads)
    try:
        assert bits(wmb.rpe(est, ref, relation="full", align="sim3")) == bits(whole)
        for i in (0, 7, 16):
            alone = wmb.rpe(est[i], ref[i], relation="full", align="sim3")
            np.testing.assert_array_equal(alone.rotation_deg.errors, whole.rotation_deg.errors[i])
            assert [getattr(alone.relation, name) for name in FIELDS] == [
                getattr(whole.relation, name)[i] for name in FIELDS
            ]
    finally:
        wmb.set_num_threads(before)


def test_torch_in_torch_out_with_the_same_bits() -> None:
    est, ref = pair(5, 3, 21)
    ours = wmb.rpe(torch.from_numpy(est), torch.from_numpy(ref), delta=2)
    assert isinstance(ours.pairs, torch.Tensor)
    assert ours.pairs.dtype == torch.int64
    assert bits(ours) == bits(wmb.rpe(est, ref, delta=2))
    a, b = rotations(np.random.default_rng(0), 2)
    assert float(wmb.rotation_angle_deg(torch.from_numpy(a), torch.from_numpy(b))) == wmb.rotation_angle_deg(a, b)


def test_the_reference_backend_gives_the_same_record() -> None:
    est, ref = pair(6, 3, 25)
    slow, fast = (wmb.rpe(est, ref, relation="full", backend=b) for b in ("reference", "cpu"))
    np.testing.assert_allclose(slow.relation.errors, fast.relation.errors, atol=FLOAT64_ABS * 100)
    np.testing.assert_array_equal(slow.pairs, fast.pairs)


def test_n_align_fits_on_the_first_poses_alone() -> None:
    est, ref = pair(6, 90)
    got = wmb.rpe(est, ref, align="sim3", n_align=20, relation="point_distance")
    fit = wmb.umeyama(est[:20, :3, 3], ref[:20, :3, 3])
    assert got.alignment.sim3.scale == fit.scale
    assert got.translation.rmse != wmb.rpe(est, ref, align="sim3").translation.rmse
    assert_stats(got.relation, reference.rpe(est, ref, align="sim3", n_align=20, relation="point_distance").relation)
    with pytest.raises(wmb.ArgumentError, match="rpe: n_align must be at least 1, got 0"):
        wmb.rpe(est, ref, n_align=0)
    assert wmb.rpe(est, ref, align="sim3", n_align=2**70).alignment.sim3.status == 0


@pytest.mark.parametrize("delta", [2**53 + 1, 2**63, 2**64, 1e300])
def test_a_step_beyond_any_trajectory(delta: float) -> None:
    poses = pair(7, 5)[0]
    with pytest.raises(wmb.ArgumentError, match=r"^rpe: delta must be at most 9007199254740992, got"):
        wmb.rpe(poses, poses, delta=delta)
    assert wmb.rpe(poses, poses, delta=2**53).status == 2


def test_whole_numbers_of_any_kind_are_frames() -> None:
    poses = pair(8, 6)[0]
    for delta in (2, 2.0, np.int32(2), np.float32(2)):
        assert wmb.rpe(poses, poses, delta=delta).pairs.tolist() == [[0, 2], [1, 3], [2, 4], [3, 5]]


def test_angles_of_lists() -> None:
    rng = np.random.default_rng(9)
    a, b = [rotations(rng, n) for n in (3, 0, 5)], [rotations(rng, n) for n in (3, 0, 5)]
    got = wmb.rotation_angle_deg(a, b)
    assert [item.shape for item in got] == [(3,), (0,), (5,)]
    np.testing.assert_array_equal(got[2], wmb.rotation_angle_deg(a[2], b[2]))
    b[2][1] *= -1
    with pytest.raises(wmb.ArgumentError, match=r"^rotation_angle_deg: R_b\[2\] must hold rotations .* at \[1\]$"):
        wmb.rotation_angle_deg(a, b)
    with pytest.raises(wmb.ArgumentTypeError, match=r"^rotation_angle_deg: R_b must be a list of arrays where R_a is"):
        wmb.rotation_angle_deg(a, b[0])
    with pytest.raises(wmb.ArgumentError, match=r"^rotation_angle_deg: R_b must be a list as long as R_a \(3\), got 2"):
        wmb.rotation_angle_deg(a, b[:2])


def test_float32_in_float32_out() -> None:
    est, ref = (p.astype(np.float32) for p in pair(7, 50))
    got = wmb.rpe(est, ref, relation="rotation_deg")
    wide = wmb.rpe(est.astype(np.float64), ref.astype(np.float64))
    assert got.relation.errors.dtype == got.translation.rmse.dtype == np.float32
    np.testing.assert_array_equal(got.translation.errors, wide.translation.errors.astype(np.float32))
    np.testing.assert_array_equal(got.rotation_deg.errors, wide.rotation_deg.errors.astype(np.float32))


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.floats(-9, 9))
def test_moving_both_worlds_changes_nothing(seed: int, unit: float) -> None:
    est, ref = pair(seed, 20)
    rng = np.random.default_rng(seed)
    moved = poses_from(rotations(rng, 1)[0], rng.normal(size=3)) @ est
    here, there = wmb.rpe(est, ref), wmb.rpe(moved, ref)
    np.testing.assert_allclose(there.translation.errors, here.translation.errors, atol=1e-12)
    np.testing.assert_allclose(there.rotation_deg.errors, here.rotation_deg.errors, atol=ANGLE_DEG * 100)
    for poses in (moved, ref):
        poses[:, :3, 3] *= 10.0**unit
    scaled = wmb.rpe(moved, ref)
    np.testing.assert_allclose(scaled.translation.errors, here.translation.errors * 10.0**unit, rtol=1e-8)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"delta": 0}, "rpe: delta must be at least 1, got 0"),
        ({"delta": 1.5}, "rpe: delta must be an integer, got 1.5"),
        ({"delta": -1.0, "unit": "metres"}, "rpe: delta must be above 0, got -1.0"),
        ({"delta": float("nan"), "unit": "degrees"}, "rpe: delta must be finite, got nan"),
        ({"unit": "meters"}, "rpe: unit must be one of frames, metres, degrees, radians, got 'meters'"),
        ({"pairs_from": "both"}, "rpe: pairs_from must be one of estimate, reference, got 'both'"),
        ({"frame": "camera"}, "rpe: frame must be one of local, world, got 'camera'"),
        ({"relation": "angle"}, "rpe: relation must be one of translation, rotation_deg"),
        ({"align": "first"}, "rpe: align must be one of sim3, se3, scale, origin, none, got 'first'"),
        ({"relative_tolerance": -0.1}, "rpe: relative_tolerance must be at least 0, got -0.1"),
    ],
)
def test_bad_input_is_one_sentence(options: dict, sentence: str) -> None:
    est, ref = pair(8, 6)
    with pytest.raises((wmb.ArgumentError, wmb.ArgumentTypeError)) as refusal:
        wmb.rpe(est, ref, **options)
    assert str(refusal.value).startswith(sentence)


def test_positions_are_not_poses() -> None:
    with pytest.raises(wmb.ArgumentError, match=r"rpe: estimate must have shape \(..., N, 4, 4\), got shape \(6, 3\)"):
        wmb.rpe(np.zeros((6, 3)), np.zeros((6, 3)))


# Angles


@settings(deadline=None, max_examples=200)
@given(SEEDS, st.floats(-12, np.log10(np.pi)))
def test_angles_from_nothing_to_a_half_turn(seed: int, exponent: float) -> None:
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    angle = min(10.0**exponent, np.pi)
    a = rotations(rng, 1)[0]
    b = a @ rotation_from(axis / np.linalg.norm(axis) * angle)
    got = float(wmb.rotation_angle_deg(a, b))
    np.testing.assert_allclose(got, np.degrees(angle), rtol=FLOAT64_REL, atol=100 * ANGLE_DEG)
    np.testing.assert_allclose(got, reference.rotation_angle_deg(a, b), rtol=FLOAT64_REL, atol=100 * ANGLE_DEG)
    narrow = float(wmb.rotation_angle_deg(a.astype(np.float32), b.astype(np.float32)))
    assert abs(narrow - np.degrees(angle)) < ANGLE_FLOAT32_DEG


def test_our_arc_tangent_is_the_library_s() -> None:
    degrees = np.linspace(0, 180, 100_001)
    turns = np.stack([yaw(d) for d in degrees[::10]])
    got = wmb.rotation_angle_deg(np.broadcast_to(np.eye(3), turns.shape).copy(), turns)
    np.testing.assert_allclose(got, degrees[::10], atol=200 * np.finfo(float).eps)


def test_angles_of_matrices_off_so3() -> None:
    rng = np.random.default_rng(3)
    a, b = rotations(rng, 50), rotations(rng, 50)
    true = wmb.rotation_angle_deg(a, b)
    for off in (1e-9, 1e-6, 1e-3, 0.02):
        got = wmb.rotation_angle_deg(a, b @ (np.eye(3) + np.diag([off, -off / 2, off / 3])))
        np.testing.assert_allclose(got, true, atol=np.degrees(off) / 2 + 1e-9)
    np.testing.assert_allclose(wmb.rotation_angle_deg(a * 1.03, b * 0.98), true, atol=1e-9)
    assert np.isnan(wmb.rotation_angle_deg(np.full((3, 3), np.nan), np.eye(3)))


def test_no_rotation_is_refused_by_index() -> None:
    a = rotations(np.random.default_rng(4), 6).reshape(2, 3, 3, 3)
    b = a.copy()
    b[1, 2] *= -1
    with pytest.raises(wmb.ArgumentError, match=r"R_b must hold rotations .* not a rotation \(det=-1, .*\[1, 2\]"):
        wmb.rotation_angle_deg(a, b)
