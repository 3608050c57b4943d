# SPDX-License-Identifier: Apache-2.0
"""Which observation is which reference object: a partial one-to-one assignment in every frame, all frames at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._walls.errors import bad_value
from ...ops.assign import assign
from ...ops.cosine import cosine_matrix
from .constants import (
    AMBIGUITY_MARGIN,
    ATTRIBUTE_WEIGHT,
    CATEGORY_WEIGHT,
    EMBEDDING_WEIGHT,
    MIN_AFFINITY,
    MIN_COSINE,
    NULL_COST,
    SMALLEST_NORM,
    UNKNOWN_CATEGORY,
)
from .described import ABSENT, Array, Described, Floats

Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]
NEAR_FLOOR = 1e-6  # cosines this near to the floor are summed again, in the published order


@dataclass(frozen=True)
class Affinities:
    """Every reference with every observation: ``scores`` and ``cosines`` (R, N); a cosine is NaN without embeddings."""

    scores: Floats
    cosines: Array


@dataclass(frozen=True)
class Association:
    """What :func:`associate` returns, for T frames and R references.

    Attributes:
        observed: (T, R) int64: the position of the observation among all N, -1 for none.
        cosine: (T, R): of the pair's embeddings; NaN where there is no pair, or no embedding to compare.
        score: (T, R): the pair's affinity; NaN where there is none.
        margin: (T, R): by how much the choice beats the next one; NaN in frames without observations and for
            references that were no candidates.
        ambiguous: (T, R): the margin is below 0.05.
        unmatched: (N,): observations without a reference.
    """

    observed: Indices
    cosine: Floats
    score: Floats
    margin: Floats
    ambiguous: Flags
    unmatched: Flags


def affinities(reference: Described, observed: Described) -> Affinities:
    """How alike references and observations are, from 0 to 1.

    The mean of ``(cos + 1) / 2`` (weight 0.65), attributes (0.25) and category (0.10), renormalised over those that
    there are. A category is 1 where it agrees, 0 where not, 0.5 where one is missing; attributes are the mean over
    those that both have: numbers ``max(0, 1 - |d| / max(|ref|, 1))``, text 1 or 0. The whole is 0 where the cosine is
    below 0.05, where an embedding is not finite, and where neither embeddings nor attributes can be compared: a
    category alone says nothing of identity.

    Args:
        reference: R objects.
        observed: N objects, described with the same vocabulary.

    Returns:
        ``scores`` (R, N) float64, ``cosines`` (R, N) in the dtype of the embeddings.

    Numerics:
        Cosines by :func:`~wmb_fast.cosine_matrix`; the rest in float64, in the order of the formula. Whether a cosine
        within 1e-6 of the floor reaches it is decided on a sum in the order of the dimensions.

    Source:
        OPIS (arXiv 2609.35052), section 4.1; weights of its released evaluator.

    Example:
        >>> import numpy as np
        >>> one, other = np.array([[1.0, 0.0]]), np.array([[0.6, 0.8]])
        >>> affinities(Described.of_arrays(one, [7]), Described.of_arrays(other, [7])).scores.round(6)
        array([[0.826667]])
    """
    cosines, comparable = _cosines(reference, observed)
    below = _below_floor(cosines, reference, observed)
    has = ((objects.attribute_text != ABSENT).any(axis=1) for objects in (reference, observed))
    shared = np.flatnonzero(np.logical_and(*has))
    by_category = {int(c): _category_part(int(c), observed.categories) for c in set(reference.categories.tolist())}
    scores = np.empty(cosines.shape)
    for i, score in enumerate(scores):  # one reference at a time: its row stays in the processor's cache
        np.add(cosines[i], 1.0, out=score, dtype=np.float64)
        score *= EMBEDDING_WEIGHT / 2
        weights: Any = EMBEDDING_WEIGHT
        nothing = below[i]
        if comparable is not None:
            score[~comparable[i]] = 0.0
            weights = EMBEDDING_WEIGHT * comparable[i]
            nothing = np.where(comparable[i], nothing, True)
        if len(shared):
            both, alike = _attributes(reference, i, observed, shared)
            score += ATTRIBUTE_WEIGHT * alike
            weights = weights + ATTRIBUTE_WEIGHT * both
            if comparable is not None:
                nothing = np.where(comparable[i], nothing, ~both)
        score += by_category[int(reference.categories[i])]
        score /= weights + CATEGORY_WEIGHT
        np.minimum(score, 1.0, out=score)
        score[nothing] = 0.0
    if comparable is not None:
        scores[~_finite(reference)] = 0.0
        scores[:, ~_finite(observed)] = 0.0
        cosines = np.where(comparable, cosines, np.nan)
    return Affinities(scores, cosines)


def _finite(objects: Described) -> Flags:
    return np.asarray(np.isfinite(objects.embeddings).all(axis=1))


def _cosines(reference: Described, observed: Described) -> tuple[Array, Flags | None]:
    """Cosines, and where there are any; ``None`` for everywhere."""
    shape = len(reference), len(observed)
    width = max(reference.embeddings.shape[1], observed.embeddings.shape[1])
    if not width or not all(shape):
        return np.zeros(shape), np.zeros(shape, dtype=bool)
    kind = np.result_type(reference.embeddings, observed.embeddings)
    a, b = (_widened(x.embeddings, width, kind) for x in (reference, observed))
    cosines = cosine_matrix(a, b)
    if (reference.dims == width).all() and (observed.dims == width).all() and not np.isnan(cosines).any():
        return cosines, None
    lengths = [np.linalg.norm(x.astype(np.float64), axis=1) for x in (a, b)]
    long_enough = [np.isfinite(length) & (length > SMALLEST_NORM) for length in lengths]
    alike = (reference.dims[:, None] == observed.dims[None, :]) & (reference.dims > 0)[:, None]
    comparable = alike & long_enough[0][:, None] & long_enough[1][None, :] & ~np.isnan(cosines)
    return np.where(comparable, cosines, 0.0), comparable


def _widened(rows: Array, width: int, kind: npt.DTypeLike) -> Array:
    rows = np.ascontiguousarray(rows, dtype=kind)
    return rows if rows.shape[1] == width else np.pad(rows, ((0, 0), (0, width - rows.shape[1])))


def _attributes(reference: Described, i: int, observed: Described, which: Indices) -> tuple[Flags, Floats]:
    """Which of N observations share an attribute with reference i, and the mean over those that they share."""
    count, total = np.zeros(len(observed), dtype=np.int64), np.zeros(len(observed))
    for a in which.tolist():
        mine, theirs = reference.attribute_text[a, i], observed.attribute_text[a]
        x, y = reference.attribute_number[a, i], observed.attribute_number[a]
        if mine == ABSENT:
            continue
        with np.errstate(invalid="ignore"):
            nearness = np.clip(1.0 - np.abs(y - x) / max(abs(x), 1.0), 0.0, 1.0)
        score = np.where(np.isnan(nearness), mine == theirs, nearness)
        total += np.where(theirs != ABSENT, score, 0.0)
        count += theirs != ABSENT
    return count > 0, np.divide(total, count, out=total, where=count > 0)


def _category_part(mine: int, theirs: Indices) -> Floats:
    known = (theirs != ABSENT) & (mine != ABSENT)
    return np.where(known, np.where(theirs == mine, CATEGORY_WEIGHT, 0.0), CATEGORY_WEIGHT * UNKNOWN_CATEGORY)


def _below_floor(cosines: Array, reference: Described, observed: Described) -> Flags:
    """The published test is on ``2 s - 1``, s being the cosine moved to 0..1: rounding decides cosines of 0.05."""
    below = cosines < MIN_COSINE
    for near in np.flatnonzero(np.abs(cosines - MIN_COSINE) < NEAR_FLOOR).tolist():
        i, j = divmod(near, len(observed))
        a, b = reference.embeddings[i].tolist(), observed.embeddings[j].tolist()
        dot = sum(x * y for x, y in zip(a, b, strict=False))
        lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
        below[i, j] = lengths > 0 and 2.0 * ((dot / lengths + 1.0) / 2.0) - 1.0 < MIN_COSINE
    return np.asarray(below)


def associate(
    reference: Described, observed: Described, starts: npt.ArrayLike, *, candidates: Flags | None = None
) -> Association:
    """The partial one-to-one assignment of references to observations, in every frame.

    In each frame the pairs are taken that cost the least in sum, a pair costing 1 - affinity and a reference that stays
    alone 0.65; a pair is accepted at an affinity of 0.35 or more. The margin of a reference is the affinity of its pair
    (0.35 where it stays alone) less the best other one of its row, or 0.35 if that is more.

    Args:
        reference: R objects, sorted by id as text: the order decides ties.
        observed: N objects of all frames, frame by frame, each frame sorted by id.
        starts: (T + 1,): where each frame begins among them, and N.
        candidates: (T, R): references that may be seen in a frame at all; by default all.

    Returns:
        An :class:`Association`.

    Raises:
        ArgumentError: Starts or candidates that do not fit.

    Numerics:
        As :func:`affinities`; the assignment with ``ties="opis"``, to the last bit the released solver's choice.

    Source:
        OPIS (arXiv 2609.35052), section 4.1 and its released evaluator.

    Example:
        >>> import numpy as np
        >>> cups = Described.of_arrays(np.eye(2), [0, 0])
        >>> seen = Described.of_arrays(np.array([[0.1, 1.0], [1.0, 0.1], [0.0, 1.0]]), [0, 0, 0])
        >>> associate(cups, seen, [0, 2, 3]).observed
        array([[ 1,  0],
               [-1,  2]])
    """
    bounds = np.asarray(starts, dtype=np.int64)
    n_frames, shape = len(bounds) - 1, (len(bounds) - 1, len(reference))
    if n_frames < 0 or (np.diff(bounds) < 0).any() or bounds[0] != 0 or bounds[-1] != len(observed):
        raise bad_value("associate", "starts", f"rise from 0 to the {len(observed)} observations", bounds.tolist())
    if candidates is not None and candidates.shape != shape:
        raise bad_value("associate", "candidates", f"have shape {shape}", candidates.shape)
    found = affinities(reference, observed)
    column = _assigned(found.scores, bounds, candidates)
    frame, row = np.nonzero(column >= 0)
    position = column[frame, row]
    accepted = found.scores[row, position] >= MIN_AFFINITY
    column[frame[~accepted], row[~accepted]] = -1
    frame, row, position = frame[accepted], row[accepted], position[accepted]
    score, cosine = np.full(shape, np.nan), np.full(shape, np.nan)
    score[frame, row], cosine[frame, row] = found.scores[row, position], found.cosines[row, position]
    margin = _margins(found.scores, bounds, score, row, position)
    if candidates is not None:
        margin[~candidates] = np.nan
    unmatched = np.ones(len(observed), dtype=bool)
    unmatched[position] = False
    with np.errstate(invalid="ignore"):
        return Association(column, cosine, score, margin, margin < AMBIGUITY_MARGIN, unmatched)


def _assigned(scores: Floats, bounds: Indices, candidates: Flags | None) -> Indices:
    """(T, R): the observation that each reference takes, -1 for none.

    References that are no candidates, and places beyond a frame's observations, are forbidden pairs: what they leave
    for the others is what the solver chooses without them.
    """
    n_frames, n_references, counts = len(bounds) - 1, len(scores), np.diff(bounds)
    cost = np.full((n_frames, n_references, int(counts.max(initial=0))), np.inf)
    if cost.size and (counts == counts[0]).all():
        np.subtract(1.0, scores.reshape(n_references, n_frames, -1).transpose(1, 0, 2), out=cost)
    else:
        for t, n in enumerate(counts.tolist()):
            cost[t, :, :n] = 1.0 - scores[:, bounds[t] : bounds[t + 1]]
    if candidates is not None:
        cost[~candidates] = np.inf
    chosen = assign(cost, null_cost=NULL_COST, ties="opis")
    return np.where(chosen >= 0, chosen + bounds[:-1, None], -1)


def _margins(scores: Floats, bounds: Indices, score: Floats, row: Indices, position: Indices) -> Floats:
    margin = np.full(score.shape, np.nan)
    busy = np.flatnonzero(np.diff(bounds))
    if not len(busy) or not len(scores):
        return margin
    others = scores.copy()
    others[row, position] = -np.inf
    best_other = np.maximum.reduceat(others, bounds[busy], axis=1).T
    chosen = np.where(np.isnan(score[busy]), MIN_AFFINITY, score[busy])
    margin[busy] = chosen - np.maximum(best_other, MIN_AFFINITY)
    return margin
