# SPDX-License-Identifier: Apache-2.0
"""mse, psnr and ssim of pairs of frames against OpenCV, scikit-image and torchmetrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import wmb_fast as wmb

from . import _rivals
from ._harness import Case, Contender

C1, C2 = 2.55**2, 7.65**2
FLOPS = {"uniform7": 75.0, "gaussian11": 200.0}  # a sample: both passes over four maps, and the similarity
KEPT = 2  # pairs that the slow rivals do, of all


def cases(full: bool) -> Iterator[Case]:
    """Pairs of 480x848 RGB frames: a moving gradient with noise, and the same with more."""
    n = 64 if full else 8
    a, b = frames(n)
    work = a.nbytes + b.nbytes
    size = f"{n} pairs 480x848x3 uint8"
    errors = _close([((x.astype(float) - y) ** 2).mean() for x, y in zip(a, b, strict=True)], 1e-9)
    ratios = _close(wmb.reference.psnr(a[:KEPT], b[:KEPT], data_range=255), 1e-6)
    yield Case("mse", size, [Contender("wmb_fast", lambda: wmb.mse(a, b), errors)], work, "GB/s")
    sides = [
        Contender("wmb_fast", lambda: wmb.psnr(a, b, data_range=255), ratios),
        *_rivals.contender("cv2", lambda cv2: [cv2.PSNR(x, y) for x, y in zip(a, b, strict=True)], ratios, what="PSNR"),
        *_rivals.contender(
            "skimage", lambda skimage: _rivals.skimage_psnr(skimage, a[:KEPT], b[:KEPT]), ratios, share=KEPT / n
        ),
    ]
    yield Case("psnr", size, sides, work, "GB/s")
    yield _ssim("uniform7", size, a, b)
    yield _ssim("gaussian11", size, a, b)
    yield _ssim("gaussian11_gray", size, a, b)


def frames(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (n, 480, 848, 3) uint8."""
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:480, :848]
    pictures = [
        128 + 80 * np.sin((rows + 3 * k) / 37)[..., None] * np.cos(columns / (50 + k))[..., None] for k in range(n)
    ]
    noise = rng.standard_normal((2, 480, 848, 3))
    a = np.stack([np.clip(picture + 10 * noise[0], 0, 255).astype(np.uint8) for picture in pictures])
    b = np.stack([np.clip(picture + 14 * noise[1], 0, 255).astype(np.uint8) for picture in pictures])
    return a, b


def _ssim(variant: str, size: str, a: Any, b: Any) -> Case:
    truth = wmb.reference.ssim(a[:KEPT], b[:KEPT], data_range=255, variant=variant)
    right, share = _close(truth, 1e-6), KEPT / len(a)
    small = a[:KEPT], b[:KEPT]
    grey = variant == "gaussian11_gray"
    # OpenCV's own border is that of gaussian11; of the 7 x 7 one's values the border is left out.
    sides = [
        Contender("wmb_fast", lambda: wmb.ssim(a, b, data_range=255, variant=variant), right),
        *_rivals.contender(
            "cv2",
            lambda cv2: [_rivals.cv2_ssim(cv2, x, y, variant) for x, y in zip(a, b, strict=True)],
            _close(truth, 1e-4),  # single precision
            what="by hand, float32",
        ),
        *_rivals.contender(
            "cv2",
            _rivals.cv2_ssim_in_place(a, b, variant),
            _close(truth, 1e-4),
            what="by hand, float32, in place",
        ),
    ]
    if variant == "uniform7":
        sides += _rivals.contender("skimage", lambda s: _rivals.skimage_ssim(s, *small), right, share=share)
    elif not grey:
        sides += _rivals.contender(
            "torchmetrics", lambda t: _rivals.torchmetrics_ssim(t, *small), _close(truth, 1e-4), share=share
        )
    samples = a.size / (3 if grey else 1)
    return Case("ssim", f"{size} {variant}", sides, samples * FLOPS[variant.removesuffix("_gray")], "GFLOP/s")


def _close(truth: Any, allowed: float) -> Callable[[Any], str]:
    """Within so much of the float64 answer, which may be of the first pairs alone."""

    def check(got: Any) -> str:
        error = float(np.max(np.abs(np.asarray(got, dtype=np.float64).ravel()[: np.size(truth)] - np.ravel(truth))))
        return "" if error <= allowed else f"off by {error:.2g}"

    return check
