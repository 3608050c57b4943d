# SPDX-License-Identifier: Apache-2.0
"""What a user would write in torch, or takes from a library on it, on tensors of any device."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import torch

Tensor = Any


def mutual(a: Tensor, b: Tensor) -> Tensor:
    """Mutual nearest neighbours (..., N) of unit rows, -1 where not mutual: the matrix, then both arg max."""
    similarity = a @ b.mT
    forward, backward = similarity.argmax(dim=-1), similarity.argmax(dim=-2)
    mine = torch.arange(a.shape[-2], device=a.device)
    return torch.where(backward.gather(-1, forward) == mine, forward, -1)


def kornia_mutual(kornia: ModuleType, a: Tensor, b: Tensor) -> Tensor:
    """The same by kornia, one pair of sets after the other."""
    match = importlib.import_module("kornia.feature").match_mnn
    out = torch.full(a.shape[:-1], -1, dtype=torch.int64, device=a.device)
    for row, x, y in zip(out, a, b, strict=True):
        pairs = match(x, y)[1]
        row[pairs[:, 0]] = pairs[:, 1]
    return out


def cosine_matrix(a: Tensor, b: Tensor) -> Tensor:
    """Cosines of all rows."""
    normalize = torch.nn.functional.normalize
    return normalize(a, dim=-1) @ normalize(b, dim=-1).mT


def patches(a: Tensor, b: Tensor) -> Tensor:
    """Best cosines both ways (..., N + M)."""
    matrix = cosine_matrix(a, b)
    return torch.cat([matrix.amax(dim=-1), matrix.amax(dim=-2)], dim=-1)


def umeyama(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Scales and rotations of a batch of similarity fits (B, N, 3)."""
    dx, dy = x - x.mean(dim=1, keepdim=True), y - y.mean(dim=1, keepdim=True)
    u, d, vt = torch.linalg.svd(dy.mT @ dx / x.shape[1])
    sign = torch.sign(torch.linalg.det(u) * torch.linalg.det(vt))
    signs = torch.stack([torch.ones_like(sign), torch.ones_like(sign), sign], dim=-1)
    return (d * signs).sum(dim=1) / dx.square().sum(dim=(1, 2)) * x.shape[1], (u * signs[:, None]) @ vt


def ate(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Root mean square errors and medians (B,) after the alignment."""
    scale, rotation = umeyama(x, y)
    moved = scale[:, None, None] * (x - x.mean(dim=1, keepdim=True)) @ rotation.mT
    errors = (moved - (y - y.mean(dim=1, keepdim=True))).norm(dim=2)
    return errors.square().mean(dim=1).sqrt(), errors.quantile(0.5, dim=1)


def rpe(est: Tensor, ref: Tensor) -> tuple[Tensor, Tensor]:
    """Errors of steps of one frame: translation, and degrees from the trace and the skew part alike."""
    (r_est, p_est), (r_ref, p_ref) = (_steps(poses) for poses in (est, ref))
    turned = r_ref.mT @ r_est
    vee = torch.stack([turned[..., i, j] - turned[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0))], -1)
    trace = turned.diagonal(dim1=-2, dim2=-1).sum(-1)
    return (p_est - p_ref).norm(dim=-1), torch.rad2deg(torch.atan2(vee.norm(dim=-1), trace - 1))


def _steps(poses: Tensor) -> tuple[Tensor, Tensor]:
    back = poses[..., :-1, :3, :3].mT
    moved = poses[..., 1:, :3, 3] - poses[..., :-1, :3, 3]
    return back @ poses[..., 1:, :3, :3], (back @ moved[..., None])[..., 0]


def agreement(source: Tensor, other: Tensor, camera: Tensor, transform: Tensor, lo: float, hi: float) -> Any:
    """Median relative error and covisible share of pairs of maps, the nearest pixel taken, by gather and nanmedian."""
    n, height, width = source.shape
    y, x = torch.meshgrid(
        *(torch.arange(k, device=source.device, dtype=source.dtype) for k in (height, width)), indexing="ij"
    )
    rays = torch.stack([(x - camera[2]) / camera[0], (y - camera[3]) / camera[1], torch.ones_like(x)], dim=-1)
    points = (rays * source[..., None]) @ transform[:, None, :3, :3].mT + transform[:, None, None, :3, 3]
    z = points[..., 2]
    u, v = (torch.round(camera[k] * points[..., k] / z + camera[2 + k]) for k in (0, 1))
    inside = (z > 0) & (u >= 0) & (u < width) & (v >= 0) & (v < height) & (source > 0)
    at = (v.clamp(0, height - 1) * width + u.clamp(0, width - 1)).long().reshape(n, -1)
    seen = other.reshape(n, -1).gather(1, at).reshape(n, height, width)
    good = inside & (seen > 0) & (seen / z > lo) & (seen / z < hi)
    relative = torch.where(good, (seen - z).abs() / z, torch.nan).reshape(n, -1)
    return relative.nanmedian(dim=1).values, good.reshape(n, -1).double().mean(dim=1).to(source.dtype)


def ssim(torchmetrics: ModuleType, a: Tensor, b: Tensor) -> Tensor:
    """torchmetrics' default, of float images (N, C, H, W)."""
    image = importlib.import_module("torchmetrics.functional.image")
    return image.structural_similarity_index_measure(a, b, data_range=255.0, reduction="none")


def msssim_ssim(pytorch_msssim: ModuleType, a: Tensor, b: Tensor) -> Tensor:
    """pytorch-msssim's, whose windows lie inside the image."""
    return pytorch_msssim.ssim(a, b, data_range=255.0, size_average=False)


def psnr(a: Tensor, b: Tensor) -> Tensor:
    """Of bytes (N, H, W, C), through floats."""
    error = (a.float() - b.float()).square().mean(dim=(1, 2, 3))
    return 10 * torch.log10(255.0**2 / error)


def flow_channels(flow: Tensor) -> tuple[Tensor, Tensor]:
    """Mean sideways and radial flow of fields (N, H, W, 2)."""
    height, width = flow.shape[1:3]
    y, x = torch.meshgrid(*(torch.arange(n, device=flow.device) - n / 2 for n in (height, width)), indexing="ij")
    norm = torch.sqrt(x * x + y * y) + 1e-6
    radial = flow[..., 0] * (x / norm) + flow[..., 1] * (y / norm)
    return flow[..., 0].mean(dim=(1, 2)), radial.mean(dim=(1, 2))


def bootstrap(values: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """95 % bounds of the means of rows (models, cases), the same draws for all models."""
    draws = torch.randint(values.shape[1], (n, values.shape[1]), device=values.device)
    means = values[:, draws].mean(dim=2)
    low, high = torch.quantile(means, torch.tensor([0.025, 0.975], device=values.device, dtype=values.dtype), dim=1)
    return low, high
