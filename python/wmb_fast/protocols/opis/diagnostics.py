# SPDX-License-Identifier: Apache-2.0
"""What the paper reports beside the score: ablations, object load, intervals of time, coverage, validity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from .association import Flags
from .bank import Bank
from .constants import IDENTITY_THRESHOLD, INTERVALS_S, LOADS
from .formula import Components, case_components
from .rows import Rows

# Table 5: how each variant differs from the strict score. "No gate" removes the structural threshold alone.
ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    "no_gate": {"structure_threshold": None},
    "no_coverage": {"use_coverage": False},
    "minimum": {"minimum": True},
    "uniform": {"weights": (1 / 3, 1 / 3, 1 / 3)},
}


def of_rows(rows: Rows, frames: Flags | None = None, **settings: Any) -> Components:
    """A case's scores from its rows: :func:`~.formula.case_components`.

    Args:
        rows: Of :func:`~.rows.observe`.
        frames: (T,) bool: score these alone.
        settings: As :func:`~.formula.case_components` takes.
    """
    keep = slice(None) if frames is None else np.asarray(frames, bool)
    return case_components(
        (~np.isnan(rows.presence))[keep],
        rows.present[keep],
        rows.extras[keep],
        rows.identity[keep],
        rows.structures[keep],
        **settings,
    )


def ablations(rows: Rows) -> dict[str, Components]:
    """The case's scores under each variant of Table 5, from the same measurements."""
    return {name: of_rows(rows, **settings) for name, settings in ABLATIONS.items()}


def time_intervals(rows: Rows, times_s: npt.ArrayLike) -> dict[str, Components]:
    """The case's scores in 1 to 4, 4 to 7 and 7 to 10 seconds after the input, each by itself: section E.

    Args:
        rows: Of T frames.
        times_s: (T,): NaN where not known; such a frame is in no interval.

    Returns:
        ``"1-4"``, ``"4-7"`` and ``"7-10"``. An interval holds its first moment and not its last; the last holds both:
        RECONSTRUCTED, the paper does not say.
    """
    times = np.asarray(times_s, dtype=np.float64)
    found = {}
    for low, high in INTERVALS_S:
        last = high == INTERVALS_S[-1][1]
        with np.errstate(invalid="ignore"):
            inside = (times >= low) & ((times <= high) if last else (times < high))
        found[f"{low:g}-{high:g}"] = of_rows(rows, inside)
    return found


def identity_failures(rows: Rows, *, threshold: float = IDENTITY_THRESHOLD) -> float | None:
    """Fail-I: the share of frames with an identity measurement in which one is below the threshold: Table 4."""
    there = ~np.isnan(rows.identity)
    with np.errstate(invalid="ignore"):
        failed = np.asarray((rows.identity < threshold).any(axis=1))
    counts = np.asarray(there.any(axis=1))
    return float(failed[counts].mean()) if counts.any() else None


def load_of(n_objects: int) -> str:
    """The object load of Table 4 that a case belongs to: ``<=20``, ``21-40`` or ``>40`` reference objects.

    Example:
        >>> load_of(20), load_of(21), load_of(41)
        ('<=20', '21-40', '>40')
    """
    for low, high in LOADS:
        if high is None:
            return f">{low - 1}"
        if n_objects <= high:
            return f"<={high}" if low == 0 else f"{low}-{high}"
    raise AssertionError  # the last bucket has no end


@dataclass(frozen=True)
class Coverage:
    """How much of a case could be assessed: Table 10; shares from 0 to 1, ``None`` of nothing.

    Attributes:
        presence, identity, structure: Frames that count for each, of all frames.
        static, dynamic: Rows with a structure measurement, of the rows of that track that are present.
        unknown: Rows whose visibility is unresolved, of all rows.
        has_structure: Whether anything of the case's structure was measured; Table 10 counts the cases without.
    """

    presence: float | None
    identity: float | None
    structure: float | None
    static: float | None
    dynamic: float | None
    unknown: float | None
    has_structure: bool


def coverage(rows: Rows, bank: Bank) -> Coverage:
    """The coverage audit of one case.

    C_P and C_I are EXACT. That Static and Dynamic are shares of the present rows of a track, and Unknown one of all
    rows, is RECONSTRUCTED: the paper names the columns and does not define them.
    """
    frames = len(rows.presence)

    def of(part: int, whole: int) -> float | None:
        return part / whole if whole else None

    known, extras = ~np.isnan(rows.presence), rows.extras > 0
    structures = ~np.isnan(rows.structures)
    static, dynamic = bank.projectable, bank.is_dynamic
    return Coverage(
        presence=of(int((known.any(axis=1) | extras).sum()), frames),
        identity=of(int((~np.isnan(rows.identity)).any(axis=1).sum()), frames),
        structure=of(int(structures.any(axis=1).sum()), frames),
        static=of(int(structures[:, static].sum()), int(rows.present[:, static].sum())),
        dynamic=of(int(structures[:, dynamic].sum()), int(rows.present[:, dynamic].sum())),
        unknown=of(int(rows.unknown.sum()), rows.presence.size),
        has_structure=bool(structures.any()),
    )


@dataclass(frozen=True)
class Agreement:
    """How often two sets of labels agree: ``n_agreeing`` of ``n``; ``percent`` is ``None`` of none."""

    n: int
    n_agreeing: int

    @property
    def percent(self) -> float | None:
        return 100.0 * self.n_agreeing / self.n if self.n else None


def label_agreement(ours: Sequence[object], theirs: Sequence[object]) -> Agreement:
    """Exact agreement of labels: evaluator validity, section G.

    For the repeatability of a judge these are its two verdicts on the same claims; for the audit the evaluator's
    decisions and a person's: on association (exact assignment), visibility (five labels), identity, structure (three).

    Args:
        ours, theirs: Labels in the same order; ``None`` in either leaves the item out.

    Raises:
        ArgumentError: Two lengths.

    Example:
        >>> found = label_agreement(["supported", "unknown", "supported"], ["supported", "supported", None])
        >>> found.n, found.n_agreeing, found.percent
        (2, 1, 50.0)
    """
    if len(ours) != len(theirs):
        raise bad_value("label_agreement", "theirs", f"have as many labels as ours ({len(ours)})", len(theirs))
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a is not None and b is not None]
    return Agreement(len(pairs), sum(a == b for a, b in pairs))


def pooled(checks: Sequence[Agreement]) -> Agreement:
    """Several checks as one: section G pools association, visibility, identity and structure, not repeatability."""
    return Agreement(sum(check.n for check in checks), sum(check.n_agreeing for check in checks))
