# SPDX-License-Identifier: Apache-2.0
"""The packaged networks themselves, where they are in WMB_FAST_HOME: make models-test brings them.

Skips where a network is not here; under WMB_REQUIRE_MODELS=1 that is a failure.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wmb_fast as wmb
from wmb_fast.estimators.home import ModelHome, session_of
from wmb_fast.rollout.video import open_video

cv2 = pytest.importorskip("cv2")


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

    detector = FaceDetector(*(network(f"mtcnn-{stage}") for stage in ("first", "second", "third")))
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


def test_xfeat_under_a_known_homography(shared: Path) -> None:
    from wmb_fast.estimators.match_xfeat import XFeat

    pairs = shared / "data/pairs/opencv"
    a, b = picture(pairs / "graf1.png"), picture(pairs / "graf3.png")
    matcher = XFeat(network("xfeat"))
    in_a, in_b, scores = matcher.match_pictures(a, b)
    storage = cv2.FileStorage(str(pairs / "H1to3p.xml"), cv2.FILE_STORAGE_READ)
    homography = storage.getFirstTopLevelNode().mat()
    there = np.column_stack([in_a, np.ones(len(in_a))]) @ homography.T
    error = np.linalg.norm(there[:, :2] / there[:, 2:] - in_b, axis=1)
    assert len(error) > 200
    assert np.median(error) < 5
    assert (error < 8).mean() > 0.6
    assert ((scores > 0.82) & (scores <= 1 + 1e-6)).all()


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
    assert (found["n_inliers"][:2] > 0.6 * same).all()
    assert found["n_matches"][3] == found["n_a"][3] == found["n_b"][3]


def test_the_parts_have_the_roles_they_are_said_to_have() -> None:
    from wmb_fast.estimators import (
        cuts_transnet,
        face_embedder,
        faces,
        features_lite0,
        flow_dis,
        judge,
        match_xfeat,
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
        "Quality": [quality_exposure.Exposure],
        "Judge": [judge.Judge],
    }
    for role, classes in parts.items():
        methods = [name for name in vars(getattr(roles, role)) if not name.startswith("_")]
        assert methods
        for one in classes:
            assert all(callable(getattr(one, method)) for method in methods), (role, one)
