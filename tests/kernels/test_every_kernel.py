# SPDX-License-Identifier: Apache-2.0
"""What holds for every op with a CUDA kernel: the host's answers within rounding, and the same bits for any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from every_op import CALLS, assert_close, assert_same, leaves
from tolerances import FLOAT32_REL, FLOAT64_ABS, FLOAT64_REL

from wmb_fast._walls.dispatch import _declared

torch = pytest.importorskip("torch")
OPS = sorted(op for op, backends in _declared.items() if "cuda" in backends)


def changed(op: str, change: Callable[[np.ndarray], Any]) -> Any:
    return CALLS[op].of(op, **{name: change(array) for name, array in CALLS[op].arrays.items()})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", OPS)
def test_kernels_answer_as_the_host(op: str, dtype: str, on_device: Callable[[bool], None]) -> None:
    want = changed(op, lambda x: x.astype(dtype))
    got = changed(op, lambda x: torch.from_numpy(x.astype(dtype)))
    assert_close(got, want, rel=FLOAT32_REL if dtype == "float32" else FLOAT64_REL, abs=FLOAT64_ABS)
    for name, value in leaves(got):
        assert isinstance(value, torch.Tensor), name


@pytest.mark.parametrize("op", OPS)
def test_the_order_of_threads_and_blocks_changes_no_bit(op: str, on_device: Callable[[bool], None]) -> None:
    forwards = changed(op, torch.from_numpy)
    on_device(True)
    assert_same(changed(op, torch.from_numpy), forwards)
