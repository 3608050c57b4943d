# SPDX-License-Identifier: Apache-2.0
"""mse, psnr and ssim on a device against the host's: layouts, variants, odd sizes, ragged lists, what has no answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tolerances import FLOAT32_REL, SSIM_ABS, SSIM_BYTES_ABS, SSIM_FLOAT32_ABS

import wmb_fast as wmb
from wmb_fast.ops.image import VARIANTS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("on_device")
RANGES = {"uint8": 255, "float32": 1.0, "float64": 1.0}
MSE_REL = 1e-13  # sums of up to some 1e5 squares, in two orders
Array = np.ndarray[Any, Any]


def pair(*shape: int, dtype: str = "uint8", seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng([*shape, seed])
    a = rng.random(shape)
    b = np.clip(a + 0.2 * rng.standard_normal(shape), 0, 1)
    scale = 255 if dtype == "uint8" else 1
    return (a * scale).astype(dtype), (b * scale).astype(dtype)


def tensors(*arrays: Array) -> list[Any]:
    return [torch.from_numpy(array) for array in arrays]


def allowed(dtype: str, variant: str) -> float:
    if dtype == "uint8":
        return SSIM_ABS if variant == "uniform7" else SSIM_BYTES_ABS
    return SSIM_FLOAT32_ABS if dtype == "float32" else SSIM_ABS


def on_host(op: Callable[..., Any], *arrays: Array, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wmb.ValueRangeWarning)
        return op(*arrays, **options)


@pytest.mark.parametrize("dtype", sorted(RANGES))
@pytest.mark.parametrize("variant", sorted(VARIANTS))
@pytest.mark.parametrize(
    ("layout", "shape"),
    [("hw", (17, 65)), ("hwc", (2, 63, 17, 3)), ("hwc", (11, 130, 1)), ("chw", (1, 3, 107, 13)), ("chw", (3, 11, 11))],
)
def test_ssim_is_the_hosts(variant: str, dtype: str, layout: str, shape: tuple[int, ...]) -> None:
    a, b = pair(*shape, dtype=dtype)
    options = {"data_range": RANGES[dtype], "variant": variant, "layout": layout}
    for order in ("rgb", "bgr"):
        got = wmb.ssim(*tensors(a, b), order=order, **options)
        want = np.asarray(wmb.ssim(a, b, order=order, **options))
        assert got.numpy().dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=0, atol=allowed(dtype, variant))
    same = wmb.ssim(*tensors(a, a), **options)
    np.testing.assert_array_equal(same, np.ones_like(want))


@pytest.mark.parametrize("variant", sorted(VARIANTS))
@pytest.mark.parametrize("width", [0, 1, 110, 111, 112, 113, 120])
def test_every_edge_of_strips_and_bands(variant: str, width: int) -> None:
    """Strips have 118 or 122 columns of windows, bands 96 rows."""
    least = VARIANTS[variant]
    for height in (least, least + 90):
        a, b = pair(height, least + width, dtype="float64")
        got = wmb.ssim(*tensors(a, b), data_range=1, variant=variant)
        np.testing.assert_allclose(got, wmb.ssim(a, b, data_range=1, variant=variant), rtol=0, atol=SSIM_ABS)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_range_that_begins_below_zero(dtype: str) -> None:
    a, b = pair(2, 3, 12, 20, dtype=dtype)
    options = {"data_range": (-1, 1), "layout": "chw"}
    for variant in VARIANTS:
        got = wmb.ssim(*tensors(2 * a - 1, 2 * b - 1), variant=variant, **options)
        want = wmb.ssim(2 * a - 1, 2 * b - 1, variant=variant, **options)
        np.testing.assert_allclose(got, want, rtol=0, atol=allowed(dtype, variant))


@pytest.mark.parametrize("dtype", sorted(RANGES))
@pytest.mark.parametrize("n", [0, 1, 17, 63, 65, 130, 4095, 4097, 33000])
@pytest.mark.parametrize("off", [0, 1])
def test_squared_differences_are_the_hosts(dtype: str, n: int, off: int) -> None:
    """Also where the second of a batch, or the first, is not aligned."""
    rng = np.random.default_rng(n)
    scale = 255 if dtype == "uint8" else 1
    long_a, long_b = ((rng.random(off + 2 * n) * scale).astype(dtype) for _ in range(2))
    a, b = (x[off:].reshape(2, 1, n) for x in (long_a, long_b))
    rel = FLOAT32_REL if dtype == "float32" else MSE_REL
    got = wmb.mse(*tensors(a, b), layout="hw")
    want = wmb.mse(a, b, layout="hw")
    assert got.numpy().dtype == want.dtype
    if dtype == "uint8":
        np.testing.assert_array_equal(got, want)
    np.testing.assert_allclose(got, want, rtol=rel)
    options = {"data_range": RANGES[dtype], "layout": "hw"}
    np.testing.assert_allclose(wmb.psnr(*tensors(a, b), **options), wmb.psnr(a, b, **options), rtol=rel)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_where_samples_lie_in_memory_changes_no_bit(dtype: str) -> None:
    a, b = (x.reshape(-1) for x in pair(1, 9000, dtype=dtype))
    moved = [torch.cat([torch.zeros(1, dtype=x.dtype), x])[1:] for x in tensors(a, b)]
    assert wmb.mse(*tensors(a[None], b[None])).equal(wmb.mse(*(x[None] for x in moved)))


def test_what_is_not_finite_has_no_answer_and_the_rest_of_the_batch_does() -> None:
    a, b = pair(4, 16, 16, 3, dtype="float64")
    a[1, 3, 4, 0], b[2, 15, 15, 2], b[3] = np.nan, np.inf, a[3]
    options = {"layout": "hwc", "data_range": 1.0}
    calls = {
        "mse": (wmb.mse, {"layout": "hwc"}),
        "psnr": (wmb.psnr, {**options, "identical": 99.0}),
        **{variant: (wmb.ssim, {**options, "variant": variant}) for variant in VARIANTS},
    }
    for name, (op, how) in calls.items():
        got = op(*tensors(a, b), **how).numpy()
        np.testing.assert_array_equal(np.isnan(got), [False, True, True, False], err_msg=name)
        np.testing.assert_allclose(got, on_host(op, a, b, **how), rtol=1e-11, err_msg=name)
    assert wmb.psnr(*tensors(a, b), **options, identical=np.nan)[3].isnan()
    assert wmb.psnr(*tensors(a, b), **options)[3].isinf()


@pytest.mark.parametrize("dtype", sorted(RANGES))
def test_lists_are_one_image_after_another(dtype: str) -> None:
    pairs = [pair(11 + k, 40 - k, 3, dtype=dtype) for k in range(3)]
    a, b = ([p[side] for p in pairs] for side in (0, 1))
    ranged = {"data_range": RANGES[dtype]}
    for op, options in ((wmb.mse, {}), (wmb.psnr, ranged), (wmb.ssim, {**ranged, "variant": "uniform7"})):
        got, want = op(tensors(*a), tensors(*b), **options), op(a, b, **options)
        assert got.numpy().dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=FLOAT32_REL if dtype == "float32" else 1e-11)


@pytest.mark.parametrize("dtype", sorted(RANGES))
def test_the_rest_of_a_batch_changes_no_bit(dtype: str) -> None:
    a, b = tensors(*pair(3, 19, 140, 3, dtype=dtype))
    options = {"data_range": RANGES[dtype], "layout": "hwc"}
    for variant in VARIANTS:
        alone = [wmb.ssim(x, y, variant=variant, **options) for x, y in zip(a, b, strict=True)]
        assert torch.stack(alone).equal(wmb.ssim(a, b, variant=variant, **options))
    alone = [wmb.psnr(x, y, **options) for x, y in zip(a, b, strict=True)]
    assert torch.stack(alone).equal(wmb.psnr(a, b, **options))


def test_a_batch_of_nothing_and_a_batch_of_more_axes() -> None:
    for shape in ((0, 16, 16, 3), (2, 2, 16, 16, 3)):
        a, b = pair(*shape)
        options = {"data_range": 255, "layout": "hwc"}
        for variant in VARIANTS:
            got = wmb.ssim(*tensors(a, b), variant=variant, **options)
            want = wmb.ssim(a, b, variant=variant, **options)
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=0, atol=SSIM_BYTES_ABS)
        assert wmb.psnr(*tensors(a, b), **options).shape == wmb.mse(*tensors(a, b)).shape == shape[:-3]


def test_bad_arguments_are_told_as_on_the_host() -> None:
    a, b = tensors(*pair(16, 16, 3))
    with pytest.raises(wmb.ArgumentError, match="psnr: data_range must be 255 for uint8 images, got 1"):
        wmb.psnr(a, b, data_range=1)
    with pytest.raises(wmb.ArgumentError, match=r"ssim: a must have at least 11 x 11 pixels for gaussian11_valid"):
        wmb.ssim(a[:10], b[:10], data_range=255, variant="gaussian11_valid")
    with pytest.raises(wmb.ArgumentTypeError, match=r"mse: b must have the dtype of a \(uint8\), got float32"):
        wmb.mse(a, b.float())
    with pytest.raises(wmb.ArgumentError, match="ssim: variant must be one of"):
        wmb.ssim(a, b, data_range=255, variant="uniform")


def test_no_warning_waits_for_the_values_of_a_device() -> None:
    a, b = tensors(*pair(16, 16, 3, dtype="float32"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = [wmb.psnr(3 * a, b, data_range=1.0), wmb.ssim(3 * a, b, data_range=1.0, variant="uniform7")]
    assert told == []
    assert all(bool(value.isfinite()) for value in found)
