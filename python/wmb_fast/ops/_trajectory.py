# SPDX-License-Identifier: Apache-2.0
"""What the trajectory ops share: batches of pairs of trajectories in any form, and the records they return."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._walls.arrays import FLOATS, MASKS, Array, ArrayLike, Call, narrowed, take
from .._walls.checks import lengths_of, same_shape, shape_text
from .._walls.device import joined, lengths_on
from .._walls.errors import ArgumentError, bad_type, bad_value
from .._walls.records import DEGENERATE, MISSING, STATUS, Record, code, status_of

POINTS: tuple[int, ...] = (-1, 3)  # the last axes; -1 is the number of poses
POSES: tuple[int, ...] = (-1, 4, 4)
FIT_ROW, STATISTICS_ROW = 16, 8  # csrc/cpu/trajectories.h
# The status of an alignment by the reason of its fit: degenerate rather than missing, because positions are aligned.
_ALIGNED = np.minimum(STATUS, DEGENERATE)
_ALIGNED[[code("not_finite"), code("not_a_pose")]] = MISSING  # aligned_status of csrc/core/trajectory.h
REFUSED = 0.1  # csrc/core/rotation.h: kRefuseAbove
_DTYPES = {"mask": MASKS} | dict.fromkeys(
    ("source", "target", "estimate", "reference", "trajectory", "itself", "weights"), FLOATS
)
Trajectories = ArrayLike | Sequence[ArrayLike]


@dataclass(frozen=True, eq=False)
class Sim3(Record):
    """A similarity transform, ``target = scale * rotation @ source + translation``.

    Attributes:
        rotation: (..., 3, 3), determinant +1; NaN where nothing determines it.
        translation: (..., 3); NaN where the rotation or the scale is.
        scale: (...); 1 where it was not asked for.
        rmse: (...) root mean square distance of the points it was fitted to, after what was applied of it; NaN where
            that was not measured (:func:`rpe` without an alignment).
        rank: (...) int64: of the covariance; -1 where nothing was fitted.
    """

    rotation: Any
    translation: Any
    scale: Any
    rmse: Any
    rank: Any


@dataclass(frozen=True, eq=False)
class Alignment(Record):
    """An aligned trajectory.

    Attributes:
        poses: The estimate, moved onto the reference, in the form it was given in; ``None`` in the records of errors.
        sim3: What was fitted. For ``mode="scale"`` the whole Sim(3), of which the scale alone was applied.
    """

    poses: Any
    sim3: Sim3


@dataclass(frozen=True, eq=False)
class ErrorStats(Record):
    """Errors and their statistics over the ``n`` of them that are not missing.

    Attributes:
        rmse, mean, median, std, min, max, sse: (...) in the errors' unit, sse in its square; std is the population's.
        errors: (..., N), NaN where a pose or a pair does not count.
        n: (...) int64.
        alignment: What was done to the estimate first.
        deviation: (...) the largest max |R'R - I| of the rotations that were used; 0 where none was.
    """

    rmse: Any
    mean: Any
    median: Any
    std: Any
    min: Any
    max: Any
    sse: Any
    errors: Any
    n: Any
    alignment: Alignment
    deviation: Any


@dataclass(slots=True)
class Batch:
    """Pairs of trajectories as the core takes them: flat arrays, and where the items lie in them.

    ``data`` are the flat arrays by name, ``each`` is the room of an item in poses, ``starts`` and ``lengths`` are None
    where the items are all of that size and follow each other. Where ``data`` are tensors of a device, so are the mask
    and the lengths of a padded batch; where the items of a list lie, the host says in either case.
    """

    op: str
    call: Call
    names: tuple[str, str]
    dtype: np.dtype[Any]
    data: Mapping[str, Array]
    tail: tuple[int, ...]
    shape: tuple[int, ...]
    n: int
    each: int
    starts: Array | None
    lengths: Any
    mask: Any

    @property
    def is_list(self) -> bool:
        return self.starts is not None

    @property
    def width(self) -> int:
        """Numbers a pose: 3 or 16."""
        return 3 if len(self.tail) == 1 else 16

    @property
    def room(self) -> int:
        """The poses of the flat arrays."""
        return math.prod(self.data[self.names[0]].shape) // self.width

    def sizes(self) -> Array:
        """(n,) the poses of each item."""
        return np.full(self.n, self.each, np.int64) if self.lengths is None else self.lengths

    def begins(self) -> Array:
        """(n,) where each item begins, in poses."""
        return np.arange(self.n, dtype=np.int64) * self.each if self.starts is None else self.starts

    def layout(self) -> tuple[Any, ...]:
        """What every function of the core is told of the items."""
        return self.n, self.each, self.starts, self.lengths, self.mask

    def empty(self) -> Array:
        """Room for one number a pose; NaN where the core will not write."""
        return np.empty(self.room) if self.lengths is None or self.is_list else np.full(self.room, np.nan)

    def item(self, i: int) -> tuple[list[Array], Array | None]:
        """One pair of trajectories, and its mask."""
        begin, size = int(self.begins()[i]), int(self.sizes()[i])
        rows = slice(begin, begin + size)
        pair = [self.data[name].reshape(-1, *self.tail)[rows] for name in self.names]
        return pair, None if self.mask is None else self.mask[rows].astype(bool)

    def per_item(self, values: Array) -> Any:
        """(n, ...) as the caller gets it."""
        return self.call.give(values.reshape(self.shape + values.shape[1:]) if self.shape else values[0])

    def floats(self, values: Array) -> Any:
        """The same in the dtype of the trajectories."""
        return self.per_item(values if values.dtype is self.dtype else narrowed(values, self.dtype))

    def per_pose(self, flat: Array, tail: tuple[int, ...] = ()) -> Any:
        """Numbers a pose, in the caller's form and dtype."""
        rows = narrowed(flat, self.dtype).reshape(self.room, *tail)
        if self.is_list:
            return [self.call.give(rows[b : b + s]) for b, s in zip(self.begins(), self.sizes(), strict=True)]
        return self.call.give(rows.reshape(*self.shape, self.each, *tail))

    def status(self, codes: Array) -> tuple[Any, Array]:
        codes = codes.reshape(self.shape)
        return status_of(self.call, codes), codes


def batch_of(
    op: str,
    pair: Mapping[str, Trajectories],
    tails: Sequence[tuple[int, ...]],
    mask: Trajectories | None,
    lengths: ArrayLike | Sequence[int] | None,
    weights: Trajectories | None = None,
) -> Batch:
    """Checks a pair of (batches of) trajectories, and what goes with each pose, and lays them out for the core."""
    call, taken = take(op, {**pair, "mask": mask, "weights": weights}, dtypes=_DTYPES, optional=("mask", "weights"))
    first, second = pair
    names = (first, second)
    if any(type(value) is list for value in taken.values()):
        return _joined(op, call, names, taken, tails, lengths)
    estimate = taken[first]
    tail = _tail_of(op, first, estimate, tails)
    same_shape(op, second, taken[second], first, estimate)
    shape, each = estimate.shape[: -len(tail)], estimate.shape[-len(tail)]
    if each == 0:
        raise bad_value(op, first, "hold at least one pose" if len(tail) == 3 else "hold at least one point", "none")
    on_host = call.device == "cpu"
    if on_host:
        sizes = None if lengths is None else lengths_of(op, lengths, shape, each)
    else:
        sizes = lengths_on(op, lengths, estimate, shape, each)
    data = {first: estimate.reshape(-1), second: taken[second].reshape(-1)}
    flags = None
    for name in ("mask", "weights"):
        if (extra := taken[name]) is None:
            continue
        if extra.shape != (*shape, each):
            raise bad_value(op, name, f"have shape {(*shape, each)}", shape_text(extra))
        if name == "mask":
            flags = extra.reshape(-1).view(np.uint8) if on_host else extra.reshape(-1)
        else:
            data[name] = extra.reshape(-1)
    n = math.prod(shape)
    return Batch(op, call, names, estimate.dtype, data, tail[1:], tuple(shape), n, each, None, sizes, flags)


def _tail_of(op: str, name: str, array: Array, tails: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Which of the accepted last axes an array has."""
    for tail in tails:
        if array.ndim >= len(tail) and array.shape[1 - len(tail) :] == tail[1:]:
            return tail
    wanted = " or ".join("(..., N, " + ", ".join(map(str, tail[1:])) + ")" for tail in reversed(tails))
    raise bad_value(op, name, f"have shape {wanted}", shape_text(array))


def _joined(
    op: str,
    call: Call,
    names: tuple[str, str],
    taken: Mapping[str, Any],
    tails: Sequence[tuple[int, ...]],
    lengths: object,
) -> Batch:
    """A batch given as lists, joined end to end."""
    if lengths is not None:
        raise bad_value(op, "lengths", "be None when the trajectories are lists", "lengths")
    lists = {name: value for name, value in taken.items() if value is not None}
    items = lists[names[0]]
    for name, value in lists.items():
        if not isinstance(value, list):
            raise bad_type(op, name, "be a list like the trajectories", "one array")
        if not isinstance(items, list):
            raise bad_type(op, names[0], f"be a list like {name}", "one array")
        if len(value) != len(items):
            raise bad_value(op, name, f"have as many items as {names[0]} ({len(items)})", len(value))
    if not items:
        raise bad_value(op, names[0], "hold at least one trajectory", "an empty list")
    tail = _tail_of(op, f"{names[0]}[0]", items[0], tails)
    for i, item in enumerate(items):
        if item.ndim != len(tail) or item.shape[1:] != tail[1:]:
            raise bad_value(op, f"{names[0]}[{i}]", f"have shape (N, {str(tail[1:])[1:-1]})", shape_text(item))
        same_shape(op, f"{names[1]}[{i}]", lists[names[1]][i], f"{names[0]}[{i}]", item)
        for name in ("mask", "weights"):
            if name in lists and lists[name][i].shape != item.shape[:1]:
                raise bad_value(op, f"{name}[{i}]", f"have shape {item.shape[:1]}", shape_text(lists[name][i]))
    flat = {name: joined(value).reshape(-1) for name, value in lists.items()}
    sizes = np.array([len(item) for item in items], dtype=np.int64)
    data = {name: value for name, value in flat.items() if name != "mask"}
    flags = flat.get("mask")
    if flags is not None and call.device == "cpu":
        flags = flags.view(np.uint8)
    n, starts = len(items), np.cumsum(sizes) - sizes
    return Batch(op, call, names, items[0].dtype, data, tail[1:], (n,), n, 0, starts, sizes, flags)


def sim3_of(batch: Batch, fits: Array) -> Sim3:
    """The record of rows of fits."""
    if not batch.shape and batch.call.kind == "numpy":
        return sim3_of_row(fits[0], batch.dtype)
    status, codes = batch.status(fits[:, 15].astype(np.uint8))
    rotation, translation = fits[:, :9].reshape(-1, 3, 3), fits[:, 9:12]
    numbers = batch.floats(rotation), batch.floats(translation), batch.floats(fits[:, 12]), batch.floats(fits[:, 13])
    return Sim3(status, codes, *numbers, batch.per_item(fits[:, 14].astype(np.int64)))


def sim3_of_row(row: Array, dtype: np.dtype[Any]) -> Sim3:
    """The record of a single fit of NumPy arrays: for a caller's loop, without a detour over arrays."""
    if dtype is not row.dtype:
        row = narrowed(row, dtype)
    why: Any = np.uint8(row[15])
    return Sim3(STATUS[why], why, row[:9].reshape(3, 3), row[9:12], row[12], row[13], np.int64(row[14]))


def alignment_of(batch: Batch, sim3: Sim3, poses: Any = None) -> Alignment:
    """The record of an alignment: degenerate where its fit is, missing where there was nothing to fit."""
    return Alignment(batch.call.give(_ALIGNED[sim3._codes]), sim3._codes, poses, sim3)


def stats_of(
    batch: Batch, statistics: Array, errors: Any, alignment: Alignment, deviation: Array, otherwise: str
) -> ErrorStats:
    """The record of rows of statistics; ``otherwise`` is why there is no error where the alignment does not say it."""
    if not batch.shape and batch.call.kind == "numpy":
        return _stats_of_row(batch.dtype, statistics[0], errors, alignment, deviation[0], otherwise)
    counts = statistics[:, 7].astype(np.int64)
    none = (counts == 0).reshape(batch.shape)
    codes = alignment._codes
    status = _ALIGNED[codes]
    if none.any():
        codes = np.where(none & (codes == code("ok")), code(otherwise), codes).astype(np.uint8)
        status = np.where(none, MISSING, status).astype(np.uint8)
    rmse, mean, median, std, least, largest, sse = (batch.floats(column) for column in statistics.T[:7])
    n, off = batch.per_item(counts), batch.floats(deviation)
    given = batch.call.give(status)
    return ErrorStats(given, codes, rmse, mean, median, std, least, largest, sse, errors, n, alignment, off)


def _stats_of_row(
    dtype: np.dtype[Any], row: Array, errors: Any, alignment: Alignment, deviation: Any, otherwise: str
) -> ErrorStats:
    """The record of a single row, as :func:`sim3_of_row`."""
    count = np.int64(row[7])
    codes: Any = alignment._codes
    status: Any = _ALIGNED[codes]
    if count == 0:
        status = np.uint8(MISSING)
        if codes == code("ok"):
            codes = np.uint8(code(otherwise))
    if dtype is not row.dtype:
        row, deviation = row.astype(dtype), dtype.type(deviation)
    rmse, mean, median, std, least, largest, sse = row[:7]
    return ErrorStats(status, codes, rmse, mean, median, std, least, largest, sse, errors, count, alignment, deviation)


def refuse(batch: Batch, refused: Sequence[int]) -> None:
    """Raises for the first matrix that is no pose, if there is one."""
    for name, at in zip(batch.names, refused, strict=True):
        if at < 0:
            continue
        pose = batch.data[name].reshape(-1, 4, 4)[at]
        item = int(np.searchsorted(batch.begins(), at, side="right")) - 1
        where = f"[{item}][{at - int(batch.begins()[item])}]"
        if not batch.is_list:
            where = str([int(k) for k in np.unravel_index(at, (*batch.shape, batch.each))])
        if np.abs(pose[3] - [0, 0, 0, 1]).max() > 1e-6:
            raise bad_value(batch.op, name, "hold poses with the last row 0 0 0 1", f"{pose[3].tolist()} at {where}")
        raise not_a_rotation(batch.op, name, pose[:3, :3], where)


def not_a_rotation(op: str, name: str, matrix: Array, where: str) -> ArgumentError:
    """The refusal of a matrix that is not nearly a rotation."""
    m = matrix.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        off, det = np.abs(m.T @ m - np.eye(3)).max(), np.linalg.det(m)
    got = f"a matrix that is not a rotation (det={det:.4g}, max |R'R - I|={off:.3g}) at {where}"
    return bad_value(op, name, f"hold rotations to within max |R'R - I| = {REFUSED}", got)
