# SPDX-License-Identifier: Apache-2.0
"""The exact evidence of a world is what its frames show, and is found beside its video."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from small_worlds import small

from wmb_fast.evidence import external
from wmb_fast.evidence.exact import hand_in
from wmb_fast.world import exact_evidence, save_world


def test_it_is_what_the_frames_show() -> None:
    world = small("lrlr", seconds=2, size=(96, 64))
    channels = exact_evidence(world)
    frames = channels["geometry"]["frames"]
    assert frames.tolist() == [0, 32, 64, 96, 128, 160]
    tracks = channels["tracks"]
    for k, frame in enumerate(frames):
        view = world.view(int(frame))
        np.testing.assert_array_equal(channels["geometry"]["depth"][k], view.depth)
        boxes = np.unique(view.identities[tracks["masks"][:, k].any(axis=0)])
        assert (boxes > 5).all()
        np.testing.assert_array_equal(tracks["found"][:, k], tracks["masks"][:, k].sum(axis=(1, 2)) >= 16)
        inverse = np.vstack([channels["geometry"]["cam_from_world"][k], [0, 0, 0, 1]])
        np.testing.assert_allclose(inverse @ world.poses[frame], np.eye(4), atol=1e-12)
    np.testing.assert_array_equal(channels["poses"]["target"], world.commanded_poses)
    embedding = channels["appearance"]["embedding"]
    np.testing.assert_array_equal(embedding[:, 0], embedding[:, -1])
    assert (np.abs(embedding[tracks["found"]]) <= 1).all()
    assert not embedding[~tracks["found"]].any()


def test_it_lies_beside_the_video_and_can_be_read(tmp_path: Path) -> None:
    world = small("lrlr", seconds=1, size=(64, 48))
    folder = save_world(world, tmp_path / "w")
    written = hand_in(world, folder / "video.mp4", [])
    assert {path.name for path in written} == {
        f"video.{name}.npz" for name in ("poses", "geometry", "tracks", "appearance")
    }
    for name in ("poses", "geometry", "tracks", "appearance"):
        path = external.find(folder / "video.mp4", "w/video", name, None)
        assert path is not None
        found = external.read(path, name, len(world))
        assert (found.maker.id, found.maker.tier) == ("known-answer-world", "external")
        for key, array in exact_evidence(world)[name].items():
            np.testing.assert_array_equal(found.values[key], array)


def test_frames_that_are_asked_for_come_besides() -> None:
    world = small("lrlr", seconds=1, size=(64, 48))
    steps = exact_evidence(world)["geometry"]["frames"].tolist()
    assert 3 not in steps
    channels = exact_evidence(world, geometry=[3, steps[1]], depth=[5, 2])
    assert channels["geometry"]["frames"].tolist() == sorted([*steps, 3])
    assert channels["depth"]["frames"].tolist() == [2, 5]
    np.testing.assert_array_equal(channels["depth"]["depth"][1], world.depth(5))
