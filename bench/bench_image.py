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
DEVICE_VARIANTS = ("uniform7", "gaussian11", "gaussian11_valid")
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


def device_cases(full: bool, device: Any) -> Iterator[Case]:
    """The same pairs on a GPU, as bytes; the libraries' similarities get them as floats, beforehand."""
    from . import _device, _rivals_torch

    n, height, width = (64, 480, 848) if full else (2, 48, 80)
    noisy = _device.sets_of(lambda rng: [(rng.random((n, height, width, 3)) * 255).astype(np.uint8)] * 2, device)
    sets = [(a, a // 2 + b.flip(2) // 3) for a, b in noisy]
    floats = [tuple(x.permute(0, 3, 1, 2).float().contiguous() for x in pair) for pair in sets]
    a, b = (x.cpu().numpy() for x in sets[0])
    size, work = f"{n} pairs {height}x{width}x3 uint8", 2.0 * a.nbytes
    turn, other = _device.Turn(sets), _device.Turn(sets)
    right = _device.close([wmb.psnr(a, b, data_range=255)], 1e-5)
    sides = [
        Contender("wmb_fast", lambda: [wmb.psnr(*turn(), data_range=255)], right),
        *_rivals.contender("torch", lambda _: [_rivals_torch.psnr(*other())], right),
    ]
    yield Case("psnr", size, sides, work, "GB/s")
    for variant in DEVICE_VARIANTS:
        yield _ssim_on_device(variant, size, sets, floats, work)


def _ssim_on_device(variant: str, size: str, sets: Any, floats: Any, work: float) -> Case:
    from . import _device, _rivals_torch

    a, b = (x.cpu().numpy() for x in sets[0])
    right = _device.close([wmb.ssim(a, b, data_range=255, variant=variant)], 1e-5)
    loose = _device.close([wmb.ssim(a, b, data_range=255, variant=variant)], 1e-3)  # theirs is in float32
    turn, other, third = _device.Turn(sets), _device.Turn(floats), _device.Turn(floats)
    sides = [Contender("wmb_fast", lambda: [wmb.ssim(*turn(), data_range=255, variant=variant)], right)]
    if variant == "gaussian11":
        sides += _rivals.contender("torchmetrics", lambda lib: [_rivals_torch.ssim(lib, *other())], loose)
    if variant == "gaussian11_valid":
        sides += _rivals.contender("pytorch_msssim", lambda lib: [_rivals_torch.msssim_ssim(lib, *third())], loose)
    return Case(f"ssim {variant}", size, sides, work, "GB/s")
