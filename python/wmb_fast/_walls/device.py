# SPDX-License-Identifier: Apache-2.0
"""What ops share that work on tensors of a device. Nothing here waits for one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .checks import lengths_of
from .errors import bad_type, bad_value

Tensor = Any  # torch.Tensor; torch is not imported to say so


def item_by_item(
    name: str, values: Tensor | list[Tensor], launch: Callable[[str, Tensor, int | None], tuple[Tensor, ...]]
) -> tuple[Tensor, ...]:
    """The results of an array, or those of a list's items, one launch an item, stacked.

    ``launch`` is told the argument's name, its value, and the most axes it may have (``None`` for any, 3 in a list).
    """
    if not isinstance(values, list):
        return launch(name, values, None)
    parts = [launch(f"{name}[{i}]", value, 3) for i, value in enumerate(values)]
    return tuple(sys.modules["torch"].stack(column) for column in zip(*parts, strict=True))


def joined(items: list[Any]) -> Any:
    """The arrays, or tensors, of a list end to end."""
    return np.concatenate(items) if isinstance(items[0], np.ndarray) else sys.modules["torch"].cat(items)


def copied_to(like: Tensor, values: np.ndarray[Any, Any]) -> Tensor:
    """What the host made, on the device of ``like``, without waiting for it."""
    return sys.modules["torch"].from_numpy(values).to(like.device, non_blocking=True)


def only_device_knows(values: Any, like: Tensor) -> bool:
    """Whether values are where ``like`` is, so that the host would have to wait to look at them."""
    return isinstance(values, sys.modules["torch"].Tensor) and values.device == like.device


def lengths_on(
    op: str, lengths: Any, like: Tensor, shape: tuple[int, ...], most: int, argument: str = "lengths"
) -> Tensor | None:
    """The lengths of a padded batch, (items,) int64 on the device of ``like``; None without.

    What the host holds is checked, and taken over. What the device holds cannot be looked at without waiting: its
    kind and shape are checked, and kernels hold its values between 0 and ``most``.
    """
    torch = sys.modules["torch"]
    if lengths is None:
        return None
    if only_device_knows(lengths, like):
        if lengths.dtype.is_floating_point or lengths.dtype.is_complex or lengths.dtype == torch.bool:
            raise bad_type(op, argument, "hold integers", str(lengths.dtype).removeprefix("torch."))
        if tuple(lengths.shape) != tuple(shape):
            raise bad_value(op, argument, f"have the batch's shape {tuple(shape)}", f"shape {tuple(lengths.shape)}")
        return lengths.reshape(-1).long().contiguous()
    return copied_to(like, lengths_of(op, np.asarray(lengths), tuple(shape), most, argument))
