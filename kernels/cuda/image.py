# SPDX-License-Identifier: Apache-2.0
"""Squared differences and structural similarity of pairs of images."""

from __future__ import annotations

from .launch import Tensor, compiled, empty, launch, type_of


def mse(a: Tensor, b: Tensor) -> Tensor:
    """Mean squared differences (n,) of images as (n, samples)."""
    workspace, out = _room(a)
    launch(compiled().mse, a, type_of(a), a, b, *a.shape, out, workspace)
    return out


def psnr(a: Tensor, b: Tensor, extent: float, identical: float) -> Tensor:
    """``10 log10(extent^2 / mse)``, (n,), of images as (n, samples); ``identical`` where they do not differ."""
    workspace, out = _room(a)
    launch(compiled().psnr, a, type_of(a), a, b, *a.shape, extent, identical, out, workspace)
    return out


def ssim(a: Tensor, b: Tensor, planar: bool, variant: int, low: float, extent: float, blue_first: bool) -> Tensor:
    """Similarities (n,) of images (n, H, W, C), or (n, C, H, W) where planar, of values from low to low + extent."""
    n, *image = a.shape
    channels, height, width = image if planar else (image[2], *image[:2])
    shape = n, height, width, channels, planar
    workspace = empty(a, compiled().ssim_workspace(*shape, variant), dtype="float64")
    out = _out(a)
    launch(compiled().ssim, a, type_of(a), a, b, *shape, variant, low, extent, blue_first, out, workspace)
    return out


def _room(a: Tensor) -> tuple[Tensor, Tensor]:
    """The workspace of squared differences, and room for their result."""
    return empty(a, compiled().difference_workspace(type_of(a), *a.shape), dtype="float64"), _out(a)


def _out(a: Tensor) -> Tensor:
    """Room for one number an item, in single precision for images of single precision."""
    return empty(a, a.shape[0], dtype="float32" if type_of(a) == 0 else "float64")
