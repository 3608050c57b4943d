# SPDX-License-Identifier: Apache-2.0
"""The seven static metrics on plain arrays: what is 1, what is 0, what is missing, and what does not matter."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wmb_fast import ArgumentError, ArgumentTypeError
from wmb_fast.protocols import worldmembench as wb
from wmb_fast.protocols.record import Status

CAMERA = np.array([50.0, 50.0, 31.5, 19.5])
SIMILARITIES = (wb.human_identity, wb.human_appearance, wb.object_appearance)


def people(n: int = 3, d: int = 16, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def room(seed: int = 0) -> np.ndarray:
    """A depth map of a room with a step in it."""
    depth = np.full((40, 64), 5.0)
    depth[20:] = np.linspace(5, 2, 20)[:, None]
    depth[5:25, 10:20] = 3.0
    return depth + np.random.default_rng(seed).random((40, 64)) * 0.01


def box(top: int, left: int, height: int, width: int) -> np.ndarray:
    mask = np.zeros((48, 64), dtype=bool)
    mask[top : top + height, left : left + width] = True
    return mask


# -- targets ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", SIMILARITIES)
def test_the_same_is_one_whatever_the_length(metric) -> None:
    reference = people()
    found = metric(reference, np.stack([reference, 7 * reference]), np.ones((2, 3), bool))
    np.testing.assert_allclose(found.values, 1, atol=1e-15)
    assert found.video().value == pytest.approx(1, abs=1e-15)
    assert found.measure(0).n_used == found.measure(0).n_total == 3


@pytest.mark.parametrize("metric", SIMILARITIES)
def test_a_lost_target_is_zero_and_a_broken_one_is_missing(metric) -> None:
    reference = people(2)
    observed = np.stack([reference, reference])
    observed[0, 0] = np.nan
    valid = np.array([[True, True], [False, True]])
    found = metric(reference, observed, valid)
    assert math.isnan(found.per_target[0, 0])  # marked valid, and NaN: broken
    assert found.values[0] == pytest.approx(1)
    assert found.n_used.tolist() == [1, 2]
    assert found.per_target[1, 0] == 0  # not found: lost
    assert found.values[1] == pytest.approx(0.5)
    assert found.detail["lost"].tolist() == [0, 1]


def test_broken_evidence_of_all_targets_is_missing_not_zero() -> None:
    reference = people(1)
    found = wb.human_identity(reference, np.full((2, 1, 16), np.nan), np.array([[True], [False]]))
    assert found.values[1] == 0
    measure = found.measure(0)
    assert (measure.value, measure.status) == (None, Status.MISSING)
    assert measure.reason.startswith("not_finite: ")
    assert found.video().value is None
    assert found.video().status is Status.MISSING


def test_targets_never_seen_again_are_zero() -> None:
    found = wb.object_appearance(people(2), np.zeros((3, 2, 16)), np.zeros((3, 2), bool))
    assert found.values.tolist() == [0, 0, 0]
    assert found.video().value == 0


def test_no_face_in_the_reference_takes_no_part() -> None:
    reference = people(2)
    reference[0] = np.nan
    observed = np.stack([people(2)])
    found = wb.human_identity(reference, observed, np.array([[False, True]]))
    assert found.values[0] == pytest.approx(1)
    assert (found.n_total, math.isnan(found.per_target[0, 0])) == (1, True)
    nobody = wb.human_identity(np.full((2, 16), np.nan), observed, np.ones((1, 2), bool))
    for measure in (nobody.measure(0), nobody.video()):
        assert (measure.value, measure.status) == (None, Status.NOT_EVALUABLE)
        assert measure.reason == "no_reference: the reference shows none of 2 targets"


def test_opposite_is_zero_and_frames_are_reduced() -> None:
    reference = np.array([[1.0, 0.0]])
    observed = np.array([[[[-1.0, 0.0]], [[0.6, 0.8]], [[1.0, 0.0]]]])
    valid = np.ones((1, 3, 1), bool)
    for reduce, want in (("mean", 1.6 / 3), ("median", 0.6), ("max", 1.0)):
        assert wb.human_identity(reference, observed, valid, reduce=reduce).values[0] == pytest.approx(want)
    valid[0, 2] = False
    assert wb.human_identity(reference, observed, valid, reduce="max").values[0] == pytest.approx(0.6)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**31))
def test_similarity_is_in_range_and_targets_may_be_permuted(n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    reference, observed = rng.normal(size=(n, 8)), rng.normal(size=(k, n, 8))
    valid = rng.random((k, n)) < 0.7
    found = wb.human_appearance(reference, observed, valid)
    assert ((found.values >= 0) & (found.values <= 1)).all()
    order = rng.permutation(n)
    again = wb.human_appearance(reference[order], observed[:, order], valid[:, order])
    np.testing.assert_array_equal(again.values, found.values)  # sums are exactly rounded


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ((people(), people()[None, :, :8], np.ones((1, 3), bool)), ArgumentError, r"observed must end in \(3, 16\)"),
        ((people(), people()[None], np.ones((1, 2), bool)), ArgumentError, r"valid must have shape \(1, 3\)"),
        ((people(), people()[None], np.ones((1, 3))), ArgumentTypeError, "valid must hold True and False"),
        ((people()[0], people()[None], np.ones((1, 3), bool)), ArgumentError, r"reference must have shape \(T, D\)"),
        ((people().astype(str), people()[None], np.ones((1, 3), bool)), ArgumentTypeError, "must hold numbers"),
    ],
)
def test_similarities_that_cannot_be(arguments, error, sentence) -> None:
    with pytest.raises(error, match=sentence):
        wb.human_identity(*arguments)


# -- shapes -------------------------------------------------------------------------------------------------------


def test_the_same_shape_is_one_wherever_and_however_large() -> None:
    reference = box(10, 10, 8, 12)
    assert wb.shape_agreement(reference, reference) == 1
    assert wb.shape_agreement(reference, box(30, 40, 8, 12)) == 1
    assert wb.shape_agreement(reference, box(2, 2, 32, 48)) > 0.97
    assert wb.shape_agreement(reference, box(2, 2, 32, 48), align="area") == pytest.approx(1 / 16, abs=2e-3)
    assert wb.shape_agreement(reference, box(30, 40, 8, 12), align="none") == 0


def test_squashing_lowers_the_more_the_more() -> None:
    reference = box(4, 4, 24, 16)
    scores = [wb.shape_agreement(reference, box(4, 4, height, 16)) for height in (24, 20, 16, 12, 6)]
    assert scores[0] == 1
    assert (np.diff(scores) < -0.05).all()
    # Rectangles of aspect r and q about one centre: the smaller over the larger root of the aspects' ratio.
    r, q = 24 / 16, 12 / 16
    one, other = np.sqrt([r, 1 / r]), np.sqrt([q, 1 / q])
    both = np.minimum(one, other).prod()
    assert scores[3] == pytest.approx(both / (2 - both), abs=0.03)


def test_shape_agreement_is_symmetric_enough_and_mirrors() -> None:
    rng = np.random.default_rng(1)
    a, b = (np.kron(rng.random((6, 8)) < 0.5, np.ones((8, 8), bool)) for _ in range(2))
    assert wb.shape_agreement(a, b) == wb.shape_agreement(b, a)
    assert wb.shape_agreement(a[:, ::-1], b[:, ::-1]) == pytest.approx(wb.shape_agreement(a, b), abs=1e-12)


def test_empty_masks() -> None:
    reference = np.stack([box(10, 10, 8, 8), np.zeros((48, 64), bool)])
    observed = np.stack([reference, np.zeros_like(reference)])
    found = wb.object_geometry(reference, observed, np.ones((2, 2), bool))
    assert found.values.tolist() == [1, 0]  # an empty mask after return is a lost object
    assert found.n_total == 1  # an empty reference is none
    nothing = wb.object_geometry(np.zeros((1, 48, 64), bool), np.zeros((1, 1, 48, 64), bool), np.ones((1, 1), bool))
    assert nothing.measure(0).status is Status.NOT_EVALUABLE


def test_masks_of_another_size_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"object_geometry: observed must end in \(1, 48, 64\), as the reference"):
        wb.object_geometry(box(1, 1, 5, 5)[None], np.ones((2, 1, 24, 32), bool), np.ones((2, 1), bool))


# -- the environment ----------------------------------------------------------------------------------------------


def test_visible_by_view_and_by_patch() -> None:
    view = people(1, 32)[0]
    assert wb.environment_visible(view, np.stack([[view], [-view]])).values.tolist() == [pytest.approx(1), 0]
    patches = people(5, 32)
    other = patches.copy()
    other[0] *= -1
    found = wb.environment_visible(patches, [[patches], [other]])
    np.testing.assert_allclose(found.values, [1, 0.8], atol=1e-12)


def test_depth_does_not_know_scale() -> None:
    depth = room()
    for statistic in ("exp_absrel", "delta"):
        found = wb.environment_depth(depth, np.stack([[depth], [0.3 * depth]]), statistic=statistic)
        np.testing.assert_allclose(found.values, 1, atol=1e-12)
    worse = wb.environment_depth(depth, [[np.where(depth > 4, 2 * depth, depth)]]).values
    assert 0.3 < worse[0] < 0.9


def test_depth_by_hand() -> None:
    """Half of the pixels 10 % further: the median ratio is 1.05, the mean error 0.05 / 1.05."""
    depth = np.full((10, 10), 4.0)
    other = depth.copy()
    other[:5] *= 1.1
    found = wb.environment_depth(depth, [[other]])
    assert found.values[0] == pytest.approx(math.exp(-0.05 / 1.05), abs=1e-12)


def test_depth_that_is_not_there_is_missing() -> None:
    depth = room()
    found = wb.environment_depth(depth, [[np.full_like(depth, np.nan)], [np.zeros_like(depth)], [depth]])
    assert np.isnan(found.values[:2]).all()
    assert found.measure(0).reason.startswith("no_depth: ")
    assert found.measure(2).value == 1
    assert found.video().status is Status.MISSING
    lost = wb.environment_depth(depth, [[depth]], np.array([[False]]))
    assert np.isnan(lost.values[0])  # the paper zeroes invalid returns of Reconstruction alone
    assert lost.video().reason == "no_frame: no frame of the return to be scored"


def test_reconstruction_is_of_a_place_in_the_world() -> None:
    depth, moved = room(), np.eye(4)
    moved[0, 3] = 2.0
    poses = [[np.eye(4)], [moved]]
    found = wb.environment_reconstruction(depth, np.eye(4), [[depth]] * 2, poses, CAMERA, np.ones(2, bool))
    assert found.values[0] == 1
    assert 0.2 < found.values[1] < 0.9
    assert found.detail["precision"][1] == pytest.approx(found.detail["recall"][1], abs=0.2)


def test_reconstruction_moves_with_the_world_and_scales() -> None:
    """Another origin, other axes, another unit of the whole world: the same score."""
    depth = room()
    later = depth * np.linspace(1, 1.1, 64)
    away = np.eye(4)
    away[0, 3] = 0.2
    base = wb.environment_reconstruction(depth, np.eye(4), [[later]], [[away]], CAMERA, np.ones(1, bool)).values[0]
    world = np.eye(4)
    world[:3, :3] = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    world[:3, 3] = (5, -3, 8)
    turned = wb.environment_reconstruction(depth, world, [[later]], [[world @ away]], CAMERA, np.ones(1, bool))
    assert turned.values[0] == pytest.approx(base, abs=2e-3)
    larger = away.copy()
    larger[:3, 3] *= 100
    scaled = wb.environment_reconstruction(
        100 * depth, np.eye(4), [[100 * later]], [[larger]], CAMERA, np.ones(1, bool)
    )
    assert scaled.values[0] == pytest.approx(base, abs=2e-3)
    assert 0.3 < base < 1


def test_reconstruction_of_invalid_returns_is_zero_and_of_broken_ones_missing() -> None:
    depth = room()
    poses = np.tile(np.eye(4), (3, 1, 1, 1))
    poses[1] = np.nan
    observed = np.stack([[depth], [depth], [np.full_like(depth, np.nan)]])
    found = wb.environment_reconstruction(depth, np.eye(4), observed, poses, CAMERA, np.array([False, True, True]))
    assert found.values[:2].tolist() == [0, 0]  # not a valid return; no pose: no return
    assert math.isnan(found.values[2])
    assert found.measure(2).status is Status.MISSING


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: wb.environment_visible(np.ones(4), np.ones((2, 4))), "reference and observed must have shapes"),
        (lambda: wb.environment_depth(room(), room()[None]), "environment_depth: reference and observed must have"),
        (lambda: wb.environment_depth(room(), room()[None, None], delta=1.0), "delta must be above 1, got 1"),
        (
            lambda: wb.environment_reconstruction(
                room(), np.eye(4), room()[None, None], np.eye(4)[None], CAMERA, np.ones(1, bool)
            ),
            "reference_pose and observed_poses must have shapes",
        ),
    ],
)
def test_environments_that_cannot_be(call, sentence) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        call()


# -- Eq. 1, quality, qualification --------------------------------------------------------------------------------


def test_a_mean_over_fewer_revisits_is_another_number() -> None:
    assert wb.video_score([1.0, np.nan]).status is Status.MISSING
    assert wb.video_score([]).reason.startswith("no_revisits")
    assert wb.model_score([np.nan]).value is None


def test_quality_sampling_and_normalisation() -> None:
    """Every fourth frame (section 4.2); the published ranges .54 to .71 and .43 to .55 are of this scale."""
    assert wb.quality_frames(493)[-1] == 492
    assert len(wb.quality_frames(493)) == 124
    assert wb.video_quality([54.2, 71.3], 100.0).value == pytest.approx(0.6275)
    assert wb.video_quality([4.29, 5.45], 10.0).value == pytest.approx(0.487)
    found = wb.video_quality([120.0, np.nan], 100.0)
    assert (found.value, found.n_used, found.n_total, found.detail["clipped"]) == (1.0, 1, 2, 1)
    assert wb.video_quality([np.nan], 100.0).status is Status.MISSING


def test_targets_in_view_throughout_do_not_qualify() -> None:
    departed = np.array([[True, False], [True, True]])
    support = wb.tracking_support(departed, np.ones((2, 2), bool))
    assert support.tolist() == departed.tolist()
    assert not wb.whole(support)
    assert wb.whole(support, revisits=[1])
    assert wb.whole(support, evaluated=[True, False])
    assert not wb.whole(np.zeros((2, 0), bool))


def test_a_return_exactly_at_the_limit_qualifies() -> None:
    angles = wb.Angles(np.array([30.0 - 1e-9, 29.9]), np.array([30.0 + 1e-9, 5.0]))
    assert angles.qualified().tolist() == [True, False]
    assert angles.qualified(tolerance=15).tolist() == [False, False]


def test_a_broken_frame_among_good_ones_is_left_out_and_counted() -> None:
    observed = np.array([[[[1.0, 0.0]], [[np.nan, 0.0]]], [[[1.0, 0.0]], [[0.6, 0.8]]]])
    found = wb.human_identity([[1.0, 0.0]], observed, np.ones((2, 2, 1), bool))
    np.testing.assert_allclose(found.values, [1.0, 0.8])
    assert [found.measure(k).detail["broken"] for k in (0, 1)] == [1, 0]


def test_a_reference_without_a_pose_is_missing_and_no_zero() -> None:
    depth, lens = np.full((20, 30), 4.0), np.array([30.0, 30.0, 14.5, 9.5])
    still = np.array([[np.eye(4)]])
    found = wb.environment_reconstruction(depth, np.full((4, 4), np.nan), [[depth]], still, lens, [True])
    assert found.video().status is Status.MISSING
    assert found.video().reason == "no_pose: the reference has none"
    invalid = wb.environment_reconstruction(depth, np.full((4, 4), np.nan), [[depth]], still, lens, [False])
    assert invalid.video().value == 0  # it did not come back, whatever it left


def test_a_view_without_a_frame_is_missing_and_no_zero() -> None:
    found = wb.environment_visible([1.0, 0.0], [[[1.0, 0.0]], [[1.0, 0.0]]], [[False], [True]])
    assert (found.measure(0).value, found.measure(0).status) == (None, Status.MISSING)
    assert found.measure(1).value == 1
    assert found.video().value is None


def test_depths_beyond_all_measure_have_no_value() -> None:
    found = wb.environment_depth(np.full((4, 4), 1e-320), [[np.full((4, 4), 1e300)]])
    assert found.video().reason.startswith("no_depth: ")


UNIT, BOX = np.eye(2), np.pad(np.ones((1, 4, 4), bool), ((0, 0), (4, 4), (4, 4)))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: wb.human_identity(UNIT, np.zeros((2, 0, 2, 2)), np.zeros((2, 0, 2), bool)),
         "human_identity: observed must hold at least one frame of each return, got shape (2, 0, 2, 2)"),
        (lambda: wb.human_identity([[1.0], [1.0, 2.0]], [UNIT], [[True, True]]),
         "human_identity: reference must be one array, got rows of several lengths"),
        (lambda: wb.object_geometry(BOX, np.zeros((1, 0, *BOX.shape), bool), np.zeros((1, 0, 1), bool)),
         "object_geometry: observed must hold at least one frame of each return, got shape (1, 0, 1, 12, 12)"),
        (lambda: wb.object_geometry(np.where(BOX, np.nan, 0.0), [BOX], [[True]]),
         "object_geometry: reference must hold masks, got nan"),
        (lambda: wb.object_geometry([np.ones((3, 3)), np.ones((4, 3))], [BOX], [[True]]),
         "object_geometry: reference must be one array, got rows of several lengths"),
        (lambda: wb.environment_visible([1.0, 0.0], np.zeros((2, 0, 2))),
         "environment_visible: observed must hold at least one frame of each return, got shape (2, 0, 2)"),
        (lambda: wb.environment_visible(np.zeros((0, 2)), np.zeros((1, 1, 0, 2))),
         "environment_visible: reference must hold at least one number, got shape (0, 2)"),
        (lambda: wb.shape_agreement(BOX[0], np.zeros((12, 12))),
         "shape_agreement: b must have at least one pixel, got none"),
        (lambda: wb.shape_agreement(BOX, BOX), "shape_agreement: a must have 2 dimensions, got shape (1, 12, 12)"),
        (lambda: wb.shape_agreement(BOX[0], BOX[0], align="best"),
         "shape_agreement: align must be one of similarity, area, none, got 'best'"),
        (lambda: wb.shape_agreement(BOX[0], BOX[0], grid=0), "shape_agreement: grid must be at least 8, got 0"),
        (lambda: wb.video_score(["a"]), "video_score: revisits must hold numbers, got <U1"),
        (lambda: wb.video_quality(["a"], 10), "video_quality: ratings must hold numbers, got <U1"),
    ],
)  # fmt: skip
def test_arrays_that_are_none(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError)) as caught:
        call()
    assert str(caught.value) == sentence


def test_ratings_out_of_their_range_are_told() -> None:
    found = wb.video_quality([-5.0, 50.0, 120.0, math.nan], 100.0)
    assert found.value == 0.5
    assert found.reason == "clipped: 2 of 3 ratings lay outside 0 to 100"
