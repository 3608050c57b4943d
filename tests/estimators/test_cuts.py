# SPDX-License-Identifier: Apache-2.0
"""Hard cuts: found where they are, and not where a camera moves, a light flashes or a picture is noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from estimators.pictures import Frame, fed, place, same_bits, view

from wmb_fast.estimators.registry import BUILTIN
from wmb_fast.rollout.video import open_video

SIZE = (320, 180)


def pan(seed: int, n: int, step: float = 3.0) -> list[Frame]:
    picture = place(seed)
    return [view(picture, x=step * i, zoom=0.5, size=SIZE) for i in range(n)]


def cuts(frames: list[Frame]) -> list[int]:
    values = fed("cuts", frames)
    assert values["n_scenes"] == len(values["frames"]) + 1
    assert values["frames"].dtype == np.int64
    return values["frames"].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("at", [3, 7, 17])
def test_a_cut_is_found_at_its_frame(at: int) -> None:
    assert cuts([*pan(1, at), *pan(2, 20 - at)]) == [at]


@pytest.mark.parametrize("after", [1, 2])
def test_the_last_two_frames_cannot_tell_a_cut_from_a_broken_end(after: int) -> None:
    assert cuts([*pan(1, 18), *pan(2, after)]) == []


def test_two_cuts() -> None:
    assert cuts([*pan(1, 8), *pan(2, 9), *pan(3, 8)]) == [8, 17]


def test_a_blended_frame_belongs_to_the_cut() -> None:
    before, after = pan(1, 8), pan(2, 8)
    blend = (before[-1].astype(np.float32) / 2 + after[0].astype(np.float32) / 2).astype(np.uint8)
    found = cuts([*before, blend, *after])
    assert len(found) == 1
    assert found[0] in (8, 9)


def test_a_cut_to_and_from_black() -> None:
    black = [np.zeros((SIZE[1], SIZE[0], 3), np.uint8)] * 6
    assert cuts([*pan(1, 6), *black, *pan(1, 6)]) == [6, 12]


@pytest.mark.parametrize("step", [0.0, 4.0, 24.0])
def test_a_moving_camera_does_not_cut(step: float) -> None:
    assert cuts(pan(4, 16, step)) == []


def test_a_zooming_camera_does_not_cut() -> None:
    picture = place(5)
    assert cuts([view(picture, zoom=0.5 * 1.06**i, size=SIZE) for i in range(16)]) == []


@pytest.mark.parametrize("length", [1, 2])
def test_a_flash_does_not_cut(length: int) -> None:
    frames = pan(6, 16)
    for i in range(8, 8 + length):
        frames[i] = np.full_like(frames[i], 255)
    assert cuts(frames) == []


def test_a_broken_frame_does_not_cut() -> None:
    frames = pan(6, 16)
    frames[8] = pan(7, 1)[0]
    assert cuts(frames) == []


def test_a_fade_does_not_cut() -> None:
    assert cuts([(frame * (1 - i / 16)).astype(np.uint8) for i, frame in enumerate(pan(8, 16))]) == []


def test_noise_is_turmoil_and_not_cuts() -> None:
    rng = np.random.default_rng(0)
    small = [rng.integers(0, 256, (20, 32, 3), dtype=np.uint8) for _ in range(12)]
    assert cuts([np.kron(frame, np.ones((9, 10, 1), np.uint8)) for frame in small]) == []


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_tiny_clips_have_one_scene(n: int) -> None:
    assert cuts(pan(9, n)) == []


def test_the_same_bits_for_one_and_two_threads() -> None:
    frames = [*pan(1, 6), *pan(2, 6)]
    assert same_bits(fed("cuts", frames, threads=1), fed("cuts", frames, threads=2))


@pytest.mark.parametrize(
    ("clip", "first", "last", "wanted"),
    [
        ("m5_bad", 225, 260, [241]),  # an eagle in the mountains, then a hut in the snow
        ("m1_good", 205, 225, [213]),  # a bookcase at arm's length, then the whole hall, blended over one frame
        ("m1_good", 300, 325, [314]),  # again; before it, the fastest motion of all eight clips
        ("m6_bad", 205, 250, []),  # a turning camera, and the reversal of its turn
        ("m8_bad", 40, 70, []),  # sparks fly, everything blurs
    ],
)
def test_real_cuts(shared: Path, clip: str, first: int, last: int, wanted: list[int]) -> None:
    estimator = BUILTIN["cuts"]
    consumer = estimator.start(estimator.settings(None))
    for index, frame in open_video(shared / "data/rollouts/worldmark" / f"{clip}.mp4").some(range(first, last)):
        consumer.feed(index, frame)
    assert consumer.finish()["frames"].tolist() == wanted
