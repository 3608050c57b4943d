# SPDX-License-Identifier: Apache-2.0
"""The flow channels against motions that are known."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from estimators.pictures import HEIGHT, WIDTH, fed, place, same_bits, view

from wmb_fast.estimators import flow_dis


def mean_radius() -> float:
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    return float(np.hypot(x - WIDTH / 2, y - HEIGHT / 2).mean())


@pytest.mark.parametrize("step", [0.6, 3.0, -8.0])
def test_a_pan_is_horizontal_flow_of_two_steps(step: float) -> None:
    """The camera goes right by ``step`` a frame, so the picture goes left by 2 ``step`` between i and i + 2."""
    picture = place(1)
    values = fed("flow", [view(picture, x=step * i) for i in range(5)])
    assert values["horizontal"].shape == values["radial"].shape == (3,)
    assert values["horizontal"].dtype == np.float64
    np.testing.assert_allclose(values["horizontal"], -2 * step, rtol=0.05)
    assert np.abs(values["radial"]).max() < 0.05 * abs(2 * step)
    assert (values["stride"], values["grid"]) == (2, (640, 432))


@pytest.mark.parametrize("zoom", [1.01, 0.985])
def test_a_zoom_is_radial_flow(zoom: float) -> None:
    picture = place(2)
    values = fed("flow", [view(picture, zoom=zoom**i) for i in range(4)])
    np.testing.assert_allclose(values["radial"], (zoom**2 - 1) * mean_radius(), rtol=0.06)
    assert np.abs(values["horizontal"]).max() < 0.2


def test_a_still_clip_has_no_flow() -> None:
    values = fed("flow", [view(place(3))] * 4)
    assert np.abs(values["horizontal"]).max() < 1e-3
    assert np.abs(values["radial"]).max() < 1e-3


def test_flow_is_in_pixels_of_the_grid() -> None:
    """A 320x216 clip that pans by 2 of its own pixels a frame pans by 8 of the grid's in two frames."""
    picture = place(4)
    values = fed("flow", [view(picture, x=2.0 * i, size=(320, 216)) for i in range(4)])
    np.testing.assert_allclose(values["horizontal"], -8, rtol=0.05)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_clips_too_short_for_a_pair_have_no_samples(n: int) -> None:
    values = fed("flow", [view(place(5))] * n)
    assert values["horizontal"].shape == values["radial"].shape == (0,)


def test_the_painted_rectangle_hides_what_is_under_it() -> None:
    """What moves in the key display's corner alone: nothing for SANA-WM, something for others."""
    background, corner = view(place(6)), place(7)
    frames = []
    for i in range(4):
        frame = background.copy()
        frame[360:, :130] = view(corner, x=6.0 * i, size=(130, 72))
        frames.append(frame)
    hidden, seen = fed("flow", frames, model="SANA-WM"), fed("flow", frames, model="other")
    assert np.abs(hidden["horizontal"]).max() < 0.02
    assert np.abs(seen["horizontal"]).min() > 0.1
    assert same_bits(hidden, fed("flow", frames, model="SANA-WM-streaming"))


def test_input_is_left_alone_and_may_be_read_only() -> None:
    frames = [view(place(8), x=3.0 * i) for i in range(3)]
    before = [frame.copy() for frame in frames]
    for frame in frames:
        frame.flags.writeable = False
    fed("flow", frames, model="SANA-WM")
    assert all((a == b).all() for a, b in zip(frames, before, strict=True))


def test_the_same_bits_for_one_and_two_threads() -> None:
    frames = [view(place(9), x=2.5 * i, zoom=1.004**i) for i in range(5)]
    assert same_bits(fed("flow", frames, threads=1), fed("flow", frames, threads=2))


def test_the_measured_disparity_of_a_real_pair(shared: Path) -> None:
    """Middlebury's motorcycle: from left to right a pixel moves by its disparity, 39 px in the median, to the left.

    The search works at half the grid's resolution, so one pixel of the grid is the finest it tells apart; seen here is
    0.55 px in the median, 67 % below 1 px, where what one eye alone sees is counted as wrong.
    """
    folder = shared / "data/rgbd/motorcycle"
    left, right = (cv2.imread(str(folder / f"motorcycle_{side}.png"))[..., ::-1].copy() for side in ("left", "right"))
    search = flow_dis.Search(flow_dis.settings(None))
    flow = search.between(search.prepared(left), search.prepared(right))
    with np.load(folder / "motorcycle_disp.npz") as stored:
        disparity = stored["arr_0"]
    height, width = disparity.shape
    rows, columns = ((2 * np.arange(new) + 1) * old // (2 * new) for new, old in ((HEIGHT, height), (WIDTH, width)))
    exact = disparity[rows][:, columns] * (WIDTH / width)
    known = np.isfinite(exact)
    assert known.mean() > 0.9
    error = np.hypot(flow[..., 0][known] + exact[known], flow[..., 1][known])
    assert np.median(error) < 1
    assert (error < 1).mean() > 0.6
    np.testing.assert_allclose(flow[..., 0][known].mean(), -exact[known].mean(), rtol=0.05)  # as the channel is held
