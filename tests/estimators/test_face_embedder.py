# SPDX-License-Identifier: Apache-2.0
"""Faces brought to the template, and the official embedder's own way of being fed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np

from wmb_fast.estimators.face_embedder import TEMPLATE, ArcFace, aligned
from wmb_fast.estimators.faces import Faces
from wmb_fast.rollout.video import open_video


def smooth(height: int, width: int) -> np.ndarray[Any, Any]:
    y, x = np.mgrid[:height, :width]
    waves = [128 + 100 * np.sin(x / a + y / b) for a, b in ((17, 23), (29, 11), (13, 31))]
    return np.stack(waves, axis=-1).astype(np.uint8)


def test_a_face_that_is_on_the_template_stays() -> None:
    picture = smooth(112, 112)
    assert np.abs(aligned(picture, TEMPLATE).astype(int) - picture).max() <= 1


def test_a_moved_turned_and_scaled_face_comes_back() -> None:
    """What is sampled at a place of the template is the picture at the same place of the face."""
    picture = smooth(300, 400)
    angle, scale, shift = 0.3, 1.6, np.array([120.0, 40.0])
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    found = aligned(picture, TEMPLATE @ turn.T + shift)
    for x, y in ((56, 56), (30, 40), (80, 90)):
        there = turn @ [x, y] + shift
        low = np.floor(there).astype(int)
        around = picture[low[1] : low[1] + 2, low[0] : low[0] + 2].astype(int).reshape(4, 3)
        assert (found[y, x] >= around.min(0) - 1).all()
        assert (found[y, x] <= around.max(0) + 1).all()


class FakeSession:
    def __init__(self) -> None:
        self.inputs = {"input.1": ("batch", 3, 112, 112)}
        self.outputs = {"683": ("batch", 512)}
        self.fed: list[np.ndarray[Any, Any]] = []

    def run(self, given: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
        self.fed.append(given["input.1"])
        return {"683": np.full((1, 512), len(self.fed), dtype=np.float32)}


def test_s07_channel_order(tmp_path: Path) -> None:
    """A picture read from a file and its array feed the network the same numbers, red first; swapped ones do not."""
    picture = np.zeros((112, 112, 3), dtype=np.uint8)
    picture[...] = 200, 10, 30
    cv2.imwrite(str(tmp_path / "0000.png"), picture[..., ::-1])
    (read,) = open_video(tmp_path).frames()
    one = Faces(np.zeros((1, 4)), np.ones(1), TEMPLATE[None])
    fed = []
    for shown in (read, picture, np.ascontiguousarray(picture[..., ::-1])):
        session = FakeSession()
        ArcFace(session).embed(shown, one)  # type: ignore[arg-type]
        fed.append(session.fed[0])
    assert fed[0].tobytes() == fed[1].tobytes() != fed[2].tobytes()
    np.testing.assert_array_equal(
        fed[0][0, :, 56, 56], ((np.float32([200, 10, 30]) - 127.5) / 127.5).astype(np.float32)
    )


def test_arcface_is_fed_rgb_about_zero_one_face_a_run() -> None:
    session = FakeSession()
    picture = smooth(112, 112)
    two = Faces(np.zeros((2, 4)), np.ones(2), np.stack([TEMPLATE, TEMPLATE]))
    rows = ArcFace(session).embed(picture, two)  # type: ignore[arg-type]
    assert rows.shape == (2, 512)
    assert rows[:, 0].tolist() == [1.0, 2.0]
    expected = (aligned(picture, TEMPLATE).astype(np.float32) - 127.5) / 127.5
    np.testing.assert_array_equal(session.fed[0][0], expected.transpose(2, 0, 1))
    assert ArcFace(session).embed(picture, Faces(np.zeros((0, 4)), np.zeros(0), np.zeros((0, 5, 2)))).shape == (0, 512)  # type: ignore[arg-type]
