# SPDX-License-Identifier: Apache-2.0
"""Sharpness and exposure fall when a picture is blurred, darkened or blown out, and only then."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from wmb_fast.estimators import quality_exposure
from wmb_fast.rollout.planfile import plan_of
from wmb_fast.world import render_world

cv2 = pytest.importorskip("cv2")
RATE = quality_exposure.Exposure(quality_exposure.settings(None)).rate
PICTURE = render_world(plan_of("worldmark/1"), seconds_per_step=1, size=(576, 320)).view(0).rgb


def test_blur_lowers_it_step_by_step() -> None:
    ratings = [RATE(PICTURE), *(RATE(cv2.GaussianBlur(PICTURE, (0, 0), sigma)) for sigma in (2, 4, 8))]
    assert all(a > b + 2 for a, b in pairwise(ratings))


def test_black_and_blown_out_pixels_lower_it() -> None:
    whole = RATE(PICTURE)
    dark = np.clip(PICTURE.astype(int) - 120, 0, 255).astype(np.uint8)
    bright = np.clip(PICTURE.astype(int) + 120, 0, 255).astype(np.uint8)
    assert RATE(dark) < whole
    assert RATE(bright) < whole


def test_known_answers() -> None:
    assert RATE(np.full((64, 256, 3), 128, np.uint8)) == 0.0
    checks = np.kron(np.indices((32, 128)).sum(0) % 2, np.ones((2, 2))).astype(np.uint8)
    board = np.repeat((60 + 120 * checks)[..., None], 3, axis=2)
    assert RATE(board) == 100.0  # half of the neighbours differ by two deviations: sharper than any photograph
    assert RATE(np.where(board == 60, 0, board).astype(np.uint8)) == 50.0  # and half of it black


def test_mirrored_and_turned_pictures_rate_the_same() -> None:
    assert RATE(PICTURE[:, ::-1].copy()) == pytest.approx(RATE(PICTURE), rel=1e-3)


def test_a_strip_is_not_blown_up() -> None:
    """At the width that is worked at, 60,000 rows of one pixel would be 3.9 gigapixels."""
    strip = np.random.default_rng(0).integers(0, 256, (60_000, 1, 3), dtype=np.uint8)
    assert 0 < RATE(strip) <= 100


def test_the_channel() -> None:
    consumer = quality_exposure.start(quality_exposure.settings(None))
    for index in (0, 4):
        consumer.feed(index, PICTURE)
    found = consumer.finish()
    assert found["frames"].tolist() == [0, 4]
    assert found["imaging"].tolist() == [RATE(PICTURE)] * 2
    assert np.isnan(found["aesthetic"]).all()
