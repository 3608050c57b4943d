# SPDX-License-Identifier: Apache-2.0
"""Assignment of rows to columns at the least total cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._walls.arrays import Array, ArrayLike, Call, take
from .._walls.checks import flag, one_of, real, shape_text, trailing
from .._walls.dispatch import declare, pick
from .._walls.errors import bad_value
from .._walls.ext import core
from .._walls.lazy import reference
from .._walls.records import Record, code, status_of

LARGEST_INTEGER = 2**53  # beyond, float64 does not hold them all


@dataclass(frozen=True, eq=False)
class Assignment(Record):
    """What :func:`assignment` returns: ``columns`` (..., R) int64, and ``total``, of the batch's shape."""

    columns: Any
    total: Any


def assign(
    cost: ArrayLike | Sequence[ArrayLike],
    *,
    null_cost: float | None = None,
    maximize: bool = False,
    ties: str = "lowest",
    backend: str = "auto",
) -> Any:
    """The column of each row, or -1: what :func:`assignment`, which explains all of it, returns as ``columns``.

    Args:
        cost: (..., R, C), or a list of (R_i, C_i): float32, float64 or int64.
        null_cost: What a row costs that is assigned to nothing; ``None``: as few rows as possible are.
        maximize: Costs are scores, and the largest total is wanted.
        ties: Which of several optima: ``lowest`` or ``opis``.
        backend: ``auto``, ``cpu`` or ``reference``.

    Returns:
        (..., R) int64, or a list of (R_i,): the column of each row, -1 for a row without one.

    Raises:
        ArgumentError, ArgumentTypeError: As :func:`assignment`.

    Numerics:
        As :func:`assignment`.

    Source:
        As :func:`assignment`.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> wmb.assign(np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]]))
        array([1, 0, 2])
    """
    return _solve("assign", cost, null_cost, maximize, ties, backend).columns


def assignment(
    cost: ArrayLike | Sequence[ArrayLike],
    *,
    null_cost: float | None = None,
    maximize: bool = False,
    ties: str = "lowest",
    backend: str = "auto",
) -> Assignment:
    """Assigns each row to a column of its own so that the costs add up to the least, and says what came of it.

    As many rows as possible are assigned, and among those assignments the cheapest is taken. With ``null_cost`` a row
    may also stay alone at that cost, as if it had a null column of its own. A pair whose cost is not finite is
    forbidden: +inf (-inf where ``maximize``) says so on purpose, NaN and the other infinity make ``status`` 1.

    Args:
        cost: (..., R, C), or a list of (R_i, C_i): float32, float64 or int64 (below 2^53). R and C may differ or be 0.
        null_cost: What a row costs that is assigned to nothing; a score where ``maximize``.
        maximize: Costs are scores, and the largest total is wanted.
        ties: Which of several optima. ``lowest``: the lexicographically smallest, that is, row 0 gets the lowest column
            that it has in any of them, then row 1, and so on, no column coming after every column. ``opis``: the one
            that the public OPIS solver takes, to the last bit of its sums; it has one null column a row that every row
            may take, and it answers nothing where a cost is NaN or no full assignment exists.
        backend: ``auto``, ``cpu`` or ``reference``.

    Returns:
        ``columns`` (..., R) int64, -1 for a row without a column; for a list a list of (R_i,). ``total`` (...), the sum
        of the assigned costs in the dtype of ``cost`` (int64: float64), null costs not included. ``status`` (...): 1
        where a cost is NaN, and where fewer than min(R, C) rows could be assigned; 2, with -1 and NaN, where the
        public solver refuses.

    Raises:
        ArgumentError: Another shape, whole numbers from 2^53 on, ``null_cost`` that is not finite, another ``ties``.
        ArgumentTypeError: Something that is not an array of those dtypes.

    Numerics:
        Shortest augmenting paths in float64. Every step subtracts, compares and chooses, so the same bits come out at
        any SIMD level, number of threads and batch. Assignments tie whose pairs all have a reduced cost of zero, up to
        2 (R + C) ulps of the numbers that make it up, the rounding it may carry: whole numbers, and values that repeat,
        tie exactly; totals that differ by more are told apart. Where not all rows can be assigned, the prices are of
        the size of ``4 min(R, C) max|cost|``, and so are those ulps.

    Source:
        Jonker and Volgenant, Computing 38 (1987); ``opis``: OPIS (arXiv 2609.35052), its released solver.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> cost = np.array([[0.4, 1.0, 0.5], [0.0, np.inf, 0.0], [np.inf, np.inf, np.inf]])
        >>> found = wmb.assignment(cost)
        >>> found.columns, float(found.total), found.reason()
        (array([ 0,  2, -1]), 0.4, 'no full assignment exists: as many rows as possible are assigned')
    """
    return _solve("assignment", cost, null_cost, maximize, ties, backend)


def _solve(op: str, cost: Any, null_cost: float | None, maximize: bool, ties: str, backend: str) -> Assignment:
    one_of(op, "ties", ties, ("lowest", "opis"))
    maximize = flag(op, "maximize", maximize)
    null = None if null_cost is None else real(op, "null_cost", null_cost)
    call, views = take(op, {"cost": cost}, dtypes=("float32", "float64", "int64"))
    given = views["cost"]
    items = given if isinstance(given, list) else [given]
    for i, item in enumerate(items):
        name = f"cost[{i}]" if isinstance(given, list) else "cost"
        if isinstance(given, list) and item.ndim != 2:
            raise bad_value(op, name, "have shape (R, C)", shape_text(item))
        trailing(op, name, item, ("R", "C"))
        if item.dtype == np.int64 and item.size and max(abs(int(item.min())), abs(int(item.max()))) >= LARGEST_INTEGER:
            raise bad_value(op, name, "hold whole numbers below 2^53", f"{item.min()} to {item.max()}")
    items = [item.astype(np.float64) if item.dtype == np.int64 else item for item in items]
    on_reference = pick(op, backend, call.device) == "reference"
    run = _on_reference if on_reference else _on_core
    if isinstance(given, list):
        rows, cols = (np.array([item.shape[axis] for item in items], dtype=np.int64) for axis in (0, 1))
        flat = np.concatenate([item.ravel() for item in items]) if items else np.empty(0)
        columns, total, codes = run(flat, rows, cols, null, maximize, ties)
        parts = np.split(columns, np.cumsum(rows)[:-1]) if items else []
        return _given(call, [call.give(part) for part in parts], total.astype(flat.dtype), codes)
    (item,) = items
    batch, (n_rows, n_cols) = item.shape[:-2], item.shape[-2:]
    n_items = math.prod(batch)
    rows, cols = (np.array([size] * n_items, dtype=np.int64) for size in (n_rows, n_cols))
    columns, total, codes = run(item.reshape(-1), rows, cols, null, maximize, ties)
    total, codes = total.astype(item.dtype, copy=False).reshape(batch), codes.reshape(batch)
    return _given(call, call.give(columns.reshape(*batch, n_rows)), total, codes)


def _given(call: Call, columns: Any, total: Array, codes: Array) -> Assignment:
    return Assignment(status_of(call, codes), codes, columns, call.give(total))


_Found = tuple[Array, Array, Array]


def _on_core(cost: Array, rows: Array, cols: Array, null: float | None, maximize: bool, ties: str) -> _Found:
    columns, total = np.empty(int(rows.sum()), dtype=np.int64), np.empty(len(rows))
    codes = np.empty(len(rows), dtype=np.uint8)
    cost_start, row_start = ((sizes.cumsum() - sizes) for sizes in (rows * cols, rows))
    is_opis, null_cost = ties == "opis", 0.0 if null is None else null
    options = maximize, is_opis, null is not None, null_cost
    core.assign(cost, rows, cols, cost_start, row_start, *options, columns, total, codes)
    return columns, total, codes


def _on_reference(cost: Array, rows: Array, cols: Array, null: float | None, maximize: bool, ties: str) -> _Found:
    parts, totals, reasons, start = [np.empty(0, dtype=np.int64)], [], [], 0
    for n_rows, n_cols in zip(rows.tolist(), cols.tolist(), strict=True):
        item = cost[start : start + n_rows * n_cols].reshape(n_rows, n_cols)
        start += item.size
        found = reference.assignment(item, null_cost=null, maximize=maximize, ties=ties)
        parts.append(found.columns)
        totals.append(float(found.total))
        has_nan = bool((np.isnan(item) | (item == (np.inf if maximize else -np.inf))).any())
        all_assigned = null is not None or np.count_nonzero(found.columns >= 0) == min(n_rows, n_cols)
        prefix = "opis_" if ties == "opis" else ""
        reason = prefix + "cost_is_nan" if has_nan else "ok" if all_assigned else prefix + "not_all_assigned"
        reasons.append(code(reason))
    return np.concatenate(parts), np.array(totals), np.array(reasons, dtype=np.uint8)


declare("assign", "cpu", "reference")
declare("assignment", "cpu", "reference")
