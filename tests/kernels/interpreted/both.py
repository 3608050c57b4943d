# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share: a call of the CPU core and of a Triton launcher, compared in bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]
# N, M, D: sizes that no tile divides.
SIZES = ((1, 1, 17), (17, 63, 17), (65, 130, 1), (130, 17, 5))
HALVES = (torch.float16, torch.bfloat16)


def whole(a: Any, b: Any) -> Array:
    """The spans of one item that is everything."""
    return np.array([[0, len(a), 0, len(b)]], dtype=np.int64)


# Uneven items: some empty, some that share rows, one of a single row.
UNEVEN = np.array([[0, 30, 0, 40], [30, 30, 0, 10], [31, 62, 40, 40], [5, 6, 3, 64]], dtype=np.int64)


def same_bits(got: torch.Tensor, want: Array) -> None:
    """Every bit the same; any NaN equals any other."""
    found = got.numpy().reshape(want.shape)
    words = {4: np.int32, 8: np.int64}[want.dtype.itemsize]
    nan = np.isnan(want) if want.dtype.kind == "f" else np.zeros(want.shape, bool)
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(np.isnan(found) if want.dtype.kind == "f" else nan, nan)
    np.testing.assert_array_equal(np.where(nan, 0, found.view(words)), np.where(nan, 0, want.view(words)))


def compare(core: Callable[..., None], kernel: Callable[..., None], inputs: tuple[Any, ...], outs: list[Array]) -> None:
    """Runs both on the same inputs, the outputs full of rubbish before, and compares all outputs.

    NumPy arrays go to the kernel as tensors, but for spans (int64); tensors of half precision to the core as float32.
    """
    rubbish = [torch.full(out.shape, -9, dtype=torch.from_numpy(out).dtype) for out in outs]
    plain = [x.float().numpy() if isinstance(x, torch.Tensor) else x for x in inputs]
    tensors = [torch.from_numpy(x) if isinstance(x, np.ndarray) and x.dtype != np.int64 else x for x in inputs]
    core(*plain, *outs)
    kernel(*tensors, *rubbish)
    for got, want in zip(rubbish, outs, strict=True):
        same_bits(got, want)
