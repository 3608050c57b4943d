# SPDX-License-Identifier: Apache-2.0
"""Bootstrap intervals of means of means."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._walls.arrays import Array, ArrayLike, take
from .._walls.checks import integer, one_of, real, shape_text, trailing
from .._walls.dispatch import declare, pick
from .._walls.errors import bad_value
from .._walls.ext import core, kernels
from .._walls.labels import label_codes, level_codes
from .._walls.lazy import reference
from .._walls.records import Record, code, status_of

MOST_CASES = 2**31


@dataclass(frozen=True, eq=False)
class Interval(Record):
    """What :func:`bootstrap_ci` returns; all fields have the batch's shape."""

    low: Any
    high: Any
    estimate: Any
    n_used: Any


def bootstrap_ci(
    values: ArrayLike,
    *,
    hierarchy: Any = None,
    strata: Any = None,
    indices: ArrayLike | None = None,
    n: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    nan_policy: str = "omit",
    backend: str = "auto",
) -> Interval:
    """Percentile bootstrap interval of a mean, or of a mean of means of means.

    Without ``hierarchy`` the estimate is the mean of the cases. With it, it is the mean over the coarsest groups of the
    means over theirs, and so on down to cases: case, subcategory, domain, overall for ``[subcategory, domain]``. A
    resample draws as many cases as there are, with replacement, each stratum out of itself; the interval holds the
    middle ``level`` of the resamples' estimates. For a paired comparison hand in the differences.

    Args:
        values: (..., N), float32, float64 or int64: one value a case. NaN is missing.
        hierarchy: (N,) labels, or a list of such, finest first: strings or whole numbers. A label belongs to the
            group above it: equal names in two domains are two groups.
        strata: (N,) labels of what is resampled within itself; ``None``: all cases are one stratum, whatever the
            hierarchy. OPIS resamples within subcategories: say so.
        indices: (n, N) int64: the resamples, instead of drawn ones. Entry i of a row is the position, within the
            stratum of case i and in the order of appearance, of the case that takes its place.
        n: Number of resamples.
        level: Between 0 and 1.
        seed: Of the draws, 0 to 2^64 - 1.
        nan_policy: ``omit``: missing values have no part in a mean, a group without a value none in the one above, a
            resample without a value none in the interval; ``propagate``: an item with one is missing; ``raise``, which
            looks at the values before any work and hence is for the host alone.
        backend: ``auto``, ``cpu``, ``cuda`` or ``reference``.

    Returns:
        ``low``, ``high`` and ``estimate`` (...), in the dtype of ``values`` (int64: float64); ``n_used``, the values
        that are not missing; ``status``: 2, with NaN, for no value, an infinite one, or (``propagate``) a missing one;
        1 for one value (``low`` and ``high`` are NaN: it cannot be resampled), where all resamples agree (the interval
        has no width), and where missing values were left out. :meth:`reason` says which.

    Raises:
        ArgumentError: Labels of another shape, indices beyond their stratum, n below 1, another level or seed, or a
            missing value under ``raise``. Indices that a device holds are not looked at: where one is beyond its
            stratum, all items are missing, and say so.
        ArgumentTypeError: Something that is not an array of those dtypes.

    Numerics:
        Draw k of resample b is ``floor(word * size / 2^32)``, of word k mod 4 of Philox4x32-10 at the counter
        (k // 4, 0, b mod 2^32, b // 2^32) with the seed as key: a function of the seed and its own number, even to one
        part in 2^32 / size. Cases are numbered by stratum, group and value, so their order does not matter, and every
        item of a batch has the same draws. Means in float64 in that order, about the first value of a group: equal
        values have exactly that mean. The same bits for any number of threads and any batch. Percentiles by NumPy's
        linear rule. On a device the same resamples, and the same sums in the same order.

    Source:
        Efron and Tibshirani (1993), chapter 13; OPIS (arXiv 2609.35052), section 4: 2,000 resamples of cases within
        subcategories, 2.5 and 97.5 percent. Philox: Salmon et al., SC 2011.

    Example:
        >>> import numpy as np
        >>> import wmb_fast as wmb
        >>> subcategory = ["a", "a", "a", "a", "b"]
        >>> found = wmb.bootstrap_ci(np.array([1.0, 1.0, 1.0, 0.0, 0.0]), hierarchy=subcategory, strata=subcategory)
        >>> float(found.low), float(found.estimate), float(found.high)
        (0.125, 0.375, 0.5)
    """
    op = "bootstrap_ci"
    one_of(op, "nan_policy", nan_policy, ("omit", "propagate", "raise"))
    call, views = take(
        op,
        {"values": values, "indices": indices},
        dtypes={"values": ("float32", "float64", "int64"), "indices": ("int64",)},
        optional=("indices",),
        lists=False,
    )
    given, positions = views["values"], views["indices"]
    trailing(op, "values", given, ("N",))
    batch, n_cases = given.shape[:-1], given.shape[-1]
    if n_cases >= MOST_CASES:
        raise bad_value(op, "values", f"have fewer than {MOST_CASES} cases", n_cases)
    chosen = pick(op, backend, call.device)
    if chosen == "cuda" and nan_policy == "raise":
        raise bad_value(op, "nan_policy", "be omit or propagate on a device, where no value is looked at", "'raise'")
    n, level, seed = _numbers(op, n, level, seed)
    levels = [np.zeros(n_cases, np.int64)] if hierarchy is None else level_codes(op, "hierarchy", hierarchy, n_cases)
    stratum = np.zeros(n_cases, np.int64) if strata is None else label_codes(op, "strata", strata, n_cases)
    if positions is not None:
        _check_indices(op, positions, stratum, look=chosen != "cuda")
        n = len(positions)
    if chosen == "cuda":
        propagate = nan_policy == "propagate"
        return Interval(*_on_device(given, levels, stratum, positions, n, level, seed, propagate))
    dtype = given.dtype if given.dtype.kind == "f" else np.dtype(np.float64)
    data = given.reshape(math.prod(batch), n_cases).astype(np.float64) + 0.0  # the sum makes both zeros one
    if nan_policy == "raise" and np.isnan(data).any():
        raise bad_value(op, "values", "hold no NaN under nan_policy='raise'", f"{int(np.isnan(data).sum())} of them")
    if chosen == "reference":
        low, high, estimate, codes = _on_reference(data, levels, stratum, positions, n, level, seed)
    else:
        low, high, estimate, codes = _on_core(data, levels, stratum, positions, n, level, seed)
    present = (~np.isnan(data)).sum(axis=-1)
    missing = _missing(data, present, nan_policy == "propagate")
    beyond = ~np.isfinite([low, high, estimate]).all(axis=0) & (present > 1)  # sums that left float64
    missing[beyond & (missing == code("ok"))] = code("value_not_finite")
    one = (present == 1) & (missing == code("ok")) & (positions is None)
    low, high = (np.where(one | (missing != code("ok")), np.nan, bound) for bound in (low, high))
    estimate = np.where(missing != code("ok"), np.nan, estimate)
    left_out = (codes == code("ok")) & (present < n_cases)
    codes = np.where(left_out, code("values_left_out"), codes)
    codes = np.where(one, code("one_case"), np.where(missing != code("ok"), missing, codes))
    codes = codes.astype(np.uint8).reshape(batch)
    bounds = [item.astype(dtype).reshape(batch) for item in (low, high, estimate)]
    fields = [call.give(item) for item in (*bounds, present.astype(np.int64).reshape(batch))]
    return Interval(status_of(call, codes), codes, *fields)


def _numbers(op: str, n: Any, level: Any, seed: Any) -> tuple[int, float, int]:
    share = real(op, "level", level, above=0)
    if share >= 1:
        raise bad_value(op, "level", "be below 1", share)
    key = integer(op, "seed", seed, at_least=0)
    if key >= 2**64:
        raise bad_value(op, "seed", "be below 2^64", key)
    return integer(op, "n", n, at_least=1), share, key


def _check_indices(op: str, positions: Array, stratum: Array, *, look: bool) -> None:
    if positions.ndim != 2 or positions.shape[1] != len(stratum) or len(positions) == 0:
        raise bad_value(op, "indices", f"have shape (n, {len(stratum)}) with n at least 1", shape_text(positions))
    if not look:
        return
    size = np.bincount(stratum)[stratum] if len(stratum) else stratum
    bad = np.argwhere((positions < 0) | (positions >= size))
    if len(bad):
        b, i = (int(x) for x in bad[0])
        needs = f"be at least 0 and below the size of the case's stratum ({size[i]})"
        raise bad_value(op, "indices", needs, f"{positions[b, i]} at [{b}, {i}]")


def _missing(data: Array, present: Array, propagate: bool) -> Array:
    """The reasons of items that have no estimate."""
    n_cases = data.shape[-1]
    reasons = np.full(len(data), code("ok"))
    reasons[present == 0] = code("not_finite")
    reasons[np.isinf(data).any(axis=-1) | ((present < n_cases) & propagate)] = code("value_not_finite")
    if n_cases == 0:
        reasons[:] = code("no_samples")
    return reasons


def _on_core(
    data: Array, levels: list[Array], stratum: Array, positions: Array | None, n: int, level: float, seed: int
) -> tuple[Array, Array, Array, Array]:
    n_items, n_cases = data.shape
    groups = _groups_of(levels, n_cases)
    group = groups.of_case
    # Cases group after group, in a group stratum after stratum, and there by value, so that their order is nothing.
    if positions is None:
        order = np.lexsort((data, np.broadcast_to(stratum, data.shape), np.broadcast_to(group, data.shape)), axis=-1)
        values, of_position = np.take_along_axis(data, order, axis=-1), order[0] if n_items else np.arange(n_cases)
        given = None
    else:
        of_position = np.lexsort((stratum, group))
        values = data[:, of_position]
        given = np.ascontiguousarray(positions[:, np.argsort(stratum, kind="stable")])
    member = _members(stratum, of_position, by_appearance=positions is not None)
    low, high, estimate, codes = np.empty(n_items), np.empty(n_items), np.empty(n_items), np.empty(n_items, np.uint8)
    core.bootstrap(
        np.ascontiguousarray(values),
        np.bincount(stratum).astype(np.int64) if n_cases else np.empty(0, np.int64),
        member,
        np.bincount(group, minlength=groups.level_size[0]).astype(np.int64),
        np.array(groups.level_size, dtype=np.int64),
        np.concatenate([*groups.parents, np.empty(0, np.int64)]).astype(np.int64),
        given,
        n,
        seed,
        level,
        low,
        high,
        estimate,
        codes,
    )
    return low, high, estimate, codes


@dataclass(frozen=True)
class _Groups:
    """Groups in the order of their paths, coarsest label first.

    Attributes:
        of_case: (N,) each case's group of the first level.
        level_size: Groups of each level.
        parents: For each level but the last, the group of the next one that each group belongs to, in rising order.
    """

    of_case: Array
    level_size: list[int]
    parents: list[Array]


def _groups_of(levels: list[Array], n_cases: int) -> _Groups:
    paths, group = np.unique(np.stack(levels[::-1], axis=-1), axis=0, return_inverse=True)
    level_size, parents = [len(paths)], []
    for depth in range(paths.shape[1] - 1, 0, -1):
        paths, parent = np.unique(paths[:, :depth], axis=0, return_inverse=True)
        parents.append(parent.reshape(-1).astype(np.int64))
        level_size.append(len(paths))
    return _Groups(group.reshape(n_cases), level_size, parents)


def _members(stratum: Array, of_position: Array, *, by_appearance: bool) -> Array:
    """The positions of the cases of each stratum, one stratum after another."""
    if by_appearance:
        position = np.empty_like(of_position)
        position[of_position] = np.arange(len(of_position))
        return position[np.argsort(stratum, kind="stable")].astype(np.int64)
    return np.argsort(stratum[of_position], kind="stable").astype(np.int64)


def _on_device(
    values: Any,
    levels: list[Array],
    stratum: Array,
    positions: Any,
    n: int,
    level: float,
    seed: int,
    propagate: bool,
) -> tuple[Any, ...]:
    """The fields of the interval: as :func:`_on_core`, and what the public function does after it."""
    torch, stats = sys.modules["torch"], kernels("stats")
    batch, n_cases = tuple(values.shape[:-1]), len(stratum)
    groups = _groups_of(levels, n_cases)
    parts = _plan_of(groups, stratum, by_appearance=positions is not None)
    joined = torch.from_numpy(np.concatenate(parts).astype(np.int64)).to(values.device, non_blocking=True)
    *plan, position, rank, appearance = joined.split([len(part) for part in parts])
    data = values.reshape(math.prod(batch), n_cases).double() + 0.0  # the sum makes both zeros one
    if positions is None:
        data, order = data.sort(dim=-1)
        data = data.gather(-1, rank[order].sort(dim=-1, stable=True).indices)
    else:
        data, positions = data[:, position], positions[:, appearance].contiguous()
    dtype = "float32" if values.dtype == torch.float32 else "float64"
    cases = stats.Cases(*plan, groups.level_size)
    found = stats.bootstrap(
        data.contiguous(), cases, positions, n, seed, level, propagate=propagate, batch=batch, dtype=dtype
    )
    return tuple(found)


def _plan_of(groups: _Groups, stratum: Array, *, by_appearance: bool) -> list[Array]:
    """What :class:`Cases` holds; the cases in order of group and stratum, both as one number, and by stratum."""
    of_position = np.lexsort((stratum, groups.of_case))
    size = np.bincount(stratum) if len(stratum) else np.empty(0, np.int64)
    of_draw = np.repeat(np.arange(len(size)), size)
    children = [groups.of_case, *groups.parents, np.zeros(groups.level_size[-1], np.int64)]
    return [
        _members(stratum, of_position, by_appearance=by_appearance),
        (np.cumsum(size) - size)[of_draw],
        size[of_draw],
        np.concatenate([_begins(of, n) for of, n in zip(children, [*groups.level_size, 1], strict=True)]),
        of_position,
        groups.of_case * len(size) + stratum,
        np.argsort(stratum, kind="stable"),
    ]


def _begins(parent: Array, n: int) -> Array:
    """Where the children of each of n groups begin, and where the last one's end."""
    return np.concatenate([[0], np.cumsum(np.bincount(parent, minlength=n))])


def _on_reference(
    data: Array, levels: list[Array], stratum: Array, positions: Array | None, n: int, level: float, seed: int
) -> tuple[Array, Array, Array, Array]:
    found = reference.bootstrap_ci(
        data, hierarchy=levels, strata=stratum, indices=positions, n=n, level=level, seed=seed
    )
    codes = np.where(found.all_equal, code("resamples_equal"), code("ok"))
    return found.low, found.high, found.estimate, codes


declare("bootstrap_ci", "cpu", "cuda", "reference")
