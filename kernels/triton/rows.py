# SPDX-License-Identifier: Apache-2.0
"""Rows made ready for comparison: brought to length 1, laid out for both kinds of tiles.

Two layouts of a set of rows are made. `columns` is (D, n) in the result's dtype: what chains of fused multiply-adds
read, and the CPU core's numbers to the bit. `parts` is (n, D), padded to whole tiles, for the tensor cores: of float32
a high and a low part that TF32 holds, of half precision the numbers as they are, times a power of two.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from .items import COUNTS, HOST, capability

COSINE, L2, BITS = 0, 1, 2
_COSINE, _L2 = tl.constexpr(COSINE), tl.constexpr(L2)
LANES = 16  # of the core's float64 sums
_LANES = tl.constexpr(LANES)
DEPTH = 32  # a row of `parts` is padded to a multiple of this
_SMALLEST, _LARGEST = tl.constexpr(1e-280), tl.constexpr(1e280)  # squares_are_safe() of csrc/core/cosine.h
_LEAST, _MOST = tl.constexpr(2.0**-60), tl.constexpr(2.0**60)  # factors that float32 takes as they are
_EXPONENT, _BIAS, _MANTISSA = tl.constexpr(52), tl.constexpr(1023), tl.constexpr((1 << 52) - 1)


@triton.jit
def halved(lanes, N: tl.constexpr):
    """The sum of (R, N) lanes over N: the upper half added to the lower until one is left."""
    rows: tl.constexpr = lanes.shape[0]
    while_n: tl.constexpr = N
    if while_n >= 16:
        low, high = tl.split(tl.permute(tl.reshape(lanes, (rows, 2, 8)), (0, 2, 1)))
        lanes = low + high
    low, high = tl.split(tl.permute(tl.reshape(lanes, (rows, 2, 4)), (0, 2, 1)))
    low, high = tl.split(tl.permute(tl.reshape(low + high, (rows, 2, 2)), (0, 2, 1)))
    low, high = tl.split(low + high)
    return low + high


@triton.jit
def power_of_two(exponent):
    return ((exponent + _BIAS) << _EXPONENT).to(tl.float64, bitcast=True)


@triton.jit
def exponent_of(x):
    """floor(log2(x)) of positive float64 numbers."""
    small = x < 1e-300
    bits = tl.where(small, x * 18014398509481984.0, x).to(tl.int64, bitcast=True)  # 2^54 makes a subnormal normal
    return ((bits >> _EXPONENT) & 0x7FF) - _BIAS - tl.where(small, 54, 0)


@triton.jit
def scaled(x, shift, factor):
    """x · shift · factor, within 0.501 units in the last place: `scale` of the core, operation for operation."""
    if x.dtype == tl.float64:
        unit = x * shift * factor
    else:
        bits = factor.to(tl.int64, bitcast=True)
        far = (factor < _LEAST) | (factor > _MOST)
        exponent = ((bits >> _EXPONENT) & 0x7FF) - (_BIAS - 1)
        mantissa = ((bits & _MANTISSA) | ((_BIAS - 1) << _EXPONENT)).to(tl.float64, bitcast=True)
        ahead = tl.where(far, power_of_two(exponent), 1.0)
        near_one = tl.where(far, mantissa, factor)
        high = near_one.to(tl.float32)
        low = (near_one - high.to(tl.float64)).to(tl.float32)
        x = (x.to(tl.float64) * ahead).to(tl.float32)
        unit = tl.fma(x, high, x * low)
    return unit


@triton.jit
def _squares(x_ptr, at, here, dim, shift, R: tl.constexpr):
    """Sums of squares of rows times `shift`; the least magnitude but 0, the largest; whether all is finite."""
    lanes = tl.zeros((R, _LANES), tl.float64)
    largest = tl.zeros((R,), tl.float64)
    least = tl.full((R,), float("inf"), tl.float64)
    finite = tl.full((R,), 1, tl.int32)
    for k0 in range(0, dim, _LANES):
        k = k0 + tl.arange(0, _LANES)
        x = tl.load(x_ptr + at[:, None] + k[None, :], mask=here[:, None] & (k < dim)[None, :], other=0.0)
        x = x.to(tl.float64)
        size = tl.abs(x)
        is_finite = size < float("inf")
        finite = tl.minimum(finite, tl.min(is_finite.to(tl.int32), axis=1))
        largest = tl.maximum(largest, tl.max(tl.where(is_finite, size, 0.0), axis=1))
        least = tl.minimum(least, tl.min(tl.where(is_finite & (size > 0), size, float("inf")), axis=1))
        x = x * shift[:, None]
        lanes = tl.fma(x, x, lanes)
    return halved(lanes, _LANES), least, largest, finite != 0


@triton.jit
def directions_of(x_ptr, at, here, dim, R: tl.constexpr):
    """`direction_of` of the core: what makes rows' lengths 1, as a power of two and a factor; 0 where nothing does."""
    shift = tl.full((R,), 1.0, tl.float64)
    squares, _least, largest, finite = _squares(x_ptr, at, here, dim, shift, R)
    safe = (squares > _SMALLEST) & (squares < _LARGEST)
    usable = here & finite & (largest > 0)
    if x_ptr.dtype.element_ty == tl.float64:  # noqa: SIM102 - the outer one is known when this is compiled
        if tl.max((usable & ~safe).to(tl.int32), axis=0) != 0:
            exponent = tl.minimum(tl.maximum(-exponent_of(tl.where(usable, largest, 1.0)), -1000), 1000)
            shift = tl.where(safe | ~usable, 1.0, power_of_two(exponent))
            squares, _least, largest, finite = _squares(x_ptr, at, here, dim, shift, R)
    factor = 1.0 / tl.sqrt(tl.where(usable, squares, 1.0))
    return tl.where(usable, shift, 0.0), tl.where(usable, factor, 0.0)


@triton.jit
def tf32_of(x):
    """The nearest float32 numbers with the 11 bits that TF32 keeps."""
    bits = x.to(tl.int32, bitcast=True)
    return ((bits + 0x1000) & -8192).to(tl.float32, bitcast=True)


@triton.jit(do_not_specialize=COUNTS)
def prepare_kernel(
    x_ptr,
    n,
    dim,
    usable_ptr,
    direction_ptr,
    weight_ptr,
    columns_ptr,
    high_ptr,
    low_ptr,
    padded,
    METRIC: tl.constexpr,
    SPLIT: tl.constexpr,
    HALF: tl.constexpr,
    R: tl.constexpr,
    K: tl.constexpr,
):
    """usable[i], direction[i], columns[k, i] = unit_i[k]; high + low = unit (SPLIT), high · weight = unit (HALF)."""
    row = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    here = row < n
    at = tl.where(here, row, 0) * dim
    if METRIC == _COSINE:
        shift, factor = directions_of(x_ptr, at, here, dim, R)
    else:
        one = tl.full((R,), 1.0, tl.float64)
        _sum, shift, factor, finite = _squares(x_ptr, at, here, dim, one, R)
    usable = here & (finite if METRIC == _L2 else factor > 0)
    tl.store(usable_ptr + row, usable.to(tl.int8), mask=here)
    tl.store(direction_ptr + 2 * row, shift, mask=here)
    tl.store(direction_ptr + 2 * row + 1, factor, mask=here)
    ahead = tl.full((R,), 1.0, tl.float64)
    if HALF:  # brings a row's length into [1, 2), exactly
        ahead = power_of_two(tl.where(usable, exponent_of(tl.where(usable, factor, 1.0)) + 1, 0))
        tl.store(weight_ptr + row, (factor / ahead).to(tl.float32), mask=here)
    for k0 in range(0, padded, K):
        k = k0 + tl.arange(0, K)
        inside = here[:, None] & (k < dim)[None, :]
        x = tl.load(x_ptr + at[:, None] + k[None, :], mask=inside, other=0.0)
        x = tl.where(usable[:, None], x, 0.0)
        number = x.to(columns_ptr.dtype.element_ty)
        if METRIC == _COSINE:
            number = scaled(number, shift[:, None], tl.where(usable, factor, 1.0)[:, None])
        tl.store(columns_ptr + k[None, :].to(tl.int64) * n + row[:, None], number, mask=inside)
        to = row[:, None] * padded + k[None, :]
        if SPLIT:
            high = tf32_of(number)
            tl.store(high_ptr + to, high, mask=here[:, None])
            tl.store(low_ptr + to, number - high, mask=here[:, None])
        if HALF:
            half = (x.to(tl.float64) * ahead[:, None]).to(tl.float32).to(high_ptr.dtype.element_ty)
            tl.store(high_ptr + to, half, mask=here[:, None])


@triton.jit(do_not_specialize=COUNTS)
def bits_kernel(x_ptr, n, dim, usable_ptr, weight_ptr, columns_ptr, high_ptr, padded, R: tl.constexpr, K: tl.constexpr):
    """Bytes as numbers 0 and 1, eight a byte; weight[i] = how many are 1."""
    row = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    here = row < n
    count = tl.zeros((R,), tl.float32)
    for k0 in range(0, padded, K):
        k = k0 + tl.arange(0, K)
        inside = here[:, None] & (k < 8 * dim)[None, :]
        byte = tl.load(x_ptr + row[:, None] * dim + (k // 8)[None, :], mask=inside, other=0).to(tl.int32)
        bit = ((byte >> (k % 8)[None, :]) & 1).to(tl.float32)
        count += tl.sum(bit, axis=1)  # whole numbers: exact in any order
        tl.store(columns_ptr + k[None, :].to(tl.int64) * n + row[:, None], bit, mask=inside)
        tl.store(high_ptr + row[:, None] * padded + k[None, :], bit.to(tl.float16), mask=here[:, None])
    tl.store(usable_ptr + row, here.to(tl.int8), mask=here)
    tl.store(weight_ptr + row, count, mask=here)


@dataclass(frozen=True)
class Rows:
    """A set of rows made ready; see the module.

    Attributes:
        data: (n, D) as they came.
        usable: (n,) int8, whether a row can be compared.
        direction: (n, 2) float64, shift and factor that make its length 1; under L2 its least and largest magnitude.
        columns: (D, n), the CPU core's numbers.
        parts: For the tensor cores: (high, low), (half,), or none.
        weight: (n,) float32: what makes the length of a half row 1; the number of ones of bits.
        depth: D of `columns`: 8 D for bits.
    """

    data: torch.Tensor
    usable: torch.Tensor
    direction: torch.Tensor
    columns: torch.Tensor
    parts: tuple[torch.Tensor, ...]
    weight: torch.Tensor
    depth: int
    metric: int

    @property
    def is_half(self) -> bool:
        return self.data.dtype in (torch.float16, torch.bfloat16)


def prepare(x: torch.Tensor, metric: int, *, parts: bool) -> Rows:
    """Makes (n, D) rows ready. `parts`: also for the tensor cores, where there is a way (not float64, not under L2)."""
    n, dim = x.shape
    of_bits, half = metric == BITS, x.dtype in (torch.float16, torch.bfloat16)
    depth = 8 * dim if of_bits else dim
    padded = triton.cdiv(depth, DEPTH) * DEPTH
    exact = torch.float64 if x.dtype == torch.float64 else torch.float32
    parts = of_bits or (parts and metric == COSINE and x.dtype != torch.float64)
    new = x.new_empty
    usable, direction = new(n, dtype=torch.int8), new((n, 2), dtype=torch.float64)
    columns, weight = new((depth, n), dtype=exact), new(n, dtype=torch.float32)
    kind = torch.float16 if of_bits else x.dtype
    made = tuple(new((n, padded), dtype=kind) for _ in range(0 if not parts else 1 if half or of_bits else 2))
    high, low = made[0] if made else weight, made[1] if len(made) > 1 else weight
    if n:
        at_once = 128 if capability(x.device) == HOST else 32
        grid = (triton.cdiv(n, at_once),)
        how = {"R": at_once, "K": DEPTH, "num_warps": 4, "enable_fp_fusion": False}
        if of_bits:
            bits_kernel[grid](x, n, dim, usable, weight, columns, high, padded, **how)
        else:
            prepare_kernel[grid](
                x, n, dim, usable, direction, weight, columns, high, low, padded,
                METRIC=metric, SPLIT=len(made) == 2, HALF=len(made) == 1, **how,
            )  # fmt: skip
    return Rows(x, usable, direction, columns, made, weight, depth, metric)
