# SPDX-License-Identifier: Apache-2.0
"""What image libraries answer: R2M-Bench's PSNR and SSIM (scikit-image's), the SSIM variants, PSNR and its guards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._walls.arrays import Array
from .._walls.errors import ArgumentError
from ..ops.image import mse, psnr, ssim
from .runner import Adapter, Case, Outcome

SAME_LIBRARY = 1e-6  # from a library's float64 answer: what our Gaussian variants of bytes promise
BYTES = 255


def fidelity(case: Case) -> Outcome:
    """B3: scikit-image's PSNR and SSIM of RGB bytes, as R2M-Bench rounds them and before."""
    a, b = _pair(case)
    outcome = Outcome()
    if case.raises is not None:
        _refused(outcome, _similarity(a, b, BYTES, "uniform7"))
        return outcome
    ratio, similarity = float(psnr(a, b, data_range=BYTES)), float(_similarity(a, b, BYTES, "uniform7")())
    expected, tolerance = case.expected, case.tolerance
    outcome.got = {"psnr_raw": ratio, "ssim_raw": similarity}
    outcome.close("psnr_raw", ratio, expected["psnr_raw"], rel=tolerance["psnr_raw"]["rel"])
    outcome.close("ssim_raw", similarity, expected["ssim_raw"], abs_=tolerance["ssim_raw"]["abs"])
    outcome.close("psnr", round(ratio, 4), expected["psnr"], abs_=tolerance["psnr"]["abs"])
    outcome.close("ssim", round(similarity, 6), expected["ssim"], abs_=tolerance["ssim"]["abs"])
    # The map's first value inside the border is that of the first window, channel by channel.
    windows = [(a[:7, :7, c, None], b[:7, :7, c, None]) for c in range(a.shape[2])]
    corner = [float(_similarity(*window, BYTES, "uniform7")()) for window in windows]
    outcome.close("ssim_map_corner", corner, expected["ssim_map_corner"], abs_=tolerance["ssim_raw"]["abs"])
    return outcome


def variants(case: Case) -> Outcome:
    """F1: SSIM by scikit-image, torchmetrics and kornia, of bytes and of the same as floats in 0..1.

    scikit-image's window of 11 equal weights is no variant of ours. Where a library raises, or crops a map to nothing
    (NaN), the image is smaller than the window, and ours raises.
    """
    a, b = (image[..., None] if image.ndim == 2 else image for image in _pair(case))
    exact = case.tolerance["skimage"]["abs"]
    outcome = Outcome(got={})
    for variant, field, tolerance in (
        ("uniform7", "skimage_win7", exact),
        ("gaussian11_valid", "skimage_gauss_1p5", exact),
        ("gaussian11_valid", "torchmetrics_1.4.0_f64_cropped", SAME_LIBRARY),
        ("gaussian11", "torchmetrics_f64", SAME_LIBRARY),
        ("gaussian11", "kornia_w11_f64", SAME_LIBRARY),
    ):
        expected = case.expected[field]
        for kind, x, y, data_range in (("uint8", a, b, BYTES), ("float64", a / BYTES, b / BYTES, 1)):
            answer = _similarity(x, y, data_range, variant)
            if isinstance(expected, dict) or np.isnan(expected):
                _refused(outcome, answer)
                continue
            got = float(answer())
            outcome.got[f"{variant} {kind}"] = got
            rounded = kind == "uint8" and variant != "uniform7"
            outcome.close(f"{field} of {kind}", got, expected, abs_=SAME_LIBRARY if rounded else tolerance)
    return outcome


def _similarity(a: Array, b: Array, data_range: float, variant: str) -> Callable[[], Any]:
    return lambda: ssim(a, b, data_range=data_range, variant=variant, layout="hwc")


def guards(case: Case) -> Outcome:
    """F2: PSNR of bytes and of floats in 0..1, MemoBench's cap of 99, and WBench's score of it."""
    a, b = _pair(case)
    expected, tolerance, outcome = case.expected, case.tolerance, Outcome()
    exact = tolerance["default"]["abs"]
    ratio = float(psnr(a, b, data_range=BYTES))
    capped = float(psnr(a, b, data_range=BYTES, identical=99))
    error = float(mse(a, b))
    outcome.got = {"mse": error, "psnr": ratio, "capped": capped}
    outcome.close("mse_255", error, expected["mse_255"], abs_=exact)
    outcome.close("skimage", ratio, expected["skimage"], abs_=exact)
    outcome.close("memobench_rule", capped, expected["memobench_rule"], abs_=exact)
    for dtype, allowed in ((np.float32, tolerance["torchmetrics"]["abs"]), (np.float64, exact)):
        scaled = [np.asarray(image / BYTES, dtype=dtype) for image in (a, b)]
        wanted = expected["torchmetrics"] if dtype == np.float32 else [expected["skimage"]]
        outcome.close(f"of {np.dtype(dtype)}", [float(psnr(*scaled, data_range=1))], wanted, abs_=allowed)
    score = min(1.0, max(0.0, (ratio - 10) / 15))  # NaN, of images without pixels, is 0 in this order
    outcome.close("wbench_psnr_score", score, expected["wbench_psnr_score"], abs_=exact)
    return outcome


def _pair(case: Case) -> tuple[Array, Array]:
    return np.asarray(case.inputs["a"]), np.asarray(case.inputs["b"])


def _refused(outcome: Outcome, call: Callable[[], Any]) -> None:
    """Notes a problem unless the call is refused with a sentence."""
    try:
        outcome.problems.append(f"answered {call()} where an ArgumentError is due")
    except ArgumentError as error:
        outcome.got = {**(outcome.got or {}), "refused": str(error)}


ADAPTERS: dict[str, Adapter] = {
    "B_r2m/B3_psnr_ssim": fidelity,
    "F_libs/F1_ssim_variants": variants,
    "F_libs/F2_psnr_guards": guards,
}
