# SPDX-License-Identifier: Apache-2.0
"""OPIS's parts: association, visibility, structure, the bank, and what they do with bad input."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import opis_cases as synthetic
import pytest

from wmb_fast import ArgumentError
from wmb_fast.protocols import opis
from wmb_fast.protocols.opis.build import dilated, eroded, lifted, mask_box


def described(vocabulary: dict[str, int], *objects: dict[str, Any]) -> opis.Described:
    return opis.describe(
        [one.get("embedding") for one in objects],
        [one.get("category") for one in objects],
        [one.get("attributes", {}) for one in objects],
        vocabulary,
    )


def test_affinity_renormalises_over_what_there_is() -> None:
    words: dict[str, int] = {}
    reference = described(
        words, {"embedding": [1.0, 0.0], "category": "Cup", "attributes": {"color": "red", "mark": 4}}
    )
    observed = described(
        words,
        {"embedding": [0.6, 0.8], "category": "cup"},
        {"category": "cup", "attributes": {"color": "RED", "mark": 5}},
        {"embedding": [0.6, 0.8], "attributes": {"mark": 100}},
        {"category": "cup"},
        {"embedding": [-1.0, 0.0], "category": "cup", "attributes": {"color": "red"}},
        {"embedding": [math.nan, 1.0], "category": "cup", "attributes": {"color": "red"}},
    )
    expected = [
        (0.65 * 0.8 + 0.10) / 0.75,
        (0.25 * (1 + 0.75) / 2 + 0.10) / 0.35,
        (0.65 * 0.8 + 0.25 * 0.0 + 0.10 * 0.5) / 1.0,
        0.0,  # a category alone says nothing of identity
        0.0,  # below the floor of the cosine
        0.0,  # not finite
    ]
    found = opis.affinities(reference, observed)
    np.testing.assert_allclose(found.scores[0], expected, atol=1e-15)
    np.testing.assert_array_equal(np.isnan(found.cosines[0]), [False, True, False, True, False, True])


def test_order_of_the_answers_does_not_matter() -> None:
    reference = synthetic.scene()
    seen = synthetic.observation(reference, synthetic.FRAMES)
    turned = {"windows": [{**w, "objects": w["objects"][::-1]} for w in seen["windows"]]}
    scene_turned = {**reference, "objects": reference["objects"][::-1]}
    found = [opis.observe(opis.case_of(*pair)) for pair in ((reference, seen), (scene_turned, turned))]
    for name in ("presence", "identity", "observed"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))


@pytest.mark.parametrize(("n_reference", "n_observed"), [(3, 0), (0, 2), (0, 0)])
def test_empty_sets(n_reference: int, n_observed: int) -> None:
    reference = synthetic.scene(n_reference, dynamic=())
    seen = synthetic.observation(synthetic.scene(max(n_observed, 1), dynamic=()), [8])
    seen["windows"][0]["objects"] = seen["windows"][0]["objects"][:n_observed]
    rows = opis.observe(opis.case_of(reference, seen, synthetic.geometry(reference, [8])))
    found = opis.of_rows(rows)
    if n_reference:
        assert (found.presence, found.identity) == (0.0, None)
    else:
        assert (found.presence, found.identity, found.opis) == (None, None, None)
        assert rows.n_unmatched.tolist() == [n_observed]
        assert rows.extras.tolist() == [0]  # nothing accounts for them


def test_ragged_frames_are_each_their_own() -> None:
    rng = np.random.default_rng(3)
    bank = opis.Described.of_arrays(rng.standard_normal((5, 16)), np.arange(5))
    counts = [4, 0, 7, 1]
    seen = rng.standard_normal((sum(counts), 16))
    codes = rng.integers(0, 5, len(seen))
    starts = np.cumsum([0, *counts])
    whole = opis.associate(bank, opis.Described.of_arrays(seen, codes), starts)
    for t, (a, b) in enumerate(itertools.pairwise(starts)):
        alone = opis.associate(bank, opis.Described.of_arrays(seen[a:b], codes[a:b]), [0, b - a])
        np.testing.assert_array_equal(np.where(whole.observed[t] < 0, -1, whole.observed[t] - a), alone.observed[0])
        np.testing.assert_array_equal(whole.margin[t], alone.margin[0])
    assert np.isnan(whole.margin[1]).all()
    assert not whole.ambiguous[1].any()


def test_float32_embeddings_are_compared_as_they_are() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((6, 32)), rng.standard_normal((9, 32))
    wide = opis.affinities(opis.Described.of_arrays(a), opis.Described.of_arrays(b))
    narrow = opis.affinities(*(opis.Described.of_arrays(x.astype(np.float32)) for x in (a, b)))
    assert narrow.cosines.dtype == np.float32
    np.testing.assert_allclose(narrow.scores, wide.scores, atol=1e-6)
    # The cosine has 24 bits; what is made of it has 53.
    exact = np.where(narrow.cosines < 0.05, 0.0, (0.65 * (narrow.cosines.astype(float) + 1) / 2 + 0.05) / 0.75)
    np.testing.assert_allclose(narrow.scores, exact, atol=1e-15)


def test_starts_that_do_not_fit() -> None:
    one = opis.Described.of_arrays(np.eye(2))
    for starts in ([0, 1], [1, 2], [0, 2, 1, 2]):
        with pytest.raises(ArgumentError, match="associate: starts must rise from 0 to the 2 observations"):
            opis.associate(one, one, starts)


def projections(**changes: Any) -> opis.Projections:
    points = np.array([[10.0, 10.0], [30.0, 10.0], [30.0, 30.0], [10.0, 30.0]])
    told = {
        "reference_source": "input_only",
        "camera_confidence": 0.9,
        "projected_pixels": points,
        "projected_depth": np.full(4, 2.0),
        "current_depth": np.full(4, 2.0),
        "depth_confidence": np.ones(4),
    }
    return opis.Projections.of_records([(0, 0, told | changes)])


def test_depth_maps_and_projections_say_the_same() -> None:
    """The same wall, seen through the map and through samples of it."""
    points = np.array([[-0.5, -0.5, 2.0], [0.5, -0.5, 2.0], [0.5, 0.5, 2.0], [-0.5, 0.5, 2.0]])
    camera = np.array([40.0, 40.0, 32.0, 24.0])
    for wall, state in (
        (2.0, opis.State.EXPECTED_VISIBLE),
        (1.0, opis.State.OCCLUDED),
        (0.0, opis.State.EVALUATOR_FAILURE),
    ):
        seen = opis.look(points[None], np.full((1, 48, 64), wall), camera, np.eye(4)[None], camera_confidence=[0.9])
        pixels = points[:, :2] / 2 * 40 + [32, 24]
        told = projections(projected_pixels=pixels, projected_depth=points[:, 2], current_depth=np.full(4, wall))
        sampled = opis.project(told, 1, 1, [(64, 48)])
        assert seen.state[0, 0] == sampled.state[0, 0] == state
        np.testing.assert_array_equal(seen.presence_eligible, sampled.presence_eligible)
        np.testing.assert_array_equal(seen.confidence, sampled.confidence)


def test_a_camera_that_is_not_trusted() -> None:
    points = np.tile([0.0, 0.0, 2.0], (1, 4, 1))
    seen = opis.look(
        points, np.full((1, 8, 8), 2.0), np.array([4.0, 4.0, 4.0, 4.0]), np.eye(4)[None], camera_confidence=0.5
    )
    assert seen.state[0, 0] == opis.State.UNRELIABLE_CAMERA_POSE
    assert seen.reason(0, 0) == "unreliable_camera_pose"


def test_points_behind_the_camera_are_outside() -> None:
    told = {
        "reference_source": "input_only",
        "camera_confidence": 0.9,
        "reference_points_3d": [[0.0, 0.0, -1.0]] * 4,
        "world_to_camera": np.eye(4).tolist(),
        "intrinsics": [[10.0, 0, 5.0], [0, 10.0, 5.0], [0, 0, 1.0]],
        "current_depth": [1.0] * 4,
    }
    found = opis.project(opis.Projections.of_records([(0, 0, told)]), 1, 1, [(10, 10)])
    assert found.reason(0, 0) == "projected_outside_view"


def test_projections_of_what_is_not_there() -> None:
    told = projections()
    with pytest.raises(ArgumentError, match="project: instance must lie within 0 to -1"):
        opis.project(told, 1, 0, [(64, 48)])
    twice = opis.Projections.of_records([(0, 0, _record(told)), (0, 0, _record(told))])
    with pytest.raises(ArgumentError, match="name each frame and object once"):
        opis.project(twice, 1, 1, [(64, 48)])


def _record(told: opis.Projections) -> dict[str, Any]:
    return {
        "projected_pixels": told.pixels[0],
        "projected_depth": told.depth[0],
        "current_depth": told.seen_depth[0],
        "camera_confidence": 0.9,
        "reference_source": "input_only",
    }


def test_static_scores_are_the_single_ones() -> None:
    rng = np.random.default_rng(5)
    boxes = np.concatenate([rng.uniform(0, 40, (6, 2)), rng.uniform(50, 100, (6, 2))], axis=1)
    boxes[2] = np.nan
    matches = [None, *(opis.Correspondences(p, p + 1, rng.exponential(1, 30)) for p in rng.uniform(0, 100, (3, 30, 2)))]
    assert matches[3] is not None
    matches[3].residual[:] = np.inf
    observed = np.broadcast_to(boxes + 1, (4, 6, 4)).copy()
    observed[:, 2] = [0, 0, 100, 100]
    wanted = rng.random((4, 6)) < 0.8
    scores, reasons = opis.static_scores(matches, boxes, observed, wanted)
    for t, i in np.ndindex(4, 6):
        if not wanted[t, i]:
            assert (math.isnan(scores[t, i]), reasons[t, i]) == (True, "")
        elif matches[t] is None:
            assert reasons[t, i] == "insufficient_instance_correspondences"
        else:
            box = None if i == 2 else boxes[i].tolist()
            one = opis.static_structure(matches[t], box, observed[t, i].tolist())
            assert (one.reason, math.nan if one.score is None else one.score) == pytest.approx(
                (reasons[t, i], scores[t, i]), nan_ok=True
            )


def test_claims_are_judged_by_family() -> None:
    claims = [opis.Claim("a", "parts", 0.9), opis.Claim("b", "parts", 0.69), opis.Claim("c", "connectivity", 0.7)]
    yes, no, unknown = opis.Verdict.SUPPORTED, opis.Verdict.CONTRADICTED, opis.Verdict.UNKNOWN
    found = opis.claim_structure(claims, [opis.Judgement("c", yes, 0.7), opis.Judgement("a", no, 0.9)])
    assert (found.score, found.families, found.coverage) == (0.5, {"connectivity": 1.0, "parts": 0.0}, 1.0)
    silent = opis.claim_structure(
        claims, [opis.Judgement("a", unknown, 0.9), opis.Judgement("c", yes, 0.9, visible=False)]
    )
    assert (silent.score, silent.reason, silent.coverage) == (None, "no_evaluable_structure_evidence", 0.0)
    assert opis.claim_structure([], []).coverage is None


@pytest.mark.parametrize(
    ("claims", "judgements", "message"),
    [
        ([opis.Claim(str(i), "parts", 1.0) for i in range(13)], [], "claims must be at most 12, got 13"),
        ([opis.Claim("a", "colour", 1.0)], [], "family of a must be one of parts, connectivity"),
        ([opis.Claim("a", "parts", 1.0)] * 2, [], "claims must have each fact once, got 'a' twice"),
        ([opis.Claim("a", "parts", math.nan)], [], "confidence of a must lie between 0 and 1, got nan"),
        ([], [opis.Judgement("x", opis.Verdict.SUPPORTED, 1.0)], "judgements must be of facts that were claimed"),
    ],
)
def test_claims_that_are_none(claims: list[opis.Claim], judgements: list[opis.Judgement], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        opis.claim_structure(claims, judgements)


def test_proportions_batched_and_invariant_to_scale() -> None:
    rng = np.random.default_rng(6)
    ratios = np.exp(rng.normal(0, 0.2, (40, 7)))
    ratios[3, 2:], ratios[4] = np.nan, np.nan
    scores = opis.proportion_scores(ratios)
    np.testing.assert_allclose(opis.proportion_scores(ratios * 7.5), scores, atol=1e-12)
    assert math.isnan(scores[4])
    r = np.log(ratios[0])
    assert scores[0] == pytest.approx(np.exp(-np.abs(r - np.median(r)) / 0.2).mean(), abs=1e-15)


def disc(height: int, width: int, x: int, y: int, radius: int) -> np.ndarray:
    rows, columns = np.mgrid[:height, :width]
    return (columns - x) ** 2 + (rows - y) ** 2 <= radius**2


def test_the_bank_of_an_image() -> None:
    masks = np.stack([disc(60, 80, 20, 30, 12), disc(60, 80, 21, 30, 12), disc(60, 80, 60, 30, 10)])
    still = {"kinematic_class": "rigid", "motion_expectation": "world_static", "evaluation_track": "static_geometry"}
    bank = opis.reference_bank(
        masks,
        np.eye(3),
        ids=["b", "a", "c"],
        categories=["cup", "cup", "cat"],
        mobility=[still | {"geometry_eligible": True}] * 2 + [{"kinematic_class": "articulated"}],
        confidence=[0.9, 0.8, 0.7],
        depth=np.full((60, 80), 2.0),
        intrinsics=np.array([50.0, 50.0, 40.0, 30.0]),
    )
    assert bank.ids == ("b", "c")  # a shows b again
    assert bank.boxes[0].tolist() == [8, 18, 33, 43] == list(mask_box(masks[0]))
    assert bank.tracks == (opis.Track.STATIC, opis.Track.EXCLUDED)
    points = bank.points[0]
    assert points is not None
    assert points.shape == (128, 3)
    pixels = points[:, :2] / points[:, 2:] * 50 + [40, 30]
    assert (np.hypot(*(pixels - [20, 30]).T) <= 12 - 3 + 0.5).all()  # less the margin
    assert set(map(tuple, np.unique(np.sign(pixels - [20, 30]), axis=0))) >= {(1, 1), (-1, -1), (1, -1), (-1, 1)}


def test_margins_are_squares() -> None:
    one = np.zeros((15, 15), dtype=bool)
    one[7, 7] = True
    assert dilated(one).sum() == 49
    assert np.array_equal(eroded(dilated(one)), one)
    assert not eroded(np.ones((6, 6), dtype=bool)).any()  # the image's edge is an edge
    free = opis.background(one[None], np.ones((15, 15)))
    assert free.sum() == 225 - 49


def test_an_object_without_depth_has_no_points() -> None:
    assert lifted(disc(30, 30, 15, 15, 8), np.zeros((30, 30)), np.array([10.0, 10.0, 15.0, 15.0])).shape == (0, 3)


@pytest.mark.parametrize(
    ("told", "track"),
    [
        (("rigid", "protocol_frozen", "static_geometry", False), (opis.Track.STATIC, False)),
        (("rigid", "independent_motion", "static_geometry", True), (opis.Track.DYNAMIC, False)),
        (("deformable", "world_static", "dynamic_identity", True), (opis.Track.DYNAMIC, False)),
        (("deformable", "unknown", "excluded", True), (opis.Track.EXCLUDED, False)),
        (("plasma", "world_static", "static_geometry", True), (opis.Track.EXCLUDED, False)),
        (("rigid", "world_static", "nonsense", True), (opis.Track.EXCLUDED, False)),
    ],
)
def test_tracks(told: tuple[str, str, str, bool], track: tuple[opis.Track, bool]) -> None:
    assert opis.track_of(*told) == track


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"ids": ["a", "a"]}, "ids must be unique, got 'a' twice"),
        ({"masks": [np.ones((8, 8)), np.ones((8, 9))]}, "masks must be of one size, got others"),
        (
            {"embeddings": np.eye(3)},
            "of 2 instances, as ids, got shape (2, 32, 32), 3 and 2",
        ),
        ({"categories": []}, "as ids, got shape (2, 32, 32), 2 and 0"),
        ({"attributes": [{}]}, "attributes must be of 2 instances, as ids, got 1"),
        ({"mobility": [{}]}, "mobility must be of 2 instances, as ids, got 1"),
        ({"confidence": [1.0]}, "confidence must be 2 finite numbers, as ids, got [1.]"),
        ({"confidence": [1.0, float("nan")]}, "confidence must be 2 finite numbers, as ids, got [ 1. nan]"),
        ({"depth": np.ones((3, 3)), "intrinsics": np.eye(3)}, "depth must have the masks' size (32, 32), got (3, 3)"),
        ({"depth": np.ones((32, 32))}, "intrinsics must be given with depth, got None"),
        ({"depth": np.ones((32, 32)), "intrinsics": np.eye(4)}, "must have shape (3, 3) or (4,), got (4, 4)"),
        ({"masks": np.zeros((2, 32, 32))}, "mask of a must have at least one pixel, got none"),
    ],
)
def test_a_bank_that_cannot_be_built(changed: dict[str, Any], sentence: str) -> None:
    masks = np.zeros((2, 32, 32), dtype=bool)
    masks[0, :12], masks[1, 20:] = True, True
    given = {"masks": masks, "embeddings": np.eye(2), "ids": ["a", "b"], "categories": ["cup", "cup"], **changed}
    with pytest.raises(ArgumentError) as caught:
        opis.reference_bank(given.pop("masks"), given.pop("embeddings"), **given)
    assert str(caught.value).startswith("reference_bank: ")
    assert str(caught.value).endswith(sentence)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: opis.Bank.of_records([{}]), "reference.objects[0].object_id must be text, got None"),
        (lambda: opis.Bank.of_records([{"object_id": 1}, {"object_id": "1"}]),
         "reference.objects[1].object_id must be unique, got '1' twice"),
        (lambda: opis.Observations.of_records([{}], {}), "observation.windows[0].window_id must be text, got None"),
        (lambda: opis.Observations.of_records([{"window_id": "a"}, {"frame_index": 0, "window_id": "a"}], {}),
         "observation.windows[1].window_id must be unique, got 'a' twice"),
        (lambda: opis.Observations.of_records([{"frame_index": 8, "objects": [{}]}], {}),
         "observation.windows[0].objects[0].observed_id must be text, got None"),
    ],
)  # fmt: skip
def test_records_that_are_none_are_named_by_their_key(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        make()
    assert str(caught.value) == f"opis: {sentence}"


def verdict(said: Any) -> opis.ClaimStructure:
    return opis.claim_structure([opis.Claim("legs", "parts", 0.9)], [opis.Judgement("legs", said, 0.9)])


def test_a_verdict_may_be_its_plain_text_and_nothing_else() -> None:
    assert (verdict("supported").score, verdict("contradicted").score, verdict("unknown").score) == (1.0, 0.0, None)
    with pytest.raises(ArgumentError, match="verdict on legs must be one of supported, contradicted, unknown, got 'm"):
        verdict("maybe")


FIVE = np.zeros((5, 2))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: opis.Correspondences(FIVE, FIVE[:4], np.zeros(5)),
         "Correspondences: reference, current and residual must have shapes (N, 2), (N, 2) and (N,), got shapes "
         "(5, 2), (4, 2) and (5,)"),
        (lambda: opis.Correspondences.by_homography(FIVE, FIVE[:1], np.eye(3)),
         "by_homography: current must be as many as reference (5), got 1"),
        (lambda: opis.static_structure(opis.Correspondences(FIVE, FIVE, np.zeros(5)), None, (0, 0, 1, 1), tolerance=0),
         "static_structure: tolerance must be above 0, got 0"),
        (lambda: opis.proportion_scores([1.0, 2.0], tolerance=0),
         "proportion_scores: tolerance must be above 0, got 0"),
        (lambda: opis.proportion_scores([-1.0, 2.0]),
         "proportion_scores: ratios must be of shape (..., E), and no number below 0, got -1.0"),
        (lambda: opis.direct_areas([1, 2, 3], [4, 4]),
         "direct_areas: boxes must have shape (..., 4), got shape (3,)"),
        (lambda: opis.look(np.ones((1, 5, 3)), np.ones((2, 8, 8)), np.full(4, 4.0), np.stack([np.eye(4)] * 2),
                           camera_confidence=[1, 1, 1]),
         "look: camera_confidence must be one number, or have shape (2,), got (3,)"),
        (lambda: opis.landmarks("human", [{"xyz": [1, 2, 3], "confidence": 1}], []),
         "opis: landmarks.points[0].name must be text, got None"),
        (lambda: opis.landmarks("human", [{"name": "a", "xyz": None, "confidence": 1}] * 2, []),
         "opis: landmarks.points[1].name must be unique, got 'a' twice"),
        (lambda: opis.sampled_frames(100, 0.0), "sampled_frames: fps must be above 0, got 0.0"),
        (lambda: opis.associate(opis.Described.of_arrays(np.eye(2)), opis.Described.of_arrays(np.eye(2)), [[0, 2]]),
         "associate: starts must rise from 0 to the 2 observations, got [[0, 2]]"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_go_together(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        call()
    assert str(caught.value) == sentence


def test_a_score_of_nan_is_none() -> None:
    assert opis.opis_score(float("nan"), 1.0, 1.0) is None
