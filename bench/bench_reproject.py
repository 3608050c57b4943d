# SPDX-License-Identifier: Apache-2.0
"""Depth maps between views: agreement of pairs, the z-buffer, and all ordered pairs of a clip."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import wmb_fast as wmb

from ._harness import Case, Contender
from ._rivals import contender

SIZES = ((480, 848), (704, 1280))
OCCLUSION = (0.7, 1.4)


@dataclass(frozen=True)
class Pairs:
    """Pairs of views of a smooth scene, the camera turning and moving."""

    source: np.ndarray
    destination: np.ndarray
    camera: np.ndarray
    transform: np.ndarray

    @property
    def matrix(self) -> np.ndarray:
        fx, fy, cx, cy = (float(x) for x in self.camera)
        return np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]])

    @property
    def name(self) -> str:
        n, height, width = self.source.shape
        return f"{n} pairs {height}x{width} float32"


def pairs(n: int, height: int, width: int) -> Pairs:
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:height, 0:width]
    scene = 3 + np.sin(x / 97) + np.cos(y / 71)
    source, destination = (
        (scene + 0.01 * rng.standard_normal((n, height, width), dtype=np.float32)).astype(np.float32) for _ in range(2)
    )
    camera = np.array([0.6 * width, 0.6 * width, (width - 1) / 2, (height - 1) / 2], dtype=np.float32)
    return Pairs(source, destination, camera, turning(n).astype(np.float32))


def turning(n: int) -> np.ndarray:
    """Transforms, or poses, of a camera that turns by up to 0.1 rad and moves aside by up to 0.2."""
    angle = np.linspace(0.0, 0.1, n)
    poses = np.tile(np.eye(4), (n, 1, 1))
    poses[:, 0, 0] = poses[:, 2, 2] = np.cos(angle)
    poses[:, 0, 2], poses[:, 2, 0] = np.sin(angle), -np.sin(angle)
    poses[:, 0, 3] = np.linspace(0.05, 0.2, n)
    return poses


def cases(full: bool) -> Iterator[Case]:
    for size in SIZES if full else SIZES[:1]:
        data = pairs(64 if full else 8, *size)
        for sampling in ("nearest", "bilinear"):
            yield agreement(data, sampling)
        yield splat(data)
    yield clip(64 if full else 16, *SIZES[0])


def agreement(data: Pairs, sampling: str) -> Case:
    def call() -> Any:
        found = wmb.depth_agreement(
            data.source, data.destination, data.camera, data.transform, sampling=sampling, occlusion=OCCLUSION
        )
        return np.stack([found.median_relative_error, found.covisible_fraction])

    one = slice(0, 1)
    first = wmb.reference.depth_agreement(
        data.source[one], data.destination[one], data.camera, data.transform[one], sampling=sampling
    )
    ours = call()

    # Rivals work in float32, and some end at the outermost pixel centres: half a pixel around the image is 0.3 % of it.
    allowed = np.array([[2e-3], [5e-3]])

    def verify(answer: np.ndarray) -> str:
        """Held to the reference on the first pair, then to ours."""
        exact = np.array([first.median_relative_error, first.covisible_fraction])
        if (np.abs(answer[:, :1] / exact - 1) > allowed).any():
            return f"the first pair has {answer[:, 0].tolist()}, the reference {exact[:, 0].tolist()}"
        wrong = np.abs(answer / ours - 1)
        return "" if (wrong <= allowed).all() else f"differs by {wrong.max():.1e}"

    rivals = [
        *contender("cv2", lambda cv2: warp_frames(cv2, data), None, what="warpFrame (forward, no comparison)"),
        *contender("torch", lambda torch: torch_agreement(torch, data, sampling), verify, what="grid_sample + median"),
        *contender("cv2", lambda cv2: cv2_agreement(cv2, data, sampling), verify, what="remap + NumPy"),
    ]
    case = f"{data.name} {sampling}"
    return Case("depth_agreement", case, [Contender("wmb_fast", call, verify), *rivals], 8.0 * data.source.size, "GB/s")


def splat(data: Pairs) -> Case:
    def call() -> np.ndarray:
        return wmb.splat_depth(data.source, data.camera, data.transform, data.source.shape[1:]).depth

    height, width = data.source.shape[1:]
    first = wmb.reference.splat_depth(data.source[:1], data.camera, data.transform[:1], (height, width)).depth[0]

    def verify(answer: np.ndarray) -> str:
        there = np.isfinite(answer[0]) & (answer[0] > 0)
        if (there != np.isfinite(first)).mean() > 2e-3:  # rounding of pixels in float32
            return "other pixels are filled than in the reference"
        wrong = ~np.isclose(answer[0][there], first[there], rtol=1e-5)
        return "" if wrong.mean() < 5e-3 else f"{wrong.mean():.1%} of the pixels differ from the reference"

    # warpFrame rounds pixel coordinates down, not to the nearest centre: its map is shifted by up to a pixel.
    rivals = contender("cv2", lambda cv2: warp_frames(cv2, data), None, what="warpFrame (rounds down)")
    return Case(
        "splat_depth", data.name, [Contender("wmb_fast", call, verify), *rivals], 8.0 * data.source.size, "GB/s"
    )


def clip(k: int, height: int, width: int) -> Case:
    data = pairs(k, height, width)
    poses = turning(k).astype(np.float32)

    def call() -> np.ndarray:
        found = wmb.reprojection_error(data.source, poses, data.camera)
        return np.array([found.median, found.mean, found.covisible_fraction])

    few = slice(0, 3)
    small = wmb.reference.reprojection_error(data.source[few], poses[few], data.camera)
    ours_small = wmb.reprojection_error(data.source[few], poses[few], data.camera)
    ours = call()

    def verify(answer: np.ndarray) -> str:
        if not np.allclose(ours_small.per_pair, small.per_pair, rtol=1e-6, equal_nan=True):
            return "three frames differ from the reference"
        return "" if np.allclose(answer, ours, rtol=1e-5) else f"{answer.tolist()} instead of {ours.tolist()}"

    rival = Contender("numpy, vectorised within a pair", lambda: numpy_clip(data, poses), verify, np.__version__)
    name = f"{k} frames {height}x{width} float32, {k * (k - 1)} ordered pairs, grid 16"
    return Case("reprojection_error", name, [Contender("wmb_fast", call, verify), rival], k * (k - 1), "calls/s")


def warp_frames(cv2: Any, data: Pairs) -> np.ndarray:
    """OpenCV's forward warp: a z-buffer of each source map; it samples and compares nothing."""
    matrix, transforms = data.matrix, data.transform.astype(np.float64)
    warped = [cv2.warpFrame(d, None, None, t, matrix)[0] for d, t in zip(data.source, transforms, strict=True)]
    return np.stack(warped)


def _each(data: Pairs, one: Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[float, float]]) -> np.ndarray:
    return np.array([one(*item) for item in zip(data.source, data.destination, data.transform, strict=True)]).T


def torch_agreement(torch: Any, data: Pairs, sampling: str) -> np.ndarray:
    height, width = data.source.shape[1:]
    inverse = torch.linalg.inv(torch.from_numpy(data.matrix)).float()
    matrix = torch.from_numpy(data.matrix).float()
    v, u = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    rays = torch.stack([u, v, torch.ones_like(u)], dim=-1).float() @ inverse.T

    def one(source: np.ndarray, destination: np.ndarray, transform: np.ndarray) -> tuple[float, float]:
        depth, t = torch.from_numpy(source), torch.from_numpy(transform)
        p = ((rays * depth[..., None]) @ t[:3, :3].T + t[:3, 3]) @ matrix.T
        z = p[..., 2]
        x, y = p[..., 0] / z, p[..., 1] / z
        grid = torch.stack([2 * x / (width - 1) - 1, 2 * y / (height - 1) - 1], dim=-1)
        seen = torch.nn.functional.grid_sample(
            torch.from_numpy(destination)[None, None], grid[None], mode=sampling, align_corners=True
        )[0, 0]
        inside = (x >= 0) & (x <= width - 1) & (y >= 0) & (y <= height - 1) & (z > 0)
        asked = torch.isfinite(depth) & (depth > 0)
        ratio = z / seen
        together = asked & inside & (seen > 0) & (ratio > OCCLUSION[0]) & (ratio < OCCLUSION[1])
        error = ((z - seen).abs() / seen)[together]
        return float(error.median()), float(together.sum() / asked.sum())

    return _each(data, one)


def cv2_agreement(cv2: Any, data: Pairs, sampling: str) -> np.ndarray:
    height, width = data.source.shape[1:]
    fx, fy, cx, cy = data.camera
    v, u = np.mgrid[0:height, 0:width].astype(np.float32)
    ray_x, ray_y = (u - cx) / fx, (v - cy) / fy
    mode = cv2.INTER_NEAREST if sampling == "nearest" else cv2.INTER_LINEAR

    def one(source: np.ndarray, destination: np.ndarray, transform: np.ndarray) -> tuple[float, float]:
        r, t = transform[:3, :3], transform[:3, 3]
        x, y = ray_x * source, ray_y * source
        z = r[2, 0] * x + r[2, 1] * y + r[2, 2] * source + t[2]
        at_x = fx * (r[0, 0] * x + r[0, 1] * y + r[0, 2] * source + t[0]) / z + cx
        at_y = fy * (r[1, 0] * x + r[1, 1] * y + r[1, 2] * source + t[1]) / z + cy
        seen = cv2.remap(destination, at_x, at_y, mode, borderMode=cv2.BORDER_CONSTANT, borderValue=0)
        inside = (at_x >= 0) & (at_x <= width - 1) & (at_y >= 0) & (at_y <= height - 1) & (z > 0)
        asked = np.isfinite(source) & (source > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = z / seen
            together = asked & inside & (seen > 0) & (ratio > OCCLUSION[0]) & (ratio < OCCLUSION[1])
        error = np.abs(z - seen)[together] / seen[together]
        return float(np.median(error)), float(together.sum() / asked.sum())

    return _each(data, one)


def numpy_clip(data: Pairs, poses: np.ndarray) -> np.ndarray:
    """WorldMark's Global memory as one would write it in NumPy: a loop over pairs, no per-pair medians."""
    depth, (k, height, width) = data.source, data.source.shape
    fx, fy, cx, cy = (float(x) for x in data.camera)
    poses = poses.astype(np.float64)
    world_to_camera = np.linalg.inv(poses)
    scale = np.median(depth[depth > 0])
    v, u = (a.ravel() for a in np.mgrid[0:height:16, 0:width:16])
    errors, inside_all = [], 0
    for i in range(k):
        z = depth[i, v, u].astype(np.float64)
        points = np.stack([(u - cx) / fx * z, (v - cy) / fy * z, z], axis=-1)
        for j in range(k):
            if i == j:
                continue
            to = world_to_camera[j] @ poses[i]
            p = points @ to[:3, :3].T + to[:3, 3]
            x, y = fx * p[:, 0] / p[:, 2] + cx, fy * p[:, 1] / p[:, 2] + cy
            inside = (p[:, 2] > 0) & (x >= 0) & (x < width) & (y >= 0) & (y < height)
            p, column, row = p[inside], np.floor(x[inside]).astype(int), np.floor(y[inside]).astype(int)
            seen = depth[j, row, column].astype(np.float64)
            ratio = (p[:, 2] / seen).astype(np.float32)
            together = (ratio > np.float32(OCCLUSION[0])) & (ratio < np.float32(OCCLUSION[1]))
            shown = np.stack([(column - cx) / fx * seen, (row - cy) / fy * seen, seen], axis=-1)
            inside_all += len(seen)
            errors.append(np.linalg.norm(shown - p, axis=-1)[together])
    pooled = np.concatenate(errors)
    return np.array([np.median(pooled) / scale, pooled.mean() / scale, pooled.size / inside_all])


def device_cases(full: bool, device: Any) -> Iterator[Case]:
    """Pairs of maps on a GPU, and a clip of 64 frames against the host."""
    from . import _device, _rivals_torch

    n, height, width = (64, 480, 640) if full else (3, 48, 64)
    data = pairs(n, height, width)
    arrays = data.source, data.destination, data.camera, data.transform
    sets = _device.sets_of(lambda rng: [arrays[0] * np.float32(rng.uniform(0.99, 1.01)), *arrays[1:]], device)
    host = [x.cpu().numpy() for x in sets[0]]

    def ours(*given: Any) -> Any:
        found = wmb.depth_agreement(*given, occlusion=OCCLUSION)
        return found.median_relative_error, found.covisible_fraction

    turn, other = _device.Turn(sets), _device.Turn(sets)
    wanted = ours(*host)
    sides = [
        Contender("wmb_fast", lambda: ours(*turn()), _device.close(wanted, 1e-4)),
        *contender(
            "torch",
            lambda _: _rivals_torch.agreement(*other(), *OCCLUSION),
            _device.close(wanted, 5e-3),
            what="gather + nanmedian",
        ),
    ]
    yield Case("depth_agreement", f"{data.name} nearest", sides, 8.0 * data.source.size, "GB/s")
    yield _clip_on_device(64 if full else 4, height, width, device)


def _clip_on_device(k: int, height: int, width: int, device: Any) -> Case:
    import torch

    from . import _device

    depth, poses = pairs(k, height, width).source, turning(k).astype(np.float32)
    camera = pairs(1, height, width).camera
    sets = _device.sets_of(lambda rng: [depth * np.float32(rng.uniform(0.99, 1.01)), poses, camera], device)
    host = [x.cpu().numpy() for x in sets[0]]

    def ours(*given: Any) -> Any:
        found = wmb.reprojection_error(*given)
        return found.median, found.mean, found.covisible_fraction

    turn = _device.Turn(sets)
    right = _device.close(ours(*host), 1e-4)
    sides = [
        Contender("wmb_fast", lambda: ours(*turn()), right),
        Contender("wmb_fast on the host", lambda: [torch.as_tensor(np.asarray(x)) for x in ours(*host)], right),
    ]
    name = f"{k} frames {height}x{width} float32, {k * (k - 1)} ordered pairs, grid 16"
    return Case("reprojection_error", name, sides, k * (k - 1), "calls/s")
