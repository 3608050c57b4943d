# SPDX-License-Identifier: Apache-2.0
"""Points that are followed are where the picture went; those that cannot be are lost, not guessed."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from estimators.pictures import Frame, place, same_bits, view

from wmb_fast.estimators import points_klt
from wmb_fast.estimators.registry import ON_REQUEST


def fed(frames: list[Frame]) -> dict[str, Any]:
    consumer = ON_REQUEST["points"].start(points_klt.settings(None))
    for index, frame in enumerate(frames):
        consumer.feed(index, frame)
    return consumer.finish()


@pytest.mark.parametrize(("dx", "dy", "size"), [(3.3, -1.7, (640, 432)), (12, 0, (640, 432)), (4, 1, (960, 640))])
def test_a_shift_that_is_known(dx: float, dy: float, size: tuple[int, int]) -> None:
    """A camera that moves by (dx, dy) moves each point by the opposite, in pixels of the video, not of 640 columns."""
    values = fed([view(place(1), x=dx * i, y=dy * i, size=size) for i in range(12)])
    places, frames = values["places"].astype(np.float64), values["frames"]
    assert frames.tolist() == list(range(12))
    first = places[np.isfinite(places[:, 0, 0])]
    assert len(first) == 400
    error = np.hypot(*(first - first[:, :1] + np.arange(12)[:, None] * [dx, dy]).T)
    kept = np.isfinite(error[-1])
    assert kept.mean() > 0.6  # the others left the picture, or their window did
    assert np.nanmedian(error[-1]) < 0.1
    assert np.nanpercentile(error[-1], 95) < 0.5


def test_what_leaves_the_picture_is_lost_and_others_take_its_place() -> None:
    values = fed([view(place(2), x=25.0 * i) for i in range(20)])
    seen = np.isfinite(values["places"][..., 0])
    assert len(seen) > 400
    assert (seen.sum(axis=0) >= 200).all()
    begins = seen & ~np.pad(seen, ((0, 0), (1, 0)))[:, :-1]
    assert (begins.sum(axis=1) == 1).all()  # a point that is lost is not taken up again
    inside = values["places"][seen]
    assert (inside >= -0.5).all()
    assert (inside < [639.5, 431.5]).all()


def test_nothing_is_followed_across_a_cut() -> None:
    frames = [view(place(3))] * 3 + [view(place(4))] * 3
    seen = np.isfinite(fed(frames)["places"][..., 0])
    assert (seen[:, 2] & seen[:, 3]).sum() < 0.02 * seen[:, 2].sum()
    assert seen[:, 3].sum() >= 200


def test_a_flat_picture_has_no_points() -> None:
    values = fed([np.full((48, 64, 3), 90, np.uint8)] * 3)
    assert values["places"].shape == (0, 3, 2)
    assert fed([])["places"].shape == (0, 0, 2)


def test_the_same_bits_for_any_number_of_threads_and_again() -> None:
    frames = [view(place(5), x=2.5 * i, zoom=1.004**i) for i in range(6)]
    once = fed(frames)
    consumer = points_klt.start(points_klt.settings(None))
    cv2.setNumThreads(2)
    for index, frame in enumerate(frames):
        consumer.feed(index, frame)
    cv2.setNumThreads(1)
    assert same_bits(once, consumer.finish())
    assert same_bits(once, fed(frames))


def test_new_points_keep_apart_from_those_that_are_there() -> None:
    klt = points_klt.Klt(points_klt.settings(None))
    grey = klt.prepared(view(place(6)))
    taken = klt.found(grey, np.zeros((0, 2)))[:150]
    new = klt.found(grey, taken)
    assert len(new) == 250
    assert np.abs(new[:, None] - taken[None]).max(axis=2).min() >= 8
