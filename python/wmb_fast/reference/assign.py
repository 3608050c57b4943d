# SPDX-License-Identifier: Apache-2.0
"""Assignment of rows to columns at the least total cost."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
ALONE = -1
TIE_ULPS = 2


class Assignment(NamedTuple):
    """See :func:`assignment`."""

    columns: Array
    total: Array


def assign(
    cost: npt.ArrayLike, *, null_cost: float | None = None, maximize: bool = False, ties: str = "lowest"
) -> Array:
    """The columns of :func:`assignment`."""
    return assignment(cost, null_cost=null_cost, maximize=maximize, ties=ties).columns


def assignment(
    cost: npt.ArrayLike, *, null_cost: float | None = None, maximize: bool = False, ties: str = "lowest"
) -> Assignment:
    """Column of each row of costs (..., R, C), or -1, and the sum of the assigned costs.

    As many rows as possible are assigned, at the least total; with ``null_cost`` a row may stay alone at that cost. A
    pair whose cost is not finite is forbidden. Of several optima ``ties="lowest"`` takes the lexicographically smallest
    (-1 after every column), ``ties="opis"`` the one the public OPIS solver takes, which answers nothing (-1 and NaN)
    where a cost is NaN or no full assignment exists.
    """
    costs = np.asarray(cost, dtype=np.float64)
    batch, n_rows = costs.shape[:-2], costs.shape[-2]
    columns = np.full((*batch, n_rows), ALONE, dtype=np.int64)
    totals = np.full(batch, np.nan)
    sign = -1.0 if maximize else 1.0
    for index in np.ndindex(batch):
        item = sign * costs[index]
        alone = None if null_cost is None else sign * null_cost
        found = _opis(item, alone) if ties == "opis" else _lowest(item, alone)
        if found is not None:
            columns[index] = found
            totals[index] = sum(costs[(*index, i, j)] for i, j in enumerate(found) if j != ALONE)
    return Assignment(columns, totals)


def shortest_paths(cost: Array) -> list[int] | None:
    """The optimal column of each row, R <= C, by shortest augmenting paths; None where no full assignment exists.

    The order of its sums and comparisons is that of OPIS's public solver: rows in order, columns ascending, a nearer
    one taken on < alone.
    """
    n_rows, n_cols = cost.shape
    row_price, col_price = np.zeros(n_rows + 1), np.zeros(n_cols + 1)
    row_of, came_from = np.zeros(n_cols + 1, dtype=int), np.zeros(n_cols + 1, dtype=int)
    for added in range(1, n_rows + 1):
        least = np.full(n_cols + 1, np.inf)
        reached = np.zeros(n_cols + 1, dtype=bool)
        row_of[0], column = added, 0
        while row_of[column]:
            reached[column] = True
            row = row_of[column]
            open_ = np.flatnonzero(~reached[1:]) + 1
            reduced = cost[row - 1, open_ - 1] - row_price[row] - col_price[open_]
            nearer = reduced < least[open_]
            least[open_[nearer]] = reduced[nearer]
            came_from[open_[nearer]] = column
            if open_.size == 0 or np.isinf(least[open_].min()):
                return None
            nearest = int(open_[np.argmin(least[open_])])
            step = least[nearest]
            row_price[row_of[reached]] += step
            col_price[reached] -= step
            least[~reached] -= step
            column = nearest
        while column:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
    columns = np.empty(n_rows, dtype=int)
    for column in range(1, n_cols + 1):
        if row_of[column]:
            columns[row_of[column] - 1] = column - 1
    return [int(column) for column in columns]


def _opis(cost: Array, null_cost: float | None) -> list[int] | None:
    """One null column a row, which every row may take; turned where rows outnumber columns."""
    n_rows, n_cols = cost.shape
    if np.isnan(cost).any() or np.isneginf(cost).any():
        return None
    if null_cost is not None:
        cost = np.hstack([cost, np.full((n_rows, n_rows), null_cost)])
    if n_rows <= cost.shape[1]:
        found = shortest_paths(cost)
    else:
        rows = shortest_paths(cost.T)
        found = None if rows is None else [rows.index(i) if i in rows else ALONE for i in range(n_rows)]
    return None if found is None else [j if j < n_cols else ALONE for j in found]


def _lowest(cost: Array, null_cost: float | None) -> list[int]:
    """Row by row the lowest column with which the rest can still reach the optimum."""
    cost = np.where(np.isfinite(cost), cost, np.inf)
    best = _optimum(cost, null_cost, [])
    settled: list[int] = []
    for i in range(len(best)):
        lower = range(cost.shape[1] if best[i] == ALONE else best[i])
        for j in [j for j in lower if j not in settled and np.isfinite(cost[i, j])]:
            other = _optimum(cost, null_cost, [*settled, j])
            if _as_good(cost, null_cost, other, best):
                best = other
                break
        settled.append(best[i])
    return best


def _optimum(cost: Array, null_cost: float | None, settled: list[int]) -> list[int]:
    """An optimal assignment in which the first rows have the given columns."""
    n_settled, (n_rows, n_cols) = len(settled), cost.shape
    largest = np.abs(cost[np.isfinite(cost)]).max(initial=1.0)
    dearest = 2.0 ** np.ceil(np.log2(largest * (2 * min(n_rows, n_cols) + 2)))
    free = [j for j in range(n_cols) if j not in settled]
    own = np.full((n_rows - n_settled, n_rows - n_settled), np.inf)
    np.fill_diagonal(own, dearest if null_cost is None else null_cost)
    rest = shortest_paths(np.hstack([cost[n_settled:, free], own]))
    assert rest is not None
    return [*settled, *(free[j] if j < len(free) else ALONE for j in rest)]


def _as_good(cost: Array, null_cost: float | None, other: list[int], best: list[int]) -> bool:
    """Whether two assignments leave as many rows alone, and have the same total up to its rounding."""
    if null_cost is None and other.count(ALONE) != best.count(ALONE):
        return False
    alone = 0.0 if null_cost is None else null_cost
    parts = [[alone if j == ALONE else cost[i, j] for i, j in enumerate(columns)] for columns in (other, best)]
    rounding = TIE_ULPS * sum(cost.shape) * np.finfo(np.float64).eps * sum(map(abs, parts[0] + parts[1]))
    return bool(abs(math.fsum(parts[0]) - math.fsum(parts[1])) <= rounding)
