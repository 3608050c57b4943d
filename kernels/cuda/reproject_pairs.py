# SPDX-License-Identifier: Apache-2.0
"""What pairs of views agree on."""

from __future__ import annotations

import math
from typing import Any

from .launch import Tensor, compiled, empty, launch, type_of
from .views import passage


def depth_agreement(
    source: Tensor, destination: Tensor, way: Any, bounds: tuple[float, float], bilinear: bool
) -> tuple[Tensor, ...]:
    """Status, code, median relative error, co-visible fraction and n, of the batch's shape each."""
    cuda, batch = compiled(), way.batch
    median, fraction, n = empty(source, *batch), empty(source, *batch), empty(source, *batch, dtype="int64")
    status, code = empty(source, *batch, dtype="uint8"), empty(source, *batch, dtype="uint8")
    sizes = source.shape[-2:], destination.shape[-2:]
    words = cuda.depth_agreement_workspace(math.prod(batch), math.prod(sizes[0]), source.element_size())
    workspace = empty(source, words, dtype="float64")
    launch(
        cuda.depth_agreement, source, type_of(source), *passage(way, source, destination), source, *sizes[0],
        destination, *sizes[1], *bounds, bilinear, median, fraction, n, code, status, workspace,
    )  # fmt: skip
    return status, code, median, fraction, n
