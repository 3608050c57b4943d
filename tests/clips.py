# SPDX-License-Identifier: Apache-2.0
"""Tiny clips for tests of runs: a texture that the camera approaches and leaves again, and files that are no clip."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from wmb_fast.rollout.video import write_video

WIDTH, HEIGHT, FPS, SECONDS = 96, 64, 4, 8


def texture(seed: int) -> npt.NDArray[np.uint8]:
    """A smooth random picture, (256, 384, 3)."""
    rng = np.random.default_rng(seed)
    coarse = rng.uniform(20, 235, (64, 96, 3))
    return np.repeat(np.repeat(coarse, 4, axis=0), 4, axis=1).astype(np.uint8)


def there_and_back(seed: int, seconds: float = SECONDS) -> list[npt.NDArray[np.uint8]]:
    """Frames of a walk forward and back: the middle of the picture grows, then shrinks again."""
    picture = texture(seed)
    n = int(seconds * FPS)
    frames = []
    for i in range(n):
        zoom = 1.0 + 1.5 * min(i, n - 1 - i) / n
        y = 128 + (np.arange(HEIGHT) - HEIGHT / 2) * 3 / zoom
        x = 192 + (np.arange(WIDTH) - WIDTH / 2) * 3 / zoom
        frames.append(picture[y.astype(int)[:, None], x.astype(int)])
    return frames


def write_clip(path: Path, seed: int = 0, seconds: float = SECONDS) -> Path:
    """A clip that scores; its name says the plan (forward, back)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_video(path, there_and_back(seed, seconds), fps=FPS)
    return path


def truncate(path: Path, share: float = 0.5) -> Path:
    """Cuts a file's end off."""
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    return path
