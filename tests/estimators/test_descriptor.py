# SPDX-License-Identifier: Apache-2.0
"""The descriptor: near for what a moving camera sees next, far for another place."""

from __future__ import annotations

import numpy as np
import pytest
from estimators.pictures import Frame, fed, place, same_bits, view

LIMIT = 0.10  # WorldMark's, between equal motion and a sudden change


def distance(a: Frame, b: Frame) -> float:
    mean = fed("features", [a, b])["mean"].astype(np.float64)
    return float(1 - mean[0] @ mean[1])


def test_shape_length_and_frames() -> None:
    values = fed("features", [view(place(i)) for i in range(3)])
    assert values["mean"].dtype == np.float32
    assert values["mean"].shape[0] == 3
    np.testing.assert_allclose(np.linalg.norm(values["mean"].astype(np.float64), axis=1), 1, atol=1e-6)
    assert values["frames"].tolist() == [0, 1, 2]


def test_the_same_frame_is_at_distance_zero() -> None:
    frame = view(place(1))
    assert distance(frame, frame.copy()) < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_half_a_second_of_motion_is_near(seed: int) -> None:
    picture = place(seed)
    assert distance(view(picture), view(picture, x=35)) < LIMIT
    assert distance(view(picture), view(picture, zoom=1.1)) < LIMIT


@pytest.mark.parametrize("seed", range(4))
def test_distance_grows_with_motion(seed: int) -> None:
    picture = place(seed)
    away = [distance(view(picture), view(picture, x=x)) for x in (5, 20, 80, 320)]
    assert away == sorted(away)


@pytest.mark.parametrize("seed", range(4))
def test_another_place_is_far(seed: int) -> None:
    assert distance(view(place(seed)), view(place(seed + 10))) > 2 * LIMIT


def test_where_things_are_counts() -> None:
    """The same patches in other places: left and right halves exchanged."""
    frame = view(place(2))
    frame[:, :320] = np.array([200, 60, 60], np.uint8)
    assert distance(frame, np.roll(frame, 320, axis=1)) > LIMIT


def test_noise_and_a_little_light_are_near() -> None:
    frame = view(place(3))
    noisy = np.clip(frame.astype(float) + np.random.default_rng(0).normal(0, 6, frame.shape) + 4, 0, 255)
    assert distance(frame, noisy.astype(np.uint8)) < 0.03


@pytest.mark.parametrize("level", [0, 128, 255])
def test_flat_frames_have_a_descriptor(level: int) -> None:
    flat = np.full((120, 200, 3), level, np.uint8)
    assert np.isfinite(fed("features", [flat])["mean"]).all()
    assert distance(flat, flat) < 1e-6


def test_no_frames() -> None:
    values = fed("features", [])
    assert values["frames"].shape == (0,)
    assert len(values["mean"]) == 0


def test_each_frame_by_itself_and_the_same_bits_for_two_threads() -> None:
    frames = [view(place(i), x=3.0 * i) for i in range(3)]
    together = fed("features", frames, threads=2)
    for i, frame in enumerate(frames):
        assert together["mean"][i].tobytes() == fed("features", [frame])["mean"][0].tobytes()
    assert same_bits(together, fed("features", frames))
