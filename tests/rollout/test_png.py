# SPDX-License-Identifier: Apache-2.0
"""PNG files that others read back as they were."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from wmb_fast import ArgumentError
from wmb_fast.rollout.png import write_png


@pytest.mark.parametrize("shape", [(1, 1, 3), (7, 5, 3), (48, 64, 3)])
def test_opencv_reads_it_back(tmp_path: Path, shape: tuple[int, ...]) -> None:
    image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    write_png(tmp_path / "a.png", image)
    read = cv2.imread(str(tmp_path / "a.png"), cv2.IMREAD_COLOR)
    np.testing.assert_array_equal(read[..., ::-1], image)
    first = (tmp_path / "a.png").read_bytes()
    write_png(tmp_path / "a.png", np.asfortranarray(image))
    assert (tmp_path / "a.png").read_bytes() == first


@pytest.mark.parametrize("image", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)])
def test_what_is_no_picture(tmp_path: Path, image: np.ndarray) -> None:
    with pytest.raises(ArgumentError, match="write_png: image must be uint8 of shape"):
        write_png(tmp_path / "a.png", image)
