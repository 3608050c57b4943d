# SPDX-License-Identifier: Apache-2.0
"""How a kernel of `_cuda` is launched: on the device of the tensors and on torch's current stream, without waiting."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

Tensor = Any  # torch.Tensor: torch has been imported by whoever made one, and is not imported here
_TYPES = {"torch.float32": 0, "torch.float64": 1, "torch.uint8": 2}  # Type of cuda/bind/bind.h


def compiled() -> ModuleType:
    """The compiled module."""
    return importlib.import_module("wmb_fast.kernels._cuda")


def type_of(tensor: Tensor) -> int:
    """A dtype, as the kernels are told of it."""
    return _TYPES[str(tensor.dtype)]


def stream_of(tensor: Tensor) -> int:
    """torch's current stream on a tensor's device."""
    return int(sys.modules["torch"].cuda.current_stream(tensor.device).cuda_stream)


def empty(like: Tensor, *shape: int, dtype: str = "") -> Tensor:
    """Room on the device of a tensor, in its dtype or another, from torch's allocator."""
    return like.new_empty(shape, dtype=getattr(sys.modules["torch"], dtype) if dtype else None)


def launch(kernel: Callable[..., None], like: Tensor, *arguments: Any) -> None:
    """Launches a kernel on the device of ``like``. Tensors are contiguous, and pass as addresses; None as 0.

    Raises:
        RuntimeError: CUDA could not launch it; the text is CUDA's.
    """
    passed = [0 if a is None else a.data_ptr() if hasattr(a, "data_ptr") else a for a in arguments]
    kernel(*passed, like.device.index or 0, stream_of(like))
