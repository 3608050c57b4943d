# SPDX-License-Identifier: Apache-2.0
"""Hard cuts: where a frame shows what no motion can make of the frame before.

The frame before is carried over by dense flow, and what its structure fails to explain is measured: one minus the local
structural similarity (covariance over variances, 32-pixel squares of a 256x160 grey picture), in the better of the two
directions of time, for what appears in one direction disappears in the other. Brightness and contrast do not count.

- *Screen*, on every pair of neighbours, cheap: a coarse flow at half the size, and the histogram of colours. Most pairs
  end here; the others are measured carefully.
- *Apart* are two frames if more than half of the structure is unexplained; or more than a third, and with the colours
  (the histograms' difference) more than two thirds of what is seen: 1 - (1 - structure) (1 - colour). So the same room
  with other walls counts, and a change of light alone does not. (Of frames from different clips 99 % are apart, of
  frames of one clip more than 100 frames from each other 95 %; between neighbours in a continuous shot it is rarely
  more than a tenth that is unexplained.)
- *Break*: neighbours that are apart. Or the break is spread over two steps by one blended frame: each alone leaves more
  than a fifth of the structure unexplained, the frames on both sides are apart, and the steps around them are smaller
  than half of either.
- *It lasts*: the frame before the break and the one two after it stand as far apart, and so do the one three before and
  the first after it. So a flash or a broken frame of up to two frames is no cut.
- *It is sudden*: a run of breaks over more than three frames is turmoil and not a cut. A run counts once, at its last
  break, the first frame that is whole again. The last two frames of a clip cannot be told from a broken end.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .opencv import opencv
from .registry import Frame, Settings

VERSION = 1
_WHO = "motion-compensated-cuts"
Grey = npt.NDArray[np.float32]


def settings(model: str | None) -> Settings:
    """Sizes, limits and spans; the same for every model."""
    return {
        "size": [256, 160],
        "square": 32,
        "noise_variance": 16.0,
        "screen_structure": 0.2,
        "screen_colour": 0.3,
        "unexplained": 1 / 2,
        "unexplained_with_colour": [1 / 3, 2 / 3],
        "unexplained_by_blend": 0.2,
        "lasts": 3,
        "longest_run": 3,
    }


def start(settings: Settings) -> CutsByMotion:
    return CutsByMotion(settings)


class CutsByMotion:
    """Holds six small pictures, how far each is from the one before, and the breaks so far."""

    def __init__(self, settings: Settings) -> None:
        self._cv2 = opencv(_WHO)
        create = self._cv2.DISOpticalFlow_create
        self._quick = create(self._cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST)
        self._careful = create(self._cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
        self._set = settings
        width, height = settings["size"]
        self._pixels = {shape: _pixel_grid(*shape) for shape in ((height, width), (height // 2, width // 2))}
        self._behind, self._ahead = settings["lasts"], settings["lasts"] - 1
        self._recent: deque[_Small] = deque(maxlen=self._behind + self._ahead + 1)
        self._steps: deque[float] = deque(maxlen=self._behind + self._ahead + 1)
        self._breaks: list[int] = []

    def feed(self, index: int, frame: Frame) -> None:
        small = self._small(index, frame)
        self._steps.append(self._step(self._recent[-1], small) if self._recent else 0.0)
        self._recent.append(small)
        candidate = len(self._recent) - 1 - self._ahead
        if candidate >= 1 and self._is_cut(candidate):
            self._breaks.append(self._recent[candidate].frame)

    def finish(self) -> dict[str, Any]:
        """First frames after hard cuts, and how many scenes they make."""
        frames = _ends_of_runs(self._breaks, self._set["longest_run"])
        return {"frames": np.array(frames, dtype=np.int64), "n_scenes": len(frames) + 1}

    def _is_cut(self, first: int) -> bool:
        """Whether a lasting break lies right before picture ``first`` of the recent ones."""
        if self._steps[first] > self._set["screen_structure"] and self._differ(first - 1, first):
            before = first - 1
        elif first >= 2 and self._is_blended(first):
            before = first - 2
        else:
            return False
        return self._differ(before, first + self._ahead) and self._differ(max(0, first - self._behind), first)

    def _is_blended(self, first: int) -> bool:
        """Whether the picture before ``first`` is a blend of those around it, which a break lies between."""
        least = min(self._steps[first - 1], self._steps[first])
        around = max(self._steps[first - 2], self._steps[first + 1])
        spread = least > self._set["unexplained_by_blend"] and around < least / 2
        return spread and self._differ(first - 2, first)

    def _differ(self, early: int, late: int) -> bool:
        """Whether two of the recent pictures are apart."""
        a, b = self._recent[early], self._recent[late]
        structure, (least, limit) = self._unexplained(a, b), self._set["unexplained_with_colour"]
        if structure > self._set["unexplained"]:
            return True
        return bool(structure > least and 1 - (1 - structure) * (1 - _colour_change(a, b)) > limit)

    def _step(self, before: _Small, after: _Small) -> float:
        """How much of the structure is unexplained from one frame to the next; the coarse answer if that is little."""
        coarse = self._carried(self._quick, before.half, after.half, self._set["square"] // 2)
        if _colour_change(before, after) <= self._set["screen_colour"] and coarse <= self._set["screen_structure"]:
            return coarse
        return self._unexplained(before, after)

    def _unexplained(self, a: _Small, b: _Small) -> float:
        square = self._set["square"]
        return min(
            self._carried(self._careful, a.grey, b.grey, square), self._carried(self._careful, b.grey, a.grey, square)
        )

    def _carried(self, flow: Any, source: Frame, target: Frame, square: int) -> float:
        """The share of the target's structure that the source, carried along the flow, does not explain."""
        x, y = self._pixels[target.shape]
        motion = flow.calc(target, source, None)
        moved = self._cv2.remap(
            source,
            x + motion[..., 0],
            y + motion[..., 1],
            self._cv2.INTER_LINEAR,
            borderMode=self._cv2.BORDER_REPLICATE,
        )
        return self._dissimilarity(target.astype(np.float32), moved.astype(np.float32), square)

    def _dissimilarity(self, a: Grey, b: Grey, square: int) -> float:
        mean_a, mean_b = self._means(a, square), self._means(b, square)
        var_a = self._means(a * a, square) - mean_a * mean_a
        var_b = self._means(b * b, square) - mean_b * mean_b
        covariance = self._means(a * b, square) - mean_a * mean_b
        noise = self._set["noise_variance"]
        similarity = (2 * covariance + noise) / (var_a + var_b + noise)
        return 1 - float(np.mean(similarity, dtype=np.float64))

    def _means(self, picture: Grey, square: int) -> Grey:
        """Over squares that overlap by half."""
        half = square // 2
        means: Grey = self._cv2.boxFilter(picture, -1, (square, square))[half::half, half::half]
        return means

    def _small(self, index: int, frame: Frame) -> _Small:
        width, height = self._set["size"]
        picture = self._cv2.resize(frame, (width, height), interpolation=self._cv2.INTER_AREA)
        grey = self._cv2.cvtColor(picture, self._cv2.COLOR_RGB2GRAY)
        half = (width // 2, height // 2)
        return _Small(
            index,
            grey,
            self._cv2.resize(grey, half, interpolation=self._cv2.INTER_AREA),
            _colours(self._cv2.resize(picture, half, interpolation=self._cv2.INTER_AREA)),
        )


class _Small(NamedTuple):
    """What is kept of a frame."""

    frame: int
    grey: Frame
    half: Frame
    colours: npt.NDArray[np.int64]


def _colour_change(a: _Small, b: _Small) -> float:
    """The share of the pixels that would have to change colour to make one histogram of the other."""
    return float(np.abs(a.colours - b.colours).sum()) / (2 * a.half.size)


def _pixel_grid(height: int, width: int) -> tuple[Grey, Grey]:
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    return x, y


def _colours(picture: Frame) -> npt.NDArray[np.int64]:
    """How many pixels have each of 512 colours."""
    level = (picture >> 5).astype(np.int64)
    return np.bincount((level[..., 0] * 64 + level[..., 1] * 8 + level[..., 2]).ravel(), minlength=512)


def _ends_of_runs(frames: list[int], longest: int) -> list[int]:
    """The last of each run of neighbours (at most two apart), where the run is short."""
    runs: list[list[int]] = []
    for frame in frames:
        if runs and frame - runs[-1][-1] <= 2:
            runs[-1].append(frame)
        else:
            runs.append([frame])
    return [run[-1] for run in runs if run[-1] - run[0] < longest]
