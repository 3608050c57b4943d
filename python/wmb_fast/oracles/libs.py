# SPDX-License-Identifier: Apache-2.0
"""F_libs: what general libraries answer to matching and cosine similarity."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._walls.arrays import Array
from .._walls.errors import ArgumentError
from ..ops.cosine import cosine_pairs
from ..ops.match import mutual_matches, nearest
from .runner import Adapter, Case, Outcome


def matching(case: Case) -> Outcome:
    """F6: OpenCV's and kornia's brute-force matchers on raw rows.

    Our ratio test is from a to b on mutual pairs: OpenCV's one-sided list, restricted to its cross-checked one.
    """
    a, b = np.asarray(case.inputs["a"]), np.asarray(case.inputs["b"])
    metric = "hamming" if a.dtype == np.uint8 else "l2"
    expected, outcome = case.expected, Outcome()
    near = nearest(a, b, metric=metric)
    first = [[i, int(j), float(d)] for i, (j, d) in enumerate(zip(near.index, near.score, strict=True)) if j >= 0]
    mutual = mutual_matches(a, b, metric=metric)
    assert not isinstance(mutual, list)
    crossed = [list(row) for row in zip(mutual.index_a.tolist(), mutual.index_b.tolist(), mutual.score, strict=True)]
    outcome.got = {"nearest": first, "mutual": crossed}
    if metric == "hamming":
        best = [[i, *two[0]] for i, two in enumerate(expected["knn2"])]
        _same_rows(outcome, "knn2", first, best)
        _same_rows(outcome, "cv_cross", crossed, expected["cv_cross"])
        return outcome
    _same_rows(outcome, "cv_nn", first, expected["cv_nn"])
    known = [row for row in zip(*_columns(expected["kornia_nn"]), strict=True) if np.isfinite(row[2])]
    _same_rows(outcome, "kornia_nn", first, known)
    cross = expected["cv_cross"] if isinstance(expected["cv_cross"], list) else []  # OpenCV raises on an empty set
    _same_rows(outcome, "cv_cross", crossed, cross)
    if np.isfinite(a).all() and np.isfinite(b).all() and "numpy_mutual_lowest_index" in expected:
        outcome.same("numpy_mutual", [row[:2] for row in crossed], expected["numpy_mutual_lowest_index"])
    for ratio in case.inputs["ratio_thresholds"]:
        kept = mutual_matches(a, b, ratio=ratio, metric=metric)
        assert not isinstance(kept, list)
        pairs = [list(row) for row in zip(kept.index_a.tolist(), kept.index_b.tolist(), strict=True)]
        one_sided, both = expected[f"cv_ratio_{ratio}"], [row[:2] for row in cross]
        outcome.same(f"ratio {ratio}", pairs, [row for row in one_sided if row in both])
    return outcome


def _columns(kornia: Any) -> tuple[list[int], list[int], list[float]]:
    return [row[0] for row in kornia["idx"]], [row[1] for row in kornia["idx"]], kornia["dist"]


def _same_rows(outcome: Outcome, what: str, got: Any, expected: Any) -> None:
    outcome.same(f"{what} indices", [list(row[:2]) for row in got], [list(row[:2]) for row in expected])
    if len(got) == len(expected):
        outcome.close(f"{what} distances", [row[2] for row in got], [row[2] for row in expected], abs_=1e-5)


def cosine(case: Case) -> Outcome:
    """F7: SciPy in float64, normalise-and-multiply in float32.

    A vector without a direction scores NaN here, whatever a library returns. Where a library leaves the range of its
    numbers (the fourth power of a norm beyond its floats, a norm below torch's 1e-12), the answer is that for the same
    vectors brought to size 1.
    """
    outcome = Outcome()
    a, b = (np.asarray(case.inputs[name], dtype=np.float64) for name in ("a", "b"))
    if len(a) != len(b):
        try:
            outcome.got = cosine_pairs(a, b)
        except ArgumentError as error:
            outcome.got = str(error)
        outcome.expect(isinstance(outcome.got, str), "unequal lengths must raise an ArgumentError")
        return outcome
    with np.errstate(over="ignore"):
        small = [a.astype(np.float32), b.astype(np.float32)]
    wide, narrow = float(cosine_pairs(a, b)), float(cosine_pairs(*small))
    outcome.got = {"float64": wide, "float32": narrow}
    library = case.expected["scipy_similarity"], case.expected["normalize_dot_f32"]
    outcome.close("float64", wide, _right(a, b, library[0], 1e-70, 1e75), abs_=1e-12)
    outcome.close("float32", narrow, _right(small[0], small[1], library[1], 1e-12, 1e18), abs_=1e-6)
    return outcome


def _right(a: Array, b: Array, library: float, least: float, most: float) -> float:
    """The library's answer where every norm lies within its range."""
    if not _has_direction(a, b):
        return np.nan
    unit = [x / np.abs(x).max() for x in (a.astype(np.float64), b.astype(np.float64))]
    norms = [float(np.linalg.norm(u)) * float(np.abs(x).max()) for u, x in zip(unit, (a, b), strict=True)]
    if least < min(norms) and max(norms) < most:
        return library
    return float(unit[0] @ unit[1] / np.linalg.norm(unit[0]) / np.linalg.norm(unit[1]))


def _has_direction(*vectors: Array) -> bool:
    return all(len(x) and np.isfinite(x).all() and x.any() for x in vectors)


ADAPTERS: dict[str, Adapter] = {"F_libs/F6_matching": matching, "F_libs/F7_cosine": cosine}
