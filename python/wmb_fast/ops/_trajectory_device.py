# SPDX-License-Identifier: Apache-2.0
"""The trajectory ops on tensors of a device: what their kernels are told, and the records of what they answer.

The kernels write statuses, and results in the caller's dtype, so that a record is made of views and nothing waits.
"""

from __future__ import annotations

from typing import Any

from .._walls.device import Tensor, copied_to
from .._walls.ext import kernels
from ._trajectory import Alignment, Batch, ErrorStats, Sim3


def tracks_of(batch: Batch) -> Any:
    """A batch as kernels take it."""
    first, second = (batch.data[name] for name in batch.names)
    starts, lengths = batch.starts, batch.lengths
    if starts is not None:
        starts, lengths = copied_to(first, starts), copied_to(first, lengths)
    where = batch.n, batch.each, starts, lengths
    return kernels("trajectory").Tracks(first, second, batch.mask, batch.data.get("weights"), *where)


def most_poses(batch: Batch) -> int:
    """No item has more."""
    return int(batch.sizes().max()) if batch.is_list else batch.each


def per_pose(batch: Batch, flat: Tensor, tail: tuple[int, ...] = ()) -> Any:
    """Numbers a pose, in the caller's form."""
    if not batch.is_list:
        return flat.reshape(*batch.shape, batch.each, *tail)
    rows = flat.reshape(-1, *tail)
    return [rows[b : b + s] for b, s in zip(batch.begins().tolist(), batch.sizes().tolist(), strict=True)]


def sim3_of(batch: Batch, fits: Any) -> Sim3:
    """The record of fits."""
    n, shape, numbers = batch.n, batch.shape, fits.numbers
    codes, status, _ = fits.codes
    return Sim3(
        status.reshape(shape),
        codes.reshape(shape),
        numbers[: 9 * n].reshape(*shape, 3, 3),
        numbers[9 * n : 12 * n].reshape(*shape, 3),
        numbers[12 * n : 13 * n].reshape(shape),
        numbers[13 * n :].reshape(shape),
        fits.rank.reshape(shape),
    )


def alignment_of(batch: Batch, fits: Any, poses: Any = None) -> Alignment:
    """The record of an alignment."""
    sim3 = sim3_of(batch, fits)
    return Alignment(fits.codes[2].reshape(batch.shape), sim3._codes, poses, sim3)


def stats_of(batch: Batch, statistics: Any, errors: Any, alignment: Alignment, deviation: Tensor) -> ErrorStats:
    """The record of statistics."""
    shape = batch.shape
    rmse, mean, median, std, least, largest, sse = (column.reshape(shape) for column in statistics.numbers)
    codes, status = (column.reshape(shape) for column in statistics.codes)
    count, off = statistics.count.reshape(shape), deviation.reshape(shape)
    return ErrorStats(status, codes, rmse, mean, median, std, least, largest, sse, errors, count, alignment, off)
