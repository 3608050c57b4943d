# SPDX-License-Identifier: Apache-2.0
"""Bootstrap intervals of means of means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .launch import Tensor, compiled, empty, launch


@dataclass(frozen=True)
class Cases:
    """How cases are resampled and averaged; int64 tensors, of BootstrapPlan of stats.h."""

    member: Tensor
    stratum_begin: Tensor
    stratum_size: Tensor
    begin: Tensor
    level_size: Sequence[int]


def bootstrap(
    values: Tensor,
    cases: Cases,
    given: Tensor | None,
    n: int,
    seed: int,
    level: float,
    *,
    propagate: bool,
    batch: tuple[int, ...],
    dtype: str,
) -> tuple[Tensor, ...]:
    """Status, code, low, high, estimate and number of values, of the batch's shape.

    ``values`` (items, cases) are of float64, in the order of the groups, and NaN where missing; ``dtype`` is that of
    the results.
    """
    cuda = compiled()
    sizes = *values.shape, list(cases.level_size)
    status, code = empty(values, *batch, dtype="uint8"), empty(values, *batch, dtype="uint8")
    interval = tuple(empty(values, *batch, dtype=dtype) for _ in range(3))
    n_used = empty(values, *batch, dtype="int64")
    workspace = empty(values, cuda.bootstrap_workspace(*sizes, n), dtype="float64")
    plan = cases.member, cases.stratum_begin, cases.stratum_size, cases.begin
    out = *interval, n_used, code, status, workspace
    launch(
        cuda.bootstrap, values, int(dtype == "float64"), values, *sizes, *plan, given, n, seed, level, propagate, *out
    )
    return status, code, *interval, n_used
