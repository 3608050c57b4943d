# SPDX-License-Identifier: Apache-2.0
"""R2M-Bench: finding revisits in a 481-frame trajectory, and scoring 300 pairs of decoded frames.

The rivals are written as the published evaluator works: Python loops over frames and segments, and pair after pair
scikit-image's PSNR and SSIM in float64 and NumPy's cosine, nothing kept from one pair to the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from wmb_fast.protocols import r2m

from ._harness import Case, Contender
from ._rivals import contender

FRAMES = 481


def cases(full: bool) -> Iterator[Case]:
    yield _revisits("loop 481 frames", _loop())
    if full:
        yield _revisits("out and back 481 frames", _out_and_back())
        yield _revisits("walk and turn 481 frames", _walk_and_turn())
    yield _pairs(300 if full else 40)


def _loop() -> Any:
    """A square of 4 m, 117 steps and 3 frames of rest a side, the heading fixed."""
    side = np.concatenate([np.full(117, 4 / 117), np.zeros(3)])
    still = np.zeros(120)
    z, x = np.concatenate([side, still, -side, still]), np.concatenate([still, side, still, -side])
    return _poses(np.cumsum(np.append(0, x)), np.cumsum(np.append(0, z)), np.zeros(FRAMES))


def _out_and_back() -> Any:
    x = np.minimum(np.arange(FRAMES), FRAMES - 1 - np.arange(FRAMES)) / 60
    return _poses(x, np.zeros(FRAMES), np.zeros(FRAMES))


def _walk_and_turn() -> Any:
    """Forward, back, left, right twice, left twice: the heading returns three times."""
    steps = np.repeat([1, -1, 0, 0, 0, 0, 0], 69)[: FRAMES - 1]
    turns = np.repeat([0, 0, -1, 1, 1, -1, -1], 69)[: FRAMES - 1]
    z, yaw = np.append(0, np.cumsum(steps)) / 30, np.append(0, np.cumsum(turns)) * (2 / 3)
    return _poses(np.zeros(FRAMES), np.resize(z, FRAMES), np.resize(yaw, FRAMES))


def _poses(x: Any, z: Any, yaw_deg: Any) -> Any:
    poses = np.tile(np.eye(4), (len(x), 1, 1))
    c, s = np.cos(np.radians(yaw_deg)), np.sin(np.radians(yaw_deg))
    poses[:, 0, 0], poses[:, 0, 2], poses[:, 2, 0], poses[:, 2, 2] = c, s, -s, c
    poses[:, 0, 3], poses[:, 2, 3] = x, z
    return poses


def _revisits(name: str, poses: Any) -> Case:
    expected = _published_revisits(poses)

    def right(pairs: Any) -> str:
        return "" if [tuple(pair) for pair in np.asarray(pairs).tolist()] == expected else "other pairs"

    ours = Contender("wmb_fast", lambda: r2m.detect_revisits(r2m.trajectory_of(poses), compat=True).pairs, right)
    rival = Contender("published loop (Python)", lambda: _published_revisits(poses), right, np.__version__)
    return Case("detect_revisits", name, [ours, rival], 1.0, "calls/s")


def _published_revisits(poses: Any) -> list[tuple[int, int]]:
    """Revisits as the published detector finds them, frame by frame."""
    yaw = [math.atan2(pose[0, 2], pose[0, 0]) * 180.0 / math.pi for pose in poses]
    place = [pose[:3, 3] for pose in poses]
    last = len(poses) - 1
    while last > 0:
        turned = (np.trace(poses[last - 1][:3, :3].T @ poses[last][:3, :3]) - 1) / 2
        still = np.linalg.norm(place[last] - place[last - 1]) <= 0.01
        if not (still and math.degrees(math.acos(min(1.0, max(-1.0, turned)))) <= 0.5):
            break
        last -= 1
    n = last + 1 if last else len(poses)
    moves = [float(np.linalg.norm(place[i] - place[i - 1])) for i in range(1, n)]
    turns = [abs((yaw[i] - yaw[i - 1] + 180) % 360 - 180) for i in range(1, n)]
    near = max(0.1, min(2 * float(np.percentile(moves, 95)), 1.0))
    close = max(1.0, min(2 * float(np.percentile(turns, 95)), 5.0))
    segments = _published_segments(place, yaw, moves)
    found = []
    for b in range(1, len(segments)):
        for a in range(b):
            for later in range(segments[b][0], segments[b][1] + 1):
                best, least = None, math.inf
                for earlier in range(segments[a][0], segments[a][1] + 1):
                    if abs(later - earlier) < 10:
                        continue
                    yaw_diff = abs((yaw[later] - yaw[earlier] + 180) % 360 - 180)
                    far = float(np.linalg.norm(place[later] - place[earlier]))
                    if yaw_diff <= close and far <= near and yaw_diff + 10 * far < least:
                        best, least = earlier, yaw_diff + 10 * far
                if best is not None:
                    found.append((best, later))
    if len(found) < 3:
        everything = [
            (i, j)
            for i in range(n)
            for j in range(i + 10, n)
            if np.linalg.norm(place[i] - place[j]) <= near and abs((yaw[i] - yaw[j] + 180) % 360 - 180) <= close
        ]
        found = max(found, everything, key=len)
    return sorted(set(found), key=lambda pair: (pair[1], pair[0]))


def _published_segments(place: Any, yaw: Any, moves: Any) -> list[list[int]]:
    segments: list[list[int]] = []
    current = "."
    for i in range(1, len(moves) + 1):
        turn, letter = yaw[i] - yaw[i - 1], "."
        if moves[i - 1] > 0.01 and abs(turn) < 0.5:
            step = place[i] - place[i - 1]
            letter = "W" if step[int(np.argmax(np.abs(step)))] > 0 else "S"
        elif abs(turn) > 0.5:
            letter = "R" if turn > 0 else "L"
        if letter not in (".", current):
            if segments:
                segments[-1][1] = i - 1
            segments.append([i, i])
            current = letter
    if segments:
        segments[-1][1] = len(moves)
    return segments


def _pairs(n_pairs: int) -> Case:
    """PSNR, SSIM and three cosines of pairs out of 200 decoded 480x848 frames."""
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (200, 31, 54, 3), dtype=np.uint8)
    frames = np.repeat(np.repeat(coarse, 16, axis=1), 16, axis=2)[:, :480, :848]
    frames = np.ascontiguousarray(frames + rng.integers(0, 9, frames.shape, dtype=np.uint8))
    numbers = np.arange(0, 400, 2)
    features = [rng.standard_normal((200, width), dtype=np.float32) for width in (768, 12288, 512)]
    pairs = numbers[np.stack([rng.integers(0, 200, n_pairs), rng.integers(0, 200, n_pairs)], axis=1)]
    sample = pairs[: max(2, n_pairs // 30)]
    expected: list[Any] = []

    def ours() -> Any:
        return [
            *r2m.appearance(frames, numbers, pairs),
            *(r2m.cosine_similarity(vectors, numbers, pairs) for vectors in features),
        ]

    def published(skimage: Any) -> Any:
        metrics = __import__("skimage.metrics", fromlist=["metrics"])
        rows = []
        for u, v in sample // 2:
            a, b = frames[u], frames[v]
            psnr = metrics.peak_signal_noise_ratio(a, b, data_range=255)
            ssim = metrics.structural_similarity(a, b, channel_axis=2, data_range=255)
            cosines = [float(x[u] @ x[v] / (np.linalg.norm(x[u]) * np.linalg.norm(x[v]))) for x in features]
            rows.append([psnr, ssim, *cosines])
        expected[:] = np.array(rows).T.tolist()
        return np.array(rows).T

    def right(found: Any) -> str:
        if not expected and contender("skimage", published, None):
            contender("skimage", published, None)[0].call()
        for name, mine, theirs in zip(("psnr", "ssim", "dino", "boq", "mvpr"), found, expected, strict=False):
            within = 1e-9 if name in ("psnr", "ssim") else 1e-6  # the cosines are of float32 vectors
            if not np.allclose(mine[: len(theirs)], theirs, rtol=within, atol=within):
                return f"{name} differs by {np.abs(mine[: len(theirs)] - theirs).max():.3g}"
        return "" if expected else "no rival to verify against"

    share = len(sample) / n_pairs
    contenders = [Contender("wmb_fast", ours, right)]
    contenders += contender("skimage", published, right, what="0.26, pair by pair", share=share)
    return Case("r2m pairs", f"{n_pairs} pairs 480x848", contenders, 1.0, "calls/s")
