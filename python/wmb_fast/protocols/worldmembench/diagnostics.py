# SPDX-License-Identifier: Apache-2.0
"""What the paper's tables and figures make of revisits' scores. A model is a name, a case a row of its array.

All of it is EXACT (sections 5.3 to 5.5, appendices D.2 and G): differences are taken within a case first, then averaged
over cases, then equally over models.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._walls.checks import one_of, real, shape_text
from ..._walls.errors import bad_value
from .arrays import Values, flags, numbers
from .constants import TOLERANCES_DEG
from .qualify import Angles, whole

Scores = Mapping[str, npt.ArrayLike]


@dataclass(frozen=True)
class Effect:
    """A paired effect over models (a row of table 12).

    Attributes:
        all_cases: Mean effect over all cases of the contributing models, no case filtered.
        qualified: The same over the qualified cases.
        n: Qualified model-case units.
        models: Contributing models, those with at least one qualified case.
        positive: How many of them have a positive qualified effect.
        by_model: Qualified effect of each.
    """

    all_cases: float
    qualified: float
    n: int
    models: int
    positive: int
    by_model: Mapping[str, float]


def revisit_curves(scores: Scores) -> dict[str, Values]:
    """R1, R2, R3 of each model (figure 5), and of ``mean``, which counts each model the same.

    Args:
        scores: Model to (N, K) scores of its cases; NaN where there is none: such a case is left out of the curve as a
            whole, so that all points of a curve are of the same cases.

    Raises:
        ArgumentError: Other shapes, models with different numbers of revisits.

    Example:
        >>> curves = revisit_curves({"a": [[1.0, 0.5], [0.8, 0.3]], "b": [[0.5, 0.5]]})
        >>> curves["a"].round(6).tolist(), curves["mean"].round(6).tolist()
        ([0.9, 0.4], [0.7, 0.45])
    """
    curves = {}
    for model, given in scores.items():
        rows = numbers("revisit_curves", f"scores[{model!r}]", given, "(N, K)")
        rows = rows[np.isfinite(rows).all(axis=1)]
        curves[model] = _mean_rows(rows)
    counts = sorted({curve.size for curve in curves.values()})
    if len(counts) > 1:
        raise bad_value("revisit_curves", "scores", "have as many revisits of every model", counts)
    if curves:
        curves["mean"] = _mean_rows(np.array([c for c in curves.values() if np.isfinite(c).all()]))
    return curves


def multi_revisit_decrease(scores: Scores, qualified: Mapping[str, npt.ArrayLike] | None = None) -> Effect:
    """``R_1 - R_K`` of each case: how much is lost over the revisits (table 12a).

    Args:
        scores: Model to (N, K) scores; cases with a NaN are left out.
        qualified: Model to (N,) bool; by default all cases qualify.

    Example:
        >>> found = multi_revisit_decrease({"a": [[0.9, 0.7, 0.5], [0.9, 0.9, 0.9]]}, {"a": [True, False]})
        >>> found.all_cases, found.qualified, found.n, found.positive
        (0.2, 0.4, 1, 1)
    """
    op = "multi_revisit_decrease"
    falls = {}
    for model, given in scores.items():
        rows = numbers(op, f"scores[{model!r}]", given, "(N, K)")
        if rows.shape[1] < 2:
            raise bad_value(op, f"scores[{model!r}]", "have at least two revisits", shape_text(rows))
        falls[model] = np.where(np.isfinite(rows).all(axis=1), rows[:, 0] - rows[:, -1], np.nan)
    return _effect(op, falls, qualified)


def cross_axis_excess(lrlr: Scores, lrud: Scores, qualified: Mapping[str, npt.ArrayLike] | None = None) -> Effect:
    """``Delta_axis = d_LRUD - d_LRLR`` of each case, with ``d = R_1 - R_2``: what switching the axis adds (table 12b).

    Args:
        lrlr, lrud: Model to (N, 2) scores of the same cases in the same order; cases with a NaN in either are left out.
        qualified: Model to (N,) bool: whether both returns in both trajectories qualify; by default all do.

    Example:
        >>> found = cross_axis_excess({"a": [[0.9, 0.8]]}, {"a": [[0.9, 0.5]]})
        >>> round(found.qualified, 6), found.n
        (0.3, 1)
    """
    op = "cross_axis_excess"
    if set(lrlr) != set(lrud):
        raise bad_value(op, "lrud", f"have the models of lrlr, {sorted(lrlr)}", sorted(lrud))
    excess = {}
    for model in lrlr:
        same, other = (numbers(op, f"{n}[{model!r}]", s[model], "(N, 2)") for n, s in (("lrlr", lrlr), ("lrud", lrud)))
        if same.shape != other.shape or same.shape[1:] != (2,):
            raise bad_value(op, f"lrlr and lrud[{model!r}]", "both have shape (N, 2)", f"{same.shape}, {other.shape}")
        excess[model] = (other[:, 0] - other[:, 1]) - (same[:, 0] - same[:, 1])
    return _effect(op, excess, qualified)


@dataclass(frozen=True)
class AxisRow:
    """A row of table 9: means over models, their falls, and what switching the axis adds."""

    lrlr: tuple[float, float]
    lrud: tuple[float, float]
    d_lrlr: float
    d_lrud: float
    delta_axis: float


def axis_row(lrlr: Scores, lrud: Scores) -> AxisRow:
    """Mean scores at both revisits of both trajectories, each model counting the same (table 9).

    Args:
        lrlr, lrud: Model to (N, 2) scores; cases with a NaN are left out of their trajectory's means.

    Example:
        >>> row = axis_row({"a": [[0.490, 0.324]]}, {"a": [[0.435, 0.249]]})
        >>> round(row.d_lrlr, 3), round(row.d_lrud, 3), round(row.delta_axis, 3)
        (0.166, 0.186, 0.02)
    """
    if set(lrlr) != set(lrud):
        raise bad_value("axis_row", "lrud", f"have the models of lrlr, {sorted(lrlr)}", sorted(lrud))
    means = []
    for name, scores in (("lrlr", lrlr), ("lrud", lrud)):
        curve = revisit_curves(scores).get("mean", np.zeros(0))
        if curve.shape != (2,):
            raise bad_value("axis_row", name, "have two revisits of each case", f"{curve.size}")
        means.append((float(curve[0]), float(curve[1])))
    same, other = means
    falls = same[0] - same[1], other[0] - other[1]
    return AxisRow(same, other, *falls, falls[1] - falls[0])


def _effect(op: str, differences: Mapping[str, Values], qualified: Mapping[str, npt.ArrayLike] | None) -> Effect:
    by_model, all_cases, n = {}, [], 0
    absent = sorted(set(differences) - set(qualified)) if qualified is not None else []
    if absent:
        raise bad_value(op, "qualified", f"have the models {sorted(differences)}", f"no {absent[0]!r}")
    for model, values in differences.items():
        given = None if qualified is None else np.asarray(qualified[model])
        kept = values[flags(op, f"qualified[{model!r}]", given, values.shape) & np.isfinite(values)]
        if not kept.size:
            continue
        n += kept.size
        by_model[model] = _mean(kept)
        all_cases.append(_mean(values[np.isfinite(values)]))
    effects = list(by_model.values())
    return Effect(_mean(all_cases), _mean(effects), n, len(by_model), sum(e > 0 for e in effects), by_model)


def tolerance_sensitivity(
    scores: Scores, angles: Mapping[str, Sequence[Angles]], tolerances: Sequence[float] = TOLERANCES_DEG
) -> dict[float, Effect]:
    """:func:`multi_revisit_decrease` on the cases all of whose returns are within each tolerance (table 13).

    Args:
        scores: Model to (N, K).
        angles: Model to the angles of its N cases; a departure of at least 30 degrees is always asked for.
        tolerances: Of the return, in degrees.
    """
    if set(scores) != set(angles):
        raise bad_value("tolerance_sensitivity", "angles", f"have the models {sorted(scores)}", sorted(angles))
    found = {}
    for tolerance in tolerances:
        kept = {m: np.array([whole(a.qualified(tolerance=tolerance)) for a in some]) for m, some in angles.items()}
        found[tolerance] = multi_revisit_decrease(scores, kept)
    return found


@dataclass(frozen=True)
class Coverage:
    """Table 11: shares of revisits, in percent. NaN where there is none."""

    departed: float
    returned: float
    qualified: float
    slots: int


def pose_coverage(angles: Sequence[Angles], departure: float = 30.0, tolerance: float = 30.0) -> Coverage:
    """How many of a model's revisits depart, return, and both; every slot counts the same.

    Example:
        >>> pose_coverage([Angles(np.array([40.0, 20.0]), np.array([5.0, 5.0]))])
        Coverage(departed=50.0, returned=100.0, qualified=50.0, slots=2)
    """
    rows = [(a.departed(departure), a.returned(tolerance)) for a in angles]
    left, back = (np.concatenate([row[i] for row in rows] or [np.zeros(0, dtype=bool)]) for i in (0, 1))
    departed, returned, both = (100 * _mean(rows.astype(float)) for rows in (left, back, left & back))
    return Coverage(departed, returned, both, len(left))


def tracking_coverage(supports: Sequence[npt.ArrayLike]) -> float:
    """Percent of support, averaged over a revisit's targets, a video's revisits, then videos (table 11).

    Args:
        supports: (K, T) bool of each video, of its evaluated targets.
    """
    videos = []
    for given in supports:
        rows = np.asarray(given)
        rows = flags("tracking_coverage", "supports", rows, rows.shape)
        if rows.size:
            videos.append(float(rows.mean(axis=1).mean()))
    return 100 * _mean(videos)


@dataclass(frozen=True)
class Decomposition:
    """Table 5: how many events started, and the score of all, and of those."""

    started: int
    videos: int
    start_rate: float
    gated: float
    conditional: float


def decompose(started: npt.ArrayLike, scores: npt.ArrayLike) -> Decomposition:
    """Dynamic Memory's two causes of failure: ``S_gated = p_start S_cond``.

    Args:
        started: (N,) bool, one a video that was judged.
        scores: (N,) overall scores; of a video whose event did not start 0. NaN (no score) takes no part.

    Source:
        WorldMemBench, appendix D.2 and table 5 (EXACT).

    Example:
        >>> found = decompose([True, True, False], [1.0, 0.5, 0.0])
        >>> found.conditional, found.gated, round(found.start_rate, 6)
        (0.75, 0.5, 0.666667)
    """
    rows = numbers("decompose", "scores", scores, "(N,)")
    began = flags("decompose", "started", np.asarray(started), rows.shape)
    there = np.isfinite(rows)
    rows, began = rows[there], began[there]
    if (rows[~began] != 0).any():
        raise bad_value("decompose", "scores", "be 0 where the event did not start", rows[~began].max())
    n = int(began.sum())
    return Decomposition(n, len(rows), n / len(rows) if len(rows) else math.nan, _mean(rows), _mean(rows[began]))


@dataclass(frozen=True)
class Policy:
    """A row of table 3: mean scores by metric over the cases all policies have, latency in seconds, and speed-up."""

    scores: Mapping[str, float]
    n: Mapping[str, int]
    latency_s: float
    speedup: float
    videos: int


def compare_policies(
    scores: Mapping[str, Mapping[str, Mapping[str, float]]],
    latencies: Mapping[str, Mapping[str, float]],
    *,
    baseline: str,
) -> dict[str, Policy]:
    """Policies of one model against each other, on matched videos alone.

    Args:
        scores: Policy to metric to case to score.
        latencies: Policy to video to seconds from end to end.
        baseline: The policy that speed-ups are relative to: its mean latency over another's.

    Raises:
        ArgumentError: Other policies in ``latencies`` than in ``scores``, a latency that is not above 0, no such
            baseline.

    Source:
        WorldMemBench, section 5.5 and table 3 (EXACT).

    Example:
        >>> times = {"full": {"v": 322.16, "w": 1.0}, "fov": {"v": 262.69}}
        >>> scores = {"full": {"m": {"c": 0.5}}, "fov": {"m": {"c": 0.6, "d": 0.1}}}
        >>> found = compare_policies(scores, times, baseline="full")
        >>> found["fov"].scores, round(found["fov"].speedup, 2), found["full"].latency_s
        ({'m': 0.6}, 1.23, 322.16)
    """
    op = "compare_policies"
    if set(scores) != set(latencies):
        raise bad_value(op, "latencies", f"have the policies {sorted(scores)}", sorted(latencies))
    one_of(op, "baseline", baseline, latencies)
    for policy, times in latencies.items():
        for video, time in times.items():
            real(op, f"latencies[{policy!r}][{video!r}]", time, above=0)
    videos = sorted(set.intersection(*(set(times) for times in latencies.values())))
    seconds = {policy: _mean([times[video] for video in videos]) for policy, times in latencies.items()}
    metrics = [m for m in scores[baseline] if all(m in by_metric for by_metric in scores.values())]
    cases = {m: _matched([by_metric[m] for by_metric in scores.values()]) for m in metrics}
    return {
        policy: Policy(
            {m: _mean([by_metric[m][case] for case in cases[m]]) for m in metrics},
            {m: len(cases[m]) for m in metrics},
            seconds[policy],
            seconds[baseline] / seconds[policy],
            len(videos),
        )
        for policy, by_metric in scores.items()
    }


def _matched(by_case: Sequence[Mapping[str, float]]) -> list[str]:
    """The cases that all have a score for."""
    there = [{case for case, score in one.items() if math.isfinite(score)} for one in by_case]
    return sorted(set.intersection(*there))


def _mean(values: Sequence[float] | Values) -> float:
    rows = [float(v) for v in values]
    return math.fsum(rows) / len(rows) if rows else math.nan


def _mean_rows(rows: Values) -> Values:
    return np.array([_mean(column) for column in rows.T]) if rows.size else np.full(rows.shape[-1:], np.nan)
