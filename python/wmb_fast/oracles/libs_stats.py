# SPDX-License-Identifier: Apache-2.0
"""F_libs: what SciPy and hand-written arithmetic answer to assignment, correlation and bootstrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._walls.arrays import Array
from .._walls.errors import ArgumentError
from ..ops.assign import assignment
from ..ops.bootstrap import bootstrap_ci
from ..ops.stats import fisher_mean, pearson, spearman
from .runner import Adapter, Case, Outcome

# A correlation is right to 1e-12. Where it is one to within that, its p value is the rounding of the difference.
ROUNDING = 1e-12
P_OF_ROUNDING = 1e-6  # the largest p, that of one degree of freedom, for a correlation of 1 - 1e-12


def matrix(cost: Sequence[Sequence[float]]) -> Array:
    """A cost matrix out of its rows, of which there may be none."""
    return np.asarray(cost, dtype=np.float64).reshape(len(cost), len(cost[0]) if cost else 0)


def hungarian(case: Case) -> Outcome:
    """F3: SciPy's totals, and the lexicographically smallest of all optimal assignments."""
    expected, tolerance, outcome = case.expected, case.tolerance["total"]["abs"], Outcome()
    found = assignment(matrix(case.inputs["cost"]), maximize=case.inputs["maximize"])
    pairs = [[i, int(j)] for i, j in enumerate(found.columns) if j >= 0]
    outcome.got = {"pairs": pairs, "total": float(found.total), "status": int(found.status), "reason": found.reason()}
    if case.raises is not None:
        outcome.expect(found.status != 0, "what SciPy refuses must be reported in status and reason")
        return outcome
    outcome.expect(found.status == 0, f"status is {found.status}: {found.reason()}")
    outcome.close("total", found.total, expected["total"], abs_=tolerance)
    if "all_optimal" in expected:
        outcome.expect(pairs in expected["all_optimal"], f"{pairs} is not among all_optimal")
        if len(expected["all_optimal"]) == expected["n_optimal"]:
            n_rows = len(case.inputs["cost"])
            outcome.same("lowest", pairs, min(expected["all_optimal"], key=lambda other: _columns(other, n_rows)))
    elif expected["rows"]:
        outcome.same("rows", [i for i, _ in pairs], expected["rows"])
    return outcome


def _columns(pairs: Sequence[Sequence[int]], n_rows: int) -> list[float]:
    """The column of each row, infinite for none, so that they compare as ``ties="lowest"`` does."""
    columns = [np.inf] * n_rows
    for i, j in pairs:
        columns[i] = j
    return columns


def correlations(case: Case) -> Outcome:
    """F4: SciPy's spearmanr and pearsonr, and Fisher's mean. Kendall's tau and bare ranks are no op of the API."""
    return _fisher(case) if "r" in case.inputs else _pair(case)


def _pair(case: Case) -> Outcome:
    outcome = Outcome(got={})
    x, y = (np.asarray(case.inputs[name], dtype=np.float64) for name in ("x", "y"))
    for name, op, policy in (
        ("spearman", spearman, "propagate"),
        ("pearson", pearson, "propagate"),
        ("spearman_omit", spearman, "omit"),
    ):
        expected = case.expected[name]
        if len(x) != len(y):
            try:
                op(x, y, nan_policy=policy)
                outcome.problems.append(f"{name}: lengths that differ must raise an ArgumentError")
            except ArgumentError as error:
                outcome.got[name] = str(error)
            continue
        found = op(x, y, nan_policy=policy)
        outcome.got[name] = [float(found.value), float(found.p), found.reason()]
        value, p = (np.nan, np.nan) if isinstance(expected, dict) else expected
        outcome.close(f"{name} value", found.value, value, abs_=case.tolerance["default"]["abs"])
        if len(x) > 2 and abs(value) > 1 - ROUNDING:
            outcome.close(f"{name} p", found.p, p, abs_=P_OF_ROUNDING)
        else:
            outcome.close(f"{name} p", found.p, p, rel=case.tolerance["pvalue"]["rel"])
        outcome.expect(bool(np.isnan(value)) == (found.status == 2), f"{name}: status is {found.status}")
    return outcome


def _fisher(case: Case) -> Outcome:
    outcome = Outcome()
    r = np.asarray(case.inputs["r"], dtype=np.float64)
    found = fisher_mean(r)
    outcome.got = [float(found.value), int(found.status), found.reason()]
    known = r[~np.isnan(r)]
    if (np.abs(known) > 1 - 1e-7).any():  # the recommended rule: cap, and say so
        capped = np.tanh(np.arctanh(np.clip(known, 1e-7 - 1, 1 - 1e-7)).mean())
        outcome.close("capped mean", found.value, capped, abs_=case.tolerance["default"]["abs"])
        outcome.expect(found.status == 1, f"a capped mean must be flagged, status is {found.status}")
        return outcome
    outcome.close("mean", found.value, case.expected["nanmean_fisher"], abs_=case.tolerance["default"]["abs"])
    outcome.expect((found.status == 2) == (known.size == 0), f"status is {found.status}")
    return outcome


def bootstrap(case: Case) -> Outcome:
    """F5: stratified percentile bootstrap on given resamples, and NumPy's percentiles."""
    return _percentiles(case) if "q" in case.inputs else _intervals(case)


def _intervals(case: Case) -> Outcome:
    inputs, outcome = case.inputs, Outcome(got={})
    strata = list(inputs["strata"])
    domains = [inputs["domain_of_stratum"][name] for name in strata]
    values, indices = np.asarray(inputs["values"], dtype=np.float64), np.asarray(inputs["index"], dtype=np.int64)
    close = {"abs_": next(iter(case.tolerance.values()))["abs"]}
    hierarchies: Mapping[str, Any] = {"flat": None, "macro": [strata], "hier": [strata, domains]}
    for name, hierarchy in hierarchies.items():
        expected = case.expected[name]
        found = bootstrap_ci(values, hierarchy=hierarchy, strata=strata, indices=indices)
        outcome.got[name] = [float(found.estimate), float(found.low), float(found.high), found.reason()]
        outcome.close(f"{name} point", found.estimate, expected["point"], **close)
        outcome.close(f"{name} ci", [found.low, found.high], expected["ci"], **close)
    # An interval over one resample is that resample's mean.
    replicates = {"flat": case.expected["replicates_flat_head"], "macro": case.expected["replicates_macro"][:20]}
    for name, means in replicates.items():
        alone = [
            bootstrap_ci(values, hierarchy=hierarchies[name], strata=strata, indices=indices[b : b + 1]).low
            for b in range(len(means))
        ]
        outcome.close(f"{name} replicates", alone, means, **close)
    return outcome


def _percentiles(case: Case) -> Outcome:
    """Resample b takes case b every time, so that the resamples' means are the values themselves."""
    outcome = Outcome(got=[])
    values = np.asarray(case.inputs["values"], dtype=np.float64)
    if values.size == 0:
        found = bootstrap_ci(values)
        outcome.got = found.reason()
        outcome.expect(
            found.status == 2 and bool(found.reason()), "a percentile of nothing must be missing, and say why"
        )
        return outcome
    indices = np.repeat(np.arange(values.size), values.size).reshape(values.size, values.size)
    for q, expected in zip(case.inputs["q"], case.expected["linear"], strict=True):
        level = max(abs(100 - 2 * q) / 100, 1e-15)  # the interval whose lower or upper end is the percentile
        found = bootstrap_ci(values, indices=indices, level=level, nan_policy="propagate")
        value = float(found.low if q <= 50 else found.high)
        outcome.got.append(value)
        outcome.close(f"percentile {q}", value, expected, abs_=next(iter(case.tolerance.values()))["abs"])
    return outcome


ADAPTERS: dict[str, Adapter] = {
    "F_libs/F3_hungarian": hungarian,
    "F_libs/F4_correlations": correlations,
    "F_libs/F5_bootstrap": bootstrap,
}
