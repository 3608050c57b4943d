# SPDX-License-Identifier: Apache-2.0
"""The paper's formula: frame gates, coverage, and the score.

A frame counts for Presence where something should be seen or an extra was confirmed, for Identity where a match has an
appearance score, for Structure where a match has a structure score. Every function takes arrays of T frames.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from .constants import IDENTITY_THRESHOLD, STRUCTURE_THRESHOLD, WEIGHTS
from .described import Floats


def frame_presence(expected: npt.ArrayLike, matched: npt.ArrayLike, extras: npt.ArrayLike) -> Floats:
    """1 where every expected object is matched and no extra is confirmed, else 0: Eq. 2.

    Args:
        expected: (T, R) bool: objects with evidence that they should be visible.
        matched: (T, R) bool.
        extras: (T,): confirmed unmatched observations.

    Returns:
        (T,): NaN in frames where nothing is expected and no extra confirmed.

    Example:
        >>> expected = [[True, True], [True, False], [False, False]]
        >>> frame_presence(expected, [[True, True]] * 3, [0, 1, 0])
        array([ 1.,  0., nan])
    """
    should, found, more = np.asarray(expected, bool), np.asarray(matched, bool), np.asarray(extras)
    if should.ndim != 2 or found.shape != should.shape or more.shape != should.shape[:1]:
        got = f"shapes {should.shape}, {found.shape} and {more.shape}"
        raise bad_value("frame_presence", "expected, matched and extras", "have shapes (T, R), (T, R) and (T,)", got)
    whole = ~(should & ~found).any(axis=1) & (more == 0)
    return np.where(should.any(axis=1) | (more > 0), whole.astype(np.float64), np.nan)


def frame_scores(scores: npt.ArrayLike, *, threshold: float | None, minimum: bool = False) -> Floats:
    """The mean of a frame's scores where all reach the threshold, else 0: Eq. 3 and 6.

    Args:
        scores: (T, R): NaN where an object was not measured.
        threshold: ``None``: no gate.
        minimum: Take the least score in place of the mean: an ablation.

    Returns:
        (T,): NaN in frames without a measurement.

    Numerics:
        Sums run over objects in order, in float64.

    Example:
        >>> frame_scores([[0.5, 0.7], [0.9, 0.2], [float("nan")] * 2], threshold=0.35)
        array([0.6, 0. , nan])
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2:
        raise bad_value("frame_scores", "scores", "have shape (T, R)", f"shape {values.shape}")
    there = ~np.isnan(values)
    count = there.sum(axis=1)
    total = np.where(there, values, 0.0).sum(axis=1)
    least = np.where(there, values, np.inf).min(axis=1, initial=np.inf)
    kept = least if minimum else total / np.maximum(count, 1)
    if threshold is not None:
        kept = np.where(least >= threshold, kept, 0.0)
    return np.where(count > 0, kept, np.nan)


def identity(cosines: npt.ArrayLike) -> Floats:
    """Appearance fidelity: the cosine of the embeddings, not below 0: section 4.2. NaN stays."""
    return np.maximum(np.asarray(cosines, dtype=np.float64), 0.0)


@dataclass(frozen=True)
class Components:
    """A case's scores, 0 to 1; ``None`` where no frame counts.

    Attributes:
        presence, identity: Means over their frames.
        structure: ``coverage`` times ``structure_mean``; 0 where there are frames but none with a measurement.
        structure_mean: Over its frames.
        coverage: The share of all frames that have a structure measurement, C_S.
        opis: 0 to 100; ``None`` where a component is.
        n_presence, n_identity, n_structure, n_frames: How many frames count for each, and how many there are.
    """

    presence: float | None
    identity: float | None
    structure: float | None
    structure_mean: float | None
    coverage: float | None
    opis: float | None
    n_presence: int
    n_identity: int
    n_structure: int
    n_frames: int


def opis_score(
    presence: float | None,
    identity: float | None,
    structure: float | None,
    *,
    weights: Sequence[float] = WEIGHTS,
) -> float | None:
    """``100 (w_P P + w_I I + w_S S)``: Eq. 8; ``None`` where a component is, or is NaN.

    Raises:
        ArgumentError: Weights that are negative or do not add up to 1.

    Example:
        >>> round(opis_score(1.0, 0.025, 0.524), 6)
        41.96
    """
    shares = [float(w) for w in weights]
    if len(shares) != 3 or min(shares) < 0 or abs(sum(shares) - 1) > 1e-9:
        raise bad_value("opis_score", "weights", "be three numbers of at least 0 that add up to 1", list(weights))
    if presence is None or identity is None or structure is None:
        return None
    if math.isnan(presence + identity + structure):
        return None
    return 100.0 * (shares[0] * presence + shares[1] * identity + shares[2] * structure)


def components(
    presence: npt.ArrayLike,
    identity: npt.ArrayLike,
    structure: npt.ArrayLike,
    *,
    use_coverage: bool = True,
    weights: Sequence[float] = WEIGHTS,
) -> Components:
    """A case's scores from those of its frames: Eq. 7 and 8.

    Args:
        presence, identity, structure: (T,): NaN where a frame does not count.
        use_coverage: Multiply structure by its coverage; not doing so is an ablation.
        weights: Of presence, identity and structure.

    Returns:
        A :class:`Components`. Without frames all is ``None``; with frames, but none that counts for structure, coverage
        and structure are 0: the paper's formula with an empty sum.

    Numerics:
        Means of float64 sums in the order of frames.

    Source:
        OPIS (arXiv 2609.35052), section 4.4.

    Example:
        >>> nan = float("nan")
        >>> found = components([1.0, 0.0, nan, 1.0], [0.8, nan, nan, 0.6], [0.5, nan, nan, nan])
        >>> round(found.presence, 6), found.identity, found.structure, found.coverage
        (0.666667, 0.7, 0.125, 0.25)
    """
    means: list[float | None] = []
    counts: list[int] = []
    for name, given in (("presence", presence), ("identity", identity), ("structure", structure)):
        values = np.asarray(given, dtype=np.float64)
        if values.ndim != 1 or values.shape != np.shape(presence):
            raise bad_value("components", name, "have one score a frame, (T,)", f"shape {values.shape}")
        there = values[~np.isnan(values)]
        counts.append(len(there))
        means.append(float(there.sum() / len(there)) if len(there) else None)
    n_frames = len(np.asarray(presence))
    coverage = counts[2] / n_frames if n_frames else None
    mean, part = means[2], None
    if coverage is not None:
        part = (coverage if use_coverage else 1.0) * mean if mean is not None else 0.0
    return Components(
        presence=means[0],
        identity=means[1],
        structure=part,
        structure_mean=mean,
        coverage=coverage,
        opis=opis_score(means[0], means[1], part, weights=weights),
        n_presence=counts[0],
        n_identity=counts[1],
        n_structure=counts[2],
        n_frames=n_frames,
    )


def case_components(
    expected: npt.ArrayLike,
    matched: npt.ArrayLike,
    extras: npt.ArrayLike,
    cosines: npt.ArrayLike,
    structures: npt.ArrayLike,
    *,
    identity_threshold: float = IDENTITY_THRESHOLD,
    structure_threshold: float | None = STRUCTURE_THRESHOLD,
    minimum: bool = False,
    use_coverage: bool = True,
    weights: Sequence[float] = WEIGHTS,
) -> Components:
    """A case's scores from what was measured of its objects: sections 4.2 to 4.4 in one call.

    Args:
        expected, matched: (T, R) bool.
        extras: (T,).
        cosines, structures: (T, B): of any B measurements a frame, NaN where there is none.
        identity_threshold, structure_threshold: Tau_I and tau_S; ``None``: no gate.
        minimum, use_coverage, weights: As in :func:`frame_scores` and :func:`components`.
    """
    return components(
        frame_presence(expected, matched, extras),
        frame_scores(identity(cosines), threshold=identity_threshold, minimum=minimum),
        frame_scores(structures, threshold=structure_threshold, minimum=minimum),
        use_coverage=use_coverage,
        weights=weights,
    )
