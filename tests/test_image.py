# SPDX-License-Identifier: Apache-2.0
"""mse, psnr and ssim against their reference and the named libraries, and what must hold for any images."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tolerances import FLOAT32_REL, SSIM_ABS, SSIM_BYTES_ABS, SSIM_FLOAT32_ABS

import wmb_fast as wmb
from wmb_fast.ops.image import VARIANTS

RANGES = {"uint8": 255, "float32": 1.0, "float64": 1.0}


def images(shape: tuple[int, ...], dtype: str = "uint8", seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A smooth picture with noise, and a noisier one."""
    rng = np.random.default_rng([*shape, seed])
    a = np.clip(rng.random(shape) * 0.4 + 0.3 * np.sin(np.arange(shape[-2]) / 5)[:, None] + 0.3, 0, 1)
    b = np.clip(a + 0.2 * rng.standard_normal(shape), 0, 1)
    if dtype == "uint8":
        return (a * 255).astype(np.uint8), (b * 255).astype(np.uint8)
    return a.astype(dtype), b.astype(dtype)


def assert_close(got: Any, wanted: Any, *, of: str = "", by: str = "") -> None:
    """Up to the rounding of the result's dtype, and of what is done of these images by this variant."""
    got = np.asarray(got)
    allowed = SSIM_FLOAT32_ABS if got.dtype == np.float32 else SSIM_ABS
    if of == "uint8" and by.startswith("gaussian11"):
        allowed = SSIM_BYTES_ABS
    np.testing.assert_allclose(got, wanted, rtol=0, atol=allowed)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(sorted(VARIANTS)),
    st.sampled_from(sorted(RANGES)),
    st.lists(st.integers(0, 3), max_size=2),
    st.integers(0, 90),
    st.integers(0, 90),
    st.sampled_from([1, 3]),
    st.sampled_from(["hwc", "chw"]),
    st.integers(0, 2**32 - 1),
)
def test_the_reference_agrees(
    variant: str, dtype: str, batch: list[int], more_h: int, more_w: int, c: int, layout: str, seed: int
) -> None:
    least = VARIANTS[variant]
    shape = (*batch, least + more_h, least + more_w, c)
    a, b = images(shape, dtype, seed)
    data_range = RANGES[dtype]
    if layout == "chw":
        a, b = (np.ascontiguousarray(np.moveaxis(image, -1, -3)) for image in (a, b))
    options = {"data_range": data_range, "layout": layout}
    error, ratio = wmb.mse(a, b, layout=layout), wmb.psnr(a, b, **options)
    similarity = wmb.ssim(a, b, variant=variant, **options)
    assert np.shape(error) == np.shape(ratio) == np.shape(similarity) == tuple(batch)
    rel = FLOAT32_REL if dtype == "float32" else 1e-12
    np.testing.assert_allclose(error, wmb.reference.mse(a, b, layout=layout), rtol=rel)
    np.testing.assert_allclose(ratio, wmb.reference.psnr(a, b, **options), rtol=rel)
    wanted = wmb.reference.ssim(a, b, variant=variant, **options)
    assert_close(similarity, wanted, of=dtype, by=variant)
    assert_close(wmb.ssim(b, a, variant=variant, **options), wanted, of=dtype, by=variant)
    assert_close(wmb.ssim(a, b, variant=variant, backend="reference", **options), wanted)


@pytest.mark.parametrize("dtype", sorted(RANGES))
@pytest.mark.parametrize("shape", [(97, 203, 3), (64, 65, 1), (7, 7, 3), (193, 11, 3)])
def test_scikit_image(dtype: str, shape: tuple[int, ...]) -> None:
    metrics = pytest.importorskip("skimage.metrics")
    a, b = images(shape, dtype)
    # In float64 of the same values: its own float32 is another thing.
    wide = [a, b] if dtype == "uint8" else [a.astype(np.float64), b.astype(np.float64)]
    options = {"channel_axis": 2, "data_range": RANGES[dtype]}
    assert_close(
        wmb.ssim(a, b, data_range=RANGES[dtype], variant="uniform7"), metrics.structural_similarity(*wide, **options)
    )
    if min(shape[:2]) >= 11:
        gaussian = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
        assert_close(
            wmb.ssim(a, b, data_range=RANGES[dtype], variant="gaussian11_valid"),
            metrics.structural_similarity(*wide, **options, **gaussian),
            of=dtype,
            by="gaussian11_valid",
        )
    ratio = metrics.peak_signal_noise_ratio(*wide, data_range=RANGES[dtype])
    np.testing.assert_allclose(wmb.psnr(a, b, data_range=RANGES[dtype]), ratio, rtol=FLOAT32_REL)


@pytest.mark.parametrize("dtype", sorted(RANGES))
@pytest.mark.parametrize("shape", [(2, 97, 203, 3), (1, 6, 6, 3), (1, 64, 130, 1)])
def test_torchmetrics(dtype: str, shape: tuple[int, ...]) -> None:
    library = pytest.importorskip("torchmetrics.functional.image")
    a, b = images(shape, dtype)
    wide = [torch.from_numpy(np.moveaxis(image.astype(np.float64), -1, 1)) for image in (a, b)]
    wanted = library.structural_similarity_index_measure(*wide, data_range=float(RANGES[dtype]), reduction="none")
    got = wmb.ssim(a, b, data_range=RANGES[dtype], variant="gaussian11")
    assert_close(got, wanted.numpy().reshape(-1), of=dtype, by="gaussian11")


def opencv_gray_ssim(cv2: Any, a: np.ndarray, b: np.ndarray, code: int) -> float:
    """As MemoBench does it, in float64."""
    x, y = (cv2.cvtColor(image, code).astype(np.float64) for image in (a, b))

    def blur(image: np.ndarray) -> np.ndarray:
        return cv2.GaussianBlur(image, (11, 11), 1.5)

    c1, c2 = 2.55**2, 7.65**2
    mx, my = blur(x), blur(y)
    vx, vy, cov = blur(x * x) - mx * mx, blur(y * y) - my * my, blur(x * y) - mx * my
    return float((((2 * mx * my + c1) * (2 * cov + c2)) / ((mx**2 + my**2 + c1) * (vx + vy + c2))).mean())


@pytest.mark.parametrize("order", ["rgb", "bgr"])
@pytest.mark.parametrize("shape", [(97, 203, 3), (5, 5, 3), (1, 1, 3), (3, 70, 3), (70, 2, 3)])
def test_opencv_gray(order: str, shape: tuple[int, ...]) -> None:
    cv2 = pytest.importorskip("cv2")
    a, b = np.random.default_rng(0).integers(0, 256, (2, *shape), dtype=np.uint8)
    code = cv2.COLOR_RGB2GRAY if order == "rgb" else cv2.COLOR_BGR2GRAY
    options = {"data_range": 255, "variant": "gaussian11_gray"}
    got = wmb.ssim(a, b, order=order, layout="hwc", **options)
    assert_close(got, opencv_gray_ssim(cv2, a, b, code), of="uint8", by="gaussian11_gray")
    other = "bgr" if order == "rgb" else "rgb"
    planes = [np.ascontiguousarray(image[..., ::-1].transpose(2, 0, 1)) for image in (a, b)]
    assert_close(wmb.ssim(*planes, order=other, layout="chw", **options), got)
    grey = [cv2.cvtColor(image, code)[..., None] for image in (a, b)]
    assert_close(wmb.ssim(*grey, layout="hwc", **options), got)


def test_grey_of_every_colour_is_opencvs() -> None:
    """The similarity of one pixel is (2 x y + C1) / (x^2 + y^2 + C1): with y = 0 it tells x. Flat rows are exact."""
    cv2 = pytest.importorskip("cv2")
    levels = np.arange(0, 256, 5, dtype=np.uint8)
    colours = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(-1, 1, 1, 3)
    x = cv2.cvtColor(colours.reshape(1, -1, 3), cv2.COLOR_RGB2GRAY).astype(np.float64).ravel()
    got = wmb.ssim(colours, np.zeros_like(colours), data_range=255, variant="gaussian11_gray", layout="hwc")
    assert_close(got, 2.55**2 / (x**2 + 2.55**2))


@pytest.mark.parametrize("variant", sorted(VARIANTS))
@pytest.mark.parametrize("dtype", sorted(RANGES))
def test_identical_shifted_and_flat(variant: str, dtype: str) -> None:
    a, _ = images((2, 30, 40, 3), dtype)
    options = {"data_range": RANGES[dtype], "variant": variant}
    np.testing.assert_array_equal(wmb.ssim(a, a.copy(), **options), [1, 1])
    np.testing.assert_array_equal(wmb.mse(a, a), [0, 0])
    np.testing.assert_array_equal(wmb.psnr(a, a, data_range=RANGES[dtype]), [np.inf, np.inf])
    np.testing.assert_array_equal(wmb.psnr(a, a, data_range=RANGES[dtype], identical=99), [99, 99])
    assert np.isnan(wmb.psnr(a, a, data_range=RANGES[dtype], identical=np.nan)).all()
    low, high = (np.full((30, 40, 3), level * RANGES[dtype], dtype=dtype) for level in (0.2, 0.6))
    x, y = float(low[0, 0, 0]), float(high[0, 0, 0])
    c1 = (0.01 * RANGES[dtype]) ** 2
    assert_close(wmb.ssim(low, high, **options), (2 * x * y + c1) / (x * x + y * y + c1))


@pytest.mark.parametrize("variant", ["gaussian11", "gaussian11_valid", "gaussian11_gray"])
@pytest.mark.parametrize("period", range(1, 12))
def test_bytes_where_their_rounding_adds_up(variant: str, period: int) -> None:
    """Stripes repeat few windows, of little variance, on levels far from the middle."""
    for level in (0, 1, 5, 130, 245, 252):
        for step in (1, 3):
            a = np.full((31, 44, 1), level, np.uint8)
            a[:, ::period] += step
            b = np.roll(a, 1, axis=1)
            for x, y in ((a, b), (a, np.full_like(a, level)), (a.transpose(1, 0, 2), b.transpose(1, 0, 2))):
                wanted = wmb.reference.ssim(x, y, data_range=255, variant=variant)
                assert_close(wmb.ssim(x, y, data_range=255, variant=variant), wanted, of="uint8", by=variant)


@pytest.mark.parametrize("variant", sorted(VARIANTS))
def test_far_from_zero(variant: str) -> None:
    """Values about 1000 with a range of 1: the difference of two squares of single precision would be negative."""
    a, b = images((40, 50, 3), "float64")
    wanted = wmb.ssim(a + 1000, b + 1000, data_range=1, variant=variant)
    shifted = [(image + 1000).astype(np.float32) for image in (a, b)]
    assert wmb.ssim(*shifted, data_range=1, variant=variant) == pytest.approx(wanted, abs=1e-4)  # float32 steps of 6e-5


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [(0, 0, 0), (39, 49, 2), (20, 3, 1)])
def test_a_value_that_is_not_finite_spoils_its_own_pair_alone(bad: float, at: tuple[int, ...]) -> None:
    a, b = images((3, 40, 50, 3), "float32")
    spoilt = a.copy()
    spoilt[(1, *at)] = bad
    with pytest.warns(wmb.ValueRangeWarning) if np.isinf(bad) else nullcontext():
        ratio = wmb.psnr(spoilt, b, data_range=1)
    assert np.isnan(ratio[1])
    np.testing.assert_array_equal(ratio[::2], wmb.psnr(a, b, data_range=1)[::2])
    np.testing.assert_array_equal(np.isnan(wmb.mse(spoilt, b)), [False, True, False])
    for variant in VARIANTS:
        with pytest.warns(wmb.ValueRangeWarning) if np.isinf(bad) else nullcontext():
            got = wmb.ssim(spoilt, b, data_range=1, variant=variant)
        assert np.isnan(got[1])
        np.testing.assert_array_equal(got[::2], wmb.ssim(a, b, data_range=1, variant=variant)[::2])


def test_any_view_and_torch_and_lists_give_the_same() -> None:
    a, b = images((4, 41, 53, 3))
    options = {"data_range": 255, "variant": "gaussian11"}
    wanted = wmb.ssim(a, b, **options)
    frozen = a.copy()
    frozen.setflags(write=False)
    wide = np.zeros((4, 41, 106, 3), np.uint8)
    wide[:, :, ::2] = a
    for view in (frozen, wide[:, :, ::2], a[..., ::-1].copy()[..., ::-1], np.asfortranarray(a)):
        np.testing.assert_array_equal(wmb.ssim(view, b, **options), wanted)
        np.testing.assert_array_equal(wmb.mse(view, b), wmb.mse(a, b))
    np.testing.assert_array_equal(wmb.ssim(list(a), list(b), **options), wanted)
    ragged = wmb.psnr([a[0], a[1, :20]], [b[0], b[1, :20]], data_range=255)
    assert ragged.shape == (2,)
    assert ragged[1] == wmb.psnr(a[1, :20], b[1, :20], data_range=255)
    assert wmb.mse([], []).shape == (0,)
    tensors = [torch.from_numpy(image) for image in (a, b)]
    got = wmb.ssim(*tensors, **options)
    assert isinstance(got, torch.Tensor)
    np.testing.assert_array_equal(got.numpy(), wanted)
    planes = [tensor.permute(0, 3, 1, 2) for tensor in tensors]
    assert_close(wmb.ssim(*planes, layout="chw", **options).numpy(), wanted)
    np.testing.assert_array_equal(wmb.mse(*planes, layout="chw").numpy(), wmb.mse(a, b))
    grey = [image[..., 0] for image in (a, b)]
    np.testing.assert_array_equal(wmb.ssim(*grey, layout="hw", **options), wmb.ssim(a[..., :1], b[..., :1], **options))
    assert wmb.ssim(grey[0][0], grey[1][0], **options) == wmb.ssim(a[0, :, :, :1], b[0, :, :, :1], **options)


def test_large_images_sum_exactly() -> None:
    """Beyond what 32 bits can sum, and more than one chunk."""
    a = np.zeros((700, 1000, 3), np.uint8)
    b = np.full_like(a, 255)
    b[-1, -1, -1] = 254
    n = a.size
    assert wmb.mse(a, b) == ((n - 1) * 255**2 + 254**2) / n


def test_no_pixels_and_no_pairs() -> None:
    for dtype in RANGES:
        nothing = np.zeros((2, 0, 5, 3), dtype)
        assert np.isnan(wmb.mse(nothing, nothing)).all()
        assert np.isnan(wmb.psnr(nothing, nothing, data_range=RANGES[dtype])).all()
        none = np.zeros((0, 20, 20, 3), dtype)
        assert wmb.mse(none, none).shape == (0,)
        assert wmb.ssim(none, none, data_range=RANGES[dtype], variant="uniform7").shape == (0,)


def test_ranges_that_do_not_fit_are_remarked() -> None:
    a, b = images((40, 50, 3), "float32")
    for call in (
        lambda scale, peak: wmb.psnr(a * scale, b * scale, data_range=peak),
        lambda scale, peak: wmb.ssim(a * scale, b * scale, data_range=peak, variant="uniform7"),
    ):
        with pytest.warns(wmb.ValueRangeWarning, match=r"data_range must cover the values, got 1 for values from 0 to"):
            call(np.float32(255), 1)
        for declared in (2, (-1, 1)):
            with pytest.warns(wmb.ValueRangeWarning, match="is that of values below 0, too, got none"):
                call(np.float32(1), declared)
        with pytest.warns(wmb.ValueRangeWarning, match=r"must cover the values, got \(-2, 0.5\) for values from"):
            call(np.float32(1), (-2, 0.5))
        call(np.float32(1.05), 1)
        call(np.float32(255), 255)


SMALL = np.zeros((10, 10, 3), np.uint8)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: wmb.mse(SMALL, SMALL[:9]), r"mse: b must have the shape of a \(10, 10, 3\), got shape \(9, 10, 3\)"),
        (lambda: wmb.mse(SMALL, SMALL.astype(float)), r"mse: b must have the dtype of a \(uint8\), got float64"),
        (lambda: wmb.mse(SMALL.astype(np.float16), SMALL), "mse: a must have dtype uint8 or float32 or float64"),
        (lambda: wmb.mse(SMALL[0, 0], SMALL[0, 0]), r"mse: a must have shape \(..., H, W, C\), got shape \(3,\)"),
        (lambda: wmb.mse([SMALL], SMALL), "mse: b must be a list exactly when a is, got ndarray"),
        (lambda: wmb.mse([SMALL], []), r"mse: b must have as many items as a \(1\), got 0"),
        (lambda: wmb.mse([SMALL[None]], [SMALL[None]]), r"mse: a\[0\] must have shape \(H, W, C\), got shape \(1,"),
        (lambda: wmb.mse(SMALL, SMALL, layout="nhwc"), "mse: layout must be one of hwc, chw, hw, got 'nhwc'"),
        (lambda: wmb.psnr(SMALL, SMALL, data_range=0), "psnr: data_range must be above 0, got 0"),
        (lambda: wmb.psnr(SMALL, SMALL, data_range=None), "psnr: data_range must be a real number, got None"),
        (lambda: wmb.psnr(SMALL, SMALL, data_range=1.0), "psnr: data_range must be 255 for uint8 images, got 1.0"),
        (
            lambda: wmb.psnr(SMALL, SMALL, data_range=(1, 256)),
            r"psnr: data_range must be 255 for uint8 images, got \(1, 256\)",
        ),
        (lambda: wmb.psnr(SMALL / 2, SMALL / 2, data_range=(1, 0)), "psnr: data_range must be above 0, got -1.0"),
        (lambda: wmb.psnr(SMALL, SMALL, data_range=255, identical="inf"), "psnr: identical must be a real number"),
        (lambda: wmb.ssim(SMALL, SMALL, data_range=255, variant="gaussian"), "ssim: variant must be one of uniform7, "),
        (
            lambda: wmb.ssim(SMALL, SMALL, data_range=255, variant="uniform7", order="gbr"),
            "ssim: order must be one of rgb, bgr, got 'gbr'",
        ),
        (lambda: wmb.ssim(SMALL, SMALL, data_range=255), "missing 1 required keyword-only argument: 'variant'"),
        (lambda: wmb.psnr(SMALL, SMALL), "missing 1 required keyword-only argument: 'data_range'"),
    ],
)
def test_bad_arguments_say_what_is_wrong(call: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        call()
