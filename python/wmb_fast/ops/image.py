# SPDX-License-Identifier: Apache-2.0
"""How far two images are from each other: squared differences, and structural similarity as it is published."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._walls.arrays import BYTES, FLOATS, Array, ArrayLike, Call, take
from .._walls.checks import one_of, real, same_shape, shape_text
from .._walls.dispatch import declare, pick
from .._walls.errors import ValueRangeWarning, bad_type, bad_value
from .._walls.ext import core, kernels
from .._walls.lazy import reference

LAYOUTS = ("hwc", "chw", "hw")
CHANNELS = (1, 3)
# Least height and width: of a window that lies inside, or that a border can be mirrored for once.
VARIANTS = {"uniform7": 7, "gaussian11": 6, "gaussian11_valid": 11, "gaussian11_gray": 1}
OVERSHOOT = 0.1  # of the range: how far beyond it values may reach unremarked, as resampling makes them

Images = ArrayLike | Sequence[ArrayLike]
Range = float | tuple[float, float]


@dataclass(frozen=True)
class _Pair:
    """Two batches of images of one shape and dtype, and which axes are what."""

    a: Array
    b: Array
    layout: str

    @property
    def batch(self) -> tuple[int, ...]:
        return self.a.shape[: -len(self.layout)]

    @property
    def image(self) -> tuple[int, ...]:
        return self.a.shape[-len(self.layout) :]

    @property
    def is_bytes(self) -> bool:
        return bool(self.a.dtype.itemsize == 1)  # of the dtypes that are taken, uint8 alone

    def flat(self) -> tuple[Any, Any]:
        """Both as (items, samples)."""
        shape = math.prod(self.batch), math.prod(self.image)
        return self.a.reshape(shape), self.b.reshape(shape)

    def images(self) -> tuple[Any, Any]:
        """Both as (items, H, W, C) or (items, C, H, W)."""
        shape = math.prod(self.batch), *self.image, *((1,) if self.layout == "hw" else ())
        return self.a.reshape(shape), self.b.reshape(shape)


def mse(a: Images, b: Images, *, layout: str | None = None, backend: str = "auto") -> Any:
    """Mean squared error of pairs of images: ``mean (a - b)^2`` over all pixels and channels of a pair.

    Args:
        a: (..., H, W, C), C = 1 or 3; uint8, float32 or float64. Or (H, W); or a list of single images.
        b: The same shape and dtype.
        layout: ``hwc``, ``chw`` for (..., C, H, W), ``hw`` for (..., H, W). By default ``hw`` of two axes, ``hwc`` of
            more.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        (...), float32 for float32 images, else float64, in the square of the images' unit. NaN: a value is not finite,
        or the images have no pixels.

    Raises:
        ArgumentError: Shapes that differ, or other than 1 or 3 channels: what alpha is worth is the caller's to say.
        ArgumentTypeError: Something that is not an array of those dtypes, or two dtypes.

    Numerics:
        Of uint8 exact: differences do not wrap round, their squares are summed in integers, one division in float64.
        Of floats differences and sums in float64, in fixed lanes and chunks: the same bits for any number of threads
        and any batch. Nothing is copied but what is not contiguous. On a device likewise, in an order of its own: bytes
        have the host's bits, floats the host's value to rounding and the same bits from run to run.

    Source:
        The definition.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> black, white = np.zeros((8, 8, 3), np.uint8), np.full((8, 8, 3), 255, np.uint8)
        >>> float(wmb.mse(black, white))
        65025.0
    """
    op = "mse"
    call, pairs, ragged = _pairs(op, a, b, layout)
    chosen = pick(op, backend, call.device)
    if chosen == "cuda":
        return _on_device(pairs, ragged, lambda pair: kernels("image").mse(*pair.flat()))
    return _given(call, pairs, ragged, [_difference(pair, chosen)[0] for pair in pairs])


def psnr(
    a: Images,
    b: Images,
    *,
    data_range: Range,
    identical: float = np.inf,
    layout: str | None = None,
    backend: str = "auto",
) -> Any:
    """Peak signal-to-noise ratio of pairs of images in decibels: ``10 log10(data_range^2 / mse(a, b))``.

    Args:
        a: (..., H, W, C), C = 1 or 3; uint8, float32 or float64. Or (H, W); or a list of single images.
        b: The same shape and dtype.
        data_range: The extent of values that the format allows: 255 for uint8, and nothing else; 1 for floats in 0..1;
            2, or the pair (-1, 1), for -1..1. A property of the format, never of the images: a range taken from the
            content would give a dark pair another scale than a bright one.
        identical: The answer for a pair without any difference, whose ratio has no bound: infinity, or the cap that a
            benchmark states (MemoBench: 99), or NaN to keep such pairs out of means. One infinite value makes a mean
            infinite.
        layout: As in :func:`mse`.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        (...), float32 for float32 images, else float64. NaN: a value is not finite, or the images have no pixels.

    Raises:
        ArgumentError: As :func:`mse`; a ``data_range`` that is not above zero, or not 255 for uint8.
        ArgumentTypeError: As :func:`mse`.

    Warns:
        ValueRangeWarning: Float images reach more than a tenth beyond ``data_range``; or it says that there are
            negative values (2, or a pair that begins below 0), and there are none. Not of images on a device: to look
            at their values would wait for it.

    Numerics:
        As :func:`mse`; the logarithm in float64.

    Source:
        The definition; scikit-image's ``peak_signal_noise_ratio`` gives the same.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> a = np.full((4, 8, 8, 1), 0.5)
        >>> round(float(wmb.psnr(a, a + 0.1, data_range=1)[0]), 9)
        20.0
    """
    op = "psnr"
    call, pairs, ragged = _pairs(op, a, b, layout)
    chosen = pick(op, backend, call.device)
    _, extent = _data_range(op, data_range, pairs)
    without_error = real(op, "identical", identical, any_float=True)
    if chosen == "cuda":
        return _on_device(pairs, ragged, lambda pair: kernels("image").psnr(*pair.flat(), extent, without_error))
    results = []
    for pair in pairs:
        error, low, high = _difference(pair, chosen)
        if not pair.is_bytes:
            _warn_of_range(op, data_range, low, high)
        same = error == 0
        ratio = 10 * np.log10(extent**2 / np.where(same, 1, error))
        results.append(np.where(same, without_error, ratio))
    return _given(call, pairs, ragged, results)


def ssim(
    a: Images,
    b: Images,
    *,
    data_range: Range,
    variant: str,
    layout: str | None = None,
    order: str = "rgb",
    backend: str = "auto",
) -> Any:
    """Structural similarity of pairs of images, the mean over all windows and channels of a pair.

    ``(2 ma mb + C1)(2 cov + C2) / ((ma^2 + mb^2 + C1)(va + vb + C2))`` of every window, ``C1 = (0.01 data_range)^2``,
    ``C2 = (0.03 data_range)^2``. The variants differ in what a window is. One pair has 0.884, 0.850, 0.852 and 0.900 by
    them: a number without its variant says little.

    ==================  ================================  ==============================  =============================
    variant             window                            border                          as in
    ==================  ================================  ==============================  =============================
    uniform7            7 x 7 equal weights, covariance   windows inside the image alone  scikit-image's default; R2M
                        of a sample (n - 1)
    gaussian11          11 x 11 Gaussian, sigma 1.5       mirrored: a value a pixel       torchmetrics 1.4.2 and later
    gaussian11_valid    the same                          windows inside the image alone  scikit-image with
                                                                                          ``gaussian_weights=True``,
                                                                                          pytorch-msssim, torchmetrics
                                                                                          up to 1.4.1
    gaussian11_gray     the same, of the images' grey     mirrored                        MemoBench, on OpenCV
    ==================  ================================  ==============================  =============================

    Args:
        a: (..., H, W, C), C = 1 or 3; uint8, float32 or float64. Or (H, W); or a list of single images. At least 7 x 7
            pixels for ``uniform7``, 6 x 6 for ``gaussian11``, 11 x 11 for ``gaussian11_valid``.
        b: The same shape and dtype.
        data_range: As in :func:`psnr`. A pair (low, high) says where the values begin, too: the similarity is then that
            of a - low and b - low, and -1..1 gives what 0..1 does of the same picture. A number takes values as they
            are, like the libraries.
        variant: One of the four.
        layout: As in :func:`mse`. It must be said where an array's axes could be read both ways, such as (3, 64, 3):
            the windows would lie elsewhere.
        order: ``rgb`` or ``bgr``, the order of three channels, of which ``gaussian11_gray`` makes grey: 0.299 red +
            0.587 green + 0.114 blue, of uint8 rounded as OpenCV does. OpenCV reads files as ``bgr``.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        (...), in -1..1, float32 for float32 images, else float64. NaN: a value is not finite.

    Raises:
        ArgumentError: As :func:`psnr`; an unknown variant or order; images smaller than the window.
        ArgumentTypeError: As :func:`mse`.

    Warns:
        ValueRangeWarning: As :func:`psnr`.

    Numerics:
        In float64, whatever the images' dtype, and within 1e-12 of the named library in float64; single precision, as
        torchmetrics has it for float32, is 1e-4 off on flat images. Of uint8 the sums of ``uniform7`` are integers and
        exact; the Gaussian's along rows are integers of 32 bits, with weights of 31 bits: within 1e-6, and on pictures
        about 1e-11. The same bits for any number of threads and any batch. On a device in float64, but for the sums of
        ``uniform7`` of uint8, and the same bits from run to run.

    Source:
        Wang, Bovik, Sheikh and Simoncelli, IEEE Transactions on Image Processing 13 (2004), equation 13.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> a = np.full((64, 64, 3), 100, np.uint8)
        >>> round(float(wmb.ssim(a, a + np.uint8(20), data_range=255, variant="uniform7")), 6)
        0.983611
    """
    op = "ssim"
    call, pairs, ragged = _pairs(op, a, b, layout)
    chosen = pick(op, backend, call.device)
    lowest, extent = _data_range(op, data_range, pairs)
    one_of(op, "variant", variant, VARIANTS)
    one_of(op, "order", order, ("rgb", "bgr"))
    names = [f"a[{i}]" if ragged else "a" for i in range(len(pairs))]
    for name, pair in zip(names, pairs, strict=True):
        _require_windows(op, name, pair, variant, said=layout is not None)
    if chosen == "cuda":
        return _on_device(pairs, ragged, lambda pair: _ssim(pair, (lowest, extent), variant, order, chosen))
    for pair in pairs:
        if not pair.is_bytes:
            _warn_of_range(op, data_range, *_difference(pair, chosen)[1:])
    results = [_ssim(pair, (lowest, extent), variant, order, chosen) for pair in pairs]
    return _given(call, pairs, ragged, results)


def _pairs(op: str, a: Images, b: Images, layout: str | None) -> tuple[Call, list[_Pair], bool]:
    """The pairs of a call: one, or of lists one an item; and whether they were lists."""
    call, views = take(op, {"a": a, "b": b}, dtypes=(*BYTES, *FLOATS))
    if layout is not None:
        one_of(op, "layout", layout, LAYOUTS)
    first, second = views["a"], views["b"]
    if isinstance(first, list) != isinstance(second, list):
        raise bad_type(op, "b", "be a list exactly when a is", type(second).__name__)
    if not isinstance(first, list):
        return call, [_pair(op, "", first, second, layout)], False
    if len(first) != len(second):
        raise bad_value(op, "b", f"have as many items as a ({len(first)})", len(second))
    pairs = [_pair(op, f"[{i}]", x, y, layout) for i, (x, y) in enumerate(zip(first, second, strict=True))]
    return call, pairs, True


def _pair(op: str, item: str, a: Array, b: Array, layout: str | None) -> _Pair:
    layout = layout or ("hw" if a.ndim == 2 else "hwc")
    axes = ", ".join(layout.upper())
    if a.ndim < len(layout) or (item and a.ndim > len(layout)):
        raise bad_value(op, f"a{item}", f"have shape ({axes})" if item else f"have shape (..., {axes})", shape_text(a))
    if "c" in layout and a.shape[layout.index("c") - 3] not in CHANNELS:
        wanted = f"have 1 or 3 channels, its axes being (..., {axes})"
        raise bad_value(op, f"a{item}", wanted, shape_text(a))
    same_shape(op, f"b{item}", b, f"a{item}", a)
    if a.dtype != b.dtype:
        first, second = (str(image.dtype).removeprefix("torch.") for image in (a, b))
        raise bad_type(op, f"b{item}", f"have the dtype of a{item} ({first})", second)
    return _Pair(a, b, layout)


def _require_windows(op: str, name: str, pair: _Pair, variant: str, *, said: bool) -> None:
    if not said and pair.layout == "hwc" and pair.image[0] in CHANNELS:
        raise bad_value(op, "layout", "be given where axes can be read as (H, W, C) and (C, H, W)", shape_text(pair.a))
    least = VARIANTS[variant]
    height, width = (pair.image[pair.layout.index(axis)] for axis in "hw")
    if min(height, width) < least:
        raise bad_value(op, name, f"have at least {least} x {least} pixels for {variant}", shape_text(pair.a))


def _data_range(op: str, data_range: object, pairs: Sequence[_Pair]) -> tuple[float, float]:
    """Where values begin, zero unless it is said, and their extent."""
    low, extent = 0.0, data_range
    if isinstance(data_range, tuple) and len(data_range) == 2:
        low, high = (real(op, "data_range", end) for end in data_range)
        extent = high - low
    extent = real(op, "data_range", extent, above=0)
    if any(pair.is_bytes for pair in pairs) and (low, extent) != (0, 255):
        raise bad_value(op, "data_range", "be 255 for uint8 images", repr(data_range))
    return low, extent


def _warn_of_range(op: str, data_range: Range, least: Array, largest: Array) -> None:
    """Of float images, with these least and largest values, that do not fit their declared range."""
    if least.size == 0:
        return
    low, high = float(least.min()), float(largest.max())
    if isinstance(data_range, tuple):
        begin, end = data_range
        slack = OVERSHOOT * (end - begin)
        outside, signed = low < begin - slack or high > end + slack, begin < 0
    else:
        outside, signed = high - low > (1 + OVERSHOOT) * data_range, data_range == 2
    if outside:
        problem = f"data_range must cover the values, got {data_range} for values from {low:g} to {high:g}"
    elif signed and 0 <= low < high:
        problem = f"data_range {data_range} is that of values below 0, too, got none: do they begin at 0?"
    else:
        return
    warnings.warn(f"{op}: {problem}", ValueRangeWarning, stacklevel=3)


def _difference(pair: _Pair, backend: str) -> tuple[Array, Array, Array]:
    """Mean squared errors, and the least and largest values (zero of bytes), each of the batch's shape."""
    samples = math.prod(pair.image)
    if backend == "reference":
        both = np.stack([pair.a, pair.b]).reshape(2, *pair.batch, samples)
        extent = (both.min(axis=(0, -1)), both.max(axis=(0, -1))) if samples else (np.zeros(pair.batch),) * 2
        return reference.mse(pair.a, pair.b, layout=pair.layout), *extent
    squares, low, high = (np.empty(pair.batch) for _ in range(3))
    core.squared_difference(*pair.flat(), squares.reshape(-1), low.reshape(-1), high.reshape(-1))
    mean = squares / (samples or np.nan)
    return np.where(np.isfinite(mean), mean, np.nan), low, high


def _ssim(pair: _Pair, data_range: tuple[float, float], variant: str, order: str, backend: str) -> Any:
    """Similarities, of the batch's shape; ``data_range`` is where values begin, and their extent."""
    low, extent = data_range
    if backend == "reference":
        ends = (low, low + extent)
        return reference.ssim(pair.a, pair.b, data_range=ends, variant=variant, layout=pair.layout, order=order)
    a, b = pair.images()
    options = pair.layout == "chw", list(VARIANTS).index(variant), low, extent, order == "bgr"
    if backend == "cuda":
        return kernels("image").ssim(a, b, *options)
    result = np.empty(pair.batch)
    core.ssim(a, b, *options, result.reshape(-1))
    return result


def _on_device(pairs: Sequence[_Pair], ragged: bool, launch: Callable[[_Pair], Any]) -> Any:
    """The results of one launch a pair of batches; of lists stacked, in the first one's dtype."""
    results = [launch(pair).reshape(pair.batch) for pair in pairs]
    if not ragged:
        return results[0]
    return sys.modules["torch"].stack([result.to(results[0].dtype) for result in results])


def _given(call: Call, pairs: Sequence[_Pair], ragged: bool, results: Sequence[Array]) -> Any:
    """The results in the caller's kind, rounded once to the images' dtype where that is float32."""
    single = bool(pairs) and pairs[0].a.dtype == np.float32
    result = np.array([float(x) for x in results]) if ragged else results[0]
    return call.give(np.asarray(result, dtype=np.float32 if single else np.float64))


declare("mse", "cpu", "cuda", "reference")
declare("psnr", "cpu", "cuda", "reference")
declare("ssim", "cpu", "cuda", "reference")
