# SPDX-License-Identifier: Apache-2.0
"""The packaged networks themselves, where they are in WMB_FAST_HOME: make models-test brings them.

Skips where a network is not here; under WMB_REQUIRE_MODELS=1 that is a failure.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimators import brisque_answers, donors, official_nets
from estimators.same_bits import assert_same_bits

import wmb_fast as wmb
from wmb_fast import run
from wmb_fast.estimators.catalogue import CATALOGUE
from wmb_fast.estimators.home import ModelHome, session_of
from wmb_fast.estimators.imports import take_in
from wmb_fast.estimators.resize import area_resized
from wmb_fast.protocols.record import Score
from wmb_fast.rollout.video import open_video, write_video

cv2 = pytest.importorskip("cv2")
DETECTOR = ("mtcnn-first", "mtcnn-second", "mtcnn-third")


def network(name: str) -> Any:
    if ModelHome().find(name) is None:
        told = f"{name} is not in WMB_FAST_HOME: wmb-fast models fetch {name}"
        if os.environ.get("WMB_REQUIRE_MODELS") == "1":
            pytest.fail(told)
        pytest.skip(told)
    return session_of(name)


def picture(path: Path) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(cv2.imread(str(path), cv2.IMREAD_COLOR)[..., ::-1])


def test_transnetv2_finds_the_cut_at_its_frame_and_has_the_same_bits_for_any_threads(shared: Path) -> None:
    """m5_bad jumps to another scene at frame 241 and nowhere else; looked at from 130 to 360."""
    from wmb_fast.estimators.cuts_transnet import CutsByNetwork

    session = network("transnetv2")
    clip = open_video(shared / "data/rollouts/worldmark/m5_bad.mp4")
    frames = [frame for _, frame in clip.some(range(180, 300))]
    found = []
    before = wmb.get_num_threads()
    try:
        for threads in (1, 2):
            wmb.set_num_threads(threads)
            cuts = CutsByNetwork(session)
            for index, frame in enumerate(frames):
                cuts.feed(index, frame)
            found.append((cuts.finish(), np.concatenate(cuts._logits.results()).tobytes()))
    finally:
        wmb.set_num_threads(before)
    (one, bits), (two, same) = found
    assert (one["frames"].tolist(), one["n_scenes"]) == ([241 - 180], 2)
    assert two["frames"].tolist() == one["frames"].tolist()
    assert bits == same


@pytest.mark.parametrize("embedder", ["mobileface", "faceres"])
def test_faces_of_one_person_are_closer_than_those_of_two(shared: Path, embedder: str) -> None:
    from wmb_fast.estimators.face_embedder import Aligned, Loose
    from wmb_fast.estimators.faces import FaceDetector

    detector = FaceDetector(*map(network, DETECTOR))
    embed = {"mobileface": Aligned, "faceres": Loose}[embedder](network(embedder))
    rows, persons = [], []
    for path in sorted((shared / "data/faces").glob("person_*.jpg")):
        image = picture(path)
        faces = detector.detect(image)
        assert len(faces.boxes) >= 1, path.name
        largest = int(np.argmax((faces.boxes[:, 2] - faces.boxes[:, 0]) * (faces.boxes[:, 3] - faces.boxes[:, 1])))
        one = type(faces)(*(values[largest : largest + 1] for values in faces))
        rows.append(embed.embed(image, one)[0])
        persons.append(path.stem.split("_")[1])
    cosines = np.asarray(wmb.cosine_matrix(np.stack(rows), np.stack(rows)))
    pairs = [(a, b) for a in range(len(rows)) for b in range(a)]
    same = [cosines[a, b] for a, b in pairs if persons[a] == persons[b]]
    different = [cosines[a, b] for a, b in pairs if persons[a] != persons[b]]
    assert len(same) == 4
    assert len(different) == 6
    assert min(same) > max(different)


def people_clips(shared: Path, videos: Path) -> None:
    """lrlr with one person in V and at the first return; at the second another, the same, or nobody."""
    shown = {name: portrait(shared / f"data/faces/person_{name}.jpg") for name in ("a_1", "a_2", "b_2")}
    wall = np.full_like(shown["a_1"], 128)
    n, step = 41, 8  # hold, away, back, away, back
    clips = {"other": ("a_1", "a_2", "b_2"), "same": ("a_1", "a_2", "a_1"), "nobody": ("a_1", "a_2", "")}
    for clip, names in clips.items():
        v, first, second = (shown.get(name, wall) for name in names)
        frames = [v] * step + [wall] * (2 * step) + [first] * step + [wall] * step + [second] * (n - 5 * step)
        folder = videos / "mine" / "human" / "lrlr"
        folder.mkdir(parents=True, exist_ok=True)
        write_video(folder / f"{clip}.mp4", frames, fps=8)


def identities(tmp_path: Path, estimators: str, **options: Any) -> dict[tuple[str, int | None], Score]:
    """Case and revisit to the record of Human Identity."""
    where = {"out": tmp_path / estimators, "cache": tmp_path / "cache", "plan": "lrlr"}
    outcome = run.score([tmp_path / "videos"], ["worldmembench"], estimators=estimators, **where, **options)
    lines = (outcome.out / "scorecard.jsonl").read_text().splitlines()
    records = [r for r in map(Score.from_json, lines) if r.metric == "human_identity"]
    return {(str(r.case).split("/")[-1], r.part.get("revisit")): r for r in records}


def test_human_identity_by_the_packaged_tier(shared: Path, tmp_path: Path) -> None:
    for name in (*DETECTOR, "mobileface"):
        network(name)
    people_clips(shared, tmp_path / "videos")
    found = identities(tmp_path, "builtin,faces=mtcnn+mobileface")
    assert all(r.proxy for r in found.values())
    assert {(m["id"], m["tier"]) for r in found.values() for m in r.estimators} == {("mtcnn+mobileface", "packaged")}
    assert found["other", 1].value == pytest.approx(found["same", 1].value)
    assert found["same", 2].value > 0.9  # one picture, as the encoder has it
    assert found["other", 1].value > found["other", 2].value
    assert not found["other", 2].reason  # her face was found
    lost = found["nobody", 2]
    assert (lost.value, lost.reason) == (0, "lost: 1 of 1 targets not found after the return count 0")


def test_human_identity_by_an_imported_network(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph of ArcFace's contract in its place: the score is official, and is not refused where that is required."""
    for name in DETECTOR:
        network(name)
    content = {name: ModelHome().read(name) for name in DETECTOR}
    monkeypatch.setenv("WMB_FAST_HOME", str(tmp_path / "home"))
    for name in DETECTOR:
        ModelHome().put(CATALOGUE[name], content[name], {})
    people_clips(shared, tmp_path / "videos")
    before = identities(tmp_path, "official", require_official=True)
    assert all("wmb-fast models import arcface-w600k-r50 FILE.onnx" in r.reason for r in before.values())
    (tmp_path / "w600k_r50.onnx").write_bytes(official_nets.arcface())
    take_in(CATALOGUE["arcface-w600k-r50"], tmp_path / "w600k_r50.onnx", ModelHome())
    found = identities(tmp_path, "official", require_official=True)
    makers = {(m["id"], m["tier"]) for r in found.values() for m in r.estimators}
    assert makers == {("mtcnn+arcface-w600k-r50", "official")}
    assert not any(r.proxy for r in found.values())
    assert found["same", 2].value > 0.9
    assert found["nobody", 2].value == 0


@pytest.mark.parametrize("embedder", ["mobileface", "faceres"])
def test_faces_have_the_same_bits_for_any_threads_and_batch(shared: Path, embedder: str) -> None:
    from wmb_fast.estimators.choice import chosen
    from wmb_fast.estimators.face_embedder import Aligned, Loose
    from wmb_fast.estimators.faces import Faces

    for name in (*DETECTOR, embedder):
        network(name)
    faces = [portrait(shared / f"data/faces/person_{name}.jpg") for name in ("a_1", "a_2", "b_2")]
    pictures = [np.concatenate(faces, axis=1), faces[1], np.zeros_like(faces[0])]
    entry = chosen(f"faces=mtcnn+{embedder}")["faces"]
    one = assert_same_bits(entry, dict(enumerate(pictures)))
    assert one["face_frames"].tolist() == [0, 0, 0, 1]  # of three side by side, of one, of none
    embed = {"mobileface": Aligned, "faceres": Loose}[embedder](network(embedder))
    moved = np.arange(9.0)[:, None]
    points = np.array([[120, 130], [190, 130], [155, 170], [130, 210], [180, 210]]) + moved[..., None]
    many = Faces(np.array([90, 80, 220, 250]) + moved, np.ones(9), points)
    rows = embed.embed(faces[0], many)
    alone = [embed.embed(faces[0], Faces(*(values[k : k + 1] for values in many)))[0] for k in range(9)]
    assert rows.tobytes() == np.stack(alone).tobytes()


def test_the_mask_and_the_boxes_of_people_hold_their_faces(shared: Path) -> None:
    from wmb_fast._walls.errors import ArgumentError
    from wmb_fast.estimators.faces import FaceDetector
    from wmb_fast.estimators.objects_nanodet import CLASSES, NanoDet
    from wmb_fast.estimators.person_mask import PersonMask

    detector = FaceDetector(*map(network, DETECTOR))
    mask, things = PersonMask(network("selfie")), NanoDet(network("nanodet"))
    for path in sorted((shared / "data/faces").glob("person_*.jpg")):
        image = picture(path)
        face = detector.detect(image).boxes[0]
        left, top, right, bottom = face.round().astype(int)
        covered = mask.masks(image, {"texts": ["person"]})
        assert covered.shape == (1, *image.shape[:2])
        assert covered[0, (top + bottom) // 2, (left + right) // 2]
        assert covered[0, top:bottom, left:right].mean() > 0.75  # an ellipse fills 0.785 of its box
        assert not covered[0, 0, [0, -1]].any()  # the corners above the shoulders
        found = things.detect(image)
        assert CLASSES[found.labels[0]] == "person"
        assert (found.boxes[0, :2] <= face[:2]).all()
        assert (found.boxes[0, 2:] >= face[2:]).all()
    found = things.detect(picture(shared / "data/rgbd/motorcycle/motorcycle_left.png"))
    assert [CLASSES[label] for label in found.labels] == ["motorcycle"]
    empty = things.detect(np.full((100, 300, 3), 128, np.uint8))
    assert (empty.boxes.shape, empty.scores.shape, empty.labels.shape) == ((0, 4), (0,), (0,))
    with pytest.raises(ArgumentError, match=r"selfie: prompts must be"):
        mask.masks(image, {"texts": ["dog"]})


@pytest.mark.parametrize("name", sorted(donors.SHAPES))
def test_the_graph_is_the_donors(name: str) -> None:
    """What TensorFlow.js says of the same numbers, to the tolerance that the catalogue states."""
    session = network(name)
    (takes, shape), tolerance = next(iter(session.inputs.items())), CATALOGUE[name].tolerance
    given = session.run({takes: np.repeat(donors.fed(name), shape[0], axis=0)})
    with np.load(donors.FILE) as kept:
        outputs = [key.split(".")[1] for key in kept.files if key.startswith(f"{name}.")]
        assert set(outputs) == set(session.outputs)
        for output in outputs:
            donor, mine = kept[f"{name}.{output}"], given[output][0].ravel()
            mine = mine if len(mine) == len(donor) else mine[:: donors.STEP]
            assert donor.std() > 1e-3
            np.testing.assert_allclose(mine, donor, rtol=0, atol=tolerance)


def portrait(path: Path) -> np.ndarray[Any, Any]:
    """The middle of a picture, 320 by 320."""
    image = picture(path)
    side = min(image.shape[:2])
    top, left = ((length - side) // 2 for length in image.shape[:2])
    return area_resized(np.ascontiguousarray(image[top : top + side, left : left + side]), 320, 320)


def matched(a: Any, b: Any, finder: Any, **how: Any) -> tuple[Any, Any]:
    """Mutual nearest neighbours of OpenCV's features: (M, 2) places in each."""
    points, rows = zip(*(finder.detectAndCompute(image, None) for image in (a, b)), strict=True)
    found = wmb.mutual_matches(*(row.astype(np.float32) for row in rows), metric="l2", **how)
    first, second = (np.array([point.pt for point in every]) for every in points)
    return first[np.asarray(found.index_a)], second[np.asarray(found.index_b)]


def test_xfeat_under_a_known_homography(shared: Path) -> None:
    """It finds more places that are right than SIFT does, to 3 and to 5 pixels, and not by guessing.

    Of SIFT's neighbours those count that pass Lowe's ratio of 0.8. ORB's are taken as XFeat's are, mutual and no more;
    of XFeat's a larger share is right to 8 pixels, the cell in which its descriptors live.
    """
    from wmb_fast.estimators.match_xfeat import XFeat

    pairs = shared / "data/pairs/opencv"
    a, b = picture(pairs / "graf1.png"), picture(pairs / "graf3.png")
    storage = cv2.FileStorage(str(pairs / "H1to3p.xml"), cv2.FILE_STORAGE_READ)
    homography = storage.getFirstTopLevelNode().mat()

    def errors(in_a: Any, in_b: Any) -> Any:
        there = np.column_stack([in_a, np.ones(len(in_a))]) @ homography.T
        return np.linalg.norm(there[:, :2] / there[:, 2:] - in_b, axis=1)

    in_a, in_b, scores = XFeat(network("xfeat")).match_pictures(a, b)
    mine = errors(in_a, in_b)
    sift = errors(*matched(a, b, cv2.SIFT_create(), ratio=0.8))
    orb = errors(*matched(a, b, BitsOfOrb()))
    for pixels in (3, 5):
        assert (mine < pixels).sum() > (sift < pixels).sum()
    assert (mine < 8).mean() > (orb < 8).mean()
    assert ((scores > 0.82) & (scores <= 1 + 1e-6)).all()


class BitsOfOrb:
    """ORB, its descriptors as bits: their squared distance is the Hamming distance."""

    def detectAndCompute(self, image: Any, mask: None) -> Any:  # noqa: N802 - OpenCV's own name
        points, rows = cv2.ORB_create(4096).detectAndCompute(image, mask)
        return points, np.unpackbits(rows, axis=1)


def test_features_of_one_scene_are_closer_than_those_of_two(shared: Path) -> None:
    from wmb_fast.estimators.features_lite0 import PooledFeatures

    features = PooledFeatures(network("efficientnet-lite0"))
    clips = [open_video(shared / f"data/rollouts/worldmark/{name}.mp4") for name in ("m1_good", "m6_good")]
    rows = np.stack([features.mean(frame) for clip in clips for _, frame in clip.some([0, 4])])
    cosines = np.asarray(wmb.cosine_matrix(rows, rows))
    assert min(cosines[0, 1], cosines[2, 3]) > 0.8
    assert cosines[:2, 2:].max() < 0.7
    again = np.stack([features.mean(frame) for clip in clips for _, frame in clip.some([0, 4])])
    assert again.tobytes() == rows.tobytes()


def test_pairs_of_one_scene_share_more_features_than_pairs_of_two(shared: Path) -> None:
    from wmb_fast.estimators import pairs_xfeat

    network("xfeat")
    clips = [open_video(shared / f"data/rollouts/worldmark/{name}.mp4") for name in ("m1_good", "m6_good")]
    frames = [frame for clip in clips for _, frame in clip.some([0, 8])]
    consumer = pairs_xfeat.start(pairs_xfeat.settings(None), [(0, 1), (2, 3), (0, 2), (3, 3)])
    for index, frame in enumerate(frames):
        consumer.feed(index, frame)
    found = consumer.finish()
    assert found["pairs"].tolist() == [[0, 1], [2, 3], [0, 2], [3, 3]]
    same, different = found["n_matches"][:2], found["n_matches"][2]
    assert same.min() > 10 * max(different, 1)
    for k, (first, second) in enumerate(found["pairs"][:2]):
        in_a, in_b = matched(frames[first], frames[second], cv2.SIFT_create(), ratio=0.8)
        _, inside = cv2.findFundamentalMat(in_a, in_b, cv2.FM_RANSAC, 3.0, 0.999)
        assert found["n_inliers"][k] >= np.count_nonzero(inside)  # SIFT's, of the same pair and the same estimator
    assert found["n_matches"][3] == found["n_a"][3] == found["n_b"][3]


def test_brisque_is_libsvms() -> None:
    session, features = network("brisque"), np.array(brisque_answers.OPENCV)
    for factor, score in brisque_answers.BY_LIBSVM.items():
        given = session.run({"features": factor * features[None]})["score"][0]
        assert given == pytest.approx(score, abs=CATALOGUE["brisque"].tolerance)


def test_brisque_is_near_the_package_and_rates_damage_lower(shared: Path) -> None:
    """Near: the package's features are others than its regression was trained on, with zeros around the picture.

    More damage is a lower rating, and damage that is seen lower than none. Of noise this holds from some amount on: a
    trace of it makes soft pictures, such as person_a_2, sharper to BRISQUE.
    """
    from wmb_fast.estimators.quality_brisque import Brisque

    brisque = Brisque(network("brisque"))
    rng = np.random.default_rng(0)

    def noisy(image: Any, sigma: float) -> Any:
        return np.clip(image + rng.normal(0, sigma, image.shape), 0, 255).round().astype(np.uint8)

    def packed(image: Any, quality: int) -> Any:
        return cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], cv2.IMREAD_COLOR)

    for name, theirs in brisque_answers.BY_THE_PACKAGE.items():
        whole = picture(shared / "data" / name)
        assert brisque.score(whole) == pytest.approx(theirs, abs=3.0), name
        clean = area_resized(whole, whole.shape[1] // 2, whole.shape[0] // 2)
        blurred = [cv2.GaussianBlur(clean, (0, 0), sigma) for sigma in (1, 2, 4)]
        for pictures in (
            [clean, *blurred],
            [clean, *(packed(clean, quality) for quality in (50, 20, 8))],
            [clean, noisy(clean, 30), noisy(clean, 60)],
        ):
            ratings = [brisque.rate(one) for one in pictures]
            assert all(before > after for before, after in pairwise(ratings)), (name, ratings)


def test_the_parts_have_the_roles_they_are_said_to_have() -> None:
    from wmb_fast.estimators import (
        cuts_transnet,
        depth_moge,
        face_embedder,
        faces,
        features_lite0,
        flow_dis,
        judge,
        match_xfeat,
        objects_nanodet,
        person_mask,
        quality_brisque,
        quality_exposure,
        roles,
    )

    parts = {
        "Flow": [flow_dis.Search],
        "Cuts": [cuts_transnet.CutsByNetwork],
        "Features": [features_lite0.PooledFeatures],
        "Matcher": [match_xfeat.XFeat],
        "FaceDetector": [faces.FaceDetector],
        "FaceEmbedder": [face_embedder.Aligned, face_embedder.Loose, face_embedder.ArcFace],
        "Depth": [depth_moge.MoGe],
        "Segmenter": [person_mask.PersonMask],
        "ObjectDetector": [objects_nanodet.NanoDet],
        "Quality": [quality_exposure.Exposure, quality_brisque.Brisque],
        "Judge": [judge.Judge],
    }
    for role, classes in parts.items():
        methods = [name for name in vars(getattr(roles, role)) if not name.startswith("_")]
        assert methods
        for one in classes:
            assert all(callable(getattr(one, method)) for method in methods), (role, one)
